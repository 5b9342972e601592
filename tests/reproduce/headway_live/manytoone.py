# SPDX-License-Identifier: Apache-2.0
"""Lastovetsky, Mkwawa, O'Flynn: gathers and scatters over sizes."""

from headway_reproduce.document import Chapter
from headway_reproduce.plot import Bars, Panel, picture

from . import calls
from .calls import kib, ms
from .scenes import RACK, hosts_of

SCENE = RACK
# The papers' flat tree, which Open MPI has for these sizes only when it is told.
LINEAR = {"coll_tuned_use_dynamic_rules": 1, "coll_tuned_gather_algorithm": 1, "coll_tuned_scatter_algorithm": 1}
KIB = 1024
SIZES = [256, 512, 1 * KIB, 1536, 2 * KIB, 2560, 3 * KIB, 3584, 4 * KIB, 4608, 5 * KIB, 6 * KIB, 8 * KIB, 12 * KIB, 16 * KIB,
         24 * KIB, 32 * KIB, 48 * KIB, 60 * KIB, 64 * KIB, 72 * KIB, 96 * KIB, 128 * KIB, 192 * KIB, 256 * KIB]
# Up to the eager limit a sender does not wait for the receiver: (2).
EAGER_BYTES = 64 * KIB
BIN_MS = 10


