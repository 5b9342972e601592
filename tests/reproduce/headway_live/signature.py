# SPDX-License-Identifier: Apache-2.0
"""Steffenel et al.: the signature of one number of hosts, and predictions for others."""

from headway_reproduce.document import Chapter
from headway_reproduce.plot import Panel, picture

from . import calls
from .calls import kib, ms
from .scenes import SWITCH, hosts_of

SCENE = SWITCH
KIB = 1024
SIZES = [1 * KIB, 2 * KIB, 4 * KIB, 8 * KIB, 16 * KIB, 32 * KIB, 64 * KIB]
FITTED = 8                  # hosts
OTHERS = (4, 12, 16)
SHOWN = (4 * KIB, 16 * KIB, 64 * KIB)   # over hosts


def spec(repetitions):
    """An exchange of 64 KiB of 16 hosts is 15 MB for one processor: large ones are fewer."""
    def job(name, operation, hosts, algorithm=None):
        calls = [[size, max(repetitions * 8 * KIB // max(size, 8 * KIB), repetitions // 5, 1)] for size in SIZES]
        return {"name": name, "kind": "collective", "operation": operation, "algorithm": algorithm, "hosts": hosts,
                "mca": {"coll_tuned_use_dynamic_rules": 1, "coll_tuned_gather_algorithm": 1}, "sizes": calls, "warmup": 2}

    jobs = [job("one-way", "gather", ["a0", "a1"])]
    jobs += [job(f"all-to-all-{count}", "alltoall", hosts_of(SCENE, count // 2), "linear") for count in sorted((FITTED, *OTHERS))]
    return {"scene": SCENE.facts(), "measure": False, "jobs": jobs}


def one_way(found):
    """alpha and beta, s and s per byte, of a message from one host to another."""
    return calls.straight_line([(one["bytes"], one["median"] / 1e3) for one in map(calls.summary, found.of("one-way"))])


def exchanges(found, hosts):
    return [calls.summary(result) for result in found.of(f"all-to-all-{hosts}")]


def signature_of(ask, found, hosts):
    """What `headway fit` makes of the means of this number of hosts, as the paper fits averages."""
    alpha, beta = one_way(found)
    return ask.fit("contention", {"n": hosts, "alpha": alpha, "beta": beta,
                                  "samples": [[one["bytes"], one["mean"] / 1e3] for one in exchanges(found, hosts)]})


def predictions(ask, signature, hosts):
    """(5) and Proposition 1 in ms, by size."""
    answers = ask("contention", "predict", [
        {"n": hosts, "m": size, "M": signature["M_bytes"], "alpha": signature["alpha"], "beta": signature["beta"],
         "gamma": signature["gamma"], "delta": signature["delta_s"]} for size in SIZES])
    return {size: (answer["time"] * 1e3, answer["lower_bound"] * 1e3) for size, answer in zip(SIZES, answers)}


def chapter(ask, found, _network):
    doc = Chapter("Contention signature", "Steffenel, Martinasso, Trystram: *Assessing Contention Effects on MPI_Alltoall "
                  "Communications.*")
    alpha, beta = one_way(found)
    fit = signature_of(ask, found, FITTED)
    doc.section("Predictions for other numbers of hosts", """
        The paper fits gamma and delta on all-to-alls of one number of hosts (24 on Fast Ethernet, 40 on Gigabit Ethernet; averages of
        100 measures) and prints gamma = 1.0195, delta = 8.23 ms above 2 kB, and gamma = 4.3628, delta = 4.93 ms above 8 kB.  It
        predicts other numbers of hosts, on Fast Ethernet with an error that is usually smaller than 10 % when there are enough
        processes to saturate the network.""")
    doc.text(f"""
        Here: {found.scene["title"]}, ports with a buffer of {kib(found.scene["port_buffer_bytes"])}.  Everybody posts all receives and
        all sends at once (collective_bench --algorithm linear).  alpha and beta are those of a straight line through single messages
        from one host to another, the same MPI library's, timed from a common start to their arrival: alpha = {alpha * 1e6:.3g} us,
        1/beta = {1e-6 / beta:.4g} MB/s.  Fitted on the means of {FITTED} hosts by `headway fit`; all other numbers of hosts are
        predictions.  Times in ms, errors in per cent of the prediction, as in the paper.""")
    signatures_part(doc, ask, found)
    errors_part(doc, ask, found, fit)
    return doc


def signatures_part(doc, ask, found):
    rows = []
    for hosts in sorted((FITTED, *OTHERS)):
        own = signature_of(ask, found, hosts)
        rows.append([f"{hosts}{' (the one that predicts)' if hosts == FITTED else ''}", f"{own['gamma']:.4g}", ms(own["delta_s"] * 1e3),
                     "none" if own["M_bytes"] is None else kib(own["M_bytes"]), "yes" if own["good"] else "no"])
    doc.table(["hosts", "gamma", "delta, ms", "M", "`headway fit` calls it good"], rows)


def errors_part(doc, ask, found, fit):
    rows, curves, dots, errors, over_hosts = [], [], [], {}, {size: ([], []) for size in SHOWN}
    for hosts in sorted((FITTED, *OTHERS)):
        predicted = predictions(ask, fit, hosts)
        for one in exchanges(found, hosts):
            time, bound = predicted[one["bytes"]]
            error = calls.error_pct(one["mean"], time)
            errors.setdefault(hosts, []).append(error)
            rows.append([hosts, kib(one["bytes"]), one["calls"], ms(bound), ms(time), ms(one["mean"]), ms(one["median"]), ms(one["most"]),
                         one["timeouts"], calls.signed(error)])
            dots.append((one["bytes"] / KIB, one["mean"]))
            if one["bytes"] in SHOWN:
                over_hosts[one["bytes"]][0].append((hosts, time))
                over_hosts[one["bytes"]][1].append((hosts, one["mean"]))
        curves.append((f"(5), {hosts} hosts", [(size / KIB, predicted[size][0]) for size in SIZES]))
    doc.table(["hosts", "bytes", "calls", "bound", "predicted (5)", "mean", "median", "most", "time-outs", "error, %"], rows)
    doc.table(["hosts", "largest error, %", "within 10 %", "within 50 %"],
              [[hosts, calls.signed(max(of, key=abs)), f"{sum(abs(error) <= 10 for error in of)} of {len(of)}",
                f"{sum(abs(error) <= 50 for error in of)} of {len(of)}"] for hosts, of in errors.items()])
    doc.plot("live-signature", "All-to-alls predicted by a signature", picture("All-to-alls predicted by a signature", [
        Panel("all-to-all: dots are means measured", "message, KiB", "ms", curves, dots=dots),
        Panel(f"of {', '.join(map(kib, SHOWN))}, predicted and means measured", "hosts", "ms",
              [(kib(size), line) for size, (line, _) in over_hosts.items()], log=(False, True),
              dots=[dot for _, seen in over_hosts.values() for dot in seen])]))
