#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Runs in the guest machine of tests/reproduce/live: one experiment, with stock TCP.

Reads HW_OUT/spec.json; tells what `headway measure` found, and the result of each size of each
job, as a line of "@" and JSON.
"""

import itertools
import json
import sys
from dataclasses import dataclass
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
sys.path += [str(TESTS / "demo"), str(TESTS / "bench")]
from decisions_guest import Measurement  # noqa: E402
from demo_guest import mpirun  # noqa: E402
from demo_guest.counters import Snapshot, table_value  # noqa: E402
from patterns_guest import set_up, tell  # noqa: E402



@dataclass(frozen=True)
class WithProbes:
    """A snapshot of the test bed's counters, and how many probes for lost tails TCP has sent."""

    snapshot: Snapshot
    loss_probes: int

    def since(self, before):
        return self.snapshot.since(before.snapshot) | {"loss_probes": self.loss_probes - before.loss_probes}


class CountersWithProbes:
    """The test bed's counters; clocks are read as these read them, last before and first after an interval."""

    def __init__(self, counters):
        self.counters = counters

    def before(self):
        loss_probes = self._loss_probes()
        return WithProbes(self.counters.before(), loss_probes)

    def after(self):
        snapshot = self.counters.after()
        return WithProbes(snapshot, self._loss_probes())

    def _loss_probes(self):
        return sum(table_value(Path(f"/proc/{pid}/net/netstat").read_text(), "TcpExt", "TCPLossProbes")
                   for pid in self.counters.node_pids)


def program_of(testbed, job):
    if job["kind"] == "links":
        return [testbed.program("link_bench"), "--pause", "--bytes", str(job["bytes"]),
                "--window-ms", str(job["window_ms"]), "--lead-ms", str(job["lead_ms"]),
                *(",".join(f"{source}>{destination}" for source, destination in links) for links in job["patterns"])]
    words = mpirun.collective_bench(testbed.program("collective_bench"), job["sizes"], job["warmup"], job["operation"])
    return words + ["--algorithm", job["algorithm"]] if job.get("algorithm") else words


def results_of(testbed, job, preload=(), through=""):
    """`preload`: libraries of the ranks beside the one that sleeps, which they do without if mpirun itself is
    started by the words `through`."""
    settings = [word for name, value in job.get("mca", {}).items() for word in ("--mca", name, str(value))]
    variables = {} if through else {"LD_PRELOAD": ":".join([*preload, testbed.sleep()])}
    words = mpirun.command(testbed.mpirun_words(), settings, variables, program_of(testbed, job))
    environment = testbed.mpirun_environment() | {"MPI_JOB_STATE": mpirun.state_of(job["hosts"]), "MPI_JOB_THROUGH": through}
    with open(testbed.out / f"{job['name']}.log", "a", encoding="utf-8") as log:
        for result in mpirun.run_by_size(words, CountersWithProbes(testbed.counters), log, environment):
            yield result | {"drops": sum(result["drops"].values())}


def run_job(testbed, job, preload=(), through=""):
    tell("start", job=job["name"])
    for result in results_of(testbed, job, preload, through):
        tell("result", job=job["name"], **result)


def run_links(testbed, jobs):
    """Jobs of links with the same settings, in one mpirun: to start it takes longer than a pattern."""
    whose = [(job["name"], number) for job in jobs for number in job["numbers"]]
    patterns = [links for job in jobs for links in job["patterns"]]
    tell("start", job=", ".join(job["name"] for job in jobs))
    for result in results_of(testbed, jobs[0] | {"patterns": patterns}):
        name, number = whose[result["pattern"]]
        tell("result", job=name, **result | {"pattern": number})


def main():
    testbed, spec = set_up()
    if spec["measure"]:
        tell("start", job="headway measure")
        measurement = Measurement(testbed)
        measurement.run()
        tell("measured", document=json.loads(measurement.document.read_text()))
    testbed.contender_up("stock")
    for kind, jobs in itertools.groupby(spec["jobs"], lambda job: job["kind"]):
        if kind == "links":
            run_links(testbed, list(jobs))
        else:
            for job in jobs:
                run_job(testbed, job)
    testbed.contender_down("stock")


if __name__ == "__main__":
    main()
