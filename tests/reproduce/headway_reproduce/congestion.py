# SPDX-License-Identifier: Apache-2.0
"""Zhu, Lastovetsky, Ali, Riesen: congestion factors."""

import random

from .document import Chapter
from .plot import Bars, picture

NIC, BACKBONE = 940, 9400           # Mbit/s as measured in section 5.1
# Section 7: up to 30 nodes, d from 1 to 3, 9 settings, 354 patterns.
NODE_COUNTS, DEGREES, PATTERNS_EACH = (10, 20, 30), (1, 2, 3), 40
VARIANTS = (("fairness only", "bandwidth_fairness_only"), ("feasible", "bandwidth_feasible"),
            ("bidirectional max-min", "bandwidth_bidirectional_max_min"))


def cluster(racks, links, backbone=BACKBONE):
    return {"nic": NIC, "backbone": backbone, "nodes": list(range(len(racks))), "rack": racks,
            "links": links}


def star(n_in, n_out):
    """Links into node 0 and out of it, each with a node of its own at the other end."""
    links = [[i, 0] for i in range(1, n_in + 1)]
    links += [[0, i] for i in range(n_in + 1, n_in + n_out + 1)]
    return cluster([0] * (n_in + n_out + 1), links)


def across(count):
    """Experiment B: so many nodes of one rack send to as many of the other."""
    return cluster([0] * count + [1] * count, [[i, count + i] for i in range(count)])


def chapter(ask):
    doc = Chapter("Congestion factors", "Zhu, Lastovetsky, Ali, Riesen: *Communication Models for "
                  "Resource Constrained Hierarchical Ethernet Networks.*  Mbit/s; a NIC has 940, "
                  "the optical backbone 9400, as measured there.")
    figure_1(ask, doc)
    fairness(ask, doc)
    asymmetric(ask, doc)
    histogram(ask, doc)
    doc.hardware([
        ["links predicted within 10 %, model, d = 1, 2, 3", "83.2 %, 77.3 %, 72.1 %"],
        ["the same with fairness only", "66.8 %, 58.0 %, 68.8 %"],
        ["worst error with fairness only", "-80 %"],
        ["largest average error (experiment 9)", "9.5 %"]])
    return doc


def figure_1(ask, doc):
    doc.section("Congestion factors of Figure 1",
                "Link a1-b1 has S = <{1,3,4}, {1,2}, {1}>, so (2) is k = max(3 beta_O, 2 beta_N, "
                "beta_N); with the electrical backbone beta_O becomes beta_N.  Ends that the text "
                "does not give are chosen so that these sets come out.  In units of 1/NIC:")
    racks = [0, 0, 0, 0, 1, 1, 1, 1, 1]
    links = [[0, 4], [0, 3], [1, 5], [2, 6], [7, 8]]
    optical, electrical = cluster(racks, links), cluster(racks, links, NIC)
    answers = ask("congestion", "algorithm1", [optical, electrical])
    k = [answer["k_kbar_mul_nic"][0][0] for answer in answers]
    doc.comparison([["k of a1-b1, optical backbone", max(3 * NIC / BACKBONE, 2, 1), k[0]],
                    ["k of a1-b1, electrical backbone", max(3, 2, 1), k[1]]])
    doc.questions("congestion", "algorithm1", [optical, electrical])


def fairness(ask, doc):
    doc.section("Fairness", "Section 5.1: links one way over one NIC (A) or over the optical "
                "backbone (B), which up to ten links do not saturate; (5), and Algorithm 1 on the pattern.")
    counts = (1, 2, 6, 12)
    rows = []
    for count, answer in zip(counts, ask("congestion", "algorithm1", [star(n, 0) for n in counts])):
        rows.append([f"A, links: {count}", NIC / count, min(answer["bandwidth"])])
    counts = (1, 10, 12, 15)
    inputs = [{"n_in": n, "n_out": 0, "bandwidth": BACKBONE, "link": NIC} for n in counts]
    closed = ask("congestion", "closed", inputs)
    patterns = ask("congestion", "algorithm1", [across(n) for n in counts])
    for count, share, answer in zip(counts, closed, patterns):
        paper = NIC if count <= 10 else BACKBONE / count
        rows += [[f"B, links: {count}; (5)", paper, share["fairness_in"]],
                 [f"B, links: {count}; Algorithm 1", paper, min(answer["bandwidth"])]]
    doc.comparison(rows)
    doc.questions("congestion", "closed", inputs[2:])
    doc.questions("congestion", "algorithm1", [star(2, 0)])


def asymmetric(ask, doc):
    doc.section("The asymmetric property", "Section 5.2: n links into a node and fewer out of it.  "
                "All get what the crowded direction leaves each, (6).")
    two, twelve = ask("congestion", "algorithm1", [star(2, 1), star(12, 1)])
    doc.comparison([
        ["2 in, 1 out: the outgoing link", 470, two["bandwidth"][2]],
        ["2 in, 1 out: an incoming link", 470, two["bandwidth"][0]],
        ["the outgoing link by fairness alone", 940, two["bandwidth_fairness_only"][2]],
        ["12 in, 1 out: all together, 13/12 NIC", 13 / 12 * NIC, sum(twelve["bandwidth"])],
        ["all together by fairness alone, 2 NICs", 2 * NIC,
         sum(twelve["bandwidth_fairness_only"])]])
    doc.questions("congestion", "algorithm1", [star(2, 1)])


