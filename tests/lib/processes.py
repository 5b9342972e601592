# SPDX-License-Identifier: Apache-2.0
"""The processes that a command has started, also those that left its session or lost their
parent: all have the command's mark in their environment."""

import os
import signal
import sys
import time

MARK = "HW_RUN"
TICKS_PER_S = os.sysconf("SC_CLK_TCK")
PATIENCE_S = 10     # between SIGTERM and SIGKILL, and with what never becomes another program


class Ended(Exception):
    """A signal ended the command; the exception has its number."""


def heed_signals():
    """Turns a signal that ends a command into an exception in it, once."""
    def raise_ended(number, _):
        for one in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(one, signal.SIG_IGN)
        raise Ended(number)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, raise_ended)


def end_as(ended):
    """Ends as a command that never handled the signal."""
    number = ended.args[0]
    print(f"ended by {signal.Signals(number).name}, and all that was running", file=sys.stderr)
    signal.signal(number, signal.SIG_DFL)
    signal.raise_signal(number)


def _read(path):
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return b""      # it has ended meanwhile


def _memory(pid):
    """Returns where the program's code, and its environment, begin and end; None: there is no
    program, for the process has ended or is the kernel's.  In execve() and in exit() there is no
    code yet, or no longer."""
    fields = _read(f"/proc/{pid}/stat").rpartition(b")")[2].split()
    # state; flags, of kernel threads; code; environment: 3, 9, 26, 50 and 51 of proc(5)
    if len(fields) < 49 or fields[0] in b"ZX" or int(fields[6]) & 0x00200000:
        return None
    return int(fields[23]), int(fields[47]), int(fields[48])


def _environment(pid):
    """Returns all of it as bytes; b"": there is none, or nobody may look at it; None: it was about
    to become another."""
    before = _memory(pid)
    if before is None:
        return b""
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            text = file.read()
    except PermissionError:
        return b""
    except OSError:
        return None
    code, begin, end = before
    return text if code and len(text) == end - begin and before == _memory(pid) else None


def _has(environment, variable, mark):
    """Whether the variable has that value.  bash ends each name where its = was, for as long as it imports it."""
    words = b"\0" + environment.replace(b"=", b"\0") + b"\0"
    return f"\0{variable}\0{mark}\0".encode() in words


def of(mark, variable=MARK):
    """The processes whose environment has this mark."""
    found, unknown = [], [int(name) for name in os.listdir("/proc") if name.isdigit()]
    until = time.monotonic() + PATIENCE_S
    while unknown and time.monotonic() < until:
        environments = {pid: _environment(pid) for pid in unknown}
        found += [pid for pid, text in environments.items() if text and _has(text, variable, mark)]
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


def end(mark, variable=MARK):
    """Ends them all: they are asked to clean up first, and killed if they do not."""
    _send(of(mark, variable), signal.SIGTERM)
    until = time.monotonic() + PATIENCE_S
    while (left := of(mark, variable)) and time.monotonic() < until:
        time.sleep(0.05)
    while left:
        _send(left, signal.SIGKILL)
        time.sleep(0.01)
        left = of(mark, variable)
