# SPDX-License-Identifier: Apache-2.0
"""demo.json: made from what the guests reported, and checked."""

from . import samples, scene, verdict
from .contender import CONTENDERS, LIBRARIES

NUMBER = (int, float)
RUN_KEYS = {"name": str, "library": str, "median_ms": NUMBER, "max_ms": NUMBER, "cv": NUMBER,
            "slowest_flow_to_mean": NUMBER, "timeouts": int, "retransmits": int, "trunk_drops": int,
            "port_drops": int, "samples": int}
MESSAGE_KEYS = {"bytes": int, "pauses_ms": int, "bound_ms": NUMBER, "floor_ms": NUMBER, "runs": list}


class Collected:
    """The results of one scene, as they come in."""

    def __init__(self, of_scene):
        self.scene = of_scene
        self.runs = {}      # (contender, library, bytes, pauses) -> setting -> [SizeRun]
        self.traces = []
        self.plans = {}     # contender -> what it says it set up

    def add(self, contender, library, setting, size_run):
        key = contender, library, size_run.message_bytes, size_run.pauses_ms
        self.runs.setdefault(key, {}).setdefault(setting, []).append(size_run)

    def document(self):
        """The scene as it stands in demo.json."""
        return self.scene.facts() | {
            "oversubscription": round(self.scene.oversubscription, 3),
            "messages": [self._message(*which) for which in self._messages()],
            "traces": self.traces,
            "plans": self.plans,
        }

    def _messages(self):
        return sorted({(size, pauses) for _, _, size, pauses in self.runs})

    def _message(self, size, pauses):
        bound_ms, limit = scene.bound(self.scene, size)
        return {"bytes": size, "pauses_ms": pauses, "bound_ms": round(bound_ms, 4),
                "bound_limit": limit, "floor_ms": round(scene.floor_ms(self.scene, size), 4),
                "runs": [self._run(name, library, size, pauses, bound_ms)
                         for library in LIBRARIES for name in CONTENDERS
                         if (name, library, size, pauses) in self.runs]}

    def _run(self, name, library, size, pauses, bound_ms):
        settings = self.runs[name, library, size, pauses]
        best = min(settings, key=lambda setting: samples.median_ms(settings[setting]))
        others = {other: round(samples.median_ms(runs), 3)
                  for other, runs in settings.items() if other != best}
        return ({"name": name, "library": library}
                | samples.summary(settings[best], bound_ms, self._firsts(name, library, size, best))
                | {"transport": best, "other_transports_median_ms": others})

    def _firsts(self, name, library, size, setting):
        """A first call has no pause before it: it counts for both ways of calling."""
        return [run.first_ms for key, settings in self.runs.items() if key[:3] == (name, library, size)
                for run in settings.get(setting, ()) if run.first_ms is not None]


def document(collected, about):
    """The whole of demo.json."""
    scenes = [part.document() for part in collected if part.runs]
    return {
        "format": 1,
        "bound_formula": scene.BOUND_FORMULA,
        "floor_formula": scene.FLOOR_FORMULA,
        "time_constants": "real",
        **about,
        "scenes": scenes,
        "verdicts": verdict.judge(scenes),
    }


def complaints(document):
    """Returns what is wrong with a demo.json; an empty list if nothing is."""
    if not isinstance(document, dict) or not isinstance(document.get("scenes"), list):
        return ["scenes: a list is missing"]
    if not document["scenes"]:
        return ["scenes: empty"]
    found = []
    for i, part in enumerate(document["scenes"]):
        found += scene_complaints(f"scenes[{i}]", part)
    return found


def scene_complaints(where, part):
    found = key_complaints(where, part, {"name": str, "nodes": int, "messages": list})
    if found:
        return found
    for i, message in enumerate(part["messages"]):
        inner = f"{where}.messages[{i}]"
        wrong = key_complaints(inner, message, MESSAGE_KEYS)
        found += wrong
        if not wrong:
            for j, run in enumerate(message["runs"]):
                found += run_complaints(f"{inner}.runs[{j}]", run)
    return found


def run_complaints(where, run):
    found = key_complaints(where, run, RUN_KEYS)
    if found:
        return found
    if run["name"] not in CONTENDERS:
        found.append(f"{where}.name: unknown contender '{run['name']}'")
    if run["library"] not in LIBRARIES:
        found.append(f"{where}.library: unknown MPI library '{run['library']}'")
    # null: no launch began with this size
    if not isinstance(run.get("first_ms", ""), (*NUMBER, type(None))):
        found.append(f"{where}.first_ms: missing or of a wrong type")
    if run["samples"] < 1:
        found.append(f"{where}.samples: none")
    if run["max_ms"] < run["median_ms"]:
        found.append(f"{where}: max_ms below median_ms")
    found += [f"{where}.{key}: negative" for key in RUN_KEYS
              if not isinstance(run[key], str) and run[key] < 0]
    return found


def key_complaints(where, value, keys):
    if not isinstance(value, dict):
        return [f"{where}: not an object"]
    return [f"{where}.{key}: missing or of a wrong type" for key, kind in keys.items()
            if not isinstance(value.get(key), kind) or isinstance(value.get(key), bool)]
