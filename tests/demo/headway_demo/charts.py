# SPDX-License-Identifier: Apache-2.0
"""The report's pictures."""

import math

from . import svg
from .contender import CONTENDERS, HEADWAY, LIBRARIES
from .felt import heading

WIDTH = 860
LABELS = 230        # room for contenders' names
VALUES = 170        # room for figures at the right


def title(run):
    return f"{CONTENDERS[run['name']].title}, {LIBRARIES[run['library']]}"


def own_class(name):
    return " own" if CONTENDERS[name].kind == HEADWAY else ""


def figure(value):
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


class Axis:
    """A horizontal scale: from 0 to a round number that is at least `most`, or, with a
    `margin`, exactly from -margin to most + margin."""

    def __init__(self, left, right, most, margin=None):
        self.left, self.right = left, right
        self.ticks = svg.ticks(most)
        self.least, self.most = 0, self.ticks[-1]
        if margin is not None:
            self.ticks = [tick for tick in self.ticks if tick <= most]
            self.least, self.most = -margin, most + margin

    def x(self, value):
        return self.left + (self.right - self.left) * (value - self.least) / (self.most - self.least)

    def draw(self, top, bottom, unit):
        parts = []
        for tick in self.ticks:
            x = self.x(tick)
            parts += [svg.line(x, top, x, bottom, "grid"),
                      svg.text(x, bottom + 16, f"{tick:g}", "tick", "middle")]
        parts.append(svg.text(self.right + 26, bottom + 16, unit, "tick"))
        return parts


def times(message):
    """Each sample a dot, the median a bar, the floor a line; one row a contender."""
    row_height, top = 34, 30
    runs = message["runs"]
    bottom = top + row_height * len(runs)
    axis = Axis(LABELS, WIDTH - VALUES, max(run["max_ms"] for run in runs))
    parts = axis.draw(top, bottom, "ms")
    for i, run in enumerate(runs):
        parts += times_row(run, axis, top + row_height * (i + 0.5))
    x = axis.x(message["floor_ms"])
    parts += [svg.line(x, top - 8, x, bottom, "bound"),
              svg.text(x, top - 13, f"floor {message['floor_ms']:.3g} ms", "boundlabel", "middle")]
    return svg.drawing(WIDTH, bottom + 24, parts, f"Time by contender of an {heading(message)}")


def times_row(run, axis, y):
    own = own_class(run["name"])
    samples = [ms for mpirun in run["samples_ms"] for ms in mpirun]
    tip = f"{title(run)}: median {figure(run['median_ms'])} ms, worst {figure(run['max_ms'])} ms, " \
          f"{run['samples']} samples"
    median, worst = axis.x(run["median_ms"]), axis.x(run["max_ms"])
    parts = [
        svg.text(LABELS - 12, y + 4, title(run), "name" + own, "end"),
        svg.rectangle(axis.left, y - 9, median - axis.left, 18, "bar" + own, tip, radius=2),
        svg.line(median, y, worst, y, "whisker" + own),
        svg.line(worst, y - 6, worst, y + 6, "whisker" + own),
    ]
    parts += [svg.circle(axis.x(ms), y, 2.6, "sample" + own, f"{figure(ms)} ms") for ms in samples]
    parts += [svg.text(axis.right + 12, y + 4, figure(run["median_ms"]), "value" + own),
              svg.text(axis.right + 66, y + 4, f"worst {figure(run['max_ms'])}", "value faint")]
    return parts


def losses(message):
    """RTOs, retransmitted segments and drops of each contender, per all-to-all."""
    columns = (("RTOs", lambda run: run["timeouts"]),
               ("retransmissions", lambda run: run["retransmits"]),
               ("drops at ports", lambda run: run["port_drops"]),
               ("drops at the trunk", lambda run: run["trunk_drops"]))
    row_height, top, gap = 26, 30, 26
    width = (WIDTH - LABELS - gap * (len(columns) - 1)) / len(columns)
    parts = []
    for i, (heading, count) in enumerate(columns):
        left = LABELS + i * (width + gap)
        values = [count(run) / run["samples"] for run in message["runs"]]
        scale = (width - 52) / max(max(values), 1e-9)
        parts.append(svg.text(left, top - 12, heading, "heading"))
        for j, (run, value) in enumerate(zip(message["runs"], values)):
            y = top + row_height * (j + 0.5)
            tip = f"{title(run)}: {count(run)} in {run['samples']} all-to-alls"
            parts += [svg.rectangle(left, y - 7, value * scale, 14, "loss", tip, radius=2),
                      svg.text(left + value * scale + 6, y + 4, per_call(value),
                               "value" if value else "value good")]
    for j, run in enumerate(message["runs"]):
        parts.append(svg.text(LABELS - 12, top + row_height * (j + 0.5) + 4, title(run),
                              "name" + own_class(run["name"]), "end"))
    return svg.drawing(WIDTH, top + row_height * len(message["runs"]) + 6, parts,
                       "Losses per all-to-all by contender")


