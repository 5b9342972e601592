# SPDX-License-Identifier: Apache-2.0
"""A picture of what tests/bench/map measured: Headway's time over stock's and over the best rival's, scene by scene."""

import sys
from pathlib import Path

from . import scene_map
from .apps_chart import LICENCE

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "demo"))
from headway_demo import svg  # noqa: E402

WIDTH = 960
LEFT, TOP = 100, 142
CELL_WIDTH, CELL_HEIGHT = 40, 18
PANEL_GAP, DELAY_GAP = 14, 6
# From a panel of 4 + 4 nodes to that of 8 + 8 below it.
PANEL_BELOW = 78

# A ratio up to that has the colour; the last one has no end.
COLOURS = ((0.1, "#0b5f5a"), (0.5, "#3f9a94"), (0.9, "#8cc5c0"), (1 / scene_map.AS_GOOD, "#c9e3e0"),
           (scene_map.AS_GOOD, "#eceae4"), (1.1, "#f6d3bd"), (1.5, "#eba27a"), (float("inf"), "#c2410c"))
DARK = (0, 1, 7)
LEGEND = ("up to 0.1", "0.5", "0.9", "0.97", "1.03: as good", "1.1", "1.5", "more")

STYLE = "\n".join((
    'svg { background: #fbfaf8; font: 12px system-ui, "Noto Sans", "DejaVu Sans", sans-serif; }',
    "text { fill: #1c2126; } .soft { fill: #5b6670; font-size: 11px; } .title { font-size: 17px; font-weight: 700; }",
    ".heading { font-size: 13px; font-weight: 600; } .figure { font-size: 10.5px; }",
    ".paced { fill: #1c2126; } .light { fill: #ffffff; } .missing { fill: none; stroke: #dfe3e6; }",
    *(f".r{number} {{ fill: {colour}; stroke: #fbfaf8; }}" for number, (_, colour) in enumerate(COLOURS))))

RATIOS = (("to stock", lambda one: one.to_stock), ("to the best rival", lambda one: one.to_best))


def colour_of(ratio):
    return next(number for number, (most, _) in enumerate(COLOURS) if ratio <= most)


def picture(results):
    found = {(one.network, one.operation, one.bytes): one for one in scene_map.all_scenes(results) if one.complete}
    parts, bottom = [], TOP
    for nodes in sorted({place[0] for place in scene_map.PLACES}):
        top, left = bottom, LEFT
        for operation, sizes in sorted(scene_map.SIZES_BYTES.items()):
            for words, ratio in RATIOS:
                bottom = panel(parts, found, nodes, operation, ratio, left, top)
                parts.append(svg.text(left, top - 22, f"{operation}, {words}", "heading"))
                left += CELL_WIDTH * len(sizes) + PANEL_GAP
        parts.append(svg.text(14, top - 40, f"{nodes // 2} + {nodes // 2} nodes", "heading"))
        parts += row_labels(top)
        bottom += PANEL_BELOW
    heading = [svg.element("style", STYLE), svg.text(14, 28, "Headway's time as a multiple of others'", "title"),
               svg.text(14, 48, "one figure for each scene: KiB from rank to rank across; delay of the trunk and buffer of a port down;"
                                " a dot where the planner paces", "soft"), *legend(64)]
    return LICENCE + svg.drawing(WIDTH, bottom - PANEL_BELOW + 20, [*heading, *parts],
                                 "Headway's time over stock's and over the best rival's, by message size, buffer and delay") + "\n"


def rows(top):
    """(delay, buffer, y) of a panel's rows."""
    for group, delay_us in enumerate(sorted({place[1] for place in scene_map.PLACES})):
        for number, buffer_bytes in enumerate(sorted(scene_map.BUFFERS_BYTES)):
            row = group * len(scene_map.BUFFERS_BYTES) + number
            yield delay_us, buffer_bytes, top + row * CELL_HEIGHT + group * DELAY_GAP


def row_labels(top):
    for delay_us, buffer_bytes, y in rows(top):
        if buffer_bytes == min(scene_map.BUFFERS_BYTES):
            yield svg.text(14, y + 13, f"{delay_us / 1000:g} ms", "soft")
        yield svg.text(LEFT - 6, y + 13, f"{buffer_bytes // scene_map.KIB} KiB", "soft", "end")


def panel(parts, found, nodes, operation, ratio, left, top):
    """Adds its parts; returns where it ends."""
    y = top
    for column, size in enumerate(scene_map.SIZES_BYTES[operation]):
        x = left + column * CELL_WIDTH
        parts.append(svg.text(x + CELL_WIDTH / 2, top - 6, f"{size // scene_map.KIB}", "soft", "middle"))
        for delay_us, buffer_bytes, y in rows(top):
            one = found.get((scene_map.Network(nodes, delay_us, buffer_bytes), operation, size))
            parts += scene_parts(one, ratio(one), x, y) if one else [svg.rectangle(x, y, CELL_WIDTH, CELL_HEIGHT, "missing")]
    return y + CELL_HEIGHT


def scene_parts(one, ratio, x, y):
    number = colour_of(ratio)
    tip = (f"{one.title}: Headway {one.mean_ms(scene_map.OWN):.3f} ms, stock {one.mean_ms(scene_map.STOCK):.3f} ms,"
           f" {one.best_rival} {one.mean_ms(one.best_rival):.3f} ms; all at once {one.burst_to_buffer:.2f} times the buffer")
    yield svg.rectangle(x, y, CELL_WIDTH, CELL_HEIGHT, f"r{number}", tip)
    yield svg.text(x + CELL_WIDTH / 2, y + 13, f"{ratio:.2f}" if ratio >= 0.095 else f"{ratio:.3f}",
                   "figure light" if number in DARK else "figure", "middle")
    if one.plan["paced"]:
        yield svg.circle(x + CELL_WIDTH - 4, y + 4, 1.8, "paced light" if number in DARK else "paced")


def legend(y):
    x = 14
    for number, words in enumerate(LEGEND):
        yield svg.rectangle(x, y, 14, 12, f"r{number}")
        yield svg.text(x + 19, y + 10, words, "soft")
        x += 34 + 7 * len(words)
