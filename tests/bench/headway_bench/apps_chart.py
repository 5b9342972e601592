# SPDX-License-Identifier: Apache-2.0
"""A picture of what tests/bench/apps measured: each contender's time as a multiple of stock's."""

import sys
from pathlib import Path

from . import apps

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "demo"))
from headway_demo import svg  # noqa: E402

# The documentation shows the picture, which has this licence.
LICENCE = "<!-- SPDX-License-Identifier: Apache-2.0 -->\n"
WIDTH = 900
LEFT, RIGHT = 210, 640
ROW, GROUP_GAP, HEADING = 20, 10, 40
# A bar that would be longer ends here; its figure tells.
MOST = 2.0
TICKS = (0, 0.5, 1, 1.5, MOST)

STYLE = """
svg { background: #fbfaf8; font: 13px system-ui, "Noto Sans", "DejaVu Sans", sans-serif; }
text { fill: #1c2126; paint-order: stroke; stroke: #fbfaf8; stroke-width: 4px; }
.soft { fill: #5b6670; font-size: 11.5px; } .own { fill: #0b7a75; font-weight: 700; }
.title { font-size: 17px; font-weight: 700; } .heading { font-size: 14px; font-weight: 600; }
.grid { stroke: #dfe3e6; } .stock { stroke: #c2410c; stroke-dasharray: 4 3; }
.bar { fill: #aab4bd; } .bar.own { fill: #0b7a75; } .worst { stroke: #1c2126; }
"""


def picture(results):
    parts, y, panel = [], 50, None
    for network, library, program, beside, found in apps.tables(results):
        if "stock" not in found or len(found) == 1:
            continue
        if apps.title(network, library, beside) != panel:
            panel = apps.title(network, library, beside)
            y += HEADING
            parts.append(svg.text(24, y - 14, panel, "heading"))
        parts += group(program, found, y)
        y += ROW * len(found) + GROUP_GAP
    parts = [svg.element("style", STYLE), svg.text(24, 28, "Times of programs as multiples of stock's", "title"),
             svg.text(24, 48, "bar: median of the jobs; line: the slowest one; at the right seconds, and time-outs and lost frames"
                              " of all jobs", "soft"),
             *scale(y), *parts]
    return LICENCE + svg.drawing(WIDTH, y + 30, parts, "Times of programs by contender, as multiples of stock's") + "\n"


def place(ratio):
    return LEFT + (RIGHT - LEFT) * min(ratio, MOST) / MOST


def scale(bottom):
    for tick in TICKS:
        yield svg.line(place(tick), 60, place(tick), bottom, "stock" if tick == 1 else "grid")
        yield svg.text(place(tick), bottom + 16, f"{tick:g}", "soft", "middle")


def group(program, found, top):
    """The rows of one program."""
    yield svg.text(24, top + 14, program)
    for number, (name, one) in enumerate(found.items()):
        y, own = top + ROW * (number + 0.5), " own" if name.startswith("headway") else ""
        median, worst = (one[what] / found["stock"]["median_s"] for what in ("median_s", "worst_s"))
        tip = f"{program}, {apps.CONTENDERS[name].title}: {median:.3f} of stock's time"
        yield svg.text(LEFT - 10, y + 4, apps.CONTENDERS[name].title, own.strip(), "end")
        yield svg.rectangle(LEFT, y - 7, place(median) - LEFT, 14, "bar" + own, tip)
        yield svg.line(place(median), y, place(worst), y, "worst")
        lost = "".join(f", {one[count]} {what}" for count, what in (("timeouts", "time-outs"), ("drops", "drops")) if one[count])
        yield svg.text(place(worst) + 8, y + 4, f"{one['median_s']:#.3g} s{lost}", own.strip())
