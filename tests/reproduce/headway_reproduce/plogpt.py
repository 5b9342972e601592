# SPDX-License-Identifier: Apache-2.0
"""Nomura, Matsuba, Ishikawa: PlogPT."""

from .document import Chapter, size
from .plot import Panel, picture

# Table II: b(h) / 2^(h-1) in Mbit/s; d(h) in us, or 2 d(h) in the bidirectional columns.
BIDIRECTIONAL = ((580.2, 580.1, 576.0, 579.2, 485.0), (502, 902, 913, 910, 909), 2)
UNIDIRECTIONAL = ((936.4, 935.6, 936.1, 934.1, 625.0), (500, 517, 535, 527, 543), 1)
EPS_S = 0.01
T_RTO_S = 0.2
EPS_T_S = 50e-6
# Not printed: Figure 3 shows g(m), and no text gives L.
LATENCY_S = 50e-6
GAP_0_S = 10e-6
SEEDS = range(10)
SIZES = [round(1000 * 2 ** (i / 4)) for i in range(41)]     # 1 kB to 1 MB


def links(columns=BIDIRECTIONAL):
    """b in bytes/s and d in s, index 0 = height 1."""
    per_leaf_mbps, delays_us, times = columns
    b = [mbps * 125000 * 2 ** i for i, mbps in enumerate(per_leaf_mbps)]
    return b, [us / (times * 1e6) for us in delays_us]


def clamped(b):
    """b(h+1) <= 2 b(h), as the paper wants b to be used."""
    result = []
    for value in b:
        result.append(min(value, 2 * result[-1]) if result else value)
    return result


def alltoall(processes, m):
    b, d = links()
    heights = processes.bit_length() - 1
    return {"b": b[:heights], "d": d[:heights], "clamp": True, "eps_s": EPS_S, "P": processes,
            "m": m, "g": GAP_0_S + m / b[0], "L": LATENCY_S, "t_rto": T_RTO_S}


def simulated(processes, m, algorithm, rto):
    return {**alltoall(processes, m), "eps_t": EPS_T_S, "algorithm": algorithm, "rto": rto}


def chapter(ask):
    doc = Chapter("PlogPT", "Nomura, Matsuba, Ishikawa: *Network Performance Model for TCP/IP Based "
                  "Cluster Computing.*  Seconds, bytes, bytes/s unless written otherwise.")
    sample(ask, doc)
    table_2(ask, doc)
    rto_steps(ask, doc)
    algorithms(ask, doc)
    doc.hardware([
        ["Table II itself: b(h), d(h)", "five heights, two directions"],
        ["g(m), Figure 3, and L", "plotted, not printed"],
        ["measured all-to-alls, Figures 5 and 17", "\"approximately an integral multiple of 200 ms\" "
         "above PlogP's prediction"],
        ["RTOs of algorithm A on many nodes", "\"with a low probability\"; the model has none"]])
    return doc


# ---- III-E ---------------------------------------------------------------------------

SAMPLE = {"b": [3, 4], "d": [0, 0], "clamp": True, "eps_s": EPS_S, "gap": [[1, 8]], "L": 3,
          "rto": "none"}


def sample_programs():
    """Figure 9: everybody exchanges with r xor 2, then 0 sends to 3."""
    programs = [[["irecv", r ^ 2, 1], ["isend", r ^ 2, 1], ["wait", 1], ["wait", 0]]
                for r in range(4)]
    programs[0] += [["isend", 3, 1], ["wait", 4]]
    programs[3] += [["irecv", 0, 1], ["wait", 4]]
    return programs


