# SPDX-License-Identifier: Apache-2.0
"""The processes that a command has started, also those that left its session or lost their
parent: all have the command's mark in their environment."""

import os
import signal
import time

MARK = "HW_RUN"
TICKS_PER_S = os.sysconf("SC_CLK_TCK")
PATIENCE_S = 10     # between SIGTERM and SIGKILL


def _read(path, otherwise=b""):
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return otherwise    # it has ended meanwhile, or may not be looked at


def _environment(pid):
    """As bytes; b"": it has none, has ended, or may not be looked at; None: between two programs, in
    execve(), it has neither the old environment nor the new one."""
    def begins_at():
        fields = _read(f"/proc/{pid}/stat").rpartition(b")")[2].split()
        # state and flags, of kernel threads, and where the environment begins: 3, 9 and 50 of proc(5)
        is_program = len(fields) > 47 and fields[0] not in b"ZX" and not int(fields[6]) & 0x00200000
        return fields[47] if is_program else None

    before = begins_at()
    text = _read(f"/proc/{pid}/environ", None)
    if text or text is None or before is None:
        return text or b""
    return b"" if before != b"0" and before == begins_at() else None


def of(mark):
    """The processes whose environment has this mark."""
    wanted = f"{MARK}={mark}".encode()
    found, unknown = [], [int(name) for name in os.listdir("/proc") if name.isdigit()]
    while unknown:
        environments = {pid: _environment(pid) for pid in unknown}
        found += [pid for pid, text in environments.items() if text and wanted in text.split(b"\0")]
        unknown = [pid for pid, text in environments.items() if text is None]
    return found


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
