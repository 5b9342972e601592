# SPDX-License-Identifier: Apache-2.0
"""Runs part of a scene in a guest machine and hands out what the guest reports.

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
STABLE = "stable"


def kernel_release(name=STABLE):
    """Finds the kernel of that name (tests/vm/kernels); GuestError says which there are."""
    found = subprocess.run([ROOT / "tests/vm/kernels", name], check=False, text=True, capture_output=True)
    if found.returncode:
        raise GuestError(found.stderr.strip())
    return found.stdout.strip()


class GuestError(RuntimeError):
    pass


class Guest:
    """One machine, booted when made; `spec` is what `program` is told to do in it.
    Its processor looks `factor` times faster (None: as it is)."""

    def __init__(self, spec, folder, seed, limit_s, program=GUEST, factor=None, kernel=STABLE):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "spec.json").write_text(json.dumps(spec, indent=1))
        self.folder = folder
        self.log_path = folder / "guest.log"
        self.log = open(self.log_path, "w")
        faster = ["--faster", str(factor)] if factor else []
        self.vm_run = subprocess.Popen(
            [VM_RUN, "--kernel", kernel, "--icount", str(seed), *faster,
             "--timeout", str(limit_s), "--out", folder, "--", program],
            text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=self.log)

    def events(self):
        """Yields what it reports until it ends; GuestError if it failed."""
        for line in self.vm_run.stdout:
            event = parse(line)
            if event is None:
                self.log.write(line)
                self.log.flush()
            else:
                yield event
        status = self.vm_run.wait()
        self.log.close()
        if status:
            raise GuestError(f"the guest ended with status {status}; {self.log_path} ends with:\n"
                             + tail(self.log_path))

    def stop(self):
        """vm-run ends its machine and cleans up."""
        if self.vm_run.poll() is None:
            self.vm_run.terminate()
            self.vm_run.wait()


def parse(line):
    if not line.startswith(MARK):
        return None
    try:
        return json.loads(line[len(MARK):])
    except ValueError:
        return None


def tail(path, lines=40):
    """Returns what the guest's programs and vm-run said; "| " stands before each line of the
    kernel's log."""
    said = [line for line in path.read_text(errors="replace").splitlines(keepends=True) if not line.startswith("| ")]
    return "".join(said[-lines:])
