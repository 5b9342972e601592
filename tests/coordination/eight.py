#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Eight nodes share a trunk through real etcd that is slow, stops, or is gone, while
daemons are killed and nodes are cut off; in a guest of vm-run --icount --faster
(tests/coordination/run).  KTAP.
"""

import os
import random
import signal
import sys
import time

sys.path += [os.path.dirname(os.path.abspath(__file__))]
import shared_nodes  # noqa: E402
from shared_nodes import (CAPACITY, Sums, all_have, begin_daemon, daemon_answers,  # noqa: E402
                          daemons, end_job, eventually, fallback, has, jobs, kill_etcd, names,
                          set_up, sh, show_logs, start_etcd, start_job)
from ktap import case, equal, run_cases  # noqa: E402

SEED = 1
LEFT, RIGHT = [f"a{number}" for number in range(6)], ["a6", "a7"]


def expected():
    """Each node's share, of the jobs that there are now."""
    others = len(names) - len(jobs)
    of_job = {name: [node for node in nodes if node in jobs]
              for name, nodes in (("left", LEFT), ("right", RIGHT))}
    busy = [nodes for nodes in of_job.values() if nodes]
    rest = CAPACITY - others * fallback()
    shares = {node: fallback() for node in names}
    for nodes in busy:
        for node in nodes:
            shares[node] = min(rest // len(busy) // len(nodes), shared_nodes.LINK)
    return shares


def settle(what):
    took = eventually(what, lambda: all_have(expected()), 300)
    print(f"# {what} after {took:.1f} s")


def start(node):
    start_job(node, "left" if node in LEFT else "right")


def stop_and_go(rounds, stopped_s, running_s):
    """etcd hangs and goes on; meanwhile jobs end and begin."""
    chance = random.Random(SEED)
    for _ in range(rounds):
        shared_nodes.etcd.send_signal(signal.SIGSTOP)
        time.sleep(stopped_s)
        node = chance.choice(names)
        (end_job if node in jobs else start)(node)
        shared_nodes.etcd.send_signal(signal.SIGCONT)
        time.sleep(running_s)
    for node in names:
        if node not in jobs:
            start(node)


@case
def two_jobs_on_eight_nodes_have_half_each():
    for node in names:
        start(node)
    settle("half each")
    equal(has("a0", CAPACITY // 2 // 6), True)
    equal(has("a7", CAPACITY // 2 // 2), True)


@case
def etcd_that_hangs_for_a_second_again_and_again():
    stop_and_go(8, 1.2, 0.7)
    settle("as if nothing had been")


@case
def etcd_that_hangs_for_longer_than_leases_can_be_trusted():
    stop_and_go(2, 9, 3)
    settle("as if nothing had been")


@case
def etcd_whose_answers_take_400_ms():
    sh("modprobe sch_netem; tc qdisc add dev etcd root netem delay 400ms")
    for node in RIGHT:
        end_job(node)
    settle("the other job has the trunk")
    for node in RIGHT:
        start(node)
    settle("half each")
    sh("tc qdisc del dev etcd root")


@case
def three_daemons_killed():
    killed = ["a0", "a5", "a6"]
    for node in killed:
        daemons[node].kill()
        end_job(node)
    for node in killed:
        eventually(f"{node} is at its fallback", lambda: has(node, fallback()))
    settle("the others have their rates")
    for node in killed:
        begin_daemon(node)
    for node in killed:
        daemon_answers(node)
        start(node)
    settle("half each")


@case
def half_of_the_nodes_cut_off():
    for node in names[:4]:
        sh(f"ip link set to-{node} down")
    eventually("they are at their fallbacks", lambda: all(has(node, fallback()) for node in names[:4]))
    # a node that cannot be reached counts with its fallback
    rest = CAPACITY - 4 * fallback()
    eventually("the others have the rest", lambda: all_have(
        {node: rest // 2 // 2 for node in names[4:]}))
    for node in names[:4]:
        sh(f"ip link set to-{node} up")
    settle("half each")


@case
def etcd_killed():
    kill_etcd()
    eventually("all are at the fallback", lambda: all(has(node, fallback()) for node in names))
    start_etcd()
    settle("half each")


@case
def never_was_it_more_than_the_trunk():
    sums.check(300)


set_up(8)
sums = Sums(0.03)
sums.start()
failed = run_cases()
if failed:
    show_logs()
sys.exit(failed)