# ---- section 7 -----------------------------------------------------------------------

def random_pattern(draw, nodes, degree):
    """Each node, d times: another node at random, and a message to it with probability 1/2."""
    links = []
    for _ in range(degree):
        for source in range(nodes):
            other = int(draw.random() * (nodes - 1))
            if draw.random() < 0.5:
                links.append([source, other + (other >= source)])
    half = nodes // 2
    return cluster([0] * half + [1] * half, links)


def patterns():
    """By degree; the same in every run."""
    draw = random.Random(2012)
    return {degree: [random_pattern(draw, nodes, degree) for nodes in NODE_COUNTS
                     for _ in range(PATTERNS_EACH)] for degree in DEGREES}


def histogram(ask, doc):
    doc.section("Random patterns", "The patterns of section 7, drawn anew (the paper's are not "
                f"printed): {', '.join(map(str, NODE_COUNTS))} nodes in two racks, "
                f"d = 1, 2, 3, {PATTERNS_EACH} of each.  The paper compares predicted with "
                "measured times, which takes hardware.  Here the time of each link by another "
                "variant of the model stands against that by Algorithm 1: error = variant's time / "
                "Algorithm 1's time - 1.  It shows how far the variants are apart.")
    answered = {}
    refused = 0
    for degree, given in patterns().items():
        pairs = list(zip(given, ask("congestion", "algorithm1", given)))
        answered[degree] = [pair for pair in pairs if pair[1] is not None]
        refused += len(pairs) - len(answered[degree])
    head = ["variant", *(f"within 10 %, d = {d}" for d in DEGREES), "least error", "largest error"]
    rows, bars = [], []
    for name, key in VARIANTS:
        found = {d: [e for _, answer in pairs for e in errors(answer, key)]
                 for d, pairs in answered.items()}
        every = [e for part in found.values() for e in part]
        rows.append([name, *(percent(sum(abs(e) <= 0.1 for e in part), len(part))
                             for part in found.values()),
                     f"{100 * min(every):.1f} %", f"{100 * max(every):+.1f} %"])
        bars.append(Bars(f"{name} against Algorithm 1", "error of the time, %", -100, 10,
                         bins(every)))
    doc.table(head, rows)
    doc.plot("congestion-variants", "Errors between the variants",
             picture("Histograms of errors between the variants of the congestion model", bars))
    doc.table(["what", "paper", "headway"], characteristics(answered, refused))
    doc.text("The paper's patterns have fewer links on the backbone than ours.  Which numbers of "
             "nodes it used is plotted only; ends drawn uniformly put half of the links on it.")
    doc.table(["variant", "patterns in which some NIC or backbone carries more than it can"],
              [[name, oversubscribed(all_of(answered), key)]
               for name, key in (("Algorithm 1", "bandwidth"), *VARIANTS)])
    doc.questions("congestion", "algorithm1", [patterns()[1][0]], "The first of the patterns:")


def oversubscribed(pairs, key):
    count = sum(overload(given, answer[key]) > 1 + 1e-9 for given, answer in pairs)
    return f"{count} of {len(pairs)}"


def all_of(answered):
    return [pair for pairs in answered.values() for pair in pairs]


def characteristics(answered, refused):
    every = [given for given, _ in all_of(answered)]
    return [["patterns", "354", str(len(every) + refused)],
            ["of these, Algorithm 1 divides by zero", "not said", str(refused)],
            ["most links in one pattern", "57", str(max(len(given["links"]) for given in every))],
            ["most links on a NIC", "6", str(max(most_on(given, nic_of) for given in every))],
            ["most links on the backbone", "10",
             str(max(most_on(given, rack_of) for given in every))]]


def errors(answer, key):
    return [paper / other - 1 for paper, other in zip(answer["bandwidth"], answer[key])]


def bins(values):
    """20 of 10 % each from -100 %; what lies beyond counts in the last."""
    counts = [0] * 20
    for value in values:
        counts[min(19, max(0, int((100 * value + 100 + 1e-9) // 10)))] += 1
    return counts


def nic_of(given, link):
    return [(("out", link[0]), NIC), (("in", link[1]), NIC)]


def rack_of(given, link):
    racks = [given["rack"][end] for end in link]
    if racks[0] == racks[1]:
        return []
    return [(("rack out", racks[0]), BACKBONE), (("rack in", racks[1]), BACKBONE)]


def most_on(given, resources_of):
    count = {}
    for link in given["links"]:
        for name, _ in resources_of(given, link):
            count[name] = count.get(name, 0) + 1
    return max(count.values(), default=0)


def overload(given, bandwidth):
    """The most that any direction of a NIC or backbone carries, of what it can."""
    load = {}
    for link, share in zip(given["links"], bandwidth):
        for name, capacity in nic_of(given, link) + rack_of(given, link):
            load[name] = load.get(name, 0) + share / capacity
    return max(load.values(), default=0)


def percent(part, whole):
    return f"{100 * part / whole:.1f} %"
