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
SHOWN = (4 * KIB, 16 * KIB, 32 * KIB)   # over hosts


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


def lossy_from(sums):
    """The smallest size at which frames were dropped, or None."""
    return next((one["bytes"] for one in sums if one["drops"]), None)


def signature_of(ask, found, hosts, adapted=False):
    """Fits the means of this number of hosts by `headway fit`, as the paper fits averages.
    Adapted: M is the smallest size that loses frames, alpha counts once in an exchange, and
    errors count by their part of the time."""
    alpha, beta = one_way(found)
    sums = exchanges(found, hosts)
    given = {"n": hosts, "alpha": alpha, "beta": beta, "samples": [[one["bytes"], one["mean"] / 1e3] for one in sums]}
    if adapted:
        given |= {"alpha": alpha / (hosts - 1), "cov": [(one["mean"] / 1e3) ** 2 for one in sums]}
        given |= {"M": lossy_from(sums)} if lossy_from(sums) else {}
    return ask.fit("contention", given)


def predictions(ask, found, signature, hosts, adapted=False):
    """(5) and Proposition 1 in ms, by size."""
    alpha, _ = one_way(found)
    answers = ask("contention", "predict", [
        {"n": hosts, "m": size, "M": signature["M_bytes"], "alpha": alpha / (hosts - 1) if adapted else alpha, "beta": signature["beta"],
         "gamma": signature["gamma"], "delta": signature["delta_s"]} for size in SIZES])
    return {size: (answer["time"] * 1e3, answer["lower_bound"] * 1e3) for size, answer in zip(SIZES, answers)}


def chapter(ask, found, _network):
    doc = Chapter("Contention signature", "Steffenel, Martinasso, Trystram: *Assessing Contention Effects on MPI_Alltoall "
                  "Communications.*")
    alpha, beta = one_way(found)
    doc.section("Predictions for other numbers of hosts", """
        The paper fits gamma and delta on all-to-alls of one number of hosts (gamma = 1.0195, delta = 8.23 ms above 2 kB on Fast
        Ethernet; 4.3628 and 4.93 ms above 8 kB on Gigabit Ethernet) and predicts other numbers of hosts, with an error that is
        usually smaller than 10 %.""")
    doc.text(f"""
        Here: {found.scene["title"]}, ports with a buffer of {kib(found.scene["port_buffer_bytes"])}.  Everybody posts all receives and
        all sends at once (collective_bench --algorithm linear).  alpha and beta are those of a straight line through single messages:
        alpha = {alpha * 1e6:.3g} us,
        1/beta = {1e-6 / beta:.4g} MB/s.  Fitted on the means of {FITTED} hosts by `headway fit`; all other numbers of hosts are
        predictions.  Times in ms, errors in per cent of the prediction.""")
    signatures_part(doc, ask, found)
    errors_part(doc, ask, found)
    notes(doc)
    return doc


def signatures_part(doc, ask, found):
    doc.text("""
        *Plain* is what `headway fit` makes of the means by itself.  *Adapted* is told M, the smallest size at which frames were
        dropped; alpha counts once in an exchange, not once for each of the n - 1 messages, and an error by its part of the
        time.""")
    rows = []
    for hosts in sorted((FITTED, *OTHERS)):
        for adapted in (False, True):
            own = signature_of(ask, found, hosts, adapted)
            threshold = "none" if own["M_bytes"] is None else kib(int(own["M_bytes"]))
            rows.append([f"{hosts}{' (these predict)' if hosts == FITTED else ''}", "adapted" if adapted else "plain",
                         f"{own['gamma']:.4g}", f"{own['delta_s'] * 1e3:.3g}", threshold])
    doc.table(["fitted on hosts", "fit", "gamma", "delta, ms", "M"], rows)


def errors_part(doc, ask, found):
    fits = [signature_of(ask, found, FITTED, adapted) for adapted in (False, True)]
    rows, curves, dots, over_hosts = [], [], [], {size: ([], []) for size in SHOWN}
    errors = {}
    for hosts in sorted((FITTED, *OTHERS)):
        plain, adapted = (predictions(ask, found, fit, hosts, is_adapted) for is_adapted, fit in enumerate(fits))
        for one in exchanges(found, hosts):
            size = one["bytes"]
            off = [calls.error_pct(one["mean"], by[size][0]) for by in (plain, adapted)]
            errors.setdefault(hosts, []).append(off)
            rows.append([hosts, kib(size), one["calls"], *(ms(one[name]) for name in ("mean", "median", "most")), one["timeouts"],
                         one["probes"], one["drops"], ms(plain[size][1]), ms(plain[size][0]), calls.signed(off[0]),
                         ms(adapted[size][0]), calls.signed(off[1])])
            dots.append((size / KIB, one["mean"]))
            if size in SHOWN:
                over_hosts[size][0].append((hosts, adapted[size][0]))
                over_hosts[size][1].append((hosts, one["mean"]))
        curves.append((f"(5), {hosts} hosts", [(size / KIB, adapted[size][0]) for size in SIZES]))
    doc.table(["hosts", "bytes", "calls", "mean", "median", "most", "time-outs", "probes", "frames dropped", "bound", "plain", "error, %",
               "adapted", "error, %"], rows)
    doc.table(["hosts", "plain: within 10 %", "adapted: within 10 %", "within 25 %", "largest error, %"],
              [[hosts, within(of, 0, 10), within(of, 1, 10), within(of, 1, 25), calls.signed(max((off[1] for off in of), key=abs))]
               for hosts, of in errors.items()])
    doc.plot("live-signature", "All-to-alls predicted by a signature", picture("All-to-alls predicted by a signature", [
        Panel("all-to-all: dots are means measured, lines adapted", "message, KiB", "ms", curves, dots=dots),
        Panel(f"of {', '.join(map(kib, SHOWN))}, predicted and means measured", "hosts", "ms",
              [(kib(size), line) for size, (line, _) in over_hosts.items()], log=(False, True),
              dots=[dot for _, seen in over_hosts.values() for dot in seen])]))


def within(errors, which, limit_pct):
    return f"{sum(abs(off[which]) <= limit_pct for off in errors)} of {len(errors)}"


def notes(doc):
    doc.section("What differs, and what is known of why", """
        An exchange of short messages ends before Proposition 1 says that it can, because of messages under way at once only the
        last one's alpha is felt.  With alpha counted once, gamma of what loses no frame is near 1, and one number of hosts
        predicts the others.""")
    doc.text("""
        From M on a mean follows how often a probe or a time-out took 200 ms, which is what delta stands for; of eight or ten
        calls it is known badly, where the paper averaged 100.  It grows faster than n - 1, and M itself depends on the number
        of hosts.  A plain fit follows the two such means, and its gamma says nothing of the sizes below.""")
