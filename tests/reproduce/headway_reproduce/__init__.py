# SPDX-License-Identifier: Apache-2.0
"""Documentation/reproduction.md: the numbers of the five papers, and what `headway-eval` says.

    eval.py      asks the program
    document.py  Markdown: comparisons, questions, plots
    plot.py      curves and histograms as SVG
    report.py    all chapters in one document
    plogpt.py, congestion.py, manytoone.py, contention.py, matb.py
                 a chapter each: chapter(ask) gives a document.Chapter
"""
