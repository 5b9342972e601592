# SPDX-License-Identifier: Apache-2.0
"""Names what tests/bench/map measures (scenes, contenders) and what is left to do; says where
Headway helps, and makes the tables."""

import math
import sys
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import fmean, median

from . import apps

sys.path.append(str(Path(__file__).resolve().parents[2] / "demo"))
from headway_demo import scene as scenes  # noqa: E402
from headway_demo.contender import CONTENDERS, HEADWAY, SETTINGS  # noqa: E402

KIB = scenes.KIB
# Networks that differ in their buffers alone are one guest's.  Nodes and the trunk's delay, one way, in an
# order that leaves of an interrupted sweep a sample of all.
PLACES = ((8, 50), (8, 10_000), (16, 50), (8, 2000), (16, 10_000), (16, 2000))
# Buffers of a port; the port to the trunk has twice as much.
BUFFERS_BYTES = tuple(kib * KIB for kib in (16, 4, 64, 256))
SHALLOW_BYTES = 16 * KIB
# As many nodes' links together as fit four or two times into the trunk.
TRUNK_BPS = {8: scenes.GBIT, 16: 2 * scenes.GBIT}
# From one rank to another; in a gather a message goes to one rank only, so larger ones are as quick to emulate.
SIZES_BYTES = {"gather": tuple(kib * KIB for kib in (1, 4, 16, 64, 256)),
               "alltoall": tuple(kib * KIB for kib in (1, 4, 8, 16, 64))}
# A contender's settings of the MPI library, that of the demo first; of a rival the better one counts.
MAP_SETTINGS = {"stock": ("library",), "headway": ("helper",), "rto_min": ("as Headway", "library"),
                "fq": ("as Headway", "library"), "htb": ("as Headway", "library")}
OWN, ALONE, BY_FQ, STOCK, SHORT = "headway", "headway_alone", "headway_fq", "stock", "rto_delack"
RIVALS = tuple(name for name in MAP_SETTINGS if name != OWN)
# With those that are measured only when they are asked for.
ALL_SETTINGS = MAP_SETTINGS | {ALONE: ("helper alone",), BY_FQ: ("helper",), SHORT: ("as Headway", "library")}
LIBRARY = "ompi"
# Calls that do not count.
WARMUP = 1
# Fewer calls of large exchanges are sampled, because they take an emulated processor seconds.
MOST_CALLS_BYTES, FEWEST_CALLS = 12 << 20, 2
# A sweep goes over all networks by each contender's first setting, again for each operation's largest
# messages, which take longest, and again for the other settings: an interrupted one has all contenders.
PASSES = ("first", "largest", "other settings")
# Slower by that much than the best is as good.
AS_GOOD = 1.03

# For forecasts only, of the host's time on one processor of the machine this was tried on.
BOOT_S = {8: 60, 16: 90}
CELL_S = {8: 4, 16: 10}


@dataclass(frozen=True)
class Network:
    nodes: int
    delay_us: int
    buffer_bytes: int

    def scene(self):
        """The demo's two sites, with this delay and these buffers."""
        return replace(scenes.SITES, name=self.place_name, nodes_per_cluster=self.nodes // 2, trunk_rate_bps=TRUNK_BPS[self.nodes],
                       trunk_delay_us=self.delay_us, port_buffer_bytes=self.buffer_bytes,
                       trunk_buffer_bytes=2 * self.buffer_bytes, factor=apps.FACTORS[self.nodes])

    @property
    def place(self):
        return self.nodes, self.delay_us

    @property
    def place_name(self):
        return f"{self.nodes}-{self.delay_us}us"

    @property
    def title(self):
        return (f"{self.nodes // 2} + {self.nodes // 2} nodes, {self.delay_us / 1000:g} ms one way,"
                f" {self.buffer_bytes // KIB} KiB a port")


