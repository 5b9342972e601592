# SPDX-License-Identifier: Apache-2.0
"""What a waiting person sees: who runs, how far it is, how long it will take."""

import shutil
import sys
import time


class Forecast:
    """Seconds to go, from what mpiruns have taken so far."""

    def __init__(self, mpiruns, boot_s=45.0, mpirun_s=25.0):
        self.expected = dict(mpiruns)   # contender -> mpiruns still to come
        self.boot_s = boot_s
        self.guess_s = mpirun_s
        self.spent = []

    def booted(self):
        self.boot_s = 0.0

    def left(self, contender, mpiruns):
        self.expected[contender] = mpiruns

    def took(self, seconds):
        self.spent.append(seconds)

    def seconds_to_go(self):
        each = sum(self.spent) / len(self.spent) if self.spent else self.guess_s
        return self.boot_s + each * sum(self.expected.values())


def clock(seconds):
    seconds = max(int(seconds), 0)
    return f"{seconds // 60}:{seconds % 60:02d}"


class Display:
    """Lines that stay, and on a terminal one line that is written over."""

    def __init__(self, stream=sys.stdout):
        self.stream = stream
        self.started = time.monotonic()
        self.terminal = stream.isatty()
        self.status = ""

    def elapsed_s(self):
        return time.monotonic() - self.started

    def say(self, text=""):
        self._erase()
        print(text, file=self.stream, flush=True)
        self._write()

    def show(self, what, seconds_to_go):
        """The present state."""
        text = f"[{clock(self.elapsed_s())}, about {clock(seconds_to_go)} to go] {what}"
        if not self.terminal:
            print(text, file=self.stream, flush=True)
            return
        self._erase()
        self.status = text[:shutil.get_terminal_size().columns - 1]
        self._write()

    def close(self):
        self._erase()
        self.status = ""

    def _erase(self):
        if self.terminal and self.status:
            self.stream.write("\r\033[K")

    def _write(self):
        if self.terminal and self.status:
            self.stream.write(self.status)
            self.stream.flush()
