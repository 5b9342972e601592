# SPDX-License-Identifier: Apache-2.0
"""Figures made from what the guest counted, and what they must be."""

from . import cases

TBF_LIMIT = 1.4         # paced MTU packet, default class, no filter: times tbf
# With a filter and one class: times htb.  flower itself takes four fifths of gap's figure.
HTB_LIMITS = {"u32": 0.5, "flower": 0.75}
CLASSES_LIMIT = 100     # 10 000 classes: instructions more than 10
PHASES_LIMIT = 20       # 16 phases in use: instructions more
WHOLE_LIMIT = 20        # a GSO packet within the burst: instructions a frame
BPF_WHOLE_LIMIT = 30    # by the BPF qdisc
BPF_CLASSES_LIMIT = 1.3


def cost(case, count):
    """Instructions per frame of data; what holding packets back takes is apart."""
    frames = count["frames"]
    figures = {"group": case.group, "qdisc": case.contender.key, "title": case.contender.title,
               "frame_bytes": case.load.frame_bytes, "segments": case.load.segments,
               "lanes": case.load.lanes, "lanes_are": case.contender.many or "flows",
               "one_by_one": not case.load.backlog, "frames": frames}
    for call in ("enqueue", "dequeue"):
        figures[call] = count[call]["instructions"] / frames
        figures[f"{call}_most"] = count[call]["most"]
    figures["sum"] = figures["enqueue"] + figures["dequeue"]
    figures["data_lines"] = count["data_lines"]
    for call in ("gap", "wait", "interrupt"):
        calls = count[call]["calls"]
        figures[f"{call}s_per_frame"] = calls / frames
        figures[f"{call}_each"] = count[call]["instructions"] / calls if calls else 0
    figures["held"] = sum(count[call]["instructions"]
                          for call in ("gap", "wait", "interrupt")) / frames
    return figures


def drive(case, count):
    frames = count["frames"]
    return {"group": case.group, "key": case.key, "title": case.title, "frames": frames,
            "gaps_per_frame": count["gaps"] / frames,
            "gap_wire_bytes_per_frame": count["gap_wire_bytes"] / frames,
            "instructions_per_frame": count["busy"] / frames}


def spacing(measured):
    """Deviations of the distance between starts from what was asked, in byte-times."""
    stats = measured["stats"]
    interval = stats["interval_bytes"]
    return {"qdisc": measured["qdisc"], "link_mbit": measured["link_mbit"],
            "frame_bytes": measured["frame_bytes"], "share": measured["share"],
            "interrupt_ns": measured["interrupt_ns"], "faster": measured["faster"],
            "frames": stats["frames"], "gaps": stats["gaps"], "rate_error": stats["rate_error"],
            "spread_bytes": stats["latest_bytes"] - stats["earliest_bytes"],
            "interval_bytes": interval, "back_to_back_share": stats["back_to_back_share"],
            "error_quantiles_bytes": [quantile - interval
                                      for quantile in stats["spacing_quantiles_bytes"]]}


class Costs:
    """Finds a cost by what it is of."""

    def __init__(self, costs):
        self.costs = costs

    def find(self, group, qdisc, load):
        for item in self.costs:
            if (item["group"], item["qdisc"], item["frame_bytes"], item["segments"], item["lanes"],
                    item["one_by_one"]) == (group, qdisc, load.frame_bytes, load.segments,
                                            load.lanes, not load.backlog):
                return item
        return None


def target(what, value, limit):
    return {"target": what, "value": value, "limit": limit, "met": value <= limit}


def targets(costs):
    """The project's promises; a bench that lacks a figure fails."""
    find = Costs(costs).find
    one = cases.Load(1514)

    def ratio(group, qdisc, load, peer, peer_load):
        return find(group, qdisc, load)["sum"] / find(group, peer, peer_load)["sum"]

    def classes(lanes):
        return cases.Load(1514, lanes=lanes, backlog=2)

    yield target("paced MTU packet, default class, no filter: times tbf",
                 ratio("cost", "gap", one, "tbf", one), TBF_LIMIT)
    for kind in cases.FILTERS:
        yield target(f"with a {kind} filter and one class: times htb",
                     ratio("cost", f"gap-{kind}", one, f"htb-{kind}", one), HTB_LIMITS[kind])
    phases = cases.Load(1514, lanes=cases.PHASES, backlog=2)
    yield target(f"{cases.PHASES} phases in use: instructions more",
                 find("phases", "gap-phases", phases)["sum"] - find("phases", "gap-bpf", phases)["sum"],
                 PHASES_LIMIT)
    gso = cases.Load(1514, cases.GSO_SEGMENTS[1], 1, backlog=2)
    for back_end in ("gap", "timer"):
        yield target(f"{back_end}, GSO of {gso.segments} within the burst: instructions a frame",
                     find("cost", f"{back_end}-whole", gso)["sum"], WHOLE_LIMIT)
    if find("cost", "bpf", gso):
        yield target(f"bpf, GSO of {gso.segments}: instructions a frame", find("cost", "bpf", gso)["sum"], BPF_WHOLE_LIMIT)
        yield target("bpf, 100 classes: times one", ratio("classes", "bpf", classes(100), "bpf", classes(1)), BPF_CLASSES_LIMIT)
    for back_end in ("gap", "timer"):
        yield target(f"{back_end}, 10 000 classes: instructions more than 10 classes",
                     find("classes", back_end, classes(10000))["sum"] -
                     find("classes", back_end, classes(10))["sum"], CLASSES_LIMIT)