def sample(ask, doc):
    doc.section("The example of section III-E",
                "b(1) = 3, b(2) = 4, g(m) = 8, L = 3; the programs of Figure 9.")
    flows = {"b": [3, 4], "clamp": True, "flows": [[0, 2], [1, 3], [2, 0], [3, 1]]}
    program = {**SAMPLE, "programs": sample_programs()}
    rates = ask.one("plogpt", "rates", flows)["rate"]
    run = ask.one("plogpt", "simulate", program)
    leave = run["leave"]
    doc.comparison([
        ["throughput of each of the first Isends, before (16)", 2, rates[0]],
        ["O[i,1].f_noRTO, (17), and O[i,2].l", 12, leave[0][2]],
        ["O[i,3].l, Wait for the Irecv", 15, leave[0][3]],
        ["O[3,5].l, time of the program", 26, run["makespan"]]])
    doc.questions("plogpt", "rates", [flows])
    doc.questions("plogpt", "simulate", [program])


# ---- Table II ------------------------------------------------------------------------

def ps_inputs(columns):
    b, d = links(columns)
    return [{"b": clamped(b), "d": d, "h": h, "h2": h + 1, "eps_s": EPS_S} for h in range(1, 5)]


def table_2(ask, doc):
    doc.section("Where Table II has switches", "(5) on the bidirectional columns of Table II, with "
                "b(h+1) clamped to 2 b(h).  The paper does not print eps_S; section IV says that "
                "P_S(h,h+1) is false for h = 2 and 3.  That holds for every eps_S between the second "
                f"and the fourth distance; here it is {EPS_S}.")
    inputs = ps_inputs(BIDIRECTIONAL)
    answers = ask("plogpt", "ps", inputs)
    doc.comparison([[f"P_S({given['h']},{given['h2']}); left side of (5): {answer['distance']:.3g}",
                     given["h"] in (1, 4), answer["ps"]] for given, answer in zip(inputs, answers)])
    doc.questions("plogpt", "ps", inputs)
    one_way = ask("plogpt", "ps", ps_inputs(UNIDIRECTIONAL))
    doc.text("The unidirectional columns, which the paper does not use for this, have one such place:")
    doc.table(["h, h+1", "left side of (5)", "P_S"],
              [[f"{h}, {h + 1}", answer["distance"], answer["ps"]]
               for h, answer in enumerate(one_way, 1)])


