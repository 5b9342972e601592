#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Stands in place of `headway planner`: every all-to-all, gather and scatter goes by the ranks'
clocks, whatever the network.

  fake_planner.py planner --network FILE     FILE: {"bytes_per_s": N, "answers": N, "piece_frames": N}

A host's first letter is its cluster.  After so many answers, if it is said, the planner ends.
"""

import json
import socket
import sys


def answer(request, wanted):
    if request["op"] == "clusters":
        clusters = sorted({host[0] for host in request["hosts"]})
        below = [int(one == trunk) for trunk in clusters for one in clusters]
        rates = [wanted["bytes_per_s"]] * len(clusters)
        return {"clusters": [host[0] for host in request["hosts"]], "min_message_bytes": 1,
                "links": {"clusters": clusters, "host_bytes_per_s": rates, "trunk_up_bytes_per_s": rates,
                          "trunk_down_bytes_per_s": rates, "below_trunk": below}}
    clusters = sorted({host[0] for host in request["comm_hosts"]})
    linear = "linear" in request["algorithms"]
    return {"paced": True, "reason": "as the test wants", "algorithm": "linear" if linear else None, "predicted": None,
            "clusters": clusters, "bytes_per_s": [wanted["bytes_per_s"]] * len(clusters) ** 2,
            "piece_frames": wanted.get("piece_frames", 1)}


def main():
    with open(sys.argv[sys.argv.index("--network") + 1], encoding="utf-8") as file:
        wanted = json.load(file)
    asked = socket.socket(fileno=0)
    left = wanted.get("answers", -1)
    while left != 0 and (datagram := asked.recv(65536)):
        request = json.loads(datagram)
        head = {"v": 1, "id": request["id"], "ok": True}
        asked.send(json.dumps({**head, **answer(request, wanted)}).encode())
        left -= 1


if __name__ == "__main__":
    main()
