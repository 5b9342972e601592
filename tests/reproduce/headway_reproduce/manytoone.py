# SPDX-License-Identifier: Apache-2.0
"""Lastovetsky, Mkwawa, O'Flynn: many to one."""

from .document import Chapter
from .plot import Panel, picture

M1, M2 = 3 * 1024, 64 * 1024
NODES = 16
# Not printed: C_i and t_i of the nodes, the rates, C and the adjustment factors.
HOSTS = [{"C": (50 + 5 * i) / 1e6, "t": (20 + 2 * i) / 1e10} for i in range(NODES - 1)]
RATE = 12.5e6                       # 100 Mbit/s
PLATEAU_S = 0.25
SIZES = sorted([*(round(256 * 2 ** (i / 4)) for i in range(41)), M1, M1 + 1, M2, M2 + 1])


def gather(m, idle=False):
    return {"sources": HOSTS, "rates": [RATE] * len(HOSTS), "M": m, "idle": idle, "M1": M1,
            "M2": M2, "C": PLATEAU_S, "delta1": 1, "delta2": 1.5}


def chapter(ask):
    doc = Chapter("Many to one", "Lastovetsky, Mkwawa, O'Flynn: *Modeling Performance of Many-to-One "
                  "Collective Communication Operations in Heterogeneous Clusters.*")
    doc.section("Three parts", "The paper prints two numbers of its cluster, M_1 = 3 KB and M_2 = "
                "64 KB.  They go into the model, so what can be compared is where its parts meet: the "
                "first size above each, in bytes.  The constants of the nodes, of the plateau and of "
                f"the adjustments are only in plots; taken here for a gather of {NODES} nodes: C_i from "
                "50 us, t_i from 2 ns, 100 Mbit/s, "
                f"{PLATEAU_S:g} s, Delta_1 = 1 and Delta_2 = 1.5.")
    around = [M1, M1 + 1, M2, M2 + 1]
    low, above_low, high, above_high = ask("manytoone", "many_to_one", [gather(m) for m in around])
    doc.comparison([
        ["(4) up to 3 KB: time / bracket = Delta_1", 1, low["time"] / low["bracket"]],
        ["(6) one byte more: C, s", PLATEAU_S, above_low["time"]],
        ["(6) up to 64 KB: C, s", PLATEAU_S, high["time"]],
        ["(7) one byte more: time / bracket = Delta_2", 1.5,
         above_high["time"] / above_high["bracket"]]],
        source="as put in")
    curves = []
    for name, idle in (("(4) (6) (7)", False), ("with idle times, (5)", True)):
        answers = ask("manytoone", "many_to_one", [gather(m, idle) for m in SIZES])
        curves.append((name, [(m / 1024, answer["time"] * 1e3)
                              for m, answer in zip(SIZES, answers)]))
    doc.plot("many-to-one", "Gather of 16 nodes over message size", picture(
        "Time of a gather over message size",
        [Panel(f"gather, {NODES} nodes", "message, KiB", "ms", curves,
               marks=[(M1 / 1024, "M1 = 3"), (M2 / 1024, "M2 = 64")])]))
    doc.questions("manytoone", "many_to_one", [gather(M1), gather(M1 + 1)])
    doc.hardware([["M_1, M_2", "3 KB, 64 KB"],
                  ["C_i, t_i, rates of 16 nodes", "not printed"],
                  ["C, Delta_1, Delta_2", "not printed"],
                  ["measured times, Figures 2 to 5", "plotted only"]])
    return doc