@dataclass(frozen=True)
class Cell:
    """A cell is measured once: the calls of one scene by one contender's one setting."""

    network: Network
    operation: str
    bytes: int
    contender: str
    setting: str

    def facts(self):
        return asdict(self)

    @classmethod
    def of(cls, facts):
        return cls(Network(**facts["network"]), *(facts[name] for name in ("operation", "bytes", "contender", "setting")))

    @property
    def scene(self):
        return self.network, self.operation, self.bytes

    @property
    def call_bytes(self):
        """Returns the bytes that all ranks send in a call."""
        nodes = self.network.nodes
        return (nodes * (nodes - 1) if self.operation == "alltoall" else nodes - 1) * self.bytes

    @property
    def pass_name(self):
        if ALL_SETTINGS[self.contender].index(self.setting):
            return PASSES[2]
        return PASSES[self.bytes == max(SIZES_BYTES[self.operation])]

    @property
    def job(self):
        """Cells with the same launch are one mpirun: all operations and sizes."""
        return self.network, self.contender, self.setting


def cells(places, buffers, operations, contenders, passes=PASSES):
    """In the order in which they are measured."""
    found = [Cell(Network(nodes, delay_us, buffer_bytes), operation, size, contender, setting)
             for nodes, delay_us in places for buffer_bytes in buffers for contender in contenders
             for setting in ALL_SETTINGS[contender] for operation in operations for size in SIZES_BYTES[operation]]
    return [cell for name in passes for cell in found if cell.pass_name == name]


class Results(apps.Results):
    """As that of apps; `document` is what map.json holds."""

    cell_type = Cell

    def has(self, cell):
        return cell in self.runs


def guests(wanted, results):
    """The cells that are missing, a list for each guest, in the order in which they are measured."""
    found = []
    for cell in wanted:
        if results.has(cell):
            continue
        kind = cell.network.place, cell.pass_name
        if not found or found[-1][0] != kind:
            found.append((kind, []))
        found[-1][1].append(cell)
    return [missing for _, missing in found]


def forecast_s(wanted, results):
    """Forecasts all cells that are missing, by how long cells like them took, where there are some.
    """
    def kind(cell):
        return cell.network.nodes, cell.operation, cell.bytes

    took = {}
    for cell, runs in results.runs.items():
        took.setdefault(kind(cell), []).extend(run["host_s"] for run in runs if "host_s" in run)
    each = {key: median(seconds) for key, seconds in took.items() if seconds}
    return sum(BOOT_S[missing[0].network.nodes] + sum(each.get(kind(cell), CELL_S[cell.network.nodes]) for cell in missing)
               for missing in guests(wanted, results))


# ---- what a guest is told ---------------------------------------------------------

