# SPDX-License-Identifier: Apache-2.0
"""Lastovetsky, Mkwawa, O'Flynn: gathers and scatters over sizes."""

from statistics import median

from headway_reproduce.document import Chapter
from headway_reproduce.plot import Bars, Panel, picture

from . import calls
from .calls import kib, ms
from .scenes import SWITCH, hosts_of

SCENE = SWITCH
# The papers' flat tree, which Open MPI has for these sizes only when it is told.
LINEAR = {"coll_tuned_use_dynamic_rules": 1, "coll_tuned_gather_algorithm": 1, "coll_tuned_scatter_algorithm": 1}
KIB = 1024
SIZES = [256, 512, *(int(size * KIB) for size in (1, 1.5, 2, 2.5, 3, 4, 6, 8, 12, 16, 20, 24, 32, 48, 60, 64, 72, 96, 128, 192, 256))]
# Above M2 calls are alike: from here on a quarter as many are enough.
FEWER_FROM_BYTES = 96 * KIB
# Up to the eager limit a sender does not wait for the receiver: (2).
EAGER_BYTES = 64 * KIB
BIN_MS = 10


def spec(repetitions):
    def job(operation, count):
        sizes = [[size, count if size < FEWER_FROM_BYTES else (count + 3) // 4] for size in SIZES]
        return {"name": operation, "kind": "collective", "operation": operation, "hosts": hosts_of(SCENE), "mca": LINEAR, "sizes": sizes,
                "warmup": 2}

    return {"scene": SCENE.facts(), "measure": True, "jobs": [job("gather", repetitions), job("scatter", repetitions // 4 or 1)]}


def measured_model(document):
    """Returns what `headway measure` says of messages to the first host."""
    return next(model for model in document["models"] if model["model"] == "manytoone")


def fitted(ask, model, sums):
    """(4) to (7) on the means of the gathers: in the region, few calls of a size may be escalated."""
    return ask.fit("manytoone", {"sources": model["sources"], "rates": model["rates"],
                                 "samples": [[one["bytes"], one["mean"] / 1e3] for one in sums]})


def predictions(ask, model, sizes):
    """Returns the times of a gather in ms, by a fit or by `headway measure`, and the bracket of (4)
    alone, by size."""
    answers = ask("manytoone", "many_to_one", [
        {"sources": model["sources"], "rates": model["rates"], "M": size, "idle": False, "M1": model["M1_bytes"],
         "M2": model["M2_bytes"], "C": model["C_s"], "delta1": model["delta1"], "delta2": model["delta2"]} for size in sizes])
    return {size: (answer["time"] * 1e3, answer["bracket"] * 1e3) for size, answer in zip(sizes, answers)}


def scatter_predictions(ask, document, sizes, parallel_up_to=EAGER_BYTES):
    """(2) in ms, by the hosts' measured C and t."""
    model = measured_model(document)
    root = document["messages"]["hosts"][0]
    answers = ask("manytoone", "one_to_many", [
        {"root": root, "dests": model["sources"], "rates": model["rates"], "M": size, "S": parallel_up_to} for size in sizes])
    return {size: answer["time"] * 1e3 for size, answer in zip(sizes, answers)}


def unhindered(found):
    """Returns the times of a gather by bytes if nobody waits for a timer: as long as a scatter,
    which has as much on the root's link and loses nothing.  The shortest gather of a size may
    have waited as well."""
    return {result["bytes"]: median(result["samples_ms"]) for result in found.of("scatter")}


def region(sums):
    """The sizes of the first and the last escalated call, and of the largest without one before and the first after."""
    rising = [i for i, one in enumerate(sums) if one["escalated"]]
    if not rising:
        return None
    below = sums[rising[0] - 1]["bytes"] if rising[0] else 0
    above = sums[rising[-1] + 1]["bytes"] if rising[-1] + 1 < len(sums) else None
    return below, sums[rising[0]]["bytes"], sums[rising[-1]]["bytes"], above


def chapter(ask, found, _network):
    doc = Chapter("Many to one", "Lastovetsky, Mkwawa, O'Flynn: *Modeling Performance of Many-to-One Collective Communication "
                  "Operations in Heterogeneous Clusters.*")
    least, model = unhindered(found), measured_model(found.measured)
    gathers = [calls.summary(result, least[result["bytes"]]) for result in found.of("gather")]
    gather_part(doc, ask, found, gathers, model)
    levels_part(doc, found)
    scatter_part(doc, ask, found)
    notes(doc)
    return doc


def gather_part(doc, ask, found, sums, model):
    doc.section("Gather over sizes", """
        In the paper, Figures 1 to 5: many-to-one and MPI_Gather on 16 hosts of one switch.  The times are plotted; printed are
        M1 = 3 KB and M2 = 64 KB, between which there is a sharp increase that reaches several constant discrete levels.  The model
        has them as one constant C (6).""")
    doc.text(f"""
        Here: {found.scene["title"]}; the root's port has a buffer of {kib(found.scene["port_buffer_bytes"])}.  MPI_Gather of Open MPI,
        told to use its linear algorithm, {len(sums)} sizes with {sums[0]["calls"]} calls each ({sums[-1]["calls"]} from
        {kib(FEWER_FROM_BYTES)} on) after two that do not count.  A call is *escalated* if it took {calls.EXCESS_MS} ms longer than
        the median scatter of its size, or more: a scatter has as much on the root's link, and loses nothing.  Time-outs, probes (for
        lost tails, TLP) and dropped frames are those of all calls of a
        size.  Predicted by (4), (6) and (7) with C_i, t_i and rates of `headway measure`, and M1, M2, C and the two factors that
        `headway fit` finds in the means; (4) alone is its bracket, without a factor.  Times in ms.""")
    fit = fitted(ask, model, sums)
    answers = predictions(ask, fit, SIZES)
    doc.table(["bytes", "median", "mean", "least", "most", "escalated", "time-outs", "probes", "frames dropped", "(4) alone", "predicted"],
              [[kib(one["bytes"]), ms(one["median"]), ms(one["mean"]), ms(one["least"]), ms(one["most"]),
                f"{one['escalated']} of {one['calls']}", one["timeouts"], one["probes"], one["drops"], ms(answers[one["bytes"]][1]),
                ms(answers[one["bytes"]][0])] for one in sums])
    seen = region(sums)
    doc.table(["", "paper", "`headway fit`, these means", "`headway measure`, its own gathers", "single calls"], [
        ["M1", "3 KB", size_of(fit["M1_bytes"]), size_of(model["M1_bytes"]),
         f"none escalated up to {kib(seen[0])}, some at {kib(seen[1])}" if seen else "none escalated"],
        ["M2", "64 KB", size_of(fit["M2_bytes"]), size_of(model["M2_bytes"]),
         f"some escalated at {kib(seen[2])}, none from {kib(seen[3])} on" if seen and seen[3] else "none escalated"],
        ["C, ms", "plotted only", ms_or_none(fit["C_s"]), ms_or_none(model["C_s"]), "see the levels"],
        ["Delta_1", "not printed", f"{fit['delta1']:.3g}", f"{model['delta1']:.3g}", "-"],
        ["Delta_2", "not printed", f"{fit['delta2']:.3g}", f"{model['delta2']:.3g}", "-"]])
    waits = all_waits(found)
    counts = calls.histogram(waits, BIN_MS) if waits else []
    counts += [0] * (-len(counts) % 4)      # so that the labels are round
    bars = [Bars(f"gathers {calls.EXCESS_MS} ms longer than a scatter: by how much", "ms", 0, BIN_MS, counts, "{:g}")] if waits else []
    doc.plot("live-gather", "Gathers over message size", picture("Time of a gather over message size", [
        Panel(f"gather, {SCENE.nodes} nodes: each dot a call", "message, KiB", "ms",
              [("predicted: (4) (6) (7), fitted", [(size / KIB, answers[size][0]) for size in SIZES]),
               ("(4) alone", [(size / KIB, answers[size][1]) for size in SIZES]),
               ("median measured", [(one["bytes"] / KIB, one["median"]) for one in sums])],
              dots=[(result["bytes"] / KIB, sample) for result in found.of("gather") for sample in result["samples_ms"]]), *bars]))


def all_waits(found):
    least = unhindered(found)
    return [wait for result in found.of("gather") for wait in calls.excesses(result["samples_ms"], least[result["bytes"]])]


def levels_part(doc, found):
    waits = all_waits(found)
    doc.section("The levels", f"""
        The paper's *several constant discrete levels*: what escalated gathers of all sizes took longer than the scatter of their size,
        in groups with nothing within {calls.LEVEL_GAP_MS} ms of them.""")
    if not waits:
        doc.text("No call is escalated.")
        return
    doc.table(["level", "calls", "least, ms", "most, ms"],
              [[str(i + 1), count, ms(least), ms(most)] for i, (least, most, count) in enumerate(calls.levels(waits))])


def scatter_part(doc, ask, found):
    sums = [calls.summary(result) for result in found.of("scatter")]
    doc.section("Scatter over sizes", f"""
        MPI_Scatter, linear, where no port is asked for more than the root's own link carries: {sums[0]["calls"]} calls of a size
        ({sums[-1]["calls"]} from
        {kib(FEWER_FROM_BYTES)} on); predicted by (2) with the parameters
        of `headway measure` and S = {kib(EAGER_BYTES)}, Open MPI's eager limit, and by its second part (M > S, one message after the
        other) for all sizes.  Times in ms, errors of the median in per cent of the prediction.""")
    answers, serial = scatter_predictions(ask, found.measured, SIZES), scatter_predictions(ask, found.measured, SIZES, 0)

    def predicted(one, by):
        return [ms(by[one["bytes"]]), calls.signed(calls.error_pct(one["median"], by[one["bytes"]]))]

    doc.table(["bytes", "median", "least", "most", "escalated", "frames dropped", "predicted (2)", "error, %", "its second part",
               "error, %"],
              [[kib(one["bytes"]), ms(one["median"]), ms(one["least"]), ms(one["most"]), one["escalated"], one["drops"],
                *predicted(one, answers), *predicted(one, serial)] for one in sums])
    off = [calls.error_pct(one["median"], serial[one["bytes"]]) for one in sums]
    doc.text(f"""
        With its second part for all sizes (2) is {calls.signed(min(off))} to {calls.signed(max(off))} % off.""")


def size_of(value):
    return "none" if value is None else kib(value)


def ms_or_none(seconds):
    return "none" if seconds is None else ms(seconds * 1e3)


def notes(doc):
    doc.section("What differs, and what is known of why", """
        M2 has the paper's cause: up to its eager limit, 64 KiB with a header, Open MPI sends at once; a longer message is sent
        when the root asks for it, one sender after the other.  M1 is where what fifteen senders send at once no longer fits
        into the buffer of the root's port: 15 times 2 KiB fit into 32 KiB, 15 times 2.5 KiB do not.""")
    doc.text("""
        The levels are those of TCP's timers.  Linux today answers a lost tail with a probe (TLP) after two round-trip times,
        and RACK's timer finds what was lost before; both last 8 ms at least, and the probe 200 ms longer if only one packet is
        under way.  So a call of 204 ms need not have a time-out in TCP's counters.  A TCP of 2006 had neither: its lost tails
        waited for a time-out.  Waits of about 40 ms were not traced.""")
    doc.text("""
        That all senders share the receiver's link is not in (4), (5) and (7): for all but the first they have C_i + t_i M, what
        the receiver's processor needs.  Here t_i is far below what a byte takes on the link, 8.5 ns, so that Delta_2 has to be
        about the number of senders.  It is the same with the first part of (2).""")
