# SPDX-License-Identifier: Apache-2.0
"""Panels side by side: curves on linear or logarithmic axes, and histograms."""

import math
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "demo"))
from headway_demo import svg  # noqa: E402

WIDTH, HEIGHT = 420, 260            # of a panel
LEFT, TOP, BOTTOM, GAP = 64, 58, 48, 76

STYLE = """
svg { background: #fbfaf8; font: 13px system-ui, "Noto Sans", "DejaVu Sans", sans-serif; }
text { fill: #1c2126; } .soft { fill: #5b6670; font-size: 11.5px; } .heading { font-weight: 600; }
.grid { stroke: #dfe3e6; } .frame { stroke: #5b6670; } .curve { fill: none; stroke-width: 2; }
.band { fill: #0b7a75; opacity: 0.15; } .mark { stroke: #5b6670; stroke-dasharray: 2 3; }
.c0 { stroke: #0b7a75; } .c1 { stroke: #c2410c; } .c2 { stroke: #6b7280; stroke-dasharray: 6 3; }
.c3 { stroke: #ca8a04; stroke-dasharray: 2 3; } .c4 { stroke: #1d4ed8; } .c5 { stroke: #7c3aed; }
.bar { fill: #0b7a75; stroke: #fbfaf8; }
"""


class Axis:
    """From `least` to `most`, linear or logarithmic, onto pixels from `begin` to `end`."""

    def __init__(self, least, most, begin, end, is_log):
        self.is_log = is_log
        self.begin, self.end = begin, end
        if is_log:
            self.least, self.most = math.log10(least), math.log10(most)
            self.ticks = [10.0 ** i for i in range(math.ceil(self.least - 1e-9),
                                                   math.floor(self.most + 1e-9) + 1)]
        else:
            self.ticks = svg.ticks(most)
            self.least, self.most = 0, self.ticks[-1]

    def __call__(self, value):
        at = math.log10(value) if self.is_log else value
        return self.begin + (self.end - self.begin) * (at - self.least) / (self.most - self.least)


class Panel:
    """curves: (label, [(x, y), ...]); band: [(x, least, most), ...]; marks: [(x, label), ...]; dots: [(x, y), ...]."""

    def __init__(self, title, x_label, y_label, curves, band=(), marks=(), log=(True, True), dots=()):
        self.title, self.x_label, self.y_label = title, x_label, y_label
        self.curves, self.band, self.marks, self.log, self.dots = curves, band, marks, log, dots

    def draw(self, left):
        points = [point for _, curve in self.curves for point in curve]
        points += [(x, most) for x, _, most in self.band]
        points += self.dots
        xs, ys = [x for x, _ in points], [y for _, y in points]
        x = Axis(min(xs), max(xs), left, left + WIDTH, self.log[0])
        y = Axis(min(ys), max(ys), TOP + HEIGHT, TOP, self.log[1])
        yield svg.text(left, TOP - 34, self.title, "heading")
        yield from axes(x, y, self.x_label, self.y_label)
        if self.band:
            upper = [(x(at), y(most)) for at, _, most in self.band]
            lower = [(x(at), y(least)) for at, least, _ in reversed(self.band)]
            yield svg.path(upper + lower, "band", close=True)
        for i, (at, label) in enumerate(self.marks):
            yield svg.line(x(at), TOP, x(at), TOP + HEIGHT, "mark")
            yield svg.text(x(at), TOP - 6, label, "soft", "start" if i else "end")
        for at, value in self.dots:
            yield svg.circle(x(at), y(value), 2.6, "bar")
        for i, (_, curve) in enumerate(self.curves):
            yield svg.path([(x(at), y(value)) for at, value in curve], f"curve c{i}")


class Bars:
    """Shares of equal bins from `least` on."""

    def __init__(self, title, x_label, least, width, counts, form="{:+g}"):
        self.title, self.x_label, self.form = title, x_label, form
        self.least, self.width, self.counts = least, width, counts

    curves = ()

    def draw(self, left):
        total = sum(self.counts)
        most = self.least + self.width * len(self.counts)
        y = Axis(0, 100, TOP + HEIGHT, TOP, False)
        step = WIDTH / len(self.counts)
        yield svg.text(left, TOP - 34, self.title, "heading")
        for tick in y.ticks:
            yield svg.line(left, y(tick), left + WIDTH, y(tick), "grid")
            yield svg.text(left - 8, y(tick) + 4, f"{tick:g} %", "soft", "end")
        for i, count in enumerate(self.counts):
            top = y(100 * count / total)
            yield svg.rectangle(left + i * step, top, step, y(0) - top, "bar",
                                f"{count} of {total}")
        for i in range(5):
            value = self.least + (most - self.least) * i / 4
            yield svg.text(left + WIDTH * i / 4, TOP + HEIGHT + 16, self.form.format(value), "soft", "middle")
        yield svg.text(left + WIDTH, TOP + HEIGHT + 34, self.x_label, "soft", "end")


def axes(x, y, x_label, y_label):
    for tick in x.ticks:
        yield svg.line(x(tick), y.begin, x(tick), y.end, "grid")
        yield svg.text(x(tick), y.begin + 16, f"{tick:g}", "soft", "middle")
    for tick in y.ticks:
        yield svg.line(x.begin, y(tick), x.end, y(tick), "grid")
        yield svg.text(x.begin - 8, y(tick) + 4, f"{tick:g}", "soft", "end")
    yield svg.line(x.begin, y.begin, x.end, y.begin, "frame")
    yield svg.line(x.begin, y.begin, x.begin, y.end, "frame")
    yield svg.text(x.end, y.begin + 34, x_label, "soft", "end")
    yield svg.text(x.begin, y.end - 18, y_label, "soft")


def picture(label, panels):
    """One drawing; the legend is that of the first panel."""
    parts = [svg.element("style", STYLE)]
    for i, panel in enumerate(panels):
        parts += panel.draw(LEFT + i * (WIDTH + GAP))
    bottom = TOP + HEIGHT + BOTTOM
    at = LEFT
    for i, (name, _) in enumerate(panels[0].curves):
        parts += [svg.line(at, bottom + 6, at + 26, bottom + 6, f"curve c{i}"),
                  svg.text(at + 32, bottom + 10, name, "soft")]
        at += 48 + 7 * len(name)
    return svg.drawing(LEFT + len(panels) * (WIDTH + GAP), bottom + 26, parts, label)
