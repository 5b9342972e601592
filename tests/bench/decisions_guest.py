#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Runs in the guest machine of tests/bench/decisions: measures the scene's network, then runs
collectives by every plan that is compared.

Reads HW_OUT/spec.json; tells what was measured and each size's result as a line of "@" and JSON.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1] / "demo"))
sys.path.append(str(Path(__file__).resolve().parent))
from demo_guest import mpirun  # noqa: E402
from demo_guest.testbed import headway_toml  # noqa: E402
from patterns_guest import set_up, tell  # noqa: E402

MEASURE_S = 1200        # of the guest's time; agents have to be loaded


class Measurement:
    """`headway measure` of all nodes, and the two files that it writes."""

    def __init__(self, testbed):
        self.testbed = testbed
        self.folder = Path("/tmp/measure")
        self.folder.mkdir()
        self.document = self.folder / "measured.json"
        self.config = self.folder / "headway.toml"

    def run(self):
        launch = self.folder / "launch"
        nodes = "".join(f"\t{node}) pid={pid} ;;\n" for node, pid in self.testbed.pids.items())
        launch.write_text(f"#!/bin/sh\ncase $1 in\n{nodes}esac\nshift\n"
                          "exec nsenter --target $pid --net --mount --uts -- \"$@\"\n")
        launch.chmod(0o755)
        subprocess.run([self._program(), "measure", "--launch", f"{launch} {{host}}", "--patience", "300",
                        "--max-load", "100", "--output", self.document, "--write", self.config,
                        "--hosts", *self.testbed.nodes], check=True, timeout=MEASURE_S,
                       stdout=subprocess.DEVNULL,
                       env=os.environ | {"LD_LIBRARY_PATH": str(self.folder / "lib")})
        with open(self.config, "a", encoding="utf-8") as config:
            config.write(f'[network]\nmeasured = "{self.document.name}"\n')

    def _program(self):
        """In memory with its libraries: a guest that waits for the host's disk measures that."""
        program = self.folder / "headway"
        shutil.copy2(self.testbed.build / "bin/headway", program)
        (self.folder / "lib").mkdir()
        needed = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
        for line in needed.splitlines():
            words = line.split()
            if len(words) > 2 and words[2].startswith("/"):
                shutil.copy2(words[2], self.folder / "lib")
        return program


class Plans:
    """The headway.toml of each way; the contender that carries it out is the spec's."""

    def __init__(self, testbed, measurement):
        scene, root = testbed.scene, testbed.root
        self.config = {"measured": measurement.config}
        for way, buffers in (("described", True), ("cautious", False)):
            self.config[way] = measurement.folder / f"{way}.toml"
            self.config[way].write_text(headway_toml(root, scene, buffers=buffers))
        self.testbed = testbed

    def use(self, way):
        config = self.config.get(way, self.config["cautious"])
        self.testbed.shell.run(f"DEMO_CONFIG='{config}'")


def decisions(testbed, operation, sizes, config):
    """By size, what `headway plan` says of the decision."""
    for size in sizes:
        done = subprocess.run([testbed.build / "bin/headway", "plan", "--config", config, "--operation",
                               operation, "--bytes", str(size), "--json"],
                              capture_output=True, text=True, check=True)
        plan = json.loads(done.stdout)
        tell("decision", operation=operation, bytes=size,
             **{name: plan[name] for name in ("paced", "reason", "predicted_unpaced", "predicted_paced")})


def run_job(testbed, spec, way, operation):
    preload = [testbed.sleep()]
    if way != "stock":
        preload.insert(0, testbed.helper())
    words = mpirun.command(
        testbed.mpirun_words("ompi", 1), [], {"LD_PRELOAD": ":".join(preload)},
        mpirun.collective_bench(testbed.program("collective_bench"),
                                [(size, spec["repetitions"]) for size in spec["sizes"]],
                                spec["warmup"], operation))
    with open(testbed.out / f"{operation}-{way}.log", "w", encoding="utf-8") as log:
        for size, result in zip(spec["sizes"], mpirun.run(words, testbed.counters, log,
                                                          testbed.mpirun_environment())):
            tell("job", operation=operation, way=way, bytes=size, samples_ms=result["samples_ms"],
                 timeouts=result["timeouts"], drops=sum(result["drops"].values()))


def main():
    testbed, spec = set_up()
    measurement = Measurement(testbed)
    tell("start", what="headway measure")
    measurement.run()
    shutil.copy2(measurement.document, testbed.out / "measured.json")
    shutil.copy2(measurement.config, testbed.out / "measured.toml")
    plans = Plans(testbed, measurement)
    for operation in spec["operations"]:
        decisions(testbed, operation, spec["sizes"], measurement.config)
    for way, contender in spec["ways"].items():
        plans.use(way)
        testbed.contender_up(contender)
        for operation in spec["operations"]:
            tell("start", what=f"{operation}, {way}")
            run_job(testbed, spec, way, operation)
        testbed.contender_down(contender)


if __name__ == "__main__":
    main()
