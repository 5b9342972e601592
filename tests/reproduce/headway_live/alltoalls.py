# SPDX-License-Identifier: Apache-2.0
"""Nomura, Matsuba, Ishikawa: the all-to-alls A and B over sizes."""

from statistics import mean

from headway_reproduce.document import Chapter
from headway_reproduce.plot import Panel, picture

from . import calls
from .calls import kib, ms
from .network import bandwidth_and_buffer, latencies
from .scenes import RACK, hosts_of

SCENE = RACK
KIB = 1024
SIZES = [size * KIB for size in (1, 2, 4, 8, 12, 16, 24, 32, 48, 64, 128)]
ALGORITHMS = {"A": "pairwise_xor", "B": "alltoall_b"}
PROCESSES = (4, 8)
EPS_S, EPS_T = 0.01, 50e-6          # Table II wants the first; the second is that of `headway-eval`
SEEDS = 20


def name_of(algorithm, processes):
    return f"{algorithm}-{processes}"


def spec(repetitions):
    """The paper's ten calls of a size, or as many as are asked for if these are fewer; half of them where most is sent."""
    count = min(repetitions, 10)
    sizes = [[size, count if size < SIZES[-1] else (count + 1) // 2] for size in SIZES]
    jobs = [{"name": name_of(algorithm, processes), "kind": "collective", "operation": "alltoall", "algorithm": ALGORITHMS[algorithm],
             "hosts": hosts_of(SCENE, processes // 2), "sizes": sizes, "warmup": 1}
            for processes in PROCESSES for algorithm in ALGORITHMS]
    return {"scene": SCENE.facts(), "measure": False, "jobs": jobs}


def heights(processes):
    return processes.bit_length() - 1


def tree_of(document, processes):
    """b(h) and d(h) by what `headway measure` found: within a switch, and, on top, its trunk."""
    ports = [link for link in document["links"] if not link["is_trunk"] and link["direction"] == "down"]
    trunks = [link for link in document["links"] if link["is_trunk"]]
    (port_rate, port_delay), (trunk_rate, trunk_delay) = bandwidth_and_buffer(ports), bandwidth_and_buffer(trunks)
    inside = heights(processes) - 1
    return {"b": [port_rate * 2 ** h for h in range(inside)] + [trunk_rate], "d": [port_delay] * inside + [trunk_delay], "clamp": True,
            "eps_s": EPS_S}


def latency_of(document, processes):
    """PlogPT has one L: the mean over a process's partners, of whom one half is beyond the trunk."""
    near, far = (mean(latencies(document, within)) for within in (True, False))
    return (near * (processes // 2 - 1) + far * (processes // 2)) / (processes - 1)


def gap_of(document, size):
    """g(m) of two hosts of a switch, on the straight line between two measured sizes."""
    points = next(pair["gap"] for pair in document["messages"]["pairs"] if pair["from"][0] == pair["to"][0])
    for (before, low), (after, high) in zip(points, points[1:]):
        if size <= after:
            return low + (high - low) * (size - before) / (after - before)
    (before, low), (after, high) = points[-2:]
    return high + (high - low) * (size - after) / (after - before)


class Predicted:
    """PlogPT and PlogP of one number of processes, in ms by size."""

    def __init__(self, ask, document, processes):
        self.given = tree_of(document, processes) | {"P": processes, "L": latency_of(document, processes)}
        self.rto_s = document["messages"]["least_retransmission_timeout_s"] or 0.2
        questions = [self.given | {"m": size, "g": gap_of(document, size)} for size in SIZES]
        self.closed = dict(zip(SIZES, ask("plogpt", "alltoall", [asked | {"t_rto": self.rto_s} for asked in questions])))
        self.simulated = {asked["m"]: self._simulate(ask, asked) for asked in questions}
        self.switches = ask("plogpt", "ps", [{"b": self.given["b"], "d": self.given["d"], "h": h, "h2": h + 1, "eps_s": EPS_S}
                                              for h in range(1, heights(processes))])

    def lossless_ms(self, size, algorithm):
        """(23), or (25) without its time-outs."""
        closed = self.closed[size]
        time_outs_s = closed["n_rto"] * self.rto_s if algorithm == "B" else 0
        return (closed[f"plogpt_{algorithm.lower()}"] - time_outs_s) * 1e3

    def _simulate(self, ask, asked):
        """The least and the most of the simulator's B, over seeds and without time-outs."""
        policies = ["none"] + [f"random:{seed}" for seed in range(SEEDS)]
        answers = ask("plogpt", "simulate_alltoall", [asked | {"t_rto": self.rto_s, "eps_t": EPS_T, "algorithm": "b", "rto": policy}
                                                      for policy in policies])
        return min(answer["makespan"] for answer in answers) * 1e3, max(answer["makespan"] for answer in answers) * 1e3


def chapter(ask, found, network):
    doc = Chapter("All-to-alls A and B", "Nomura, Matsuba, Ishikawa: *Network Performance Model for TCP/IP Based Cluster Computing.*")
    gaps_part(doc, network)
    for processes in PROCESSES:
        exchange_part(doc, ask, found, network, processes)
    notes(doc)
    return doc


def gaps_part(doc, network):
    doc.section("The gap g(m)", """
        In the paper, Figure 3: g(m) is no straight line for short messages.  Here by `headway measure`, of hosts of one switch and of hosts
        on both sides of the trunk, over TCP.""")
    near, far = (next(pair for pair in network["messages"]["pairs"] if (pair["from"][0] == pair["to"][0]) == within)
                 for within in (True, False))
    beyond = dict(map(tuple, far["gap"]))
    doc.table(["bytes m", "g(m), us, one switch", "m / g(m), MB/s", "g(m), us, over the trunk"],
              [[f"{size:g}", f"{gap * 1e6:.4g}", f"{size / gap * 1e-6:.4g}" if size else "-",
                f"{beyond[size] * 1e6:.4g}" if size in beyond else "not measured"] for size, gap in near["gap"]])


def exchange_part(doc, ask, found, network, processes):
    predicted = Predicted(ask, network, processes)
    doc.section(f"A and B of {processes} processes", """
        In the paper, Figure 17, with 4 and 32 processes, ten calls of a size: B has time-outs from a particular size on, of 200 ms each,
        A with a low probability when there are many processes.""" if processes == PROCESSES[0] else "")
    doc.text(parameters(found, predicted, processes))
    doc.text("A, one partner at a time; predictions by (18) and (23):")
    doc.table(HEAD, [row(one, predicted.closed[one["bytes"]], "a") for one in map(calls.summary, found.of(name_of("A", processes)))])
    doc.text(f"""
        B, nobody waits; predictions by (19) and (25), and the least and the most of the simulator, without time-outs and with {SEEDS}
        orders of ties:""")
    doc.table(HEAD + ["simulated"], [
        row(one, predicted.closed[one["bytes"]], "b") + [" to ".join(map(ms, predicted.simulated[one["bytes"]]))]
        for one in map(calls.summary, found.of(name_of("B", processes)))])
    doc.text(steps(found, predicted, processes))
    doc.plot(f"live-alltoall-{processes}", f"A and B of {processes} processes", picture(f"A and B of {processes} processes", [
        panel(found, predicted, processes, algorithm) for algorithm in ALGORITHMS]))


HEAD = ["bytes", "least", "median", "most", f"{calls.TIMED_OUT_MS} ms and more", "time-outs", "probes", "frames dropped", "PlogP", "PlogPT"]


def row(one, closed, letter):
    return [kib(one["bytes"]), ms(one["least"]), ms(one["median"]), ms(one["most"]), f"{one['timed_out']} of {one['calls']}",
            one["timeouts"], one["probes"], one["drops"], ms(closed[f"plogp_{letter}"] * 1e3), ms(closed[f"plogpt_{letter}"] * 1e3)]


def parameters(found, predicted, processes):
    given = predicted.given
    rates = ", ".join(f"{rate * 1e-6:.4g}" for rate in given["b"])
    delays = ", ".join(f"{delay * 1e6:.3g}" for delay in given["d"])
    switches = ", ".join(f"{'yes' if switch['ps'] else 'no'} for h = {h + 1}" for h, switch in enumerate(predicted.switches))
    if processes != PROCESSES[0]:
        return f"""
            {processes // 2} hosts of each cluster, as above but for b(h) = {rates} MB/s, d(h) = {delays} us,
            L = {given["L"] * 1e6:.3g} us, and P_S(h, h+1): {switches}."""
    return f"""
        {processes // 2} hosts of each cluster of: {found.scene["title"]}; A is collective_bench's pairwise_xor, B its alltoall_b.  The
        model's parameters are those of this network, by `headway measure`: b(h) = {rates} MB/s from the links' rates (payload of full
        frames; within a switch all of its ports), d(h) = {delays} us from the buffers before them, g(m) as above,
        L = {given["L"] * 1e6:.3g} us, the mean over a process's partners, and a time-out of {predicted.rto_s * 1e3:.0f} ms.
        eps_S = {EPS_S:g}.  Switches, P_S(h, h+1): {switches}.  Times in ms."""


def panel(found, predicted, processes, algorithm):
    curves = [(title, [(size / KIB, predicted.closed[size][f"{name}_{algorithm.lower()}"] * 1e3) for size in SIZES])
              for title, name in (("PlogPT", "plogpt"), ("PlogP", "plogp"))]
    dots = [(result["bytes"] / KIB, sample) for result in found.of(name_of(algorithm, processes)) for sample in result["samples_ms"]]
    return Panel(f"{algorithm}, {processes} processes: each dot a call", "message, KiB", "ms", curves, dots=dots)


def first_timed_out(results):
    """The smallest size with a call that waited for a time-out, or None."""
    return next((result["bytes"] for result in results if calls.timed_out(result["samples_ms"])), None)


def lossless_errors(sums, predicted, algorithm):
    """Returns, for the sizes up to which nothing was dropped, the errors of the medians, in per
    cent of PlogPT without time-outs, and the largest size."""
    errors, largest = [], None
    for one in sums:
        if one["drops"]:
            break
        errors.append(calls.error_pct(one["median"], predicted.lossless_ms(one["bytes"], algorithm)))
        largest = one["bytes"]
    return errors, largest


def steps(found, predicted, processes):
    """Where the steps begin and how good the predictions are before, in a sentence for each algorithm."""
    said = []
    for algorithm in ALGORITHMS:
        results = found.of(name_of(algorithm, processes))
        errors, largest = lossless_errors(list(map(calls.summary, results)), predicted, algorithm)
        if errors:
            said.append(f"{algorithm} loses nothing up to {kib(largest)}, and its medians are then {calls.signed(min(errors))} to "
                        f"{calls.signed(max(errors))} % off PlogPT without time-outs.")
        at = first_timed_out(results)
        call = f"call of {calls.TIMED_OUT_MS} ms and more"
        said.append(f"{algorithm} has its first {call} at {kib(at)}." if at else f"{algorithm} has no {call}.")
    size = next((size for size in SIZES if predicted.closed[size]["n_rto"]), None)
    said.append(f"(24) has the first time-out of B at {kib(size)}, of these sizes." if size else "(24) has no time-out of B.")
    return "  ".join(said)


def notes(doc):
    doc.section("What differs, and what is known of why", """
        Where nothing is lost, PlogPT with the parameters of this network says how long both algorithms take, and B is faster,
        as in the paper. PlogP, which knows no trunk, says too little of 8 processes.  A call of B that waited has waited once,
        as (25) has it.""")
    doc.text("""
        With 8 processes B waits from smaller messages on than (24) says: MPI_Send returns when the kernel has an eager message,
        up to 64 KiB, so that the sends of B, one after the other in the model, are under way together and meet in the trunk.""")
    doc.text("""
        A waits, too, with 8 processes: in four of its seven steps all four hosts of a cluster send over the trunk at once, from
        24 KiB on more than its buffer holds.  (14) does not know that; the paper explains the few time-outs of its A by jitter.""")
