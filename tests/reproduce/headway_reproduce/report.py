# SPDX-License-Identifier: Apache-2.0
"""All chapters in one document."""

from . import congestion, contention, manytoone, matb, plogpt
from .eval import Ask

CHAPTERS = (plogpt, congestion, manytoone, contention, matb)

HEAD = """<!-- SPDX-License-Identifier: Apache-2.0 -->
<!-- Written by `make reproduce`; do not edit. -->

# The papers reproduced

What the texts of the five papers print, beside what the models of `userspace/models` say.  A
difference is in per cent of the paper's value; *none* is one below 1e-9 of it.  Each table is
followed by questions that can be fed to `headway-eval` as they are.  Numbers that the paper measured
are listed where they belong: a model cannot have them; [their experiments, measured](reproduction-live.md)
in the emulated cluster, are another page.  Plots of the papers have not survived as
text; where a plot is regenerated, what had to be assumed is said.
"""


def write(headway, folder):
    """folder/reproduction.md and the plots in folder/reproduction/."""
    chapters = [module.chapter(Ask(headway)) for module in CHAPTERS]
    plots = folder / "reproduction"
    plots.mkdir(parents=True, exist_ok=True)
    document = "\n".join([HEAD, *(chapter.markdown() for chapter in chapters)])
    (folder / "reproduction.md").write_text(document)
    for chapter in chapters:
        for name, drawing in chapter.plots.items():
            (plots / name).write_text(drawing)
