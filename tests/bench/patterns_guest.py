#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Runs in the guest machine of tests/bench/patterns: the jobs of each MPI library,
without and with Headway.

Reads HW_OUT/spec.json; tells each job's result as a line of "@" and JSON.
"""

import json
import os
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1] / "demo"))
sys.path.append(str(Path(__file__).resolve().parent))
from demo_guest import mpirun  # noqa: E402
from demo_guest.testbed import Testbed  # noqa: E402
from headway_bench import patterns  # noqa: E402

# Frames that wait for the one emulated processor.  With Linux's own 1000 it drops some of them
# where many ranks receive at once, which switches and links have nothing to do with.
WAITING_FRAMES = 100000
# So many processes of a cluster send to the other at once in the Fortran program.
HALO_SENDERS = 8


class Jobs:
    """The jobs of one library."""

    def __init__(self, testbed, library, spec):
        self.testbed, self.library, self.spec = testbed, library, spec
        self.recording = Path("/tmp") / f"halo-{library}.json"
        self.report = Path("/tmp") / f"report-{library}.json"

    def run(self, pattern, way):
        self.report.unlink(missing_ok=True)
        with open(self.testbed.out / f"{self.library}-{pattern}-{way}.log".replace(" ", "-"), "w") as log:
            result, = mpirun.run(self._command(pattern, way), self.testbed.counters, log,
                                 self._environment(way))
        if way in patterns.TELLING:
            operation, _, _ = self.spec["patterns"][pattern]
            result["algorithms"] = patterns.algorithms(json.loads(self.report.read_text()), operation)
        tell("job", library=self.library, pattern=pattern, way=way, **result)

    def _command(self, pattern, way):
        _, _, ranks_per_node = self.spec["patterns"][pattern]
        preload = [self.testbed.sleep(self.library)]
        if way in (*patterns.TELLING, "hints"):
            preload.insert(0, self.testbed.helper())
        # `headway record` and `headway run` preload by themselves
        environment = {} if way in ("record", "run") else {"LD_PRELOAD": ":".join(preload)}
        if way in patterns.TELLING:
            environment["HEADWAY_REPORT"] = str(self.report)
        return mpirun.command(self.testbed.mpirun_words(self.library, ranks_per_node), [],
                              environment, self._program(pattern, way))

    def _program(self, pattern, way):
        operation, size, _ = self.spec["patterns"][pattern]
        repetitions, warmup = self.spec["repetitions"], self.spec["warmup"]
        if operation != "halo":
            words = mpirun.collective_bench(self.testbed.program("collective_bench", self.library),
                                            [(size, repetitions)], warmup, operation)
            return words + ["--staged"] if way == "staged" else words
        words = [self.testbed.program("halo", self.library), str(size), str(repetitions), str(warmup)]
        return words + [str(HALO_SENDERS)] if way == "hints" else words

    def _environment(self, way):
        environment = self.testbed.mpirun_environment()
        verb = {"record": f"record --output {self.recording}", "run": f"run --pattern {self.recording}"}
        if way in verb:
            environment["MPI_JOB_THROUGH"] = (f"env LD_PRELOAD={self.testbed.sleep(self.library)}"
                                              f" {self.testbed.build}/bin/headway {verb[way]} --")
        return environment


def tell(event, **facts):
    print("@" + json.dumps({"event": event, **facts}), flush=True)


def set_up(testbed_type=Testbed):
    """The network of the scene that the host asks for, and all that it asks."""
    out = Path(os.environ["HW_OUT"])
    spec = json.loads((out / "spec.json").read_text())
    Path("/proc/sys/net/core/netdev_max_backlog").write_text(str(WAITING_FRAMES))
    testbed = testbed_type(spec["scene"], out)
    testbed.up()
    return testbed, spec


def main():
    testbed, spec = set_up()
    for contender, ways in spec["contenders"].items():
        testbed.contender_up(contender)
        for library in spec["libraries"]:
            jobs = Jobs(testbed, library, spec)
            for pattern in spec["patterns"]:
                for way in ways.get(pattern, ways["other"]):
                    tell("start", library=library, pattern=pattern, way=way)
                    jobs.run(pattern, way)
        testbed.contender_down(contender)


if __name__ == "__main__":
    main()
