#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Measures what the trunk carries of two jobs on three nodes that share it through real etcd, in a
guest of vm-run --icount --faster (tests/coordination/run).

The nodes' links together are more than twice the trunk, whose port drops what its
buffer has no room for.
"""

import os
import subprocess
import sys
import time

sys.path += [os.path.dirname(os.path.abspath(__file__))]
from shared_nodes import (CAPACITY, all_have, daemons, end_job, eventually, fallback,  # noqa: E402
                          names, planned, set_up, sh, show_logs, start_job, status, topology, within)
from ktap import between, case, equal, run_cases  # noqa: E402

LEFT, RIGHT = ["a0", "a2"], ["a1"]    # nodes of the jobs
SHARE = CAPACITY / 2                  # of a job
TOLERANCE = 0.02
WINDOW_S = 0.1        # ten thousand frames
PORT = 5001
SINK = f"""
import socket
listening = socket.create_server(("", {PORT}))
buffer = bytearray(1 << 16)
while True:
    peer = listening.accept()[0]
    while peer.recv_into(buffer):
        pass
"""
SOURCE = f"""
import socket, sys
peer = socket.create_connection((sys.argv[1], {PORT}))
peer.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 17)
buffer = bytes(1 << 16)
while True:
    peer.sendall(buffer)
"""

sources = {}


def partner(node):
    """Returns the node that gets what this one sends, beyond the trunk."""
    return node.replace("a", "b")


def start_sink(node):
    subprocess.Popen(within(node, "/usr/bin/python3", "-c", SINK))
    sh(f"until nsenter --target $(cat /tmp/headway-topology/{node}.pid) --net "
       f"ss -Hltn 'sport = {PORT}' | grep -q .; do sleep 0.02; done")


def start_source(node):
    sources[node] = subprocess.Popen(within(node, "/usr/bin/python3", "-c", SOURCE, partner(node)))


def end_source(node):
    source = sources.pop(node)
    source.kill()
    source.wait()


def carried():
    """Wire bytes of each node that have come through the trunk, and all it has sent.

    A partner's port is faster than what reaches it, and carries nothing else."""
    paths = [f"p{partner(node)}" for node in names] + ["trka"]
    counts = []
    for device in paths:
        with open(f"/sys/class/net/{device}/simwire/tx_wire_bytes") as file:
            counts.append(int(file.read()))
    return time.monotonic(), counts


def measure():
    """Bytes per second of each job, and of the trunk."""
    begin, before = carried()
    time.sleep(WINDOW_S)
    end, after = carried()
    rates = [(late - early) / (end - begin) for early, late in zip(before, after)]
    by_node = dict(zip(names, rates))
    jobs = [sum(by_node[node] for node in nodes) for nodes in (LEFT, RIGHT)]
    print(f"# in {(end - begin) * 1e3:.1f} ms: {jobs[0] * 8e-6:.3f} and {jobs[1] * 8e-6:.3f} Mbit/s, "
          f"the trunk {rates[-1] * 8e-6:.3f}; {drops()} frames dropped until now")
    return *jobs, rates[-1]


def drops():
    """Frames that switches have dropped, or the emulation has lost."""
    return sum(int(line) for line in
               topology("hw_trunk_drops; hw_port_drops; hw_wire_drops").split())


def rates_follow(nodes, share):
    """The job's own rates, not only the cap above them."""
    return all_have({node: share for node in nodes}) and all(
        abs(planned(node) - share) <= 2 for node in nodes)


def is_within(got, want):
    between((1 - TOLERANCE) * want, got, (1 + TOLERANCE) * want)


@case
def each_of_two_jobs_gets_its_share_and_nothing_is_dropped():
    eventually("the store is settled", lambda: all(status(node)["settled"] for node in names))
    for node in names:
        start_source(node)
    for name, nodes in (("left", LEFT), ("right", RIGHT)):
        for node in nodes:
            start_job(node, name, nodes + [partner(one) for one in nodes])
    eventually("shares are in force", lambda: rates_follow(LEFT, CAPACITY // 4) and
               rates_follow(RIGHT, CAPACITY // 2))
    left, right, trunk = measure()
    is_within(left, SHARE)
    is_within(right, SHARE)
    equal(abs(trunk - left - right) < 0.001 * trunk, True, "the ports' sum and the trunk")
    equal(drops(), 0)


@case
def when_one_ends_the_other_has_the_trunk_within_a_second():
    for node in RIGHT:
        end_source(node)
        end_job(node)
    begin = time.monotonic()
    # all but what the node without a job may use in any case
    most = CAPACITY - len(RIGHT) * fallback()
    took = eventually("the rest is in force", lambda: rates_follow(LEFT, most // len(LEFT)))
    print(f"# the kernel has it after {took:.3f} s")
    equal(time.monotonic() - begin + WINDOW_S <= 1, True, "measured within a second")
    left, _, _ = measure()
    is_within(left, most)
    equal(drops(), 0)


@case
def without_headway_the_trunk_drops():
    for node in names:
        daemons[node].terminate()
        equal(daemons[node].wait(60), 0)
        subprocess.run(within(node, "tc", "qdisc", "del", "dev", "eth0", "root"), check=True)
    for node in RIGHT:
        start_source(node)
    measure()
    equal(drops() > 0, True)


set_up(3)
for name in names:
    start_sink(partner(name))
failed = run_cases()
if failed:
    show_logs()
sys.exit(failed)
