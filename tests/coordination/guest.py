#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Three nodes share their cluster's trunk through real etcd, in a guest of
vm-run --icount --faster (tests/coordination/run).  KTAP.
"""

import os
import pwd
import sys

sys.path += [os.path.dirname(os.path.abspath(__file__))]
from shared_nodes import (CAPACITY, CONFIG, EXPIRES_S, LEASE_S, LINK, OTHER_CONFIG, Sums, daemons,  # noqa: E402
                          end_job, eventually, fallback, has, jobs, kill_etcd, log_of, names, set_up, sh, show_logs,
                          start_daemon, start_etcd, start_job, status, status_of_child, stop_daemon,
                          write_other_config)
from ktap import case, equal, run_cases  # noqa: E402

FALLBACK = CAPACITY // 10 // 3
HALF = (CAPACITY - FALLBACK) // 2     # of two jobs; the third node has its fallback


def give_other_settings(node):
    if node in jobs:
        end_job(node)
    stop_daemon(node)
    start_daemon(node, OTHER_CONFIG)
    start_job(node)


@case
def nobody_is_above_the_fallback_before_the_store_is_settled():
    start_job("a0")
    for node in names:
        equal(has(node, FALLBACK), True)
    eventually("the store is settled", lambda: status("a0")["settled"])


@case
def the_only_job_has_the_trunk():
    eventually("a0 has its link's rate", lambda: has("a0", LINK))
    equal(status("a0")["agreed"], True)


@case
def two_jobs_have_half_each():
    start_job("a1")
    eventually("half each", lambda: has("a0", HALF) and has("a1", HALF))
    equal(has("a2", FALLBACK), True)


@case
def when_one_ends_the_other_has_the_trunk_within_a_second():
    end_job("a1")
    took = eventually("a0 has its link's rate", lambda: has("a0", LINK))
    print(f"# it took {took:.3f} s")
    equal(took <= 1, True)


@case
def jobs_of_one_name_are_told_apart_by_their_start():
    start_job("a1", "both", start=5)
    start_job("a2", "both", start=5)
    eventually("the job has half, in two parts", lambda: has("a0", CAPACITY // 2) and all(
        has(node, CAPACITY // 4) for node in ("a1", "a2")))
    end_job("a2")
    start_job("a2", "both", start=6)
    eventually("three jobs have a third each", lambda: all(has(node, CAPACITY // 3) for node in names))
    end_job("a1")
    end_job("a2")
    eventually("a0 has its link's rate", lambda: has("a0", LINK))


@case
def killed_daemon_is_at_its_fallback_and_then_its_rate_goes_to_the_others():
    start_job("a1")
    eventually("half each", lambda: has("a0", HALF) and has("a1", HALF))
    daemons["a1"].kill()
    took = eventually("a1 is at its fallback", lambda: has("a1", FALLBACK))
    print(f"# the kernel took {took:.3f} s")
    equal(took <= EXPIRES_S + 0.5, True)
    equal(has("a0", HALF), True)
    took = eventually("a0 has its link's rate", lambda: has("a0", LINK))
    print(f"# the others took {took:.3f} s more")
    equal(took <= LEASE_S + 2, True)
    end_job("a1")
    start_daemon("a1")


@case
def without_etcd_all_go_to_their_fallback_and_come_back_with_it():
    start_job("a1")
    eventually("half each", lambda: has("a0", HALF) and has("a1", HALF))
    kill_etcd()
    took = eventually("all are at the fallback", lambda: all(has(node, FALLBACK) for node in names))
    print(f"# it took {took:.3f} s")
    equal(took <= LEASE_S + 2, True)
    start_etcd()
    eventually("half each", lambda: has("a0", HALF) and has("a1", HALF))


@case
def node_that_is_cut_off_goes_down_before_the_others_rise():
    sh("ip link set to-a0 down")
    eventually("a1 has its link's rate", lambda: has("a1", LINK))
    equal(has("a0", FALLBACK), True)
    sh("ip link set to-a0 up")
    eventually("half each", lambda: has("a0", HALF) and has("a1", HALF))


@case
def node_with_other_settings_is_named_and_alone_at_its_fallback():
    write_other_config()
    give_other_settings("a2")
    for node in names:
        eventually(f"{node} names a2", lambda: [one["host"] for one in status(node)["differing"]] == ["a2"])
    eventually("half each for the others", lambda: has("a0", HALF) and has("a1", HALF))
    equal(has("a2", FALLBACK), True)
    equal("HW-506 compare settings: the settings of a2 differ" in log_of("a0"), True)
    equal("HW-506 compare settings: this node's settings" in log_of("a2"), True)
    give_other_settings("a0")
    eventually("half each for the two of the new settings", lambda: has("a0", HALF) and has("a2", HALF))
    equal(has("a1", FALLBACK), True)
    give_other_settings("a1")
    eventually("three jobs have a third each", lambda: all(has(node, CAPACITY // 3) for node in names))
    equal([status(node)["differing"] for node in names], [[], [], []])
    os.replace(OTHER_CONFIG, CONFIG)
    end_job("a2")
    eventually("half each", lambda: has("a0", HALF) and has("a1", HALF))


@case
def headway_etcd_of_a_root_daemon_has_nothing_of_root():
    for node in names:
        child = status_of_child(node)
        equal(set(child["Uid"].split()), {str(pwd.getpwnam("headway").pw_uid)})
        equal(set(child["Gid"].split()), {str(pwd.getpwnam("headway").pw_gid)})
        equal((child["Groups"].split(), child["NoNewPrivs"]), ([], "1"))
        equal({int(child[name], 16) for name in ("CapInh", "CapPrm", "CapEff", "CapAmb")}, {0})


@case
def stopped_daemon_gives_its_rate_back_at_once():
    daemons["a1"].terminate()
    took = eventually("a0 has its link's rate", lambda: has("a0", LINK))
    print(f"# it took {took:.3f} s")
    equal(took <= 2, True)
    equal(has("a1", FALLBACK), True)
    stop_daemon("a1")
    start_daemon("a1")


@case
def never_was_it_more_than_the_trunk():
    sums.check(1000)


sh("getent passwd headway || useradd --system --no-create-home headway")
set_up(3)
equal(FALLBACK, fallback())
sums = Sums()
sums.start()
failed = run_cases()
if failed:
    show_logs()
sys.exit(failed)
