# SPDX-License-Identifier: Apache-2.0
"""Markdown that is the same whenever the numbers are."""

import re
import textwrap

from .eval import line

HARDWARE = "on hardware only"


class Chapter:
    """Parts of one paper in order; plots go to files of their own."""

    def __init__(self, title, source):
        self.parts = [f"## {title}\n\n{prose(source)}\n"]
        self.plots = {}

    def section(self, title, text=""):
        self.parts.append(f"### {title}\n" + (f"\n{prose(text)}\n" if text else ""))

    def text(self, text):
        self.parts.append(prose(text) + "\n")

    def table(self, head, rows):
        lines = [head, ["---"] * len(head), *rows]
        self.parts.append("\n".join("| " + " | ".join(map(cell, row)) + " |" for row in lines)
                          + "\n")

    def comparison(self, rows, source="paper"):
        """rows: (what, the source's value, ours)."""
        self.table(["what", source, "headway", "difference"],
                   [[what, paper, ours, difference(paper, ours)] for what, paper, ours in rows])

    def questions(self, model, op, inputs, note=""):
        """Writes the questions, to be fed to `headway-eval`."""
        lines = "\n".join(line(model, op, given, i + 1) for i, given in enumerate(inputs))
        self.parts.append((f"{prose(note)}\n\n" if note else "") + f"```json\n{lines}\n```\n")

    def plot(self, name, title, drawing):
        self.plots[f"{name}.svg"] = f"<!-- SPDX-License-Identifier: Apache-2.0 -->\n{drawing}\n"
        self.parts.append(f"![{title}](reproduction/{name}.svg)\n")

    def hardware(self, rows):
        """Numbers that are measurements of a machine: (what, the paper's value)."""
        self.text("Measured on the paper's cluster, and to be had " + HARDWARE + ":")
        self.table(["what", "paper"], rows)

    def markdown(self):
        return "\n".join(self.parts)


def prose(text):
    """Filled lines; the source's own may be indented as the code around them."""
    text = re.sub(r"\s*\n\s*", " ", re.sub(r"([.])\n\s*", r"\1  ", text.strip()))
    return textwrap.fill(text, 100, break_on_hyphens=False, break_long_words=False)


def difference(paper, ours):
    if isinstance(paper, str) or isinstance(ours, str):
        return "none" if paper == ours else "-"
    if paper == ours or abs(ours - paper) <= 1e-9 * abs(paper):
        return "none"
    return f"{100 * (ours / paper - 1):+.2g} %" if paper else number(ours)


def cell(value):
    return value if isinstance(value, str) else number(value)


def number(value):
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return str(value)
    return f"{value:.6g}"


def size(value):
    """Bytes as the papers write them."""
    return f"{value / 1000:g} kB" if value >= 1000 else f"{value:g} B"
