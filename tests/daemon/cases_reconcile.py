# SPDX-License-Identifier: Apache-2.0
"""The daemon puts right what others do to the interface, and a restart takes over what is there."""

import os
import re
import signal
import subprocess
import time

from guestdaemon import (BIN, CONFIG, DEV, EVERYBODY, PLANNED, SOCKET, Daemon, at_rest, clean,
                         config, paced_at, rate_of, unpaced, write_config)
from tcguest import (SPEED, classes, eventually, frame, matches, note, packets, qdiscs, renegotiate,
                     root_qdisc, run, send_frames, sh, state, tc)
from ktap import case, equal
from control import Control
from cases_phases import BYTES_PER_S, REMOTE, in_phase, phased


def is_paced(dev=DEV):
    return [q["kind"] for q in qdiscs(dev) if q.get("root")] == ["gap"]


def seen():
    """Returns what is there, in no order, whichever load of the classifier it is."""
    return sorted(re.sub(r" id \d+ .*", "", line) for line in state(DEV).splitlines())


def comes_back(before):
    try:
        eventually(lambda: seen() == before, "everything is as before")
    except AssertionError:
        note(f"status: {Control(SOCKET).do('status')['reconcile']}")
        equal(seen(), before)


class Monitor:
    """Collects what `tc monitor` sees meanwhile."""

    def __init__(self):
        self.log = open("/tmp/tc-monitor.log", "w+")
        self.process = subprocess.Popen(["stdbuf", "-oL", "tc", "monitor"], stdout=self.log)
        # It listens once it shows something.
        eventually(self.shows_something, "tc monitor listens")

    def shows_something(self):
        tc(f"class change dev {DEV} parent 1: classid 1:10 gap rate unlimited")
        return "1:10" in self.text()

    def text(self):
        self.log.seek(0)
        return self.log.read()

    def stop(self):
        self.process.terminate()
        self.process.wait(timeout=30)
        return self.text()


# ------------------------------------------------------- what buffers hold

BUFFERS = 'host_buffer = "256KiB"\ntrunk_buffer = "512KiB"'


def bursts():
    return {name: int(shown["burst"]) for name, shown in classes(DEV).items() if "burst" in shown}


# A quarter of 256 KiB, for 7 senders.
@case
def classes_have_the_bursts_that_buffers_hold():
    daemon = Daemon(config(host_rate=f'host_rate = "1gbit"\n{BUFFERS}'))
    equal(bursts(), {"1:10": 9362, "1:11": 9362})
    tc(f"class change dev {DEV} parent 1: classid 1:11 gap burst 0")
    eventually(lambda: bursts() == {"1:10": 9362, "1:11": 9362}, "what somebody else changed is put right")
    equal([entry["burst_bytes"] for entry in Control(SOCKET).do("status")["classes"]], [9362, 9362])
    daemon.kill()
    Daemon(phased(host_rate=f'host_rate = "10mbit"\n{BUFFERS}'))
    equal(bursts(), {"1:110": 9362, "1:111": 9362})
    clean()
    Daemon(phased())
    equal(bursts(), {})


# ------------------------------------------------------- others change something

@case
def a_deleted_qdisc_comes_back():
    daemon = Daemon(config())
    control = Control(SOCKET)
    control.enter(EVERYBODY)
    before = seen()
    tc(f"qdisc del dev {DEV} root")
    comes_back(before)
    eventually(lambda: "HW-207" in daemon.said(), "a line in the log")
    matches(daemon.said(), f"HW-207 set up {DEV} again: the root qdisc was gone with its classes "
                           "and filters ")
    equal(daemon.said().count("was gone"), 1)
    equal(rate_of("1:11"), PLANNED)
    control.do("leave")
    eventually(at_rest, "every class is at rest")
    equal(control.do("status")["reconcile"]["mended"], 1)
    equal(daemon.stop(), 0)
    equal(is_paced(), False)


@case
def with_the_phases_that_jobs_are_in():
    Daemon(phased())
    control, slot, _ = in_phase()
    paced_at(BYTES_PER_S)
    before = seen()
    tc(f"qdisc del dev {DEV} root")
    comes_back(before)
    paced_at(BYTES_PER_S)
    slot.store(0)
    unpaced()
    equal(control.do("status")["in_step"], True)


