#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Builds each scene in a guest, as root, and lets headway doctor look at it; tests/doctor/bed starts it.

usage: guest.py [SCENE...]

KTAP on standard output: a case for each fault and each healthy network, and a line that counts them.
"""

import functools
import json
import os
import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))
from faults import FAULTS  # noqa: E402
from healthy import HEALTHY  # noqa: E402
from ktap import case, equal, run_cases  # noqa: E402

BED = Path("/tmp/bed")      # in memory: a program that waits for the host's disk is late in virtual time
PROGRAMS = {"headway": Path(os.environ["HW_BUILD"]) / "bin/headway", "iperf3": Path("/usr/bin/iperf3"),
            "timeout": Path("/usr/bin/timeout"), "sleep": Path("/usr/bin/sleep"),
            "traffic.py": HERE / "traffic.py"}
LIMIT_S = 600               # only ends what hangs
RIGHT = []                  # scenes that doctor judged rightly
PRELUDE = f"""
set -euo pipefail
. {HERE.parent}/lib/topology.sh
. {HERE}/parts.sh
"""


class SceneFailed(Exception):
    """The scene could not be built, or doctor did not answer; the sentence says why."""


def bash(script):
    """Runs it with the functions of topology.sh and returns what it prints."""
    done = subprocess.run(["bash", "-c", PRELUDE + script], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, timeout=LIMIT_S, check=False)
    if done.returncode:
        raise SceneFailed(f"status {done.returncode} of: {script}\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout


def copy_programs():
    BED.mkdir(exist_ok=True)
    for name, source in PROGRAMS.items():
        (BED / name).write_bytes(source.read_bytes())
        (BED / name).chmod(0o755)


def build(scene):
    bash(f"hw_two_clusters {scene.nodes} {scene.host_mbit} {scene.trunk_mbit} {scene.trunk_delay_us} "
         f"{scene.port_buffer_bytes} {scene.trunk_buffer_bytes}")
    bash(f"""
        hw_read_state
        hw_each_node ethtool -K eth0 tso on     # as a card's driver has it
        {scene.put_in}
        for port in 5201 5202 5203 5204 5205; do
            hw_node_spawn {scene.host} /dev/null {BED}/iperf3 -s -p $port
        done
        hw_node_spawn {scene.host} /dev/null python3 {BED}/traffic.py serve
        hw_listening() {{ [[ $(hw_node {scene.host} ss -Hltn | wc -l) -ge 9 ]]; }}
        hw_wait_for 60 hw_listening""")


def look(scene):
    """What doctor says while the job runs."""
    address = scene.address or bash(f"hw_node_address {scene.host}").strip()
    job = scene.job.format(address=address, bed=BED)
    senders = "".join(f"hw_node_spawn {node} /dev/null {BED}/iperf3 -c {address} -p {port} -t 2; "
                      for port, node in enumerate(scene.others, 5202))
    text = bash(f"{senders} hw_node a0 {BED}/headway doctor --json {scene.words or scene.host} -- {job} "
                "2>/tmp/bed/errors >/tmp/bed/words || true; cat /tmp/bed/words")
    start = text.find('{\n  "format"')      # the job's own words come first
    if start < 0:
        raise SceneFailed(f"doctor printed no JSON: {text[-500:]}{(BED / 'errors').read_text()[-1000:]}")
    return json.JSONDecoder().raw_decode(text[start:])[0]


def answer(scene):
    try:
        build(scene)
        return look(scene)
    finally:
        bash(f"hw_down; {scene.take_out}")


def causes(said):
    """What harms, the most important first: notes do not."""
    return [finding for finding in said["findings"] if finding["weight"] != "note"]


def is_named_first(fault, said):
    """Whether the first cause is the fault, with its command."""
    findings = causes(said)
    return bool(findings and re.search(fault.first, findings[0]["seen"])
                and re.search(fault.remedy, findings[0].get("to_do", "")))


def told(said):
    lines = [f"verdict: {said['verdict']['answer']}: {said['verdict']['why']}"]
    for path in said["paths"]:
        lines.append(f"round trips to {path['host']}: {path.get('rtt_us')} us, {path.get('least_rtt_us')} us at least")
    waits_us = said["node_counters"].get("processor_waits_us", {}).get("while_looking", 0)
    lines.append(f"some process waited for a processor in {waits_us / 1e4 / max(said['seconds'], 1e-3):.0f} % of the time")
    for finding in said["findings"]:
        lines.append(f"{finding['weight']}: {finding['seen']} => {finding.get('to_do', '')}")
    return "".join(f"#   {line}\n" for line in lines)


def judge(scene):
    """Notes whether the scene was judged rightly."""
    said = answer(scene)
    print(told(said), end="", flush=True)
    is_right = is_named_first(scene, said) if scene in FAULTS else not causes(said)
    if is_right:
        RIGHT.append(scene)
    equal(is_right, True)


def add_case(scene):
    one = functools.partial(judge, scene)
    one.__name__ = scene.name
    case(one)


def main(names):
    unknown = set(names) - {scene.name for scene in FAULTS + HEALTHY}
    if unknown:
        sys.exit(f"guest.py: there is no scene {', '.join(sorted(unknown))}; faults.py and healthy.py list them")
    scenes = [scene for scene in FAULTS + HEALTHY if not names or scene.name in names]
    for scene in scenes:
        add_case(scene)
    copy_programs()
    status = run_cases()
    faults = [scene for scene in scenes if scene in FAULTS]
    print(f"# {sum(scene in FAULTS for scene in RIGHT)} of {len(faults)} faults named first, "
          f"{sum(scene in HEALTHY for scene in RIGHT)} of {len(scenes) - len(faults)} healthy networks without a finding",
          flush=True)
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
