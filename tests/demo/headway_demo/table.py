# SPDX-License-Identifier: Apache-2.0
"""The results as text for a terminal."""

from . import felt, prediction
from .contender import CONTENDERS, LIBRARIES
from .verdict import SOFTIRQ_MOST

HEADINGS = ("", "library", "median ms", "worst ms", "first ms", "x floor", "cv", "RTOs", "retrans.",
            "port drops", "trunk drops", "slowest flow", "samples", "launches", "busy", "softirq", "setting")
WORDS = {0, 1, len(HEADINGS) - 1}


def row(run, floor_ms):
    first = "-" if run["first_ms"] is None else f"{run['first_ms']:.2f}"
    return (CONTENDERS[run["name"]].title, LIBRARIES[run["library"]], f"{run['median_ms']:.3f}",
            f"{run['max_ms']:.3f}", first, f"{run['median_ms'] / floor_ms:.3f}", f"{run['cv']:.3f}",
            str(run["timeouts"]), str(run["retransmits"]), str(run["port_drops"]), str(run["trunk_drops"]),
            f"{run['slowest_flow_to_mean']:.2f}", str(run["samples"]), str(run["mpiruns"]),
            f"{run['busy_share'] * 100:.0f} %", f"{run['softirq_share'] * 100:.0f} %", run["transport"])


def lines_up(rows, words):
    """Columns of equal width: those numbered in `words` to the left, numbers to the right."""
    widths = [max(len(line[i]) for line in rows) for i in range(len(rows[0]))]
    return ["  ".join(cell.ljust(width) if i in words else cell.rjust(width)
                      for i, (cell, width) in enumerate(zip(line, widths))).rstrip()
            for line in rows]


def link(rate_bps):
    return f"{rate_bps / 1e9:g} Gbit/s"


def scene_lines(part):
    lines = [f"{part['name']}, {part['title']}: host links {link(part['host_rate_bps'])}, trunk "
             f"{link(part['trunk_rate_bps'])} ({part['oversubscription']:g} : 1) of "
             f"{part['trunk_delay_us'] / 1e3:g} ms, buffers {part['port_buffer_bytes'] // 1024} KiB a port, "
             f"{part['trunk_buffer_bytes'] // 1024} KiB at the trunk; processor {part['factor']} times faster"]
    for message in part["messages"]:
        lines += ["", felt.heading(message)]
        rows = [HEADINGS] + [row(run, message["floor_ms"]) for run in message["runs"]]
        lines += ["  " + line for line in lines_up(rows, WORDS)]
        lines += ["  " + sentence for sentence in felt.sentences(message)]
        lines += ["  " + warning for warning in warnings(message)]
    if predicted := prediction.rows(part):
        lines += ["", "predicted by headway plan, and measured"]
        rows = [prediction.HEADINGS] + [cells for _, cells in predicted]
        lines += ["  " + line for line in lines_up(rows, {0, 1, 2, 3})]
    return lines


def warnings(message):
    """Says where the emulated processor may have set the times."""
    for run in message["runs"]:
        if run["softirq_share"] > SOFTIRQ_MOST:
            yield (f"WARNING: {CONTENDERS[run['name']].title}, {LIBRARIES[run['library']]}: "
                   f"{run['softirq_share'] * 100:.0f} % of the processor's time went to softirqs, more than"
                   f" {SOFTIRQ_MOST * 100:.0f} %; the processor and not the network may have set the times")


def text(document):
    lines = []
    for part in document["scenes"]:
        lines += scene_lines(part) + [""]
    lines += [
        f"bound = {document['bound_formula']}",
        f"floor = {document['floor_formula']}",
        "RTOs, retransmissions and drops are sums over all samples, warm-up not included.",
        "Slowest flow: its rate / that of the mean flow of an exchange; 1 if all end at once.",
        "Links, TCP and all time constants are real: only the processor is faster than the one emulated.",
    ]
    return "\n".join(lines)