@case
def a_request_finds_the_qdisc_back():
    """Even one that comes right after the deletion."""
    Daemon(phased())
    control = Control(SOCKET)
    control.join()
    for _ in range(2):  # who does it more often is answered later
        tc(f"qdisc del dev {DEV} root")
        equal(control.ask("rate", bytes_per_s=1_000_000)["ok"], True)
        equal(len(classes(DEV)["1:111"]["phases"]), 1)
        eventually(lambda: control.do("status")["in_step"], "in step")


@case
def changed_objects_are_put_right():
    daemon = Daemon(phased())
    control, _, _ = in_phase()
    paced_at(BYTES_PER_S)
    before = seen()
    for what in (f"class change dev {DEV} parent 1:11 classid 1:111 gap phase 1 1mbit",
                 f"class change dev {DEV} parent 1:11 classid 1:111 gap phase 1 none",
                 f"class change dev {DEV} parent 1: classid 1:11 gap rate 1mbit",
                 f"class del dev {DEV} classid 1:111",
                 f"class add dev {DEV} parent 1: classid 1:77 gap",
                 f"filter del dev {DEV} parent 1:",
                 f"filter add dev {DEV} parent 1: pref 3 protocol ip flower classid 1:10"):
        note(what)
        tc(what)
        comes_back(before)
    eventually(lambda: "adding class 1:111" in daemon.said(), "a line in the log")
    paced_at(BYTES_PER_S)


@case
def plain_filters_are_put_right():
    Daemon(config())
    before = sorted(tc(f"filter show dev {DEV}").split())
    for what in ("protocol ip pref 10 handle 0x3 flower", "protocol ip pref 10",
                 "protocol ipv6 pref 11", ""):
        tc(f"filter del dev {DEV} parent 1: {what}")
        eventually(lambda: sorted(tc(f"filter show dev {DEV}").split()) == before,
                   "the filters are back")
    equal(Control(SOCKET).do("status")["in_step"], True)


@case
def somebody_elses_qdisc_stays_until_it_goes():
    daemon = Daemon(config())
    control = Control(SOCKET)
    tc(f"qdisc replace dev {DEV} root handle 7: pfifo limit 7")
    eventually(lambda: not control.do("status")["in_step"], "the daemon notices")
    equal(root_qdisc(DEV)["kind"], "pfifo")
    matches(daemon.said(), "root qdisc already: pfifo 7:, which somebody else installed; .*again")
    text = sh(f"{BIN}/headway", "status", "--socket", SOCKET)
    matches(text, "kernel: the interface has a root qdisc already: pfifo 7:")
    matches(text, "kernel: not as wanted; headwayd is trying again")
    matches(text, "not paced as wanted \\(below\\); wanted is pacing by ")
    equal(control.ask("enter", operation="alltoall", job_hosts=EVERYBODY,
                      comm_hosts=EVERYBODY)["ok"], False)
    tc(f"qdisc del dev {DEV} root")
    eventually(is_paced, "the qdisc is back")
    eventually(lambda: control.do("status")["in_step"], "in step")
    matches(daemon.said(), "the kernel holds what is wanted again")
    control.enter(EVERYBODY)
    equal(rate_of("1:11"), PLANNED)
    tc(f"qdisc replace dev {DEV} root handle 7: pfifo limit 7")
    equal(daemon.stop(), 0)
    equal(root_qdisc(DEV)["kind"], "pfifo")


@case
def what_the_kernel_refuses_is_shown_and_tried_again():
    daemon = Daemon(config())
    control = Control(SOCKET)
    folder = f"/lib/modules/{os.uname().release}"
    tc(f"qdisc del dev {DEV} root")
    eventually(is_paced, "the qdisc is back")
    daemon.process.send_signal(signal.SIGSTOP)
    tc(f"qdisc del dev {DEV} root")
    eventually(lambda: run("rmmod", "cls_flower").returncode == 0, "cls_flower is not in use")
    sh("mount", "-t", "tmpfs", "tmpfs", folder)
    try:
        daemon.process.send_signal(signal.SIGCONT)
        eventually(lambda: not control.do("status")["in_step"], "the daemon notices")
        status = control.do("status")["reconcile"]
        matches(status["error"], "adding the filter for 10.1.0.0/16: ")
        equal(len(status["failed"]), 5)
        text = sh(f"{BIN}/headway", "status", "--socket", SOCKET)
        matches(text, "refused: adding the filter for 10.1.0.0/16, ")
        equal(sorted(classes(DEV)), ["1:10", "1:11"])
    finally:
        sh("umount", folder)
        sh("modprobe", "cls_flower")
    eventually(lambda: control.do("status")["in_step"], "the daemon is in step")
    equal(tc(f"filter show dev {DEV}").count("classid 1:"), 5)
    equal(daemon.said().count("trying again until it succeeds"), 1)


