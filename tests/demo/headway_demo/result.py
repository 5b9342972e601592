# SPDX-License-Identifier: Apache-2.0
"""demo.json: made from what the guests reported, and checked."""

from . import samples, scene, verdict
from .contender import CONTENDERS

RUN_KEYS = {"name": str, "median_ms": (int, float), "max_ms": (int, float), "timeouts": int,
            "retransmits": int, "trunk_drops": int, "port_drops": int, "samples": int}


class Collected:
    """The results of one scene, as they come in."""

    def __init__(self, of_scene):
        self.scene = of_scene
        self.runs = {}      # (contender, transport, bytes) -> [SizeRun]
        self.chosen = {}    # (contender, bytes) -> transport
        self.traces = []
        self.plans = {}     # contender -> what it says it set up

    def add(self, contender, transport, size_run):
        self.runs.setdefault((contender, transport, size_run.message_bytes), []).append(size_run)

    def choose(self, contender, message_bytes, transport):
        self.chosen[contender, message_bytes] = transport

    def document(self):
        """The scene as it stands in demo.json."""
        return self.scene.facts() | {
            "oversubscription": round(self.scene.oversubscription, 3),
            "messages": [self._message(size) for size in self._sizes()],
            "traces": self.traces,
            "plans": self.plans,
        }

    def _sizes(self):
        return sorted({size for _, size in self.chosen})

    def _message(self, size):
        bound_ms, limit = scene.bound(self.scene, size)
        runs = [self._run(name, size, bound_ms) for name in CONTENDERS if (name, size) in self.chosen]
        return {"bytes": size, "bound_ms": round(bound_ms, 3), "bound_limit": limit, "runs": runs}

    def _run(self, name, size, bound_ms):
        transport = self.chosen[name, size]
        chosen = self.runs[name, transport, size]
        others = {other: round(samples.median_ms(runs), 3)
                  for (contender, other, bytes_), runs in self.runs.items()
                  if (contender, bytes_) == (name, size) and other != transport}
        return ({"name": name} | samples.summary(chosen, bound_ms)
                | {"transport": transport, "other_transports_median_ms": others})


def document(collected, about):
    """The whole of demo.json."""
    scenes = [part.document() for part in collected if part.chosen]
    return {
        "format": 1,
        "bound_formula": scene.BOUND_FORMULA,
        "time_constants": "undilated",
        **about,
        "scenes": scenes,
        "verdicts": verdict.judge(scenes),
    }


def complaints(document):
    """What is wrong with a demo.json; an empty list if nothing is."""
    if not isinstance(document, dict) or not isinstance(document.get("scenes"), list):
        return ["scenes: a list is missing"]
    if not document["scenes"]:
        return ["scenes: empty"]
    found = []
    for i, part in enumerate(document["scenes"]):
        found += scene_complaints(f"scenes[{i}]", part)
    return found


def scene_complaints(where, part):
    found = key_complaints(where, part, {"nodes": int, "messages": list})
    if found:
        return found
    for i, message in enumerate(part["messages"]):
        inner = f"{where}.messages[{i}]"
        wrong = key_complaints(inner, message,
                               {"bytes": int, "bound_ms": (int, float), "runs": list})
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
