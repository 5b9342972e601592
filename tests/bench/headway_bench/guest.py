# SPDX-License-Identifier: Apache-2.0
"""Runs the measurements in guests with virtual time: every figure is exact."""

import json
import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
BUILD = ROOT / "build"
TIME_LIMIT_S = 1800     # on a busy machine
# With ERMS the kernel clears and copies memory by one instruction that the
# emulation counts once per byte; without, once per eight.
CPU = "max,-erms"


class GuestFailed(Exception):
    pass


def run(kernel, files, command, out):
    """JSON objects as the guest prints them."""
    options = [word for file in files for word in ("--file", str(file))]
    process = subprocess.Popen(
        [ROOT / "tests/vm/vm-run", "--kernel", kernel, "--icount", "1", "--beside",
         "--initrd-only", "--cpu", CPU,
         "--timeout", str(TIME_LIMIT_S), "--out", out, *options, "--", *command],
        stdout=subprocess.PIPE, text=True)
    for line in process.stdout:
        if line.startswith("{"):
            yield json.loads(line)
        else:
            print("# " + line, end="", flush=True)
    if process.wait():
        raise GuestFailed(f"the guest ended with status {process.returncode}")


def run_cases(kernel, cases, out):
    """Cases and drives -> what qdisc_guest.sh counted, by name."""
    out.mkdir(parents=True, exist_ok=True)
    script = out / "cases"
    script.write_text("".join(line + "\n" for case in cases for line in case.script()))
    results = {}
    guest_script = ROOT / "tests/bench/qdisc_guest.sh"
    for result in run(kernel, [f"{script}:/cases", BUILD / "bin/send_frames"],
                      [guest_script, "/cases"], out):
        results[result["name"]] = result.get("count") or result["drive"]
        progress(len(results), len(cases), result["name"])
    missing = [case.name for case in cases if case.name not in results]
    if missing:
        raise GuestFailed(f"no result for {', '.join(missing)}")
    return results


def run_spacing(kernel, names, out):
    results = []
    files = [BUILD / "bin/spacing_stats", BUILD / "bin/send_frames", shutil.which("chrt")]
    for result in run(kernel, files, [ROOT / "tests/spacing/guest.sh", *names], out):
        results.append(result)
        progress(len(results), len(names), result["name"])
    if len(results) != len(names):
        raise GuestFailed(f"{len(results)} of {len(names)} spacing measurements")
    return results


def progress(done, total, name):
    print(f"# {done}/{total} {name}", flush=True)
