# SPDX-License-Identifier: Apache-2.0
"""Divides what is to be measured among guests, and runs some of them at a time."""

import queue
import threading
from dataclasses import dataclass

from . import guest_run
from .plan import TRACED_CASES
from .scene import SCENES

# Seconds on one processor of the machine this was tried on; only for forecasts and for
# an even division.
BOOT_S = {8: 20, 16: 25}                # by the scene's nodes, the network included
LAUNCH_S = {("ompi", 8): 13, ("ompi", 16): 27, ("mpich", 8): 7, ("mpich", 16): 14}
CALL_S, MEGABYTE_S = 0.1, 0.5           # a call; a megabyte sent by all nodes together
# Not longer than that: what a guest did not finish has to be done again, and guests of a
# short demo are to end at about the same time.
MOST_S = 900
LIMIT_S = 7200


def unit_seconds(unit):
    nodes = SCENES[unit.scene].nodes
    each = LAUNCH_S[unit.library, nodes]

    def launch_seconds(cases):
        return each + sum((calls + 1) * (CALL_S + MEGABYTE_S * size * nodes * (nodes - 1) / 1e6)
                          for size, calls, _ in cases)

    rehearsal = launch_seconds(TRACED_CASES) if unit.traced else 0.5 * each
    return rehearsal + sum(launch_seconds(launch.cases) for launch in unit.launches)


@dataclass(frozen=True)
class Share:
    """The units of one guest: all of one scene and seed."""

    units: tuple

    @property
    def scene(self):
        return SCENES[self.units[0].scene]

    @property
    def seed(self):
        return self.units[0].seed

    def seconds(self):
        return BOOT_S[self.scene.nodes] + sum(unit_seconds(unit) for unit in self.units)


def shares(units, jobs):
    """The longest first."""
    most_s = min(MOST_S, sum(map(unit_seconds, units)) / jobs * 0.6)
    together = {}
    for unit in units:
        together.setdefault((unit.scene, unit.seed), []).append(unit)
    found = [share for group in together.values() for share in divided(group, most_s)]
    return sorted(found, key=lambda share: -share.seconds())


def divided(units, most_s):
    """Divides the units, in their order, into as many shares of about the same length as it takes.
    """
    total = sum(map(unit_seconds, units))
    parts = max(min(round(total / most_s), len(units)), 1) if most_s else 1
    found, done = [[] for _ in range(parts)], 0.0
    for unit in units:
        middle = done + unit_seconds(unit) / 2
        found[min(int(middle / total * parts), parts - 1)].append(unit)
        done += unit_seconds(unit)
    return [Share(tuple(part)) for part in found if part]


END = object()


class Pool:
    """Runs shares, `jobs` at a time; hands their events to `take(share, event)` one by one."""

    def __init__(self, work, jobs, kernel, folder, take):
        self.waiting, self.jobs, self.kernel, self.folder, self.take = list(work), jobs, kernel, folder, take
        self.reports = queue.SimpleQueue()
        self.running = {}       # share -> guest

    def run(self):
        try:
            while self.waiting or self.running:
                while self.waiting and len(self.running) < self.jobs:
                    self._start(self.waiting.pop(0))
                share, event = self.reports.get()
                if event is END:
                    del self.running[share]
                    self.take(share, {"event": "ended"})
                else:
                    self.take(share, event)
        finally:
            for guest in self.running.values():
                guest.stop()

    def _start(self, share):
        spec = {"scene": share.scene.facts(),
                "units": [unit.facts() | {"key": unit.key()} for unit in share.units]}
        folder = self.folder / "guests" / share.units[0].key()
        guest = guest_run.Guest(spec, folder, share.seed, LIMIT_S, factor=share.scene.factor,
                                kernel=self.kernel)
        self.running[share] = guest
        self.take(share, {"event": "booting"})
        threading.Thread(target=self._listen, args=(share, guest), daemon=True).start()

    def _listen(self, share, guest):
        try:
            for event in guest.events():
                self.reports.put((share, event))
        except (guest_run.GuestError, OSError, ValueError) as error:
            self.reports.put((share, {"event": "failed", "why": str(error)}))
        self.reports.put((share, END))