@case
def more_news_than_the_socket_holds_are_a_reason_to_look():
    daemon = Daemon(config())
    before = seen()
    daemon.process.send_signal(signal.SIGSTOP)
    rate = "class change dev {} parent 1: classid 1:11 gap rate {}mbit\n"
    sh("tc", "-batch", "-", data="".join(rate.format(DEV, 1 + i % 9) for i in range(4000)))
    daemon.process.send_signal(signal.SIGCONT)
    comes_back(before)
    equal(Control(SOCKET).do("status")["in_step"], True)


@case
def its_own_changes_are_no_reason_to_look():
    Daemon(config())
    control = Control(SOCKET)
    passes = control.do("status")["reconcile"]["passes"]
    for _ in range(20):
        control.enter(EVERYBODY)
        control.do("leave")
    time.sleep(3)  # a pass comes a second later at most
    equal(control.do("status")["reconcile"]["passes"], passes)


# ------------------------------------------------------------- the link changes

@case
def a_link_that_goes_and_comes_stays_paced():
    daemon = Daemon(config())
    send_frames(DEV, frame("10.2.0.1", 1000), 3)
    eventually(lambda: packets(DEV)["1:11"] == 3, "the packets are sent")
    sh("ip", "link", "set", DEV, "down")
    sh("ip", "link", "set", DEV, "mtu", "1400")
    sh("ip", "link", "set", DEV, "mtu", "1500")
    sh("ip", "link", "set", DEV, "up")
    equal(packets(DEV)["1:11"], 3)
    equal(Control(SOCKET).do("status")["in_step"], True)
    matches(tc(f"filter show dev {DEV}"), "classid 1:11")
    equal("HW-207" in daemon.said(), False)


