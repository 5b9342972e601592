# SPDX-License-Identifier: Apache-2.0
"""The processes that a command has started, also those that left its session or lost their
parent: all have the command's mark in their environment."""

import os
import signal
import time

MARK = "HW_RUN"
TICKS_PER_S = os.sysconf("SC_CLK_TCK")
PATIENCE_S = 10     # between SIGTERM and SIGKILL


def _read(path):
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return b""      # it has ended meanwhile


def of(mark):
    """The processes whose environment has this mark."""
    wanted = f"{MARK}={mark}".encode()
    return [int(name) for name in os.listdir("/proc") if name.isdigit()
            and wanted in _read(f"/proc/{name}/environ").split(b"\0")]


def cpu_s(pids):
    """Processor seconds of these processes, and of their children that have ended."""
    ticks = 0
    for pid in pids:
        # behind the name, which may hold anything: fields 14 to 17 of proc(5)
        fields = _read(f"/proc/{pid}/stat").rpartition(b")")[2].split()
        ticks += sum(map(int, fields[11:15]))
    return ticks / TICKS_PER_S


def _send(pids, number):
    for pid in pids:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            pass


def end(mark):
    """Ends them all: they are asked to clean up first, and killed if they do not."""
    _send(of(mark), signal.SIGTERM)
    until = time.monotonic() + PATIENCE_S
    while (left := of(mark)) and time.monotonic() < until:
        time.sleep(0.05)
    while left:
        _send(left, signal.SIGKILL)
        time.sleep(0.01)
        left = of(mark)
