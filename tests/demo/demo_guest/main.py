# SPDX-License-Identifier: Apache-2.0
"""Runs part of a scene: the network, then the launches of each contender.

Reads HW_OUT/spec.json; tells events as lines of "@" and JSON (headway_demo's
guest_run reads them); writes records of the trunk and logs to HW_OUT.
"""

import json
import os
import shutil
from pathlib import Path

from . import mpirun
from .opened_files import OpenedFiles
from .testbed import Testbed


def tell(event, **facts):
    print("@" + json.dumps({"event": event, **facts}), flush=True)


class Contest:
    """The launches of one contender with one MPI library."""

    def __init__(self, unit, testbed):
        self.unit, self.testbed = unit, testbed
        self.number = 0
        # In memory while it is written: a job that talks must not wait for the host's disk.
        self.log = Path("/tmp") / f"mpirun-{unit['key']}.log"

    def run(self, rehearsed):
        """`rehearsed`: what launches have been in this guest, (library, with the helper?)."""
        plan = self.testbed.contender_up(self.unit["setup"])
        tell("contender", unit=self.unit["key"], plan=plan)
        try:
            kind = self.unit["library"], self.unit["helper"]
            if kind not in rehearsed or self.unit["traced"]:
                self._rehearse()
                rehearsed.add(kind)
            for launch in self.unit["launches"]:
                self._tell_start(launch["setting"])
                results = self._mpirun(launch["words"], launch["cases"])
                tell("result", unit=self.unit["key"], setting=launch["setting"], sizes=results)
        finally:
            if self.log.exists():
                shutil.copy(self.log, self.testbed.out)
            self.testbed.contender_down(self.unit["setup"])
        tell("done", unit=self.unit["key"])

    def _rehearse(self):
        """A launch that counts for nothing: afterwards everything is in memory that a
        launch opens, and no first call waits for the host's disk.  It may be the one
        whose sampled calls are pictured."""
        self._tell_start("rehearsal")
        opened = OpenedFiles()
        if self.unit["traced"]:
            self.testbed.trunk_record(True)
        cases = self.unit["traced"] or [[self.unit["launches"][0]["cases"][0][0], 1, 0]]
        results = self._mpirun(self.unit["launches"][0]["words"], cases)
        opened.into_memory()
        if self.unit["traced"]:
            records = self.testbed.trunk_records(self.unit["key"])
            self.testbed.trunk_record(False)
            tell("trace", unit=self.unit["key"], cases=results, records=records)

    def _tell_start(self, setting):
        self.number += 1
        tell("start", unit=self.unit["key"], setting=setting, number=self.number)

    def _mpirun(self, words, cases):
        with self.log.open("a") as log:
            return mpirun.run(self._command(words, cases), self.testbed.counters, log,
                              self.testbed.mpirun_environment())

    def _command(self, words, cases):
        library = self.unit["library"]
        preload = [self.testbed.helper()] if self.unit["helper"] else []
        preload.append(self.testbed.sleep(library))
        alone = self.testbed.without_daemon() if self.unit["alone"] else {}
        return mpirun.command(
            self.testbed.mpirun_words(library), words, {"LD_PRELOAD": ":".join(preload), **alone},
            mpirun.collective_bench(self.testbed.program("collective_bench", library), cases,
                                    self.unit["warmup"]))


def main():
    out = Path(os.environ["HW_OUT"])
    spec = json.loads((out / "spec.json").read_text())
    testbed = Testbed(spec["scene"], out)
    testbed.up()
    tell("network")
    rehearsed = set()
    for unit in spec["units"]:
        try:
            Contest(unit, testbed).run(rehearsed)
        except (RuntimeError, OSError, ValueError) as error:
            # nodes and switches are as it left them: no place for the next one
            tell("failed", unit=unit["key"], why=str(error))
            return


if __name__ == "__main__":
    main()
