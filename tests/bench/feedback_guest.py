#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Runs in the guest machine of tests/bench/feedback: a job for each headway.toml and way.

Reads HW_OUT/spec.json; tells each job's result as a line of "@" and JSON.
"""

import json
import os
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1] / "demo"))
from demo_guest import mpirun  # noqa: E402
from demo_guest.testbed import Testbed, headway_toml  # noqa: E402


def tell(event, **facts):
    print("@" + json.dumps({"event": event, **facts}), flush=True)


def configuration(testbed, changes, more):
    """headway.toml with texts replaced, and more before it."""
    text = headway_toml(testbed.root, testbed.scene)
    for old, new in changes.items():
        if old not in text:
            raise RuntimeError(f"headway.toml has no {old!r}")
        text = text.replace(old, new)
    return more + text


def factor(testbed):
    """The largest that a node has come to; None: there is no feedback, or nothing to learn."""
    told = [json.loads(testbed.shell.run(
        f"hw_node {node} {testbed.build}/bin/headway status --json --config {testbed.config}"))["feedback"]
        for node in testbed.nodes]
    return max((one["divisor_factor"] or 0 for one in told if one), default=None) or None


def run(testbed, spec, name):
    library = spec["library"]
    preload = ":".join([testbed.helper(), testbed.sleep(library)])
    program = mpirun.collective_bench(testbed.program("collective_bench", library),
                                      [(spec["bytes"], spec["repetitions"], spec["pause_ms"])], spec["warmup"])
    words = mpirun.command(testbed.mpirun_words(library), [], {"LD_PRELOAD": preload}, program)
    with open(testbed.out / f"{name}.log", "w") as log:
        result, = mpirun.run(words, testbed.counters, log, testbed.mpirun_environment())
    return result


def main():
    out = Path(os.environ["HW_OUT"])
    spec = json.loads((out / "spec.json").read_text())
    testbed = Testbed(spec["scene"], out)
    testbed.up()
    for file, changes in spec["files"].items():
        for way, more in spec["ways"].items():
            tell("start", file=file, way=way)
            testbed.config.write_text(configuration(testbed, changes, more))
            testbed.contender_up("headway")
            result = run(testbed, spec, f"{file}-{way}".replace(" ", "-"))
            tell("job", file=file, way=way, factor=factor(testbed), **result)
            for node in testbed.nodes:
                log = out / f"headwayd-{node}.log"
                log.rename(out / f"headwayd-{node}-{file}-{way}.log".replace(" ", "-"))
            testbed.contender_down("headway")


if __name__ == "__main__":
    main()
