# SPDX-License-Identifier: Apache-2.0
"""The targets Headway is measured against, and whether it met them."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Targets:
    """Ratios Headway's times must not exceed."""

    to_bound: dict          # message bytes -> median / bound
    to_best_median: float   # median / best contender's median
    to_best_worst: float    # worst / best contender's worst
    worst_strictly_below: bool = False
    to_stock_median: float = None


TARGETS = {
    "ample": Targets(to_bound={16384: 1.18, 65536: 1.10, 262144: 1.10}, to_best_median=1.03,
                     to_best_worst=1.0, worst_strictly_below=True),
    "shallow": Targets(to_bound={65536: 1.09}, to_best_median=0.90, to_best_worst=0.85,
                       to_stock_median=0.70),
}


def judge(scenes):
    """One verdict per target: dictionaries with scene, bytes, target, met, ..."""
    return [verdict
            for scene in scenes if scene["name"] in TARGETS
            for message in scene["messages"]
            for verdict in judge_message(scene["name"], message)]


def judge_message(scene_name, message):
    runs = {run["name"]: run for run in message["runs"]}
    headway = runs.pop("headway", None)
    if headway is None:
        return []
    targets = TARGETS[scene_name]
    verdicts = [at_most("RTOs", headway["timeouts"], 0),
                at_most("drops", headway["trunk_drops"] + headway["port_drops"], 0)]
    if message["bytes"] in targets.to_bound:
        verdicts.append(ratio("median / bound", headway["median_ms"], message["bound_ms"],
                              targets.to_bound[message["bytes"]]))
    if runs:
        verdicts += against_contenders(headway, runs, targets)
    return [{"scene": scene_name, "bytes": message["bytes"], **verdict} for verdict in verdicts]


def against_contenders(headway, others, targets):
    fastest = min(others, key=lambda name: others[name]["median_ms"])
    steadiest = min(others, key=lambda name: others[name]["max_ms"])
    verdicts = [
        ratio(f"median / best contender's median ({fastest})", headway["median_ms"],
              others[fastest]["median_ms"], targets.to_best_median),
        ratio(f"worst / best contender's worst ({steadiest})", headway["max_ms"],
              others[steadiest]["max_ms"], targets.to_best_worst, targets.worst_strictly_below),
    ]
    if targets.to_stock_median and "stock" in others:
        verdicts.append(ratio("median / stock's median", headway["median_ms"],
                              others["stock"]["median_ms"], targets.to_stock_median))
    return verdicts


def at_most(target, value, limit, strictly=False):
    met = value < limit if strictly else value <= limit
    return {"target": target, "value": value, "limit": limit, "strictly": strictly, "met": met}


def ratio(target, value, base, limit, strictly=False):
    return at_most(target, round(value / base, 4), limit, strictly)


def sentence(verdict):
    """met / missed, by how much, for the terminal and the report."""
    relation = "below" if verdict["strictly"] else "at most"
    size = f"{verdict['bytes'] // 1024} KiB"
    text = (f"{verdict['scene']}, {size}: {verdict['target']} {verdict['value']:g}"
            f" ({relation} {verdict['limit']:g})")
    return f"{'met   ' if verdict['met'] else 'MISSED'} {text}{margin(verdict)}"


def margin(verdict):
    if verdict["met"]:
        return ""
    over = verdict["value"] - verdict["limit"]
    if verdict["limit"]:
        return f", by {over / verdict['limit'] * 100:.1f} %"
    return f", by {over:g}"