def first_size(ask, processes, n_rto):
    """The least whole number of bytes with so many RTOs; each round asks for 32 sizes."""
    below, at = 0, 1 << 20
    while at - below > 1:
        step = max(1, (at - below) // 32)
        sizes = [*range(below + step, at, step), at]
        answers = ask("plogpt", "alltoall", [alltoall(processes, m) for m in sizes])
        first = next(i for i, answer in enumerate(answers) if answer["n_rto"] >= n_rto)
        below, at = (sizes[first - 1] if first else below), sizes[first]
    return at


def rto_steps(ask, doc):
    doc.section("RTOs of algorithm B", "(24): a height counts if it has switches above and its buffer, "
                "(8), holds less than a message.  Table II decides the sizes: d(1) b(1) and "
                "d(4) b(4)/8.  The paper shows them in Figure 17, whose text says that there is no "
                "time-out below \"a particular size\".")
    b, d = links()
    b = clamped(b)
    rows = [["N_RTO of 1 MB, P = 4", 1, count(ask, 4, 1e6)],
            ["N_RTO of 1 MB, P = 32", 2, count(ask, 32, 1e6)],
            ["first size with an RTO, P = 4, bytes; (8): d(1) b(1)", d[0] * b[0],
             first_size(ask, 4, 1)],
            ["first size with an RTO, P = 32", d[0] * b[0], first_size(ask, 32, 1)],
            ["first size with two, P = 32; (8): d(4) b(4)/8", d[3] * b[3] / 8,
             first_size(ask, 32, 2)]]
    doc.comparison(rows)
    doc.text("The difference is that of a whole number of bytes.  The question for 1 MB and 32 "
             "processes:")
    doc.questions("plogpt", "alltoall", [alltoall(32, 1e6)])


def count(ask, processes, m):
    return ask.one("plogpt", "alltoall", alltoall(processes, m))["n_rto"]


# ---- Figure 17 -----------------------------------------------------------------------

def algorithms(ask, doc):
    doc.section("Algorithms A and B", "The predictions of Figure 17.  Neither g(m) nor L is printed; "
                f"taken here: g(m) = {GAP_0_S * 1e6:g} us + m/b(1), L = {LATENCY_S * 1e6:g} us.  Each "
                "simulation judges the time-outs in another random order; the band reaches from the "
                f"least to the most of {len(SEEDS)} of them.  (25) adds N_RTO time-outs to the time of "
                "ranks that stay in step; after a time-out they do not, so it is no bound.")
    panels = []
    for processes in (4, 32):
        steps = [first_size(ask, processes, n + 1) for n in range(count(ask, processes, SIZES[-1]))]
        closed = ask("plogpt", "alltoall", [alltoall(processes, m) for m in SIZES])
        runs = ask("plogpt", "simulate_alltoall", [simulated(processes, m, "b", f"random:{seed}")
                                                   for m in SIZES for seed in SEEDS])
        spans = [[run["makespan"] * 1e3 for run in runs[i * len(SEEDS):(i + 1) * len(SEEDS)]]
                 for i in range(len(SIZES))]
        panels.append(panel(ask, processes, steps,
                            [(m / 1e3, min(span), max(span)) for m, span in zip(SIZES, spans)]))
        check_table(doc, processes, closed, spans)
    doc.plot("plogpt-alltoall", "All-to-alls A and B by PlogP and PlogPT",
             picture("Times of the all-to-alls A and B over message size", panels))
    doc.questions("plogpt", "alltoall", [alltoall(4, 65536)], "One of the closed forms, and one "
                  "of the simulations:")
    doc.questions("plogpt", "simulate_alltoall", [simulated(4, 65536, "b", "random:0")])


def panel(ask, processes, steps, band):
    sizes = sorted([*SIZES, *steps, *(m - 1 for m in steps)])   # a step is upright
    closed = ask("plogpt", "alltoall", [alltoall(processes, m) for m in sizes])
    names = (("PlogPT A (23)", "plogpt_a"), ("PlogPT B (25)", "plogpt_b"),
             ("PlogP A (18)", "plogp_a"), ("PlogP B (19)", "plogp_b"))
    curves = [(name, [(m / 1e3, answer[key] * 1e3) for m, answer in zip(sizes, closed)])
              for name, key in names]
    marks = [(m / 1e3, f"{m / 1e3:.1f} kB") for m in steps]
    return Panel(f"P = {processes}", "message, kB", "ms", curves, band, marks)


def check_table(doc, processes, closed, spans):
    """(20), (26) and (27) at some sizes."""
    doc.text(f"P = {processes}, ms:")
    rows = []
    for i in range(0, len(SIZES), 4):
        answer = closed[i]
        rows.append([size(SIZES[i]), *(answer[key] * 1e3 for key in ("plogp_a", "plogp_b",
                                                                   "plogpt_a", "plogpt_b")),
                     answer["n_rto"], f"{min(spans[i]):.6g} to {max(spans[i]):.6g}",
                     "A" if answer["plogpt_a"] < answer["plogpt_b"] else "B"])
    doc.table(["message", "PlogP A (18)", "PlogP B (19)", "PlogPT A (23)", "PlogPT B (25)", "N_RTO",
               "B simulated", "faster"], rows)
    sizes = len(SIZES)
    doc.comparison([
        [f"(20) PlogP: B is faster, of {sizes} sizes", sizes,
         sum(answer["plogp_a"] > answer["plogp_b"] for answer in closed)],
        [f"(26) (27) A is faster exactly if N_RTO > 0, of {sizes} sizes", sizes,
         sum((answer["plogpt_a"] < answer["plogpt_b"]) == (answer["n_rto"] > 0)
             for answer in closed)]])