def spec(repetitions):
    def job(operation, count):
        return {"name": operation, "kind": "collective", "operation": operation, "hosts": hosts_of(SCENE), "mca": LINEAR,
                "sizes": [[size, count] for size in SIZES], "warmup": 2}

    return {"scene": SCENE.facts(), "measure": True, "jobs": [job("gather", repetitions), job("scatter", repetitions // 4 or 1)]}


def measured_model(document):
    """What `headway measure` says of messages to the first host."""
    return next(model for model in document["models"] if model["model"] == "manytoone")


def fitted(ask, model, sums):
    """(4) to (7) on the medians of the gathers."""
    return ask.fit("manytoone", {"sources": model["sources"], "rates": model["rates"],
                                 "samples": [[one["bytes"], one["median"] / 1e3] for one in sums]})


def predictions(ask, model, sizes):
    """Of a gather in ms, by a fit or by `headway measure`, and the bracket of (4) alone, by size."""
    answers = ask("manytoone", "many_to_one", [
        {"sources": model["sources"], "rates": model["rates"], "M": size, "idle": False, "M1": model["M1_bytes"],
         "M2": model["M2_bytes"], "C": model["C_s"], "delta1": model["delta1"], "delta2": model["delta2"]} for size in sizes])
    return {size: (answer["time"] * 1e3, answer["bracket"] * 1e3) for size, answer in zip(sizes, answers)}


def scatter_predictions(ask, document, sizes):
    """(2) in ms, by the hosts' measured C and t."""
    model = measured_model(document)
    root = document["messages"]["hosts"][0]
    answers = ask("manytoone", "one_to_many", [
        {"root": root, "dests": model["sources"], "rates": model["rates"], "M": size, "S": EAGER_BYTES} for size in sizes])
    return {size: answer["time"] * 1e3 for size, answer in zip(sizes, answers)}


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
    gathers, model = [calls.summary(result) for result in found.of("gather")], measured_model(found.measured)
    fit = fitted(ask, model, gathers)
    gather_part(doc, ask, found, gathers, model, fit)
    levels_part(doc, found)
    scatter_part(doc, ask, found)
    return doc


def gather_part(doc, ask, found, sums, model, fit):
    doc.section("Gather over sizes", "In the paper, Figures 1 to 5: many-to-one and MPI_Gather on 16 hosts of one switch.  The times are "
                "plotted; printed are M1 = 3 KB and M2 = 64 KB, between which there is a sharp increase that reaches several constant "
                "discrete levels.  The model has them as one constant C (6).")
    calls_each = sums[0]["calls"]
    doc.text(f"Here: {found.scene['title']}; the root is on one switch with three of the seven senders, its port has a buffer of "
             f"{kib(found.scene['port_buffer_bytes'])}.  MPI_Gather of Open MPI, told to use its linear algorithm, {len(sums)} sizes with "
             f"{calls_each} calls each after two that do not count.  A call is *escalated* if it took {calls.ESCALATED_MS} ms or more.  "
             "Predicted by (4), (6) and (7) with C_i, t_i and rates of `headway measure` and M1, M2, C and the two factors that `headway "
             "fit` finds in the medians.  Times in ms.")
    answers = predictions(ask, fit, SIZES)
    doc.table(["bytes of a message", "median", "mean", "least", "most", "escalated", "time-outs", "frames dropped", "predicted"],
              [[kib(one["bytes"]), ms(one["median"]), ms(one["mean"]), ms(one["least"]), ms(one["most"]),
                f"{one['escalated']} of {one['calls']}", one["timeouts"], one["drops"], ms(answers[one["bytes"]][0])] for one in sums])
    seen, theirs = region(sums), model
    doc.table(["", "paper", "`headway fit` on these medians", "`headway measure`, its own gathers", "single calls"], [
        ["M1", "3 KB", size_of(fit["M1_bytes"]), size_of(theirs["M1_bytes"]),
         f"first escalated at {kib(seen[1])}, none up to {kib(seen[0])}" if seen else "none is escalated"],
        ["M2", "64 KB", size_of(fit["M2_bytes"]), size_of(theirs["M2_bytes"]),
         f"last escalated at {kib(seen[2])}" if seen else "none is escalated"],
        ["C, ms", "plotted only", ms_or_none(fit["C_s"]), ms_or_none(theirs["C_s"]), "see the levels"],
        ["Delta_1", "not printed", f"{fit['delta1']:.3g}", f"{theirs['delta1']:.3g}", ""],
        ["Delta_2", "not printed", f"{fit['delta2']:.3g}", f"{theirs['delta2']:.3g}", ""]])
    doc.plot("live-gather", "Gather over message size", picture("Time of a gather over message size", [
        Panel("gather, 8 nodes: each dot a call", "message, KiB", "ms",
              [("predicted: (4) (6) (7), fitted", [(size / KIB, answers[size][0]) for size in SIZES]),
               ("the bracket of (4) alone", [(size / KIB, answers[size][1]) for size in SIZES]),
               ("median measured", [(one["bytes"] / KIB, one["median"]) for one in sums])],
              dots=[(result["bytes"] / KIB, sample) for result in found.of("gather") for sample in result["samples_ms"]])]))


def levels_part(doc, found):
    samples = [sample for result in found.of("gather") for sample in result["samples_ms"]]
    groups = calls.levels(samples)
    doc.section("The levels", "Of all gathers of all sizes, those that are escalated, in groups with nothing within "
                f"{calls.LEVEL_GAP_MS} ms of them.  The least retransmission time-out that `headway measure` saw here is "
                f"{ms(1e3 * (found.measured['messages']['least_retransmission_timeout_s'] or 0))} ms.")
    if not groups:
        doc.text("No call is escalated.")
        return
    doc.table(["level", "calls", "least, ms", "most, ms"],
              [[str(i + 1), count, ms(least), ms(most)] for i, (least, most, count) in enumerate(groups)])
    counts = calls.histogram(calls.escalated(samples), BIN_MS)
    first = min(i for i, count in enumerate(counts) if count) - 1
    doc.plot("live-gather-levels", "How long escalated gathers took", picture("Histogram of escalated gathers", [
        Bars(f"escalated gathers, bins of {BIN_MS} ms", "ms", first * BIN_MS, BIN_MS, counts[first:], form="{:g}")]))


def scatter_part(doc, ask, found):
    sums = [calls.summary(result) for result in found.of("scatter")]
    doc.section("Scatter over sizes", "The paper says of one-to-many that it behaves: no port is asked for more than the root's own link "
                f"carries.  MPI_Scatter, linear, {sums[0]['calls']} calls of each size; predicted by (2) with the parameters of "
                f"`headway measure` and S = {kib(EAGER_BYTES)}, Open MPI's eager limit.  Times in ms, errors in per cent of the prediction.")
    answers = scatter_predictions(ask, found.measured, SIZES)
    doc.table(["bytes of a message", "median", "least", "most", "escalated", "frames dropped", "predicted (2)", "error, %"],
              [[kib(one["bytes"]), ms(one["median"]), ms(one["least"]), ms(one["most"]), one["escalated"], one["drops"],
                ms(answers[one["bytes"]]), calls.signed(calls.error_pct(one["median"], answers[one["bytes"]]))] for one in sums])


def size_of(value):
    return "none" if value is None else kib(value)


def ms_or_none(seconds):
    return "none" if seconds is None else ms(seconds * 1e3)