class LogAxis:
    """A horizontal scale of powers of ten around positive values."""

    def __init__(self, left, right, least, most):
        self.left, self.right = left, right
        self.first, self.last = math.floor(math.log10(least)), math.ceil(math.log10(most))

    def x(self, value):
        return self.left + (self.right - self.left) * (math.log10(value) - self.first) / max(self.last - self.first, 1)

    def draw(self, top, bottom, unit):
        for power in range(self.first, self.last + 1):
            x = self.x(10.0 ** power)
            yield svg.line(x, top, x, bottom, "grid")
            yield svg.text(x, bottom + 16, f"{10.0 ** power:g}", "tick", "middle")
        yield svg.text(self.right + 26, bottom + 16, unit, "tick")


def predictions(pairs):
    """Bars: what was predicted, from the time without time-outs to that with all of them; measured median
    a dot, worst a line from there.  `pairs`: those of prediction.pairs()."""
    row_height, top = 26, 14
    values = [value for _, run, span in pairs for value in (*span, run["median_ms"], run["max_ms"])]
    bottom = top + row_height * len(pairs)
    axis = LogAxis(LABELS + 60, WIDTH - VALUES, min(values), max(values))
    parts = list(axis.draw(top, bottom, "ms"))
    for i, (message, run, (low, high)) in enumerate(pairs):
        y, own = top + row_height * (i + 0.5), own_class(run["name"])
        size = f"{message['bytes'] // 1024} KiB{', pauses' if message['pauses_ms'] else ''}"
        median, worst = axis.x(run["median_ms"]), axis.x(run["max_ms"])
        parts += [svg.text(axis.left - 12, y + 4, f"{title(run)}, {size}", "name" + own, "end"),
                  svg.rectangle(axis.x(low) - 1.5, y - 8, axis.x(high) - axis.x(low) + 3, 16, "bar" + own,
                                f"predicted {figure(low)} to {figure(high)} ms", radius=2),
                  svg.line(median, y, worst, y, "whisker" + own),
                  svg.circle(median, y, 3.4, "sample" + own, f"median {figure(run['median_ms'])} ms"),
                  svg.text(axis.right + 12, y + 4, f"{run['median_ms'] / low:.3g} x", "value" + own)]
    return svg.drawing(WIDTH, bottom + 24, parts, "Predicted and measured times")


def per_call(value):
    if value == 0:
        return "0"
    return f"{value:.0f}" if value >= 10 else f"{value:.2g}"


def trunk(trace):
    """The trunk's utilisation during a call, each way."""
    top, height = 44, 128
    bottom = top + height
    axis = Axis(48, WIDTH - 16, trace["ms"], trace["margin_ms"])
    parts = utilisation(trace, axis, top, bottom) + phase_edges(trace, axis, top, bottom)
    return svg.drawing(WIDTH, bottom + 38, parts, "Utilisation of the trunk over time")


def trunks(traces, style):
    """Draws several calls, one below the other, all by the longest's scale of time: an image by
    itself, with the rules of `style`."""
    height, pitch = 128, 218
    longest = max(traces, key=lambda trace: trace["ms"])
    axis = Axis(48, WIDTH - 16, longest["ms"], longest["margin_ms"])
    parts = [svg.element("style", style), svg.rectangle(0, 0, WIDTH, pitch * len(traces), "node")]
    for i, trace in enumerate(traces):
        top = 44 + pitch * i
        parts += utilisation(trace, axis, top, top + height)
    return svg.drawing(WIDTH, pitch * len(traces), parts, "Utilisation of the trunk over time")


