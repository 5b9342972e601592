# SPDX-License-Identifier: Apache-2.0
"""One picture: what a paced packet costs, and how exactly packets keep their distance."""

import math
import sys
from pathlib import Path

from . import cases
from .results import TBF_LIMIT, Costs

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "demo"))
from headway_demo import svg  # noqa: E402

WIDTH = 900
LEFT, RIGHT = 236, 770
ROW = 26

STYLE = """
svg { background: #fbfaf8; font: 13px system-ui, "Noto Sans", "DejaVu Sans", sans-serif; }
text { fill: #1c2126; } .soft { fill: #5b6670; font-size: 11.5px; } .own { fill: #0b7a75; font-weight: 700; }
.title { font-size: 17px; font-weight: 700; } .heading { font-size: 14px; font-weight: 600; }
.grid { stroke: #dfe3e6; } .zero { stroke: #5b6670; } .limit { stroke: #c2410c; stroke-dasharray: 4 3; }
.enqueue { fill: #7d8993; } .dequeue { fill: #aab4bd; } .held { fill: none; stroke: #aab4bd; stroke-dasharray: 3 2; }
.enqueue.own { fill: #0b7a75; } .dequeue.own { fill: #59aaa5; } .held.own { stroke: #0b7a75; fill: none; }
.curve { fill: none; stroke-width: 1.8; } .k-gap { stroke: #0b7a75; stroke-width: 2.6; }
.k-edt { stroke: #7c3aed; } .k-timer { stroke: #1d4ed8; } .k-tbf { stroke: #c2410c; }
.k-htb { stroke: #ca8a04; } .k-fq { stroke: #6b7280; }
"""


def picture(document):
    costs, top = cost_bars(document["costs"], 34)
    spacing, bottom = spacing_panels(document["spacing"], top + 60)
    parts = [svg.element("style", STYLE),
             svg.text(24, 28, "What pacing costs, and how exact it is", "title"), *costs, *spacing]
    return svg.drawing(WIDTH, bottom + 20, parts, "Cost and exactness of queueing disciplines") + "\n"


# ---- cost ---------------------------------------------------------------------------

def cost_bars(costs, top):
    """Enqueue and dequeue as bars; what holding a packet back takes as an outline."""
    load = cases.Load(1514)
    find = Costs(costs).find
    items = [(contender, find("cost", contender.key, load)) for contender in cases.CONTENDERS]
    items = [(contender, item) for contender, item in items if item]
    most = max(item["sum"] + item["held"] for _, item in items)
    ticks = svg.ticks(most)
    first = top + 56
    bottom = first + ROW * len(items)

    def x(value):
        return LEFT + (RIGHT - LEFT) * value / ticks[-1]

    parts = [svg.text(24, top + 24, "Instructions per packet of 1514 bytes, one class or flow",
                      "heading"), *cost_legend(top + 44)]
    for tick in ticks:
        parts += [svg.line(x(tick), first - 4, x(tick), bottom, "grid"),
                  svg.text(x(tick), bottom + 16, f"{tick:g}", "soft", "middle")]
    for i, (contender, item) in enumerate(items):
        parts += cost_row(contender, item, x, first + ROW * (i + 0.5))
    limit = x(TBF_LIMIT * find("cost", "tbf", load)["sum"])
    parts += [svg.line(limit, first - 4, limit, bottom, "limit"),
              svg.text(limit, bottom + 30, f"{TBF_LIMIT:g} x tbf", "soft", "middle")]
    return parts, bottom + 30


def cost_row(contender, item, x, y):
    own = " own" if contender.own else ""
    ends = [0, item["enqueue"], item["sum"], item["sum"] + item["held"]]
    yield svg.text(LEFT - 10, y + 4, contender.title, own.strip(), "end")
    for name, begin, end in zip(("enqueue", "dequeue", "held"), ends, ends[1:]):
        if end > begin:
            yield svg.rectangle(x(begin), y - 8, x(end) - x(begin), 16, name + own,
                                f"{contender.title}: {name} {end - begin:.0f}")
    held = f" + {item['held']:.0f}" if item["held"] else ""
    yield svg.text(x(ends[-1]) + 8, y + 4, f"{item['sum']:.0f}{held}", own.strip())


