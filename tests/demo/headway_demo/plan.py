# SPDX-License-Identifier: Apache-2.0
"""Plans what is measured: which contenders at which sizes in which scenes, and how often.

A launch is one mpirun.  It runs the sizes of one group, each back to back and with
pauses, or only one of these.  Launches of a contender begin with each size of the
group in turn: the first call of a launch is the first collective after MPI_Init, and
is counted for the size it has.  Seeds are other guests, and other samples.
"""

import hashlib
import json
from dataclasses import dataclass, replace

from .contender import ALONE, CONTENDERS, HEADWAY, LIBRARIES, SETTINGS
from .scene import KIB, SCENES

BACK_TO_BACK, PAUSED = 0, 300       # ms between calls
WAYS = (BACK_TO_BACK, PAUSED)
WARMUP = 1
# Samples of a launch by size and way; large messages take longer and vary less.
REPETITIONS = {1 * KIB: 12, 4 * KIB: 12, 16 * KIB: 6, 64 * KIB: 4, 256 * KIB: 2, 1024 * KIB: 1}

GROUPS = ((16 * KIB, 64 * KIB), (1 * KIB, 256 * KIB), (4 * KIB, 1024 * KIB))
SIZES = tuple(sorted(size for group in GROUPS for size in group))
COMPARED = GROUPS[0]
OF_THE_DEMO = ("stock", "rto_min", "htb", "headway")
# These also run at the other sizes, and in the other scenes: all static shares, as another one is
# the best in each scene.
EVERYWHERE = ("stock", "rto_min", "rto_delack", "fq", "htb", "htb_sfq", "headway_alone", "headway")

# The trunk of these is pictured, at these sizes, after a pause: the first call of a size counts for
# nothing.
TRACED = ("stock", "headway", "headway_alone")
TRACED_CASES = tuple((size, 1, PAUSED) for size in (4 * KIB, *COMPARED))


@dataclass(frozen=True)
class Part:
    """Some contenders at the sizes of some groups, in one scene."""

    scene: str
    contenders: tuple
    groups: tuple
    libraries: tuple = tuple(LIBRARIES)
    ways: tuple = WAYS


@dataclass(frozen=True)
class Plan:
    parts: tuple
    launches: tuple     # of each size group and setting: how many with seed 1, 2, ...


def demo(contenders=OF_THE_DEMO):
    return Plan(parts=tuple(Part(scene, tuple(contenders), (COMPARED,), ("ompi",), (PAUSED,))
                            for scene in ("rack", "shallow")),
                launches=(1,))


FULL = Plan(
    parts=(*(Part(scene, tuple(CONTENDERS), (COMPARED,)) for scene in ("rack", "shallow")),
           *(Part(scene, EVERYWHERE, GROUPS[1:]) for scene in ("rack", "shallow")),
           *(Part(scene, EVERYWHERE, GROUPS) for scene in ("ten", "sites"))),
    launches=(2, 2, 1))


@dataclass(frozen=True)
class Launch:
    setting: str
    cases: tuple        # (bytes, repetitions, pause in ms), in order


@dataclass(frozen=True)
class Unit:
    """A unit is what one contender does in one guest with one MPI library; it is kept, or done
    again."""

    scene: str
    seed: int
    contender: str
    library: str
    launches: tuple
    traced: bool

    def facts(self):
        """Returns what the guest is told."""
        contender = CONTENDERS[self.contender]
        return {
            "name": self.contender,
            "library": self.library,
            "setup": contender.set_up_by,
            "helper": contender.kind == HEADWAY,
            "alone": contender.settings == ALONE,
            "launches": [{"setting": launch.setting, "cases": launch.cases,
                          "words": SETTINGS[launch.setting][self.library]}
                         for launch in self.launches],
            "warmup": WARMUP,
            "traced": TRACED_CASES if self.traced else (),
        }

    def key(self):
        """Names its result; another for whatever is measured in another way."""
        what = json.dumps([SCENES[self.scene].facts(), self.facts()], sort_keys=True)
        digest = hashlib.sha256(what.encode()).hexdigest()[:12]
        return f"{self.scene}-{self.seed}-{self.contender}-{self.library}-{digest}"


def repetitions(size):
    """Finds the nearest size in the table that is not smaller."""
    return next((count for known, count in sorted(REPETITIONS.items()) if size <= known), 1)


def launch(setting, group, ways, number):
    """The `number`th launch of a setting: begins with another size than the one before."""
    turn = number % len(group)
    return Launch(setting, tuple((size, repetitions(size), way)
                                 for size in group[turn:] + group[:turn] for way in ways))


def launches(contender, parts, seeds, seed):
    """Plans a contender's launches in the guest of that seed; `seeds`: how many each has."""
    earlier = sum(seeds[:seed - 1])
    return tuple(launch(setting, group, part.ways, earlier + i)
                 for part in parts for group in part.groups
                 for setting in CONTENDERS[contender].settings
                 for i in range(seeds[seed - 1]))


def units(plan):
    """All of them, scene by scene and seed by seed."""
    found = []
    for scene in SCENES:
        here = [part for part in plan.parts if part.scene == scene]
        for seed in range(1, len(plan.launches) + 1):
            for library in LIBRARIES:
                for contender in CONTENDERS:
                    its = [part for part in here
                           if contender in part.contenders and library in part.libraries]
                    if its:
                        found.append(Unit(scene, seed, contender, library,
                                          launches(contender, its, plan.launches, seed),
                                          seed == 1 and library == "ompi" and contender in TRACED))
    return found


def chosen(plan, scenes, contenders, libraries, ways, group):
    """The plan without what is not asked for; `group`: other sizes than its own, or None."""
    parts = []
    for part in plan.parts:
        names = tuple(name for name in part.contenders if name in contenders)
        its = tuple(library for library in part.libraries if library in libraries)
        calls = tuple(way for way in part.ways if way in ways)
        if part.scene in scenes and names and its and calls:
            parts.append(Part(part.scene, names, (group,) if group else part.groups, its, calls))
    return replace(plan, parts=tuple(joined(parts) if group else parts))


def joined(parts):
    """One part a scene where all have the same groups: nobody is to be measured twice."""
    found = {}
    for part in parts:
        names = found[part.scene].contenders if part.scene in found else ()
        found[part.scene] = replace(part, contenders=tuple(dict.fromkeys(names + part.contenders)))
    return list(found.values())