def utilisation(trace, axis, top, bottom):
    height, own = bottom - top, own_class(trace["contender"])
    heading = f"{CONTENDERS[trace['contender']].title}: an all-to-all of {trace['bytes'] // 1024} KiB, " \
              f"{figure(trace['ms'])} ms"
    parts = [svg.text(axis.left, top - 26, heading, "heading" + own),
             svg.rectangle(axis.x(0), top, axis.x(trace["ms"]) - axis.x(0), height, "call",
                           f"{figure(trace['ms'])} ms")]
    for percent in (0, 50, 100):
        y = bottom - height * percent / 100
        parts += [svg.line(axis.left, y, axis.right, y, "grid"),
                  svg.text(axis.left - 8, y + 4, f"{percent} %", "tick", "end")]
    for tick in axis.ticks:
        parts.append(svg.text(axis.x(tick), bottom + 16, f"{tick:g}", "tick", "middle"))
    parts.append(svg.text(axis.right, bottom + 32, "ms", "tick", "end"))
    for i, (direction, seen) in enumerate(trace["directions"].items()):
        points = staircase(seen["utilisation"], trace, axis, bottom, height)
        if i == 0:
            parts.append(svg.path([(points[0][0], bottom), *points, (points[-1][0], bottom)],
                                  "area" + own, close=True))
        else:
            parts.append(svg.path(points, "other" + own))
        parts.append(legend(direction, i, axis.right - 150 + 80 * i, top - 26, own))
    return parts


def phase_edges(trace, axis, top, bottom):
    """All ranks enter the call, and with it their phase, at once; each leaves when it is through."""
    first, last = axis.x(trace["first_through_ms"]), axis.x(trace["ms"])
    parts = [svg.line(x, top - 4, x, bottom, "bound") for x in (axis.x(0), first, last)]
    return parts + [svg.text(axis.x(0), top - 9, "all ranks begin", "boundlabel"),
                    svg.text(last, top - 9, "first and last rank are through", "boundlabel", "end")]


def staircase(bins, trace, axis, bottom, height):
    points = []
    for i, share in enumerate(bins):
        y = bottom - height * share
        points += [(axis.x(edge * trace["bin_ms"] - trace["margin_ms"]), y) for edge in (i, i + 1)]
    return points


def legend(direction, index, x, y, own):
    mark = svg.rectangle(x, y - 8, 14, 8, "area" + own) if index == 0 else \
        svg.line(x, y - 4, x + 14, y - 4, "other" + own)
    return mark + svg.text(x + 20, y, direction, "tick")


def network(scene):
    """The two clusters, their switches and the trunk."""
    count, top, pitch = scene["nodes_per_cluster"], 20, 30
    height = top + pitch * count + 6
    middle = top + pitch * (count - 1) / 2 + 11
    parts = []
    for side, name in ((0, "a"), (1, "b")):
        node_x, switch_x = (20, 220) if side == 0 else (WIDTH - 90, WIDTH - 310)
        for i in range(count):
            y = top + pitch * i
            near = node_x + 70 if side == 0 else node_x
            edge = switch_x if side == 0 else switch_x + 90
            parts += [svg.line(near, y + 11, edge, middle, "wire"),
                      svg.rectangle(node_x, y, 70, 22, "node", radius=4),
                      svg.text(node_x + 35, y + 15, f"{name}{i}", "tick", "middle")]
        parts += [svg.rectangle(switch_x, middle - 26, 90, 52, "switch", radius=6),
                  svg.text(switch_x + 45, middle - 3, f"switch {name}", "name small", "middle"),
                  svg.text(switch_x + 45, middle + 13,
                           f"{scene['port_buffer_bytes'] // 1024} KiB a port", "tick", "middle")]
    left, right = 310, WIDTH - 310
    parts += [svg.line(left, middle, right, middle, "trunk"),
              svg.text(WIDTH / 2, middle - 12, f"trunk {scene['trunk_rate_bps'] / 1e9:g} Gbit/s",
                       "name small", "middle"),
              svg.text(WIDTH / 2, middle + 22, f"{scene['trunk_buffer_bytes'] // 1024} KiB buffer, "
                       f"{scene['trunk_delay_us'] / 1e3:g} ms", "tick", "middle"),
              svg.text(155, middle - pitch * (count - 1) / 2 - 12 if count < 3 else top - 4,
                       f"{scene['host_rate_bps'] / 1e9:g} Gbit/s each", "tick", "middle")]
    return svg.drawing(WIDTH, height, parts, "Two clusters joined by a trunk")
