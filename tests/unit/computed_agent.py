#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Plays an agent of headway measure (userspace/measure/agent.cpp) on a host of a computed network: all hosts at one
switch, links of 10 Mbit/s, no loss.  Nothing is sent, and an answer depends on nothing but what was asked.

    computed_agent.py FOLDER [measure OPTION...]
    computed_agent.py FOLDER call NODE RANKS [TOKEN]      calls headway run --measure, as a rank on that node

FOLDER is that of all agents of a measurement: `version` is headway's, `routes.json` what a host answers of routes, by
its number.  DIES_AT names the command before whose answer this agent ends.
"""
import json
import os
import pathlib
import socket
import sys

BYTES_PER_S = 1.25e6
LATENCY_S = 50e-6          # of a message, besides its bytes
FRAMES = 600               # of each bulk, however long
FRAME_BYTES, SHORT_FRAME_BYTES = 1538, 94
FOLDER = pathlib.Path(sys.argv[1])


class Agent:
    host = 0

    def nothing(self, _):
        return {}

    mesh = nothing

    def peers(self, command):
        self.host = command["self"]
        return {}

    def probe(self, command):
        wire_bytes = FRAME_BYTES if command["full"] else SHORT_FRAME_BYTES
        round_trip_s = 2 * (LATENCY_S + 2 * wire_bytes / BYTES_PER_S)
        return {"round_trip_s": [round_trip_s] * command["count"], "lost": 0, "wire_bytes": wire_bytes}

    def bulk(self, command):
        """The agent writes what it offers to each other host into a file before it answers."""
        rate = min(BYTES_PER_S, command["bytes_per_s"] or BYTES_PER_S) / len(command["to"])
        (FOLDER / f"bulk-{command['run']}-{self.host}").write_text(json.dumps({to: rate for to in command["to"]}))
        return {"sent": [[FRAMES, FRAMES * FRAME_BYTES, int(command["bytes_per_s"] == 0)] for _ in command["to"]]}

    def arrivals(self, command):
        offered = {}
        for file in sorted(FOLDER.glob(f"bulk-{command['run']}-*")):
            sender = int(file.name.rpartition("-")[2])
            if rate := json.loads(file.read_text()).get(str(self.host)):
                offered[sender] = rate
        share = min(1, BYTES_PER_S / sum(offered.values()))
        return {"from": [[sender, FRAMES, share * rate] for sender, rate in offered.items()], "drops": 0}

    def routes(self, _):
        file = FOLDER / "routes.json"
        return {"from": json.loads(file.read_text()).get(str(self.host), []) if file.exists() else []}

    def rounds(self, command):
        """A step takes as long as the bytes of the direction that has more, and some time before what is received."""
        sums = [[sum(size for _, size in transfers) for transfers in step[:2]] for step in command["steps"]]
        took_s = sum(max(sent, received) / BYTES_PER_S + (LATENCY_S if received else 0)
                     for sent, received in sums[command["untimed"]:])
        received_s = [took_s] * len(command["steps"][-1][1])
        return {"round_s": [took_s] * command["count"], "retransmissions": 0, "rto_us": 204000,
                "received_s": [received_s] * command["count"] if command["receipts"] else []}


def call(node, ranks, token=None):
    """From now on standard input and output are the coordinator, as of an agent that the preload has made."""
    right, port, *addresses = os.environ["HEADWAY_MEASURE_AT"].split()
    calling = socket.create_connection((addresses[-1], int(port)))
    greeting = {"token": token or right, "node": node, "ranks": int(ranks)}
    calling.sendall(json.dumps(greeting).encode() + b"\n")
    (FOLDER / f"called-{node}").touch()
    os.dup2(calling.fileno(), 0)
    os.dup2(calling.fileno(), 1)


def main():
    if sys.argv[2:3] == ["call"]:
        call(*sys.argv[3:])

    def say(answer):
        print(json.dumps(answer), flush=True)

    say({"headway": (FOLDER / "version").read_text(), "node": "computed", "data": 1, "echo": 2, "tcp": 3})
    agent = Agent()
    for line in sys.stdin:
        command = json.loads(line)
        if command["do"] == os.environ.get("DIES_AT"):
            return
        say(getattr(agent, command["do"])(command))


main()
