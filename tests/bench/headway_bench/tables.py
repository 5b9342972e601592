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
    """Names what kept a packet back: gap frames, or the timer."""
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
                         item["data_lines"], *held(item)])
    return table(["1514 bytes, one class", "enqueue", "dequeue", "sum", "/tbf", "/htb",
                  "lines", "gap frames or waits", "interrupts"], rows)


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


def phases_table(costs):
    items = [item for item in costs if item["group"] == "phases"]
    return table([f"{cases.PHASES} flows", "enqueue", "dequeue", "sum", "lines"],
                 [[item["title"], figure(item["enqueue"]), figure(item["dequeue"]),
                   figure(item["sum"]), item["data_lines"]] for item in items])


def drive_table(drives):
    rows = [[item["title"], f"{item['gaps_per_frame']:.2f}",
             f"{item['gap_wire_bytes_per_frame']:.0f}", f"{item['instructions_per_frame']:.0f}"]
            for item in drives]
    return table(["1 % of 1000 Mbit/s, per data frame", "gap frames", "their wire bytes",
                  "instructions"], rows)


def exactness_table(spacings):
    """Returns both back ends' rate error, and how far apart the earliest and the latest start are
    from their ideals."""
    rows = []
    shares = cases.spacing_cases.SHARES
    for qdisc in cases.spacing_cases.OWN:
        for link in cases.spacing_cases.LINKS_MBIT:
            for size in cases.spacing_cases.FASTER:
                found = {item["share"]: item for item in spacings
                         if (item["qdisc"], item["link_mbit"], item["frame_bytes"],
                             item["interrupt_ns"]) == (qdisc, link, size, 0)}
                rows.append([f"{qdisc} {link // 1000} Gbit/s {size} B",
                             *(f"{found[share]['rate_error']:+.0e} {found[share]['spread_bytes']:.0f}"
                               for share in shares)])
    return table(["rate error, spread of starts", *(f"{share / 100:g} %" for share in shares)], rows)


def spacing_table(spacings, interrupt_ns):
    """Quantile i of 200 is that which i half per cent do not exceed."""
    rows = []
    for item in spacings:
        if (item["frame_bytes"] != 1514 or item["share"] not in cases.SPACING_SHARES
                or item["interrupt_ns"] != interrupt_ns):
            continue
        errors = item["error_quantiles_bytes"]
        rows.append([f"{item['qdisc']} {item['link_mbit'] // 1000} Gbit/s {item['share'] / 100:g} %",
                     f"{item['interval_bytes']:.0f}", f"{item['rate_error']:+.1e}",
                     *(f"{errors[i]:+.0f}" for i in (0, 2, 100, 198, 200)),
                     f"{100 * item['back_to_back_share']:.1f} %"])
    load = f", interrupts of {interrupt_ns // 1000} us" if interrupt_ns else ""
    return table([f"1514 bytes{load}", "interval", "rate error", "least", "1 %", "median",
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
    yield from phases_table(document["costs"])
    yield ""
    yield from drive_table(document["drives"])
    yield ""
    yield "Starts on the wire beside their ideals, and distances between starts: what they"
    yield "deviate from those asked.  All in byte-times of the link."
    yield from exactness_table(document["spacing"])
    for interrupt_ns in (0, cases.spacing_cases.INTERRUPT_NS):
        yield ""
        yield from spacing_table(document["spacing"], interrupt_ns)
    yield ""
    yield from target_lines(document["targets"])
