# SPDX-License-Identifier: Apache-2.0
"""Steffenel, Martinasso, Trystram: contention signatures."""

from .document import Chapter
from .plot import Panel, picture

# gamma, delta in s, M in bytes and n' as printed; alpha and beta are those of the
# link: only the latency of Fast Ethernet, "around 60 us", is in the text.
NETWORKS = {
    "Fast Ethernet": {"n": 24, "gamma": 1.0195, "delta": 8.23e-3, "M": 2000,
                      "alpha": 60e-6, "beta": 8 / 100e6},
    "Gigabit Ethernet": {"n": 40, "gamma": 4.3628, "delta": 4.93e-3, "M": 8000,
                         "alpha": 50e-6, "beta": 8 / 1e9},
    "Myrinet": {"n": 24, "gamma": 2.49754, "delta": 0, "M": None,
                "alpha": 10e-6, "beta": 8 / 2e9},
}
SIZES = [round(256 * 2 ** (i / 4)) for i in range(49)]      # 256 B to 1 MiB
PROCESSES = list(range(4, 61, 4))


def chapter(ask):
    doc = Chapter("Contention signatures", "Steffenel, Martinasso, Trystram: *Assessing Contention "
                  "Effects on MPI_Alltoall Communications.*  Seconds, bytes.")
    signatures(ask, doc)
    fits(ask, doc)
    two_clusters(ask, doc)
    doc.hardware([
        ["the signatures: gamma, delta, M", "as above, from 24, 40 and 24 processes"],
        ["error on Fast Ethernet once saturated", "usually below 10 %"],
        ["processes that saturate Myrinet", "more than 40, so that its signature does not extrapolate"]])
    return doc


def predict(network, m, n=None):
    return {**network, "m": m, "n": n or network["n"]}


def signatures(ask, doc):
    doc.section("Three signatures as curves", "(5) and Proposition 1 with the printed signatures.  "
                "alpha and beta are not printed but for the latency of Fast Ethernet, around 60 us; "
                "taken here: 60, 50 and 10 us, and the nominal 100 Mbit/s, 1 Gbit/s and 2 Gbit/s.")
    sizes, counts = [], []
    for name, network in NETWORKS.items():
        at = sorted([*SIZES, network["M"] - 1, network["M"]]) if network["M"] else SIZES
        answers = ask("contention", "predict", [predict(network, m) for m in at])
        sizes.append(curves(f"{name}, n' = {network['n']}", "message, kB",
                            [m / 1000 for m in at], answers, (True, True)))
        answers = ask("contention", "predict", [predict(network, 65536, n) for n in PROCESSES])
        counts.append(curves(f"{name}, messages of 64 KiB", "processes", PROCESSES, answers,
                             (False, False)))
    doc.plot("contention-sizes", "Signatures over message size",
             picture("All-to-all over message size on three networks", sizes))
    doc.plot("contention-processes", "Signatures over processes",
             picture("All-to-all over processes on three networks", counts))
    doc.questions("contention", "predict", [predict(network, 65536) for network in NETWORKS.values()])


def curves(title, x_label, xs, answers, log):
    return Panel(title, x_label, "ms", [
        ("prediction (5)", [(x, answer["time"] * 1e3) for x, answer in zip(xs, answers)]),
        ("lower bound, Proposition 1",
         [(x, answer["lower_bound"] * 1e3) for x, answer in zip(xs, answers)])], log=log)


def fits(ask, doc):
    doc.section("The signatures from samples", "The paper fits at least four points.  Its samples are "
                "not printed; these are of its own equation (5), so the fit has to give the signature "
                "back.")
    rows, inputs = [], []
    for name, network in NETWORKS.items():
        sizes = [1000, 16000, 64000, 256000, 1000000]
        answers = ask("contention", "predict", [predict(network, m) for m in sizes])
        given = {key: network[key] for key in ("n", "alpha", "beta", "M")}
        given |= {"samples": [[m, answer["time"]] for m, answer in zip(sizes, answers)],
                  "cov": None, "which": "all"}
        inputs.append(given)
        fit = ask.one("contention", "fit", given)
        rows.append([f"{name}: gamma", network["gamma"], fit["gamma"]])
        rows.append([f"{name}: delta, ms", network["delta"] * 1e3, fit["delta"] * 1e3])
    doc.comparison(rows)
    doc.questions("contention", "fit", inputs[1:2])


def two_clusters(ask, doc):
    doc.section("Two clusters", "Section 7: 2 max(n1,n2) messages between the clusters against 2 n1 n2, "
                "and a single step if both have as many processes.  The text has no example; these "
                "are ours.")
    rows, inputs = [], []
    for n1, n2 in ((16, 16), (10, 25)):
        given = {"T1": 0, "T2": 0, "n1": n1, "n2": n2, "alpha_w": 1, "beta_w": 0, "m": 1}
        inputs.append(given)
        answer = ask.one("contention", "two_cluster", given)
        rows += [[f"{n1} and {n2} processes: messages in two phases", 2 * max(n1, n2),
                  answer["messages"][0]],
                 [f"{n1} and {n2} processes: traditional", 2 * n1 * n2, answer["messages"][1]],
                 [f"{n1} and {n2} processes: steps between the clusters", -(-n2 // n1),
                  answer["literal"]]]
    doc.comparison(rows, source="formula of the text")
    doc.questions("contention", "two_cluster", inputs,
                  "alpha_w = 1 and nothing else that costs time: (6) counts the steps.")
