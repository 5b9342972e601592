# SPDX-License-Identifier: Apache-2.0
"""Builds what suites need, and nothing else: packages, kernels with our modules, targets of CMake."""

import os
import resource
import subprocess
import time

import processes
import suites


class BuildFailed(Exception):
    """Its text is the command."""


def mark(pid):
    """Of what that process builds."""
    return f"{pid}-build"


def _run(*command):
    """In a session of its own, so that Ctrl-C reaches it through us alone: make removes what is half-made."""
    done = subprocess.Popen(list(map(str, command)), cwd=suites.ROOT, stdin=subprocess.DEVNULL, start_new_session=True,
                            env={**os.environ, processes.MARK: mark(os.getpid())})
    if done.wait():
        raise BuildFailed(" ".join(map(str, command)) + " failed")


def steps(wanted):
    """The commands, as lists of words, that make what these suites need."""
    needs = list(dict.fromkeys(need for suite in wanted for need in suite.needs))
    kind = {"kernel": [], "packages": []}
    targets = [need for need in needs if ":" not in need]
    for need in needs:
        if ":" in need:
            kind[need.split(":")[0]].append(need.split(":")[1])
    jobs = os.environ.get("JOBS", suites.CORES)
    yield from (["tests/lib/install-packages", file] for file in kind["packages"])
    if kind["kernel"]:
        yield ["make", "modules", f"KERNELS={' '.join(kind['kernel'])}"]
    if targets:
        yield ["make", "configured"]
        yield ["cmake", "--build", "build/cmake", "-j", jobs, "--target", *targets]


def build(wanted):
    """A Result that has the build's times; BuildFailed names the command."""
    began, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
    for command in steps(wanted):
        _run(*command)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return suites.Result(wall_s=round(time.monotonic() - began, 1), budget_cpu_s=suites.build_cpu_s(),
                         cpu_s=round(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, 1))


def end():
    processes.end(mark(os.getpid()))
