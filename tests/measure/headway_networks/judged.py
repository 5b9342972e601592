# SPDX-License-Identifier: Apache-2.0
"""Sets what was found beside what there is, and what was predicted beside what was measured."""

import itertools
import math
import sys
from pathlib import Path
from statistics import median

from headway_bench.decisions import mean_ms
from headway_demo.scene import FRAME_WIRE_BYTES, SEGMENT_BYTES
from headway_live import calls

sys.path.append(str(Path(__file__).resolve().parents[1]))
from check_measured import holds, side, true_links  # noqa: E402

PAYLOAD = SEGMENT_BYTES / FRAME_WIRE_BYTES
# As userspace/measure/message_measurement.cpp.
JUMP_MS = 20


def links(found):
    """A row of each direction of a link that there is: hosts, direction, and (truth, found) of Mbit/s, delay in us and
    buffer in bytes; and whether the tree is exact."""
    nodes, _, rows = true_links(found["tree"].splitlines())
    truth = {tuple(side(hosts, nodes)): row for hosts, row in rows.items()}
    table, there = [], set()
    for link in found["document"]["links"]:
        key = tuple(side(link["hosts"], nodes))
        there.add(key)
        if key not in truth:
            continue
        mbit, delay_us, buffer = truth[key]
        table.append({"hosts": link["hosts"], "direction": link["direction"], "is_trunk": link["is_trunk"], "exact": link["exact"],
                      "mbit": (mbit, link["bps"] / 1e6),
                      "delay_us": (delay_us, link["delay_s"] * 1e6) if delay_us else None,
                      "buffer": (holds(buffer), link["buffer_bytes"]) if link["buffer_bytes"] is not None else None})
    return table, there == set(truth)


def off_pct(pair):
    truth, found = pair
    return 100 * (found / truth - 1)


def halo_messages(grid, is_periodic, size):
    """Returns the messages of a grid, whose last dimension counts first: one to each of two
    neighbours in each dimension, which are one host where there are two in a row and edges meet."""
    places = list(itertools.product(*map(range, grid)))

    def neighbour(place, dimension, step):
        moved = (place[dimension] + step) % grid[dimension]
        return places.index((*place[:dimension], moved, *place[dimension + 1:]))

    return [(rank, neighbour(place, dimension, step), size)
            for rank, place in enumerate(places) for dimension in range(len(grid)) for step in (-1, 1)
            if is_periodic or 0 <= place[dimension] + step < grid[dimension]]


def max_min(flows, limits):
    """Rates that grow together until a limit is met: (capacity, flows that share it, by number)."""
    rates, still = [0.0] * flows, set(range(flows))
    limits = [(capacity, set(of)) for capacity, of in limits]
    while still:
        def step(limit):
            capacity, of = limit
            return (capacity - sum(rates[i] for i in of)) / len(of & still)

        open_limits = [limit for limit in limits if limit[1] & still]
        least = min(open_limits, key=step)
        grown = max(step(least), 0.0)
        for i in still:
            rates[i] += grown
        still -= set().union(*(limit[1] for limit in open_limits if step(limit) <= 1e-9 * limit[0]), least[1])
    return rates


def link_limits(document, hosts, pattern):
    """Payload in Mbit/s of each measured link, and which of the pattern's flows cross it."""
    limits = []
    for link in document["links"]:
        below = {hosts.index(host) for host in link["hosts"]}
        crossing = [i for i, (source, destination) in enumerate(pattern)
                    if (source in below) != (destination in below) and (source in below) == (link["direction"] == "up")]
        if crossing:
            limits.append((link["bps"] * 1e-6 * PAYLOAD, crossing))
    return limits


def class_limits(plan, hosts, pattern):
    """Returns the planned rates: of a host, towards the hosts of a cluster."""
    cluster = {node["node"]: node["cluster"] for node in plan["nodes"]}
    limits = []
    for node in plan["nodes"]:
        for one in node["classes"]:
            of = [i for i, (source, destination) in enumerate(pattern)
                  if hosts[source] == node["node"] and cluster[hosts[destination]] == one["cluster"]]
            if of and one["bytes_per_s"]:
                limits.append((one["bytes_per_s"] * 8e-6 * PAYLOAD, of))
    return limits


def predicted_ms(prediction):
    """Returns the time in `headway plan`: by what was measured of such an exchange, else by the
    fluid model without time-outs."""
    known = prediction["measured"]
    return 1e3 * (known["time_s"] if known else prediction["low_s"])


def usual_ms(prediction):
    """Returns the time in `headway plan` of calls that wait for no time-out, by what was measured
    or learnt, or by the fluid model."""
    known = prediction["measured"]
    return 1e3 * (known["usual_s"] if known else prediction["low_s"])


def waiting(samples):
    """The calls that waited for a timer: those that took much longer than the shortest, as `headway measure` tells levels, or as
    long as a time-out, where even the shortest may have waited."""
    shortest = min(samples)
    return [sample for sample in samples if sample >= min(calls.TIMED_OUT_MS, shortest + JUMP_MS)]


def usual_median_ms(result):
    """Returns the median of the calls that waited for no timer; None: all did."""
    late = waiting(result["samples_ms"])
    others = sorted(result["samples_ms"])[:len(result["samples_ms"]) - len(late)]
    return median(others) if others else None


def interval(count, of):
    """The part that `count` of so many calls say of all calls, with 95 % confidence (Wilson's interval)."""
    z = 1.96
    middle, half = count + z * z / 2, z * math.sqrt(count * (1 - count / of) + z * z / 4)
    return max(0.0, (middle - half) / (of + z * z)), min(1.0, (middle + half) / (of + z * z))


def compared(result, prediction):
    """A size's calls beside a prediction of `headway plan`: the mean, in which a call that waits counts with all that it takes;
    the median of those that do not wait beside what is usual; and how many wait."""
    took, said, usual = mean_ms(result), predicted_ms(prediction), usual_ms(prediction)
    median_ms, late = usual_median_ms(result), len(waiting(result["samples_ms"]))
    known = prediction["measured"]
    row = {"bytes": result["bytes"], "mean_ms": took, "median_ms": median_ms, "predicted_ms": said, "usual_ms": usual,
           "error_pct": calls.error_pct(took, said), "late": late, "calls": len(result["samples_ms"]),
           "predicted_part": known["timeout_part"] if known else 0.0,
           "lost": result["drops"] > 0, "waits": bool(result["timeouts"] or late),
           "may_wait": prediction["timeouts"] > 0 or bool(known and known["was_lossy"])}
    return row | ({"usual_error_pct": calls.error_pct(median_ms, usual)} if median_ms else {})


def is_part_right(row):
    """Whether the calls that waited are as many as predicted, as far as so few calls can tell."""
    least, most = interval(row["late"], row["calls"])
    return least <= row["predicted_part"] <= most


def is_expected_to_wait(row):
    """Whether it is likelier than not that one of the calls waits, by the predicted part."""
    return (1 - row["predicted_part"]) ** row["calls"] <= 0.5


def first(rows, holds):
    """The smallest size of which that is true, or None."""
    return next((row["bytes"] for row in rows if holds(row)), None)
