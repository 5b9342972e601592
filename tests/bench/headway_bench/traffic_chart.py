# SPDX-License-Identifier: Apache-2.0
"""A picture of what the trunk carried during programs of tests/bench/apps, as Figures 7 to 10 of Takano et al."""

from . import apps
from .apps_chart import LICENCE, svg

WIDTH, LEFT, RIGHT = 900, 70, 20
PANEL, GAP, HEADING, TOP = 130, 46, 46, 64
WAYS = ("a to b", "b to a")
# One above the axis, one below.
CONTENDERS = ("stock", "headway")

STYLE = """
svg { background: #fbfaf8; font: 13px system-ui, "Noto Sans", "DejaVu Sans", sans-serif; }
text { fill: #1c2126; } .soft { fill: #5b6670; font-size: 11.5px; } .title { font-size: 17px; font-weight: 700; }
.heading { font-size: 14px; font-weight: 600; } .grid { stroke: #dfe3e6; }
.stock { fill: #c2410c; } .headway { fill: #0b7a75; } .full { stroke: #5b6670; stroke-dasharray: 4 3; }
"""


def recorded(results):
    """(network, library, program, contender -> the first run whose traffic was recorded), where both have one."""
    found = {}
    for cell, runs in results.runs.items():
        run = next((run for run in runs if "traffic" in run), None)
        if run and cell.contender in CONTENDERS:
            found.setdefault((cell.network, cell.library, cell.program), {})[cell.contender] = run
    for key in sorted(found, key=lambda key: (list(apps.PROGRAMS).index(key[2]), key[0].nodes, key[0].delay_us, key[1])):
        if len(found[key]) == len(CONTENDERS):
            yield *key, found[key]


def picture(results):
    parts, y = [], TOP
    for network, library, program, runs in recorded(results):
        parts.append(svg.text(24, y + 16, f"{program}, {network.title}, {library}", "heading"))
        y += HEADING
        span_ms = max(len(run["traffic"]["bytes"][way]) * run["traffic"]["bin_ms"] for run in runs.values() for way in WAYS)
        for contender in CONTENDERS:
            parts += panel(contender, runs[contender], span_ms, network.scene().trunk_rate_bps, y)
            y += PANEL + GAP
    parts = [svg.element("style", STYLE), svg.text(24, 28, "What the trunk carried during the timed iterations", "title"),
             svg.text(24, 50, "all frames on the wire, in Mbit/s of each bin: upwards from cluster a to b, downwards back;"
                              " dashed: all that the trunk can carry", "soft"), *parts]
    return LICENCE + svg.drawing(WIDTH, y, parts, "Traffic on the trunk over time, stock and Headway") + "\n"


def panel(contender, run, span_ms, rate_bps, top):
    """One run; both ways share the axis in the middle."""
    traffic, middle, half = run["traffic"], top + PANEL / 2, PANEL / 2
    bin_ms, full = traffic["bin_ms"], rate_bps * traffic["bin_ms"] / 8e3
    scale = (WIDTH - LEFT - RIGHT) / span_ms
    yield svg.text(LEFT, top - 8, f"{apps.CONTENDERS[contender].title}: {apps.run_ms(run) / 1e3:.3f} s, {run['timeouts']} time-outs,"
                                  f" {sum(run['drops'].values())} drops, bins of {bin_ms} ms", "soft")
    for y, words in ((top, f"{rate_bps / 1e6:g}"), (middle, "0"), (top + PANEL, f"{rate_bps / 1e6:g}")):
        yield svg.line(LEFT, y, WIDTH - RIGHT, y, "grid" if words == "0" else "full")
        yield svg.text(LEFT - 8, y + 4, words, "soft", "end")
    for way, sign in zip(WAYS, (-1, 1)):
        yield svg.path(list(outline(traffic["bytes"][way], bin_ms * scale, middle, sign * half / full)), contender, close=True)
    for tick in svg.ticks(span_ms / 1e3):
        if tick * 1e3 <= span_ms:
            yield svg.text(LEFT + tick * 1e3 * scale, top + PANEL + 16, f"{tick:g} s", "soft", "middle")


def outline(bins, width, middle, height):
    """Draws the bins of one way as steps as wide as a bin; `height` of a byte."""
    yield LEFT, middle
    for number, count in enumerate(bins):
        yield LEFT + number * width, middle + count * height
        yield LEFT + (number + 1) * width, middle + count * height
    yield LEFT + len(bins) * width, middle
