# SPDX-License-Identifier: Apache-2.0
"""KTAP output for tests written in Python: a case passes unless it raises."""

import os
import time
import traceback

CASES = []
IS_TIME_VIRTUAL = bool(os.environ.get("HW_ICOUNT"))
# A busy host makes anything late where time is real, and a limit only ends what hangs.
HANGS_AFTER_S = 1200


def case(function):
    """Decorates a case; its name is what it shows."""
    CASES.append(function)
    return function


def run_cases(before_each=lambda: None, named=()):
    """Run the cases in the order written, or those named; the process's exit status."""
    cases = [function for function in CASES if not named or function.__name__ in named]
    print("KTAP version 1")
    print(f"1..{len(cases)}")
    failed = 0
    for number, function in enumerate(cases, 1):
        name = function.__name__.replace("_", " ")
        try:
            before_each()
            function()
            print(f"ok {number} {name}", flush=True)
        except Exception:  # whatever it is, it is this case's failure
            failed += 1
            for line in traceback.format_exc().splitlines():
                print("#", line)
            print(f"not ok {number} {name}", flush=True)
    print(f"# Totals: pass:{len(cases) - failed} fail:{failed} skip:0")
    return 1 if failed or not cases else 0


def equal(got, want, what=""):
    if got != want:
        raise AssertionError(f"{what} got {got!r}, want {want!r}")


def between(lowest, got, highest, what=""):
    if not lowest <= got <= highest:
        raise AssertionError(f"{what} got {got!r}, want {lowest!r} to {highest!r}")


def wait_for(condition, what, seconds=20):
    """Wait for a condition and return its value; fail after so many seconds of virtual time."""
    deadline = time.monotonic() + (seconds if IS_TIME_VIRTUAL else max(seconds, HANGS_AFTER_S))
    while not (value := condition()):
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {seconds} s: {what}")
        time.sleep(0.002)
    return value
