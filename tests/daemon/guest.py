#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""headwayd and headway on a real kernel, as root; tests/daemon/run starts it.

Needs sch_gap and simwire for the running kernel in $HW_BUILD/kmod, the tc
plugin in $HW_BUILD/lib and the programs in $HW_BUILD/bin.
"""

import json
import os
import signal
import statistics
import subprocess
import sys
import time

from guestdaemon import (BIN, CONFIG, DEV, EVERYBODY, MODULES, PLANNED, SOCKET, Daemon, at_rest,
                         clean, config, direct_packets, make_device, rate_of, refused_to_start,
                         write_config)
from tcguest import (classes, eventually, frame, matches, note, options, packets, qdiscs, root_qdisc,
                     run, send_frames, sh, state, tc)
from ktap import case, equal, run_cases
from control import Control
import cases_bad_days  # noqa: F401, its cases register themselves
import cases_bpf  # noqa: F401, and these
import cases_cgroups  # noqa: F401, and these
import cases_feedback  # noqa: F401, as these
import cases_programs  # noqa: F401, as these
import cases_hostile  # noqa: F401, as these
import cases_jobs  # noqa: F401, as these
import cases_off  # noqa: F401, and these
import cases_phases  # noqa: F401, and these
import cases_queues  # noqa: F401, and these
import cases_reconcile  # noqa: F401, and these
import cases_restart  # noqa: F401, and these
import cases_selftest  # noqa: F401, and these

HERE = os.path.dirname(os.path.realpath(__file__))


# ------------------------------------------------------------------ set-up

@case
def ready_when_everything_is_in_the_kernel():
    Daemon(config())
    equal(root_qdisc(DEV)["kind"], "gap")
    equal(root_qdisc(DEV)["handle"], "1:")
    equal(sorted(classes(DEV)), ["1:10", "1:11"])
    equal(at_rest(), True)
    filters = tc(f"filter show dev {DEV}")
    equal([filters.count(f"classid 1:{minor}") for minor in (10, 11)], [2, 3])


@case
def plan_prints_what_the_daemon_does():
    daemon = Daemon(config())
    control = Control(SOCKET)
    control.enter(EVERYBODY)
    by_daemon = state(DEV)
    control.close()
    equal(daemon.stop(), 0)
    batch = sh(f"{BIN}/headway", "plan", "--config", CONFIG, "--tc")
    sh("tc", "-batch", "-", data=batch)
    equal(state(DEV), by_daemon)


@case
def time_outs_cost_what_the_routes_say():
    def timeout_s():
        daemon = Daemon(config())
        unpaced = Control(SOCKET).do("plan", operation="alltoall", hosts=EVERYBODY, ranks_per_host=1,
                                     message_bytes=1 << 20)["predicted_unpaced"]
        equal(daemon.stop(), 0)
        return round((unpaced["high_s"] - unpaced["low_s"]) / unpaced["timeouts"], 6)

    # of the own cluster, and of the other one's two blocks
    routes = (("10.1.0.0/16", "5ms"), ("10.2.0.0/16", "20ms"), ("10.3.7.0/24", "5ms"))
    for block, rto_min in routes:
        sh("ip", "route", "add", block, "dev", DEV, "rto_min", rto_min)
    try:
        equal(timeout_s(), 0.02)
        sh("ip", "route", "change", "10.1.0.0/16", "dev", DEV)
        equal(timeout_s(), 0.2)
    finally:
        for block, _ in routes:
            sh("ip", "route", "del", block)


@case
def frames_go_to_their_classes():
    Daemon(config())
    before = direct_packets()
    for destination, count in (("10.1.0.9", 3), ("10.2.255.9", 5), ("10.3.7.1", 7),
                               ("10.3.8.1", 11)):
        send_frames(DEV, frame(destination, 1000), count)
    equal(packets(DEV), {"1:10": 3, "1:11": 12})
    equal(direct_packets() - before, 11)


@case
def stopping_leaves_nothing():
    before = state(DEV)
    for stop in (signal.SIGTERM, signal.SIGINT):
        daemon = Daemon(config())
        control = Control(SOCKET)
        control.enter(EVERYBODY)
        daemon.process.send_signal(stop)
        daemon.expect("STOPPING=1")
        equal(daemon.ended(), 0)
        equal(state(DEV), before)
        equal(os.path.exists(SOCKET), False)


# ------------------------------------------------------------ refused to start

@case
def wrong_configuration_leaves_the_kernel_alone():
    for text, pattern in (
            (config() + "prefixes = 5\n", r"headway.toml:25: syntax: "),
            (config(policy="min_messages_bytes = 10"), r"headway.toml:6: policy.min_messages_bytes: "
                                                       r"unknown key; did you mean min_message_bytes"),
            (config(host_rate='host_rate = "1gb"'), r"headway.toml:17: cluster.host_rate: "),
            (config().replace('"a0"', '"c0"'), r"headway.toml:3: node.name: host \"c0\" is in no")):
        refused_to_start(text, 2, pattern)
    run("rm", CONFIG)
    result = run(f"{BIN}/headwayd", "--config", CONFIG)
    equal(result.returncode, 2)
    matches(result.stderr, "No such file")
    equal(run(f"{BIN}/headwayd", "--unknown").returncode, 2)
    equal(run(f"{BIN}/headwayd", "--check-config", "--config", CONFIG).returncode, 2)


@case
def host_in_no_cluster_is_told():
    refused_to_start(config().replace('name = "a0"', ""), 2, r"\(the host name\) is in no cluster")


@case
def somebody_elses_qdisc_stays():
    for foreign in ("pfifo limit 7", "handle 1: htb default 1", "handle 7: gap"):
        kind = foreign.split()[-1] if "gap" in foreign else foreign.split()[-3]
        tc(f"qdisc add dev {DEV} root {foreign}")
        refused_to_start(config(), 1, f"root qdisc already: .*{kind}.* somebody else installed")
        tc(f"qdisc del dev {DEV} root")


@case
def missing_module_is_told():
    sh("rmmod", "sch_gap")
    try:
        refused_to_start(config(), 1, "the kernel module sch_gap is not loaded")
    finally:
        sh("insmod", f"{MODULES}/sch_gap.ko")


@case
def missing_classifier_undoes_the_beginning():
    sh("rmmod", "cls_flower")
    folder = f"/lib/modules/{os.uname().release}"
    sh("mount", "-t", "tmpfs", "tmpfs", folder)
    try:
        refused_to_start(config(), 1, "adding the filter for 10.1.0.0/16: ")
    finally:
        sh("umount", folder)
        sh("modprobe", "cls_flower")


@case
def virtual_devices_are_paced_by_the_timer():
    sh("ip", "link", "add", "veth0", "type", "veth", "peer", "name", "veth1")
    try:
        sh("ip", "link", "set", "veth1", "up")
        sh("ip", "link", "set", "veth0", "up")
        daemon = Daemon(config(interface='interface = "veth0"'))
        equal(options("veth0")["backend_used"], "timer")
        equal(sorted(classes("veth0")), ["1:10", "1:11"])
        equal(daemon.stop(), 0)
        equal([q for q in qdiscs("veth0") if q["kind"] == "gap"], [])
    finally:
        sh("ip", "link", "del", "veth0")


@case
def wrong_devices_are_refused():
    refused_to_start(config(interface='interface = "eth7"'), 1,
                     "network interface eth7: No such device")
    refused_to_start(config(host_rate='host_rate = "2gbit"'), 1,
                     "host_rate is 2 Gbit/s, but the interface drives a link of 1 Gbit/s")


@case
def second_daemon_is_refused():
    Daemon(config())
    before = state(DEV)
    for text in (config(), config(daemon='socket = "/run/headway/second.sock"')):
        second = Daemon(text, wait=False)
        equal(second.ended(), 1)
        matches(second.said(), "another headwayd runs already")
    equal(state(DEV), before)
    Control(SOCKET).do("status")


# ------------------------------------------------------------- enter and leave

@case
def enter_and_leave():
    daemon = Daemon(config())
    control = Control(SOCKET)
    equal(control.do("hello", job="4711", rank=0, pid=os.getpid())["cluster"], "a")
    answer = control.enter(EVERYBODY, message_bytes=65536)
    equal((rate_of("1:10"), rate_of("1:11")), (PLANNED, PLANNED))
    equal([r["bytes_per_s"] for r in answer["rates"]], [38671875, 38671875])
    control.do("leave")
    eventually(at_rest, "every class is at rest")
    equal(control.enter(EVERYBODY, message_bytes=100)["paced"], False)
    equal(at_rest(), True)
    equal(daemon.stop(), 0)


@case
def a_killed_client_leaves_no_rate():
    Daemon(config())
    for _ in range(3):
        client = subprocess.Popen([f"{HERE}/control.py", SOCKET, *EVERYBODY],
                                  stdout=subprocess.PIPE, text=True)
        equal(client.stdout.readline(), "entered\n")
        equal(rate_of("1:11"), PLANNED)
        client.kill()
        client.wait(timeout=30)
        eventually(at_rest, "every class is at rest")
    eventually(lambda: Control(SOCKET).do("status")["client_count"] == 1, "one client is left")


@case
def the_strictest_of_several_clients_wins():
    Daemon(config())
    first, second = Control(SOCKET), Control(SOCKET)
    first.enter(["a0", "a1", "b0", "b1"])
    loose = rate_of("1:11")
    second.enter(EVERYBODY)
    equal((rate_of("1:11"), loose == PLANNED), (PLANNED, False))
    second.close()
    eventually(lambda: rate_of("1:11") == loose, "the rate rises")
    first.close()
    eventually(at_rest, "every class is at rest")


@case
def how_long_an_enter_takes():
    daemon = Daemon(config())
    control = Control(SOCKET)
    pattern = control.do("prepare", operation="alltoall", job_hosts=EVERYBODY,
                         comm_hosts=EVERYBODY)["pattern"]
    took = []
    rounds = 500
    for _ in range(rounds):
        started = time.perf_counter()
        control.do("enter", pattern=pattern, message_bytes=65536)
        took.append((time.perf_counter() - started) * 1e6)
        control.do("leave")
    stats = control.do("status")["enter"]
    note(f"enter with 2 rates changed, at the client: median "
         f"{statistics.median(took):.0f} us, 99 % {sorted(took)[len(took) * 99 // 100]:.0f} us;"
         f" in the daemon: mean {stats['mean_us']:.0f} us, longest {stats['max_us']:.0f} us")
    equal(stats["count"], rounds)
    # Virtual time: twice what it takes; a nanosecond is an instruction.
    equal(statistics.median(took) < 400, True)
    equal(daemon.stop(), 0)


# -------------------------------------------------------------------- operation

@case
def reload():
    daemon = Daemon(config())
    control = Control(SOCKET)
    pattern = control.do("prepare", operation="alltoall", job_hosts=EVERYBODY,
                         comm_hosts=EVERYBODY)["pattern"]
    before = state(DEV)

    def hang_up(text):
        write_config(text)
        daemon.process.send_signal(signal.SIGHUP)
        daemon.expect("RELOADING=1")
        daemon.expect("READY=1")

    hang_up(config(policy="min_message_bytes = lots"))
    matches(daemon.said(), r"headway.toml:6: syntax: (.|\n)*did not reload .*; the earlier")
    hang_up(config(interface='interface = "eth1"'))
    matches(daemon.said(), "which needs a restart")
    control.do("enter", pattern=pattern)
    equal(rate_of("1:11"), PLANNED)
    control.do("leave")
    eventually(at_rest, "every class is at rest")
    equal(state(DEV), before)

    hang_up(config(policy="target_utilisation = 0.495"))
    control.do("enter", pattern=pattern)
    equal(rate_of("1:11"), "154687Kbit")  # half of it
    control.do("leave")
    eventually(at_rest, "every class is at rest")
    equal(state(DEV), before)


@case
def status_for_people_and_machines():
    Daemon(config())
    control = Control(SOCKET)
    control.do("hello", job="4711.0", rank=2, pid=os.getpid())
    control.enter(EVERYBODY)
    text = sh(f"{BIN}/headway", "status", "--config", CONFIG)
    matches(text, "node a0 of cluster a, interface eth0, link 1 Gbit/s")
    matches(text, r"1:11 +b +309\.375 Mbit/s +309\.375 Mbit/s")
    matches(text, f"pid {os.getpid()}, user 0, job 4711.0 rank 2: in 1 collectives, paced: ")
    status = json.loads(sh(f"{BIN}/headway", "status", "--socket", SOCKET, "--json"))
    equal(status["classes"][1]["bytes_per_s"], 38671875)
    equal(run(f"{BIN}/headway", "status", "--socket", "/run/none").returncode, 1)


@case
def who_may_connect():
    ask_as = ["setpriv", "--reuid", "65534", "--clear-groups", "--regid"]
    status = [f"{BIN}/headway", "status", "--socket", SOCKET, "--json"]
    daemon = Daemon(config())
    clients = json.loads(sh(*ask_as, "65534", *status))["clients"]
    equal([c["uid"] for c in clients], [65534])
    equal(daemon.stop(), 0)
    Daemon(config(daemon='group = "games"'))
    equal(run(*ask_as, "65534", *status).returncode, 1)
    sh(*ask_as, "60", *status)


@case
def nothing_is_left_in_the_kernel():
    daemon = Daemon(config())
    control = Control(SOCKET)
    control.enter(EVERYBODY)
    send_frames(DEV, frame("10.2.0.1", 1000), 20)
    equal(daemon.stop(), 0)
    sh("rmmod", "sch_gap")
    sh("insmod", f"{MODULES}/sch_gap.ko")


if __name__ == "__main__":
    make_device()
    sys.exit(run_cases(clean, named=sys.argv[1:]))
