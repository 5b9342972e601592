# SPDX-License-Identifier: Apache-2.0
"""Takano et al.: maximum allowable transmission bandwidth."""

import math

from .document import Chapter

N, B = 32, 10e9                     # nodes of each cluster, bit/s between them
NIC = 1e9
SENDERS = {                         # Table I
    "BT": lambda n: 2 * math.sqrt(2 * n), "SP": lambda n: 2 * math.sqrt(2 * n),
    "CG": lambda n: n / 2, "LU": lambda n: n, "MG": lambda n: n, "FT": lambda n: n,
    "IS": lambda n: n}
# Table VI, IS class B, Mop/s: one-way delay in ms, standard, paced to B/N, to B/2N.
TABLE_VI = ((0, 46.16, 98.88, 348.27), (2, 58.17, 96.00, 250.36), (4, 68.42, 113.25, 243.34),
            (6, 53.06, 109.93, 199.18), (8, 48.94, 100.70, 196.29), (10, 43.12, 99.42, 170.88))


def chapter(ask):
    doc = Chapter("Maximum allowable transmission bandwidth", "Takano, Matsuda, Kudoh, Kodama, Okazaki, "
                  "Ishikawa: *Effects of Packet Pacing for MPI Programs in a Grid Environment.*  Two "
                  "clusters of N = 32 nodes with NICs of 1 Gbit/s, B = 10 Gbit/s between them.")
    table_1(ask, doc)
    grids(ask, doc)
    alltoall(ask, doc)
    table_6(doc)
    pacing(ask, doc)
    doc.hardware([
        ["Mop/s of single clusters, Table IV", "by benchmark and class"],
        ["relative performance at 10 ms, Table V", "0.17 (MG class B) to 2.27 (BT class D)"],
        ["improvement at 10 ms, class B: CG, IS, MG", "35 to 130 percent"],
        ["improvement at 10 ms, class C: BT, CG, FT, IS, MG, SP", "20 to 100 percent"],
        ["improvement at 10 ms, class D: BT, CG, MG, SP", "10 to 30 percent"],
        ["LU, all classes", "slight degradation"],
        ["packet losses of FT with pacing", "one tenth"]])
    return doc


def question(benchmark):
    return {"benchmark": benchmark, "N": N, "B": B}


def table_1(ask, doc):
    doc.section("Table I", "MATB in Mbit/s.  The text prints 625 for CG.")
    answers = ask("matb", "table1", [question(name) for name in SENDERS])
    doc.comparison([[name, B / senders(N) / 1e6, answer["matb"] / 1e6]
                    for (name, senders), answer in zip(SENDERS.items(), answers)])
    doc.questions("matb", "table1", [question("CG")])


def grids(ask, doc):
    doc.section("From the process grids", "The same counted from each benchmark's grid of 64 ranks: nodes "
                "of one cluster that have a message into the other.  LU's grid is open, so that only "
                "one row of it borders on the other cluster: a quarter of the senders of Table I, an "
                "MATB above what a NIC can send, and no reason to pace.  LU is the one benchmark that "
                "the paper found slower with pacing in all classes.")
    answers = ask("matb", "npb_pattern", [question(name) for name in SENDERS])
    doc.table(["benchmark", "senders, Table I", "senders, grid", "MATB, Mbit/s, Table I",
               "MATB, Mbit/s, grid", "pacing helps a NIC of 1 Gbit/s"],
              [[name, senders(N), answer["senders"], B / senders(N) / 1e6, answer["matb"] / 1e6,
                answer["matb"] < NIC] for (name, senders), answer in zip(SENDERS.items(), answers)])
    doc.questions("matb", "npb_pattern", [question("LU"), question("CG")])


def alltoall(ask, doc):
    doc.section("All-to-all of two clusters", "Section II: B divided by the nodes of the cluster.")
    given = {"sizes": [N, N], "uplink": [B, B]}
    matb = ask.one("matb", "alltoall_clusters", given)["matb"][0]
    doc.comparison([["MATB, Mbit/s", B / N / 1e6, matb / 1e6],
                    ["the same as attribute, Kbytes/s, whole", 39062, int(matb // 8000)]])
    doc.questions("matb", "alltoall_clusters", [given])


def table_6(doc):
    doc.section("Table VI: the divisor", "IS class B.  The Mop/s are measurements; their ratios say what a "
                "divisor is worth.  The text: \"2 to 3.5 times\" for B/2N against B/N, and at most "
                "130 percent at 10 ms in class B for B/N.  Quotients of the printed numbers, no model:")
    doc.table(["one-way delay, ms", "B/N / standard", "B/2N / B/N", "B/2N / standard"],
              [[delay, paced / standard, half / paced, half / standard]
               for delay, standard, paced, half in TABLE_VI])
    ratios = [half / paced for _, _, paced, half in TABLE_VI]
    last = TABLE_VI[-1]
    doc.comparison([["largest B/2N / B/N", 3.5, max(ratios)],
                    ["least B/2N / B/N", 2, min(ratios)],
                    ["gain of B/N at 10 ms, percent", 130, 100 * (last[2] / last[1] - 1)],
                    ["of a single cluster (429.68 Mop/s, Table IV), as in Table V", 0.23,
                     last[2] / 429.68]], source="text")
    doc.text("The least ratio is below what the text says; the table decides.")


def pacing(ask, doc):
    doc.section("Gap packets", "Section III: half the rate takes a gap as long as the packet; packets of "
                "1500 bytes at 500 Mbit/s leave every 24 us (Figure 3).")
    given = {"link_rate": NIC, "rate": NIC / 2, "packet": 1500}
    answer = ask.one("matb", "pacing", given)
    doc.comparison([["gap, bytes", 1500, answer["gap_bytes"]],
                    ["interval, us", 24, answer["interval_s"] * 1e6]])
    doc.questions("matb", "pacing", [given])
