#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Builds what suites need, and nothing else: packages, kernels with our modules, targets of CMake.

  tests/lib/building.py NEED...     as a suite's "needs" in tests/suites.toml
"""

import os
import resource
import subprocess
import sys
import time

import processes
import suites


class BuildFailed(Exception):
    """Its text is the command."""


def mark(pid):
    """Names the file of what that process builds."""
    return f"{pid}-build"


def _start(words):
    """The process has a session of its own, so that Ctrl-C reaches it through us alone: make
    removes what is half-made."""
    return subprocess.Popen(list(map(str, words)), cwd=suites.ROOT, stdin=subprocess.DEVNULL, start_new_session=True,
                            env={**os.environ, processes.MARK: mark(os.getpid())})


def run_beside(lanes):
    """The first command of each lane at once, and each of its others when the one before it has ended."""
    left = [list(lane) for lane in lanes]
    running = [None] * len(left)
    while any(left) or any(running):
        for lane, process in enumerate(running):
            if process and process.poll() is None:
                continue
            if process and process.returncode:
                end()
                raise BuildFailed(" ".join(map(str, process.args)) + " failed")
            running[lane] = _start(left[lane].pop(0)) if left[lane] else None
        time.sleep(suites.LOOK_S)


def steps(needs):
    """Returns what makes these: lists of lanes, one list after another.  The lanes of a list,
    commands in their order, run side by side: kernels are downloaded, and their modules built,
    by one processor at a time."""
    needs = list(dict.fromkeys(needs))
    kind = {"kernel": [], "packages": []}
    targets = [need for need in needs if ":" not in need]
    for need in needs:
        if ":" in need:
            kind[need.split(":")[0]].append(need.split(":")[1])
    jobs = os.environ.get("JOBS", suites.CORES)
    packages = [["tests/lib/install-packages", file] for file in kind["packages"]]
    modules = [["make", "modules", f"KERNELS={' '.join(kind['kernel'])}"]] if kind["kernel"] else []
    programs = [["make", "configured"],
                ["cmake", "--build", "build/cmake", "-j", jobs, "--target", *targets]] if targets else []
    return [lanes for lanes in ([packages], [modules, programs]) if any(lanes)]


def build(wanted):
    """A Result that has the build's times; BuildFailed names the command."""
    began, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
    for lanes in steps(need for suite in wanted for need in suite.needs):
        run_beside(lanes)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return suites.Result(wall_s=round(time.monotonic() - began, 1), budget_cpu_s=suites.build_cpu_s(),
                         cpu_s=round(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, 1))


def end():
    processes.end(mark(os.getpid()))


if __name__ == "__main__":
    processes.heed_signals()
    try:
        for each in steps(sys.argv[1:]):
            run_beside(each)
    except BuildFailed as failed:
        sys.exit(f"tests/lib/building.py: {failed}")
    except processes.Ended as ended:
        end()
        processes.end_as(ended)