def sampled_calls(cell, repetitions):
    return min(repetitions, max(MOST_CALLS_BYTES // cell.call_bytes, FEWEST_CALLS))


def bench_arguments(calls):
    """`calls`: (operation, bytes, sampled calls)."""
    return ["--warmup", str(WARMUP), "--pause", "--sizes", ",".join(":".join(map(str, one)) for one in calls)]


def job(group, repetitions):
    """One mpirun: cells that differ in their operations and sizes alone."""
    first = group[0]
    contender = CONTENDERS[first.contender]
    helped = contender.kind == HEADWAY
    # one call of the smallest size opens the same files
    program = apps.Program("tests/collective_bench", pauses=True, rehearsed={"arguments": bench_arguments([("gather", KIB, 1)])},
                           arguments=bench_arguments([(cell.operation, cell.bytes, sampled_calls(cell, repetitions)) for cell in group]))
    return {"cells": [cell.facts() for cell in group], "library": LIBRARY, "setup": contender.set_up_by,
            "words": list(SETTINGS[first.setting][LIBRARY]), "helper": helped, "alone": first.contender == ALONE,
            "rehearsal": (helped, first.contender == ALONE),
            "program": asdict(program)}


def guest_spec(missing, repetitions):
    """For one guest: networks that differ in their buffers, each with its jobs."""
    networks = {}
    for cell in missing:
        networks.setdefault(cell.network, {}).setdefault(cell.job, []).append(cell)
    return {"scene": missing[0].network.scene().facts(),
            "networks": [{"port_buffer_bytes": network.scene().port_buffer_bytes,
                          "trunk_buffer_bytes": network.scene().trunk_buffer_bytes,
                          "jobs": [job(group, repetitions) for group in groups.values()]}
                         for network, groups in networks.items()]}


def run_of(result, report=None):
    """Keeps the result of a size that collective_bench has run; `report`: HEADWAY_REPORT's."""
    run = {name: result[name] for name in ("samples_ms", "warmup_ms", "timeouts", "retransmits", "slowest_flow_to_mean")}
    run["drops"] = {port: count for port, count in result["drops"].items() if count}
    if report:
        run["carried_out"] = carried_out(report, result["operation"], result["bytes"])
    return run


def carried_out(report, operation, size):
    """How Headway carried the calls of a size out; the report counts them by powers of two."""
    return [{name: row[name] for name in ("algorithm", "paced", "reason", "calls")} for row in report["collectives"]
            if row["operation"] == operation and row["message_bytes_most"] // 2 < size <= row["message_bytes_most"]]


# ---- what came out ------------------------------------------------------------------

def summary(cell, run):
    """A call that waits for a time-out counts with all that it takes."""
    return {"mean_ms": fmean(run["samples_ms"]), "median_ms": median(run["samples_ms"]),
            "worst_ms": max(run["samples_ms"]), "first_ms": max(run["warmup_ms"]), "setting": cell.setting,
            "calls": len(run["samples_ms"]), "timeouts": run["timeouts"], "retransmits": run["retransmits"],
            "drops": sum(run["drops"].values()), "plan": run.get("plan")}


@dataclass(frozen=True)
class Scene:
    """One operation with one size in one network; `found`: contender -> summary of its best setting."""

    network: Network
    operation: str
    bytes: int
    found: dict

    @property
    def complete(self):
        return set(self.found) >= set(MAP_SETTINGS)

    @property
    def shallow(self):
        return self.network.buffer_bytes <= SHALLOW_BYTES

    @property
    def plan(self):
        return self.found[OWN]["plan"]

    @property
    def best_rival(self):
        return min(RIVALS, key=self.mean_ms)

    def mean_ms(self, contender):
        return self.found[contender]["mean_ms"]

    def ratio(self, contender, other):
        return self.mean_ms(contender) / self.mean_ms(other)

    @property
    def to_stock(self):
        return self.ratio(OWN, STOCK)

    @property
    def to_best(self):
        return self.ratio(OWN, self.best_rival)

    def to_fastest(self, contender):
        return self.mean_ms(contender) / min(self.mean_ms(name) for name in MAP_SETTINGS)

    @property
    def burst_to_buffer(self):
        """Returns what all senders together have for the port where that is most, as a multiple of
        its buffer."""
        half, nodes = self.network.nodes // 2, self.network.nodes
        across = half * half if self.operation == "alltoall" else half
        return max((nodes - 1) * self.bytes / self.network.buffer_bytes, across * self.bytes / (2 * self.network.buffer_bytes))

    @property
    def title(self):
        return f"{self.network.title}, {self.operation} of {self.bytes // KIB} KiB"


def all_scenes(results):
    """Returns everything that was measured, sorted; of several settings the one with the lowest
    mean counts."""
    found = {}
    for cell, runs in results.runs.items():
        best = found.setdefault(cell.scene, {})
        for run in runs:
            one = summary(cell, run)
            if cell.contender not in best or one["mean_ms"] < best[cell.contender]["mean_ms"]:
                best[cell.contender] = one

    def order(key):
        network, operation, size = key
        return network.nodes, network.delay_us, network.buffer_bytes, operation, size

    return [Scene(*key, found[key]) for key in sorted(found, key=order)]


def geometric_mean(ratios):
    ratios = list(ratios)
    return math.exp(fmean(math.log(ratio) for ratio in ratios)) if ratios else math.nan


def single_rival(complete):
    """The one rival that is best over all scenes."""
    return min(RIVALS, key=lambda name: geometric_mean(one.to_fastest(name) for one in complete))


def conclusions(complete):
    """Sums up all complete scenes."""
    rival = single_rival(complete)
    shallow = [one for one in complete if one.shallow]
    return {
        "scenes": len(complete), "shallow": len(shallow),
        "as_good": sum(one.to_best <= AS_GOOD for one in complete),
        "faster": sum(one.to_best < 1 for one in complete),
        "paced": sum(one.plan["paced"] for one in complete),
        "single_rival": rival,
        "to_single_rival": geometric_mean(one.ratio(OWN, rival) for one in complete),
        "to_single_rival_shallow": geometric_mean(one.ratio(OWN, rival) for one in shallow),
        "to_stock": geometric_mean(one.to_stock for one in complete),
        "to_stock_shallow": geometric_mean(one.to_stock for one in shallow),
        "worst": {name: max(complete, key=lambda one, name=name: one.to_fastest(name)) for name in MAP_SETTINGS},
        "lossy": [one for one in complete if one.found[OWN]["drops"] or one.found[OWN]["timeouts"]],
        "slower": sorted((one for one in complete if one.to_best > AS_GOOD), key=lambda one: -one.to_best),
    }


# ---- tables -------------------------------------------------------------------------

def scene_row(one):
    columns = "".join(
        f"{found['mean_ms']:10.3f} {found['median_ms']:9.3f}{found['timeouts']:6}{found['retransmits']:6}{found['drops']:6}"
        if (found := one.found.get(name)) else f"{'-':>37}" for name in MAP_SETTINGS)
    row = f"{one.operation:9}{one.bytes // KIB:4}{one.burst_to_buffer:8.2f}{columns}"
    if not one.complete:
        return row
    predicted = (one.plan[f"predicted_{way}"] for way in ("unpaced", "paced"))
    return (f"{row}{one.to_stock:8.3f}{one.to_best:8.3f} {one.best_rival:8}{'paced' if one.plan['paced'] else 'unpaced':8}"
            + "".join(f"{said['high_s'] * 1e3:9.3f}" if said else f"{'-':>9}" for said in predicted))


def scene_table(found):
    yield ("KiB from rank to rank; burst as a multiple of the buffer; of each contender ms of a call, mean and median, time-outs, segments"
           " sent again and drops in all sampled calls;")
    yield "Headway's mean over stock's and the best rival's; what the planner decides, and the ms it predicts at most unpaced and paced"
    network = None
    for one in found:
        if one.network != network:
            network = one.network
            yield f"\n{network.title}"
            yield (f"{'':21}" + "".join(f"{CONTENDERS[name].title:>37}" for name in MAP_SETTINGS))
            yield (f"{'operation':9}{'KiB':>4}{'burst':>8}" + "".join(f"{'mean':>10}{'median':>10}{'RTOs':>6}{'retr.':>6}{'drops':>6}"
                                                                      for _ in MAP_SETTINGS)
                   + f"{'/stock':>8}{'/best':>8} {'best':8}{'planner':8}{'unpaced':>9}{'paced':>9}")
        yield scene_row(one)


def groups(complete):
    """(network, operation, scenes): all message sizes together."""
    keys = dict.fromkeys((one.network, one.operation) for one in complete)
    return [(network, operation, [one for one in complete if (one.network, one.operation) == (network, operation)])
            for network, operation in keys]


def group_table(complete):
    yield "geometric means over all message sizes, and the worst of them; scenes in which Headway is as good as the best of the others"
    yield f"{'network':45}{'operation':10}{'scenes':>7}{'/stock':>9}{'/best':>9}{'worst':>9}{'as good':>9}{'paced':>7}"
    for network, operation, found in groups(complete):
        yield (f"{network.title:45}{operation:10}{len(found):7}{geometric_mean(one.to_stock for one in found):9.3f}"
               f"{geometric_mean(one.to_best for one in found):9.3f}{max(one.to_best for one in found):9.3f}"
               f"{sum(one.to_best <= AS_GOOD for one in found):9}{sum(one.plan['paced'] for one in found):7}")


def one_line(one):
    own, rival = one.found[OWN], one.found[one.best_rival]
    return (f"  {one.to_best:7.3f}  {one.title}: {own['mean_ms']:.3f} ms ({own['timeouts']} time-outs, {own['drops']} drops),"
            f" {CONTENDERS[one.best_rival].title} {rival['mean_ms']:.3f} ({rival['timeouts']}, {rival['drops']}),"
            f" stock {one.mean_ms(STOCK):.3f}; {'paced' if one.plan['paced'] else 'not paced'}: {one.plan['reason']}")


def conclusion_lines(complete):
    said = conclusions(complete)
    rival = CONTENDERS[said["single_rival"]].title
    yield (f"Headway is at most {AS_GOOD} times the best of the others in {said['as_good']} of {said['scenes']} scenes, faster than all in"
           f" {said['faster']}; the planner paces {said['paced']}")
    yield f"the single rival that is best over all scenes: {rival}"
    for where, most in (("all scenes", ""), (f"the {said['shallow']} shallow scenes", "_shallow")):
        yield (f"geometric mean of Headway over {rival} in {where}: {said['to_single_rival' + most]:.3f}; over stock:"
               f" {said['to_stock' + most]:.3f}")
    yield "worst case of each contender, as a multiple of the fastest of that scene:"
    for name, one in said["worst"].items():
        yield (f"  {CONTENDERS[name].title:14}{one.to_fastest(name):9.2f}  {one.title}: {one.mean_ms(name):.3f} ms,"
               f" {one.found[name]['timeouts']} time-outs")
    for title, chosen in (("Headway lost frames or met time-outs", said["lossy"]),
                          (f"Headway took more than {AS_GOOD} times the best rival's time, the worst first", said["slower"])):
        yield f"{title}: {len(chosen)} scenes"
        yield from map(one_line, chosen)


def loses(summarised):
    return bool(summarised["drops"] or summarised["timeouts"])


def alone_to(one, other, measure="median_ms"):
    return one.found[ALONE][measure] / one.found[other][measure]


# Headway without root must meet these: beside whom, by which measure, at most so many times the
# other's, in this part of the scenes at least.
ALONE_TARGETS = ((OWN, "median_ms", 1.06, 0.9), (OWN, "median_ms", 1.25, 1), (OWN, "worst_ms", 1.2, 0.9),
                 (SHORT, "median_ms", 1.01, 0.98), (STOCK, "median_ms", 1.03, 1))


def alone_lines(found):
    """Compares Headway without root with others, in the scenes that both have."""
    measured = [one for one in found if {OWN, ALONE} <= set(one.found)]
    if not measured:
        return
    lossy = [one for one in measured if loses(one.found[ALONE]) and not loses(one.found[OWN])]
    yield (f"\nHeadway without root, in {len(measured)} scenes: it lost frames or met time-outs in {len(lossy)} in which"
           " Headway did not")
    for other, measure, most, wanted in ALONE_TARGETS:
        both = [one for one in measured if other in one.found]
        met = [one for one in both if alone_to(one, other, measure) <= most]
        if both:
            what = {"median_ms": "median", "worst_ms": "worst call"}[measure]
            yield (f"  {'met' if len(met) >= wanted * len(both) else 'MISSED'}: its {what} is at most {most} x that of"
                   f" {CONTENDERS[other].title} in {len(met)} of {len(both)} scenes; {wanted:.0%} are wanted")
    soon = [one for one in measured if one.found[ALONE]["first_ms"] <= 2 * one.found[ALONE]["median_ms"] + 2]
    yield (f"  {'met' if len(soon) == len(measured) else 'MISSED'}: its first call takes at most 2 x its median and 2 ms"
           f" in {len(soon)} of {len(measured)} scenes; 100% are wanted")
    for other in (OWN, SHORT, STOCK):
        both = [one for one in measured if other in one.found]
        for one in sorted(both, key=lambda one, other=other: -alone_to(one, other))[:5]:
            alone, their = one.found[ALONE], one.found[other]
            yield (f"  {alone_to(one, other):6.3f}  {one.title}: {alone['median_ms']:.3f} ms, {CONTENDERS[other].title}"
                   f" {their['median_ms']:.3f}; {alone['drops']} drops, {alone['timeouts']} time-outs")


def report(results):
    found = all_scenes(results)
    complete = [one for one in found if one.complete]
    yield from scene_table(found)
    yield f"\n{len(complete)} scenes are complete, {len(found) - len(complete)} in part"
    if complete:
        yield from conclusion_lines(complete)
        yield ""
        yield from group_table(complete)
    yield from alone_lines(found)
