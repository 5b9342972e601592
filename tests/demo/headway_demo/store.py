# SPDX-License-Identifier: Apache-2.0
"""Results that are kept: one file for what one contender did in one guest.

A demo that was interrupted goes on with what is missing.  A file's name tells what was
measured and how; whatever changes in that has another name.
"""

import json

from .samples import SizeRun


class Store:
    def __init__(self, folder):
        self.folder = folder

    def clear(self):
        for path in self.folder.glob("*.json"):
            path.unlink()

    def path(self, unit):
        return self.folder / f"{unit.key()}.json"

    def has(self, unit):
        return self.path(unit).is_file()

    def keep(self, unit, result):
        """`result`: see Partial.  Complete or not there at all, whatever ends the demo."""
        self.folder.mkdir(parents=True, exist_ok=True)
        new = self.path(unit).with_suffix(".new")
        new.write_text(json.dumps(result))
        new.rename(self.path(unit))

    def read(self, unit):
        return json.loads(self.path(unit).read_text())


class Partial:
    """Collects what comes from a guest about one unit."""

    def __init__(self):
        self.plan = ""
        self.launches = []      # {"setting": ..., "sizes": events}
        self.traces = []

    def result(self):
        return vars(self)


def collect(collected, unit, result):
    """Adds a kept result to those of its scene."""
    collected.plans[unit.contender] = result["plan"]
    for launch in result["launches"]:
        for event in launch["sizes"]:
            collected.add(unit.contender, unit.library, launch["setting"], SizeRun.from_event(event))
