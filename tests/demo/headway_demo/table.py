# SPDX-License-Identifier: Apache-2.0
"""The results as text for a terminal."""

from .contender import CONTENDERS

HEADINGS = ("", "median ms", "worst ms", "x bound", "RTOs", "retrans.", "port drops",
            "trunk drops", "samples", "mpiruns", "transport", "softirq")


def row(run):
    return (CONTENDERS[run["name"]].title, f"{run['median_ms']:.1f}", f"{run['max_ms']:.1f}",
            f"{run['bound_ratio']:.3f}", str(run["timeouts"]), str(run["retransmits"]),
            str(run["port_drops"]), str(run["trunk_drops"]), str(run["samples"]),
            str(run["mpiruns"]), run["transport"], f"{run['softirq_share'] * 100:.0f} %")


def lines_up(rows, words):
    """Columns of equal width: those numbered in `words` to the left, numbers to the right."""
    widths = [max(len(line[i]) for line in rows) for i in range(len(rows[0]))]
    return ["  ".join(cell.ljust(width) if i in words else cell.rjust(width)
                      for i, (cell, width) in enumerate(zip(line, widths))).rstrip()
            for line in rows]


def scene_lines(part):
    lines = [f"{part['title']}: host links {part['host_rate_bps'] / 1e6:g} Mbit/s, trunk "
             f"{part['trunk_rate_bps'] / 1e6:g} Mbit/s ({part['oversubscription']:g} : 1), buffers "
             f"{part['port_buffer_bytes'] // 1024} KiB a port, "
             f"{part['trunk_buffer_bytes'] // 1024} KiB at the trunk"]
    for message in part["messages"]:
        lines += ["", f"all-to-all of {message['bytes'] // 1024} KiB a pair, bound "
                      f"{message['bound_ms']:.1f} ms ({message['bound_limit']})"]
        rows = [HEADINGS] + [row(run) for run in message["runs"]]
        lines += ["  " + line for line in lines_up(rows, {0, HEADINGS.index("transport")})]
    return lines


def text(document):
    lines = []
    for part in document["scenes"]:
        lines += scene_lines(part) + [""]
    lines += [
        f"bound = {document['bound_formula']}",
        "RTOs, retransmissions and drops are sums over all samples, warm-up not included.",
        f"Time constants are {document['time_constants']}: links are 50 or 100 times slower than",
        "1 Gbit/s with the same frames, but TCP's time-outs are not slowed.  This flatters TCP:",
        "on real links an RTO costs 50 or 100 times more, in units of an all-to-all.",
    ]
    return "\n".join(lines)
