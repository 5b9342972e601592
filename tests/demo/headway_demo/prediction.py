# SPDX-License-Identifier: Apache-2.0
"""Asks Headway's planner about an exchange before it is run, and sets that beside what was
measured."""

import json
import subprocess
import tempfile

from demo_guest.testbed import headway_toml

from . import guest_run
from .contender import CONTENDERS, LIBRARIES

# These are predicted: the stock kernel unpaced, and Headway as it is planned.
PREDICTED = {"stock": "unpaced", "headway": "paced"}
HEADINGS = ("", "library", "size", "calls", "predicted ms", "median ms", "worst ms", "median / predicted")


def plan_of(facts, operation, size, buffers=False):
    """`headway plan` by the headway.toml of a scene; `buffers`: by somebody who knows the switches'."""
    with tempfile.NamedTemporaryFile("w", suffix=".toml") as config:
        config.write(headway_toml(guest_run.ROOT, facts, buffers))
        config.flush()
        done = subprocess.run([guest_run.ROOT / "build/bin/headway", "plan", "--config", config.name,
                               "--operation", operation, "--bytes", str(size), "--json"],
                              capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def milliseconds(predicted):
    """[least, with every possible time-out], or None."""
    return predicted and [round(predicted[name] * 1e3, 4) for name in ("low_s", "high_s")]


def add_to(document):
    """Adds to each message of a demo.json what was to be expected of it."""
    for part in document["scenes"]:
        for message in part["messages"]:
            plan = plan_of(part, "alltoall", message["bytes"])
            message["predicted_ms"] = {way: milliseconds(plan["predicted_" + way]) for way in ("unpaced", "paced")}


def pairs(part):
    """(message, run, [least, most] in ms) of each run of which something was predicted."""
    for message in part["messages"]:
        for run in message["runs"]:
            span = message.get("predicted_ms", {}).get(PREDICTED.get(run["name"]))
            if span:
                yield message, run, span


def span_text(span):
    return f"{span[0]:.3f}" if span[0] == span[1] else f"{span[0]:.3f} to {span[1]:.0f}"


def rows(part):
    """[(contender, cells)]: predicted and measured; the ratio is to the time without time-outs."""
    return [(run["name"], (CONTENDERS[run["name"]].title, LIBRARIES[run["library"]], f"{message['bytes'] // 1024} KiB",
                           "after pauses" if message["pauses_ms"] else "in a row", span_text(span),
                           f"{run['median_ms']:.3f}", f"{run['max_ms']:.3f}", f"{run['median_ms'] / span[0]:.3f}"))
            for message, run, span in pairs(part)]
