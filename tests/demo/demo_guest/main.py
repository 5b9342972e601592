# SPDX-License-Identifier: Apache-2.0
"""Runs a scene: the network, then each contender's mpiruns.

Reads HW_OUT/spec.json; tells events as lines of "@" and JSON (headway_demo's
guest_run reads them); writes records of the trunk and logs to HW_OUT.
"""

import json
import os
from pathlib import Path

from headway_demo.contender import LINEAR
from headway_demo.samples import SizeRun
from headway_demo.schedule import Effort, Schedule

from . import mpirun
from .testbed import Testbed


def tell(event, **facts):
    print("@" + json.dumps({"event": event, **facts}), flush=True)


class Contest:
    """The mpiruns of one contender."""

    def __init__(self, contender, spec, testbed):
        self.name = contender["name"]
        self.spec = spec
        self.testbed = testbed
        self.schedule = Schedule(contender["transports"], spec["sizes"], Effort(**spec["effort"]))
        self.traced = self.name in spec["traced"]
        self.number = 0

    def run(self):
        tell("contender", contender=self.name, plan=self.testbed.contender_up(self.name))
        try:
            while (step := self.schedule.next()) is not None:
                self._measure(*step)
            better = {size: self.schedule.better(size) for size in self.spec["sizes"]}
            if self.traced:
                self._trace(better[self.spec["traced_bytes"]])
            tell("chosen", contender=self.name, transports=better)
        finally:
            self.testbed.contender_down(self.name)

    def _measure(self, transport, sizes):
        self._tell_start(transport)
        results = self._mpirun(transport, sizes)
        self.schedule.add(transport, [SizeRun.from_event(result) for result in results])
        tell("result", contender=self.name, transport=transport, sizes=results, left=self._left())

    def _trace(self, transport):
        """An mpirun that counts for nothing but the picture."""
        self._tell_start(transport)
        size = self.spec["traced_bytes"]
        self.testbed.trunk_record(True)
        result, = self._mpirun(transport, [size])
        records = self.testbed.trunk_records(self.name)
        self.testbed.trunk_record(False)
        tell("trace", contender=self.name, bytes=size, starts_s=result["starts_s"],
             samples_ms=result["samples_ms"], records=records)

    def _tell_start(self, transport):
        self.number += 1
        tell("start", contender=self.name, transport=transport, number=self.number,
             left=self._left())

    def _left(self):
        return max(self.schedule.most_left(), 0) + self.traced

    def _mpirun(self, transport, sizes):
        with open(self.testbed.out / f"mpirun-{self.name}.log", "a") as log:
            return mpirun.run(self._command(transport, sizes), self.testbed.counters, log,
                              self.testbed.mpirun_environment())

    def _command(self, transport, sizes):
        if transport == "helper":
            arguments, preload = [], [self.testbed.helper()]
        else:
            arguments, preload = [*LINEAR, *self.spec["transports"][transport]], []
        preload.append(self.testbed.sleep())
        return mpirun.command(
            self.testbed.mpirun_words(), arguments, {"LD_PRELOAD": ":".join(preload)},
            mpirun.collective_bench(
                self.testbed.program("collective_bench"),
                [(size, self.spec["repetitions"][str(size)]) for size in sizes],
                self.spec["warmup"]))


def main():
    out = Path(os.environ["HW_OUT"])
    spec = json.loads((out / "spec.json").read_text())
    testbed = Testbed(spec["scene"], out)
    testbed.up()
    tell("network")
    for contender in spec["contenders"]:
        try:
            Contest(contender, spec, testbed).run()
        except (RuntimeError, OSError, ValueError) as error:
            # nodes and switches are as it left them: no place for the next one
            tell("failed", contender=contender["name"], why=str(error))
            return


if __name__ == "__main__":
    main()
