#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Runs in the guest machine of tests/measure/networks: one of the networks of networks.sh.

Reads HW_OUT/spec.json.  Without jobs it runs `headway measure` and tells the tree that there is and what was found; with
jobs it runs these, and tells each result.  A line of "@" and JSON for each.
"""

import json
import sys
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
sys.path += [str(TESTS / "demo"), str(TESTS / "bench"), str(TESTS / "reproduce")]
from decisions_guest import Measurement  # noqa: E402
from demo_guest.testbed import Testbed  # noqa: E402
from live_guest import run_job  # noqa: E402
from patterns_guest import set_up, tell  # noqa: E402

FOLDER = Path("/tmp/networks")      # in memory


class TreeTestbed(Testbed):
    """The demo's test bed with a network of tests/measure/networks.sh; `scene` is the network's name."""

    def _plan(self):
        self.config.parent.mkdir(parents=True, exist_ok=True)

    def _for_contenders(self):
        return {"DEMO_CONFIG": str(self.config)}

    def _build_network(self):
        for library in ("tree.sh", "networks.sh"):
            self.shell.run(f". '{self.root}/tests/measure/{library}'")
        self.tree = self.shell.run(self.scene)
        self.shell.run(f"hw_tree < <({self.scene})")


def measure(testbed):
    tell("start", what="headway measure")
    measurement = Measurement(testbed)
    measurement.run()
    tell("measured", tree=testbed.tree, document=json.loads(measurement.document.read_text()),
         config=measurement.config.read_text())


def recording(hosts, job):
    """Writes the recording of a job with one pattern, as `headway record` would."""
    path = FOLDER / f"{job['name']}.json"
    flows = [{"source": source, "destination": destination, "bytes": job["bytes"], "messages": 1}
             for source, destination in job["patterns"][0]]
    path.write_text(json.dumps({"headway_recording": 1, "ranks": len(hosts), "hosts": hosts, "left_out": 0, "phases": [
        {"phase": 0, "operation": "point_to_point", "flows": flows}]}))
    return path


def run(testbed, job):
    tell("start", what=job["name"])
    if not job["config"]:
        run_job(testbed, job)
    elif job["kind"] == "links":
        run_job(testbed, job, through=f"env LD_PRELOAD={testbed.sleep()} {testbed.build}/bin/headway run"
                                      f" --pattern {recording(testbed.nodes, job)} --")
    else:
        run_job(testbed, job, preload=[testbed.helper()])


def run_jobs(testbed, spec):
    """Jobs of one headway.toml, or of none, follow one another."""
    FOLDER.mkdir()
    for name, text in spec["files"].items():
        (FOLDER / name).write_text(text)
    now = None
    for job in spec["jobs"]:
        wanted = "headway" if job["config"] else "stock", job["config"]
        if wanted != now:
            if now:
                testbed.contender_down(now[0])
            testbed.shell.run(f"DEMO_CONFIG='{FOLDER / str(job['config'])}'")
            testbed.contender_up(wanted[0])
            now = wanted
        run(testbed, job)
    testbed.contender_down(now[0])


def main():
    testbed, spec = set_up(TreeTestbed)
    if spec["jobs"]:
        run_jobs(testbed, spec)
    else:
        measure(testbed)


if __name__ == "__main__":
    main()