@case
def a_link_of_another_speed_is_told():
    daemon = Daemon(config())
    control = Control(SOCKET)
    try:
        renegotiate(DEV, SPEED // 10)
        eventually(lambda: control.do("status")["daemon"]["link_bits_per_s"] == 100_000_000,
                   "the new rate")
        matches(daemon.said(), "the link's rate is 100 Mbit/s now(.|\n)*planning for a host_rate "
                               f"of 1 Gbit/s, which the link of {DEV} does not have")
    finally:
        renegotiate(DEV, SPEED)
    eventually(lambda: control.do("status")["daemon"]["link_bits_per_s"] == 1_000_000_000,
               "the old rate")
    equal(control.do("status")["in_step"], True)


@case
def an_interface_made_anew_is_paced():
    def make():
        sh("ip", "link", "add", "again", "type", "simwire")
        for end in ("again", "againp"):
            sh("ip", "link", "set", end, "up")

    make()
    try:
        daemon = Daemon(config(interface='interface = "again"'))
        control = Control(SOCKET)
        control.enter(EVERYBODY)
        sh("ip", "link", "del", "again")
        eventually(lambda: not control.do("status")["in_step"], "the daemon notices")
        matches(daemon.said(), "network interface again: No such device")
        make()
        eventually(lambda: is_paced("again"), "the new one is paced")
        eventually(lambda: control.do("status")["in_step"], "in step")
        equal(classes("again")["1:11"]["rate"], PLANNED)
        equal(tc("filter show dev again").count("classid 1:"), 5)
        equal(daemon.stop(), 0)
        equal(is_paced("again"), False)
    finally:
        sh("ip", "link", "del", "again")


# ---------------------------------------------------------------------- restart

@case
def an_interface_with_another_name_is_gone_and_with_its_own_back():
    def rename(old, new):
        sh("ip", "link", "set", old, "down")
        sh("ip", "link", "set", old, "name", new)
        sh("ip", "link", "set", new, "up")

    daemon = Daemon(config())
    control = Control(SOCKET)
    control.enter(EVERYBODY)
    try:
        rename(DEV, "other")
        eventually(lambda: not control.do("status")["in_step"], "the daemon notices")
        matches(daemon.said(), f"network interface {DEV}: No such device")
        equal(classes("other")["1:11"]["rate"], PLANNED)
    finally:
        rename("other", DEV)
    eventually(lambda: control.do("status")["in_step"], "in step")
    equal(rate_of("1:11"), PLANNED)
    control.do("leave")
    eventually(at_rest, "every class is at rest")
    equal(daemon.stop(), 0)
    equal(is_paced(), False)


@case
def a_killed_daemon_s_qdisc_is_taken_over():
    first = Daemon(phased())
    control, slot, _ = in_phase()
    Control(SOCKET).enter(EVERYBODY)
    sent = packets(DEV)["1:111"] + 5
    send_frames(DEV, frame(REMOTE, 100), 5)
    eventually(lambda: packets(DEV)["1:111"] == sent, "they leave")
    first.kill()
    paced_at(BYTES_PER_S)
    monitor = Monitor()
    tc(f"class change dev {DEV} parent 1: classid 1:11 gap rate 2mbit")
    daemon = Daemon(phased())
    matches(daemon.said(), "took over the gap qdisc of an earlier run")
    equal(packets(DEV)["1:111"], sent + 3)
    equal(rate_of("1:11"), "2Mbit")
    paced_at(250_000)
    again, slot, _ = in_phase()
    paced_at(250_000)
    eventually(lambda: rate_of("1:11") == "unlimited", "nobody has come back for that rate")
    heard = monitor.stop()
    equal([line for line in heard.splitlines() if "deleted qdisc" in line], [])
    equal(tc(f"filter show dev {DEV}").count("handle 0x1"), 1)
    matches(daemon.said(), "nothing of the earlier run is in force any more")
    slot.store(0)
    again.close()
    equal(daemon.stop(), 0)
    equal(is_paced(), False)


@case
def a_rate_holds_until_its_client_comes_back():
    Daemon(config())
    Control(SOCKET).enter(EVERYBODY)
    Daemon.kill_last()
    Daemon(config())
    control = Control(SOCKET)
    control.enter(EVERYBODY)
    changes = tc(f"class show dev {DEV}")
    eventually(lambda: control.do("status")["daemon"]["uptime_s"] > 6, "the end of the wait")
    equal(tc(f"class show dev {DEV}"), changes)
    control.do("leave")
    eventually(at_rest, "every class is at rest")


@case
def an_earlier_run_with_another_set_up_is_taken_over():
    Daemon(phased()).kill()
    with_phases = seen()
    daemon = Daemon(config())
    plain = seen()
    equal(sorted(classes(DEV)), ["1:10", "1:11"])
    equal(tc(f"filter show dev {DEV}").count("classid 1:1"), 5)
    daemon.kill()
    Daemon(phased())
    equal(seen(), with_phases)
    Daemon.kill_last()
    Daemon(config())
    equal(seen(), plain)


@case
def a_daemon_that_keeps_leaves_everything_in_force():
    for stop in (signal.SIGTERM, signal.SIGINT):
        daemon = Daemon(phased(), options=["--keep"])
        control, _, _ = in_phase()
        entered = Control(SOCKET)
        entered.enter(EVERYBODY)
        before = seen()
        daemon.process.send_signal(stop)
        daemon.expect("STOPPING=1")
        equal(daemon.ended(), 0)
        equal(seen(), before)
        paced_at(BYTES_PER_S / 2)
        equal(os.path.exists(SOCKET), False)
    result = run(f"{BIN}/headwayd", "--config", CONFIG, "--restore")
    equal((result.returncode, is_paced()), (0, False))
    matches(result.stderr, "removed the qdisc from")
    result = run(f"{BIN}/headwayd", "--config", CONFIG, "--restore")
    equal(result.returncode, 0)
    matches(result.stderr, "found no qdisc of ours on")


@case
def restoring_leaves_a_running_daemon_alone():
    Daemon(config())
    before = seen()
    result = run(f"{BIN}/headwayd", "--config", CONFIG, "--restore")
    equal((result.returncode, seen()), (0, before))
    matches(result.stderr, f"leaving {DEV} alone: a headwayd runs")
    clean()
    write_config(config())
    tc(f"qdisc add dev {DEV} root handle 7: pfifo limit 7")
    equal(run(f"{BIN}/headwayd", "--config", CONFIG, "--restore").returncode, 0)
    equal(root_qdisc(DEV)["kind"], "pfifo")
