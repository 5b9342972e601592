# SPDX-License-Identifier: Apache-2.0
"""Runs one scene in a guest machine and hands out what the guest reports.

The guest's program prints an event per line, "@" and a JSON object; any other
line of its output, and the kernel's console if it fails, goes to the log.
"""

import json
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
VM_RUN = ROOT / "tests/vm/vm-run"
GUEST = ROOT / "tests/demo/guest"
MARK = "@"


class GuestError(RuntimeError):
    pass


def events(spec, folder, seed, limit_s):
    """Boot a guest for `spec`, yield its events; GuestError if it failed."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "spec.json").write_text(json.dumps(spec, indent=1))
    log_path = folder / "guest.log"
    with open(log_path, "w") as log:
        guest = subprocess.Popen(
            [VM_RUN, "--kernel", "6.1", "--smp", "1", "--memory", "3072", "--timeout", str(limit_s),
             "--out", folder, "--icount", str(seed), "--", GUEST],
            text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log)
        try:
            for line in guest.stdout:
                event = parse(line)
                if event is None:
                    log.write(line)
                    log.flush()
                else:
                    yield event
            status = guest.wait()
        finally:
            if guest.poll() is None:    # nobody listens any more
                guest.terminate()       # vm-run ends its machine and cleans up
                guest.wait()
    if status:
        raise GuestError(f"the guest ended with status {status}; {log_path} ends with:\n"
                         + tail(log_path))


def parse(line):
    if not line.startswith(MARK):
        return None
    try:
        return json.loads(line[len(MARK):])
    except ValueError:
        return None


def tail(path, lines=40):
    return "".join(path.read_text(errors="replace").splitlines(keepends=True)[-lines:])
