# SPDX-License-Identifier: Apache-2.0
"""Runs the measurements in guests with virtual time: every figure is exact."""

import sys
from pathlib import Path

from .cases import spacing_cases

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests/lib"))
from guest_json import GuestFailed, guest_objects  # noqa: E402

BUILD = ROOT / "build"
TIME_LIMIT_S = 1800     # on a busy machine


def run(kernel, files, command, out):
    """JSON objects as the guest prints them."""
    options = ["--kernel", kernel, "--timeout", str(TIME_LIMIT_S), "--out", out]
    return guest_objects([*options, *[word for file in files for word in ("--file", str(file))]], command)


def run_cases(kernel, cases, out):
    """Cases and drives -> what qdisc_guest.sh counted, by name."""
    out.mkdir(parents=True, exist_ok=True)
    script = out / "cases"
    script.write_text("".join(line + "\n" for case in cases for line in case.script()))
    results = {}
    guest_script = ROOT / "tests/bench/qdisc_guest.sh"
    for result in run(kernel, [f"{script}:/cases", BUILD / "bin/send_frames", BUILD / "bin/bpf_pacing",
                                BUILD / "bin/phase_of_port.bpf.o"],
                      [guest_script, "/cases"], out):
        results[result["name"]] = result.get("count") or result["drive"]
        progress(len(results), len(cases), result["name"])
    missing = [case.name for case in cases if case.name not in results]
    if missing:
        raise GuestFailed(f"no result for {', '.join(missing)}")
    return results


def run_spacing(kernel, cases):
    results = spacing_cases.run(kernel, cases, lambda done, name: progress(done, len(cases), name))
    if len(results) != len(cases):
        raise GuestFailed(f"{len(results)} of {len(cases)} spacing measurements")
    return results


def progress(done, total, name):
    print(f"# {done}/{total} {name}", flush=True)
