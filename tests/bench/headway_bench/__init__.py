# SPDX-License-Identifier: Apache-2.0
"""Measures what qdiscs cost and how exactly they pace; tests/bench/qdisc is the program.

cases    what is measured: qdiscs, packets, and the lines that set them up
guest    the machine that measures
results  figures made from what it counted, and the targets
tables   figures as text
charts   figures as a picture
"""
