# SPDX-License-Identifier: Apache-2.0
"""The figures as text."""

from . import cases
from .results import Costs


def table(headings, rows):
    """Columns as wide as need be; the first to the left, figures to the right."""
    rows = [[str(cell) for cell in row] for row in rows]
    widths = [max(len(row[i]) for row in [headings, *rows]) for i in range(len(headings))]
    for row in [headings, *rows]:
        cells = [row[0].ljust(widths[0])] + [cell.rjust(width)
                                             for cell, width in zip(row[1:], widths[1:])]
        yield "  ".join(cells).rstrip()


def figure(value):
    return f"{value:.0f}" if value >= 100 or value == int(value) else f"{value:.1f}"


def ratio(value, base):
    return f"{value / base['sum']:.2f}" if base else "-"


def held(item):
    """What keeping a packet back took: gap frames, or the timer."""
    if item["gaps_per_frame"]:
        return f"{item['gaps_per_frame']:.2f} x {figure(item['gap_each'])}", "-"
    if item["waits_per_frame"]:
        return (f"{item['waits_per_frame']:.2f} x {figure(item['wait_each'])}",
                f"{item['interrupts_per_frame']:.2f} x {figure(item['interrupt_each'])}")
    return "-", "-"


def packet_table(costs):
    """One class or flow, frames of 1514 bytes, no GSO: everything."""
    load = cases.Load(1514)
    find = Costs(costs).find
    tbf, htb = find("cost", "tbf", load), find("cost", "htb", load)
    rows = []
    for contender in cases.CONTENDERS:
        item = find("cost", contender.key, load)
        if item:
            rows.append([item["title"], figure(item["enqueue"]), figure(item["dequeue"]),
                         figure(item["sum"]), ratio(item["sum"], tbf), ratio(item["sum"], htb),
                         *held(item)])
    return table(["1514 bytes, one class", "enqueue", "dequeue", "sum", "/tbf", "/htb",
                  "gap frames or waits", "interrupts"], rows)


def loads_table(costs):
    """Sums, for every kind of load."""
    loads = list(cases.cost_loads())
    single = cases.Load(1514, backlog=0)
    find = Costs(costs).find
    rows = []
    for contender in cases.CONTENDERS:
        items = [find("cost", contender.key, load) for load in [*loads, single]]
        if any(items):
            rows.append([contender.title, *(figure(item["sum"]) if item else "-" for item in items)])
    headings = [f"{load.frame_bytes}{f' GSO {load.segments}' if load.segments > 1 else ''}"
                f" x{load.lanes}" for load in loads]
    return table(["enqueue + dequeue per frame", *headings, "1514 one by one"], rows)


def classes_table(costs):
    find = Costs(costs).find
    rows = []
    for key in ("gap", "timer", "htb"):
        items = [find("classes", key, cases.Load(1514, lanes=lanes, backlog=2))
                 for lanes in cases.CLASS_COUNTS]
        rows.append([cases.BY_KEY[key].title.split(",")[0],
                     *(figure(item["sum"]) if item else "-" for item in items)])
    return table(["classes", *map(str, cases.CLASS_COUNTS)], rows)


def drive_table(drives, group, heading):
    rows = [[item["title"], f"{item['gaps_per_frame']:.2f}",
             f"{item['gap_wire_bytes_per_frame']:.0f}", f"{item['instructions_per_frame']:.0f}"]
            for item in drives if item["group"] == group]
    return table([heading, "gap frames", "their wire bytes", "instructions"], rows)


def spacing_table(spacings):
    """Quantile i of 200 is that which i half per cent do not exceed."""
    rows = []
    for item in spacings:
        errors = item["error_quantiles_bytes"]
        rows.append([f"{item['qdisc']} {item['share'] / 100:g} %", f"{item['interval_bytes']:.0f}",
                     f"{item['rate_error']:+.1e}",
                     *(f"{errors[i]:+.0f}" for i in (0, 2, 100, 198, 200)),
                     f"{100 * item['back_to_back_share']:.1f} %"])
    return table(["1000 Mbit/s, 1514 bytes", "interval", "rate error", "least", "1 %", "median",
                  "99 %", "most", "back to back"], rows)


def target_lines(targets):
    for item in targets:
        word = "met" if item["met"] else "missed"
        yield f"{word:6}  {item['value']:.2f} (at most {item['limit']:g})  {item['target']}"


def report(document):
    yield "Instructions per frame of data; half the link's rate where a qdisc paces."
    yield "Gap frames, or the timer of those that wait, are apart: how often x how many."
    yield ""
    yield from packet_table(document["costs"])
    yield ""
    yield from loads_table(document["costs"])
    yield ""
    yield from classes_table(document["costs"])
    yield ""
    yield from drive_table(document["drives"], "hybrid", "1 % of 1000 Mbit/s, per data frame")
    yield ""
    yield from drive_table(document["drives"], "frame-max", "of 50 Mbit/s, per data frame")
    yield ""
    yield "Distances between starts: what they deviate from those asked, in byte-times."
    yield from spacing_table(document["spacing"])
    yield ""
    yield from target_lines(document["targets"])
