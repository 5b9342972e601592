# SPDX-License-Identifier: Apache-2.0
"""The targets Headway is measured against, and whether it met them.

Judged is the contender `headway`, against others with the same MPI library, message
and way of calling.
"""

from dataclasses import dataclass, field

from .contender import CONTENDERS, PLAIN, RATES
from .scene import KIB

# This part of any contender's time; above it the processor, not the network, might set the times.
SOFTIRQ_MOST = 0.30
# A message of this size or more is compared with the floor, a smaller one with stock.
FLOOR_FROM = 16 * KIB


@dataclass(frozen=True)
class Limits:
    """Ratios of Headway's times that must not be exceeded; None: nothing is asked."""

    lossless: bool = True
    floor: tuple = None             # median <= ratio x floor + ms
    stock: float = None             # median / stock's, below FLOOR_FROM, where stock loses nothing
    first: tuple = None             # first call <= ratio x median + ms
    worst: float = None             # worst / median
    plain_median: dict = field(default_factory=dict)    # bytes -> to the best of those without rates
    plain_above: float = None       # the same for every larger size
    plain_worst: dict = field(default_factory=dict)     # bytes -> worst / the best worst
    rates: float = None             # median and worst to the best of those with rates
    rates_strictly: bool = False
    anyone: float = None            # median to the best of all


FLOOR, FIRST = (1.02, 0.030), (1.5, 2.0)

LIMITS = {
    "rack": Limits(floor=FLOOR, stock=1.01, first=FIRST, worst=1.05,
                   plain_median={16 * KIB: 0.5, 32 * KIB: 0.5, 64 * KIB: 0.9}, plain_above=1.0,
                   plain_worst={16 * KIB: 0.15, 64 * KIB: 0.6}, rates=1.0),
    "shallow": Limits(floor=FLOOR, stock=1.01, first=FIRST, worst=1.05,
                      plain_median={16 * KIB: 0.2, 64 * KIB: 0.55}, rates=1.0, rates_strictly=True),
    "ten": Limits(lossless=False, floor=FLOOR),
    "sites": Limits(anyone=1.03),
}


def judge(scenes):
    """One verdict per target: dictionaries with scene, bytes, target, met, ..."""
    return [verdict
            for scene in scenes if scene["name"] in LIMITS
            for message in scene["messages"]
            for verdict in judge_message(scene["name"], message)]


def judge_message(scene_name, message):
    libraries = dict.fromkeys(run["library"] for run in message["runs"])
    return [{"scene": scene_name, "bytes": message["bytes"], "pauses_ms": message["pauses_ms"],
             "library": library, **verdict}
            for library in libraries
            for verdict in judge_runs(LIMITS[scene_name], message, [
                run for run in message["runs"] if run["library"] == library])]


def judge_runs(limits, message, runs):
    verdicts = [at_most("largest softirq share", max(run["softirq_share"] for run in runs), SOFTIRQ_MOST)]
    own = next((run for run in runs if run["name"] == "headway"), None)
    if own is None:
        return verdicts
    verdicts += by_itself(limits, message, own)
    plain, rates = of_kind(runs, PLAIN), of_kind(runs, RATES)
    floor_ms = message["floor_ms"]
    verdicts += against_stock(limits, message, own, plain)
    verdicts += against_plain(limits, message, own, plain)
    if limits.rates:
        verdicts += against("with rates", own, rates, "median_ms", limits.rates, None, limits.rates_strictly)
        verdicts += against("with rates", own, rates, "max_ms", limits.rates, None, limits.rates_strictly)
    if limits.anyone:
        verdicts += against("", own, plain + rates, "median_ms", limits.anyone, floor_ms)
    return verdicts


def of_kind(runs, kind):
    return [run for run in runs if CONTENDERS[run["name"]].kind == kind]


def by_itself(limits, message, own):
    median_ms = own["median_ms"]
    if limits.lossless:
        yield at_most("RTOs, warm-up included", own["timeouts"] + own["warmup_timeouts"], 0)
        yield at_most("drops, warm-up included",
                      own["trunk_drops"] + own["port_drops"] + own["warmup_drops"], 0)
    if limits.floor and message["bytes"] >= FLOOR_FROM:
        ratio, more_ms = limits.floor
        yield at_most("median ms, against the floor", median_ms,
                      round(ratio * message["floor_ms"] + more_ms, 4))
    if limits.first and own["first_ms"] is not None:
        ratio, more_ms = limits.first
        yield at_most("first call, ms", own["first_ms"], round(ratio * median_ms + more_ms, 4))
    if limits.worst:
        yield at_most("worst / median", round(own["max_ms"] / median_ms, 4), limits.worst)


def against_stock(limits, message, own, plain):
    stock = next((run for run in plain if run["name"] == "stock"), None)
    if not limits.stock or message["bytes"] >= FLOOR_FROM or stock is None or lost(stock):
        return []
    return [ratio_to("median / stock's median", own, stock, "median_ms", limits.stock)]


def lost(run):
    return run["timeouts"] + run["retransmits"] + run["trunk_drops"] + run["port_drops"] > 0


def against_plain(limits, message, own, plain):
    size = message["bytes"]
    above = size > max(limits.plain_median, default=0) and limits.plain_above
    verdicts = []
    if size in limits.plain_median or above:
        verdicts += against("without rates", own, plain, "median_ms",
                            limits.plain_median.get(size, above), message["floor_ms"])
    if size in limits.plain_worst:
        verdicts += against("without rates", own, plain, "max_ms", limits.plain_worst[size],
                            message["floor_ms"])
    return verdicts


def against(whom, own, others, key, limit, floor_ms, strictly=False):
    """Compares with the best of them.  Where the floor alone is a larger part of its time than the
    limit allows, nobody could meet it: the floor target alone holds (`floor_ms` None: it is
    asked all the same)."""
    if not others:
        return []
    best = min(others, key=lambda run: run[key])
    what = "median" if key == "median_ms" else "worst"
    target = f"{what} / best {what} {whom}".rstrip() + f" ({best['name']})"
    if floor_ms is not None and floor_ms / best[key] > limit:
        return [at_most(target, round(own[key] / best[key], 4), limit)
                | {"met": True, "note": f"the floor is {floor_ms / best[key]:.3f} of it,"
                                        " so that the floor target alone holds"}]
    return [ratio_to(target, own, best, key, limit, strictly)]


def ratio_to(target, own, other, key, limit, strictly=False):
    return at_most(target, round(own[key] / other[key], 4), limit, strictly)


def at_most(target, value, limit, strictly=False):
    met = value < limit if strictly else value <= limit
    return {"target": target, "value": value, "limit": limit, "strictly": strictly, "met": met}


def where(verdict):
    """The cell of the table it is about."""
    return (f"{verdict['scene']}, {verdict['library']}, {verdict['bytes'] // KIB} KiB,"
            f" {'with pauses' if verdict['pauses_ms'] else 'back to back'}")


def sentence(verdict):
    """met / missed, by how much, for the terminal and the report."""
    relation = "below" if verdict["strictly"] else "at most"
    text = f"{where(verdict)}: {verdict['target']} {verdict['value']:g} ({relation} {verdict['limit']:g})"
    return f"{'met   ' if verdict['met'] else 'MISSED'} {text}{margin(verdict)}"


def margin(verdict):
    if verdict["met"]:
        return f", {verdict['note']}" if "note" in verdict else ""
    over = verdict["value"] - verdict["limit"]
    if verdict["limit"]:
        return f", by {over / verdict['limit'] * 100:.1f} %"
    return f", by {over:g}"
