# SPDX-License-Identifier: Apache-2.0
"""Shows a waiting person who runs, how far it is, and how long it will take."""

import shutil
import sys
import time


class Forecast:
    """Seconds to go, from what was expected and how long it took so far."""

    def __init__(self, expected_s, jobs):
        self.left_s = dict(expected_s)      # share -> seconds on one processor
        self.jobs = jobs
        self.started = time.monotonic()
        self.done_s = 0.0

    def done(self, share, seconds):
        self.done_s += min(seconds, self.left_s[share])
        self.left_s[share] -= min(seconds, self.left_s[share])

    def ended(self, share):
        self.done(share, self.left_s[share])

    def seconds_to_go(self):
        longest = max(self.left_s.values(), default=0.0)
        expected = max(sum(self.left_s.values()) / self.jobs, longest)
        return expected * self._slower()

    def _slower(self):
        """Than expected, so far; not to be told before something was done."""
        if self.done_s < 60:
            return 1.0
        return (time.monotonic() - self.started) / (self.done_s / self.jobs)


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