def cost_legend(y):
    at = LEFT
    for name, words in (("enqueue", "enqueue"), ("dequeue", "dequeue"),
                        ("held", "apart: gap frames at half the link's rate, or timer and interrupt")):
        yield svg.rectangle(at, y - 9, 14, 10, name)
        yield svg.text(at + 20, y, words, "soft")
        at += 90


# ---- spacing -------------------------------------------------------------------------

PANEL_WIDTH, PANEL_HEIGHT, PANEL_GAP = 390, 190, 56
ERROR_DECADES = 6       # byte-times, either way; a decade each


def spacing_panels(spacings, top):
    """A panel for each rate: the share of packets whose error is at most so much."""
    parts = [svg.text(24, top, "Distance between starts: deviation from what the rate asks, "
                               "in byte-times; share of packets", "heading"),
             *spacing_legend(top + 22)]
    panels = {}
    for item in spacings:
        if item["frame_bytes"] == 1514 and item["share"] in cases.SPACING_SHARES:
            key = (item["link_mbit"], item["share"], item["interrupt_ns"])
            panels.setdefault(key, []).append(item)
    for i, key in enumerate(sorted(panels)):
        left = 50 + (i % 2) * (PANEL_WIDTH + 60)
        y = top + 56 + (i // 2) * (PANEL_HEIGHT + PANEL_GAP)
        parts += spacing_panel(panels[key], left, y)
    rows = (len(panels) + 1) // 2
    return parts, top + 56 + rows * (PANEL_HEIGHT + PANEL_GAP)


def error_place(error):
    """-1 .. 1, a decade per equal step; what is below a byte-time is the middle."""
    size = min(math.log10(max(abs(error), 1)) / ERROR_DECADES, 1)
    return math.copysign(size, error)


def spacing_panel(items, left, top):
    bottom, middle = top + PANEL_HEIGHT, left + PANEL_WIDTH / 2

    def x(error):
        return middle + PANEL_WIDTH / 2 * error_place(error)

    first = items[0]
    load = f", interrupts of {first['interrupt_ns'] // 1000} us" if first["interrupt_ns"] else ""
    yield svg.text(left, top - 8, f"{first['share'] / 100:g} % of {first['link_mbit']} Mbit/s, "
                                  f"a packet every {first['interval_bytes']:.0f}{load}", "soft")
    for percent in (0, 50, 100):
        y = bottom - PANEL_HEIGHT * percent / 100
        yield svg.line(left, y, left + PANEL_WIDTH, y, "grid")
        yield svg.text(left - 6, y + 4, f"{percent}%", "soft", "end")
    for decade in range(-5, 6):
        error = math.copysign(10 ** abs(decade), decade) if decade else 0
        yield svg.line(x(error), top, x(error), bottom, "grid" if decade else "zero")
        if decade % 2:
            sign = "-" if decade < 0 else "+"
            yield svg.text(x(error), bottom + 14, f"{sign}{10 ** abs(decade):g}", "soft", "middle")
    yield svg.text(x(0), bottom + 14, "0", "soft", "middle")
    for item in sorted(items, key=lambda item: item["qdisc"] == "gap"):
        yield svg.path(distribution(item, x, bottom), f"curve k-{item['qdisc']}")


def distribution(item, x, bottom):
    """Steps: quantile i is that which i / (n - 1) do not exceed."""
    errors = item["error_quantiles_bytes"]
    points = []
    for i, error in enumerate(errors):
        points.append((x(error), bottom - PANEL_HEIGHT * i / (len(errors) - 1)))
    return [(points[0][0], bottom), *points]


def spacing_legend(y):
    at = 50
    for qdisc in SPACING_TITLES:
        yield svg.line(at, y - 4, at + 22, y - 4, f"curve k-{qdisc}")
        yield svg.text(at + 28, y, SPACING_TITLES[qdisc], "soft")
        at += 130


SPACING_TITLES = {"gap": "gap frames", "timer": "gap timer", "tbf": "tbf", "htb": "htb",
                  "fq": "fq maxrate", "edt": "fq, EDT"}
