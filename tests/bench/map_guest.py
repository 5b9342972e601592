#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Runs in the guest machine of tests/bench/map: collectives in networks that differ in their buffers.

Reads HW_OUT/spec.json; tells each job's results, one for each size, as a line of "@" and JSON.
"""

import itertools
import json
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent))
from apps_guest import REPORT, Jobs, log_of  # noqa: E402
from headway_bench import scene_map  # noqa: E402
from patterns_guest import set_up, tell  # noqa: E402


class Calls(Jobs):
    """Jobs of collective_bench, of one rank on each node."""

    def __init__(self, testbed):
        super().__init__(testbed, 1)

    def run(self, job):
        self._rehearse(job)
        tell("start", cells=job["cells"])
        runs = self.sampled(job, job["program"])
        calls = json.loads(REPORT.read_text()) if job["helper"] else None
        tell("job", cells=job["cells"], runs=[scene_map.run_of(result, calls) for result in runs])


def main():
    testbed, spec = set_up()
    calls = Calls(testbed)
    with log_of(testbed):
        for network in spec["networks"]:
            testbed.use_buffers(network["port_buffer_bytes"], network["trunk_buffer_bytes"])
            for setup, group in itertools.groupby(network["jobs"], lambda job: job["setup"]):
                testbed.contender_up(setup)
                for job in group:
                    calls.run(job)
                testbed.contender_down(setup)


if __name__ == "__main__":
    main()
