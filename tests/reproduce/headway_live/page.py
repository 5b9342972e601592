# SPDX-License-Identifier: Apache-2.0
"""The page of all experiments."""

from . import alltoalls, links, manytoone, network, signature, steady

# In the order of the page.  What `headway measure` says of the first one's network is what models are given in the others.
EXPERIMENTS = {"network": network, "many-to-one": manytoone, "signature": signature, "all-to-alls": alltoalls, "links": links,
               "steady": steady}
NAME = "reproduction-live.md"

HEAD = """<!-- SPDX-License-Identifier: Apache-2.0 -->
<!-- Written by `make reproduce-live`; do not edit. -->

# The papers' experiments, measured

What the papers measured, done again in the emulated cluster of [the guest machines](testing.rst): Debian's kernel 6.1 with stock TCP
(cubic, SACK, RACK, tail loss probes, a least retransmission time-out of 200 ms), Open MPI 4.1.4, in virtual time.  No switch, card or
processor is real, and nothing was paced by Headway.  What the papers only plot has not survived.  `tests/reproduce/live` measures, and
keeps raw times of all calls in `build/reproduce/live.json`.  [The papers reproduced](reproduction.md) has what the papers print.
"""


def wanted(chosen):
    """Names what is to be measured, of all or of the chosen; the page needs the network's own
    measurement, whatever else it has."""
    return [name for name in EXPERIMENTS if not chosen or name in chosen or name == "network"]


def lacking(results, name):
    """Why an experiment's chapter cannot be written, or None."""
    found = results.found(name)
    if not found:
        return "nothing is measured"
    if found.spec["measure"] and not found.measured:
        return "headway measure is missing"
    # A page needs as many random patterns as there are, but for some.
    partial = getattr(EXPERIMENTS[name], "PARTIAL", {})
    missing = [job for job in found.jobs if not found.complete(job) and len(found.of(job)) < partial.get(job, float("inf"))]
    return f"not all is measured of: {', '.join(missing)}" if missing else None


def write(ask, results, folder):
    """folder/reproduction-live.md, and its pictures in folder/reproduction/: what has been measured so far.  Returns why by
    experiment, of those that are not there."""
    reasons = {name: lacking(results, name) for name in EXPERIMENTS}
    if reasons["network"]:
        reasons = {name: reason or "the network's own measurement is missing" for name, reason in reasons.items()}
    network = results.found("network")
    chapters = [module.chapter(ask, results.found(name), network.measured)
                for name, module in EXPERIMENTS.items() if not reasons[name]]
    plots = folder / "reproduction"
    plots.mkdir(parents=True, exist_ok=True)
    (folder / NAME).write_text("\n".join([HEAD, *(chapter.markdown() for chapter in chapters)]))
    for chapter in chapters:
        for name, drawing in chapter.plots.items():
            (plots / name).write_text(drawing)
    return {name: reason for name, reason in reasons.items() if reason}
