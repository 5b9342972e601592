#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The gap qdisc through the installed tc and its plugin, on a real kernel.

Runs in a guest as root; tests/tc/run starts it.  Needs sch_gap and simwire for
the running kernel in $HW_BUILD/kmod and the plugin in $HW_BUILD/lib.
"""

import errno
import os
import re
import sys

from tcguest import (ADD, CHANGE, ENVIRONMENT, RTM_NEWQDISC, RTM_NEWTCLASS, TCA_RATE, attr, case,
                     classes, equal, eventually, frame, matches, netlink_refused, note,
                     qdiscs, refused, root_qdisc, run, run_cases, send_frames, sh, tc, u32, u64)

DEV, SPEEDLESS = "eth0", "wire1"
SPEED = 125000000  # bytes per second of a simwire as it is made: 1 Gbit/s
MODULES = os.path.join(os.environ["HW_BUILD"], "kmod", os.uname().release)
RATE64, DEFAULT, LINK_RATE64 = 2, 3, 4
CLASS_RATE64, CLASS_LINGER_NS, CLASS_NEXT_RATE64 = 2, 3, 4
HANDLE, ROOT = 0x00010000, 0xFFFFFFFF


def fresh_device():
    """Before each case: the device without a gap qdisc."""
    run("tc", "qdisc", "del", "dev", DEV, "root")
    equal([q for q in qdiscs(DEV) if q["kind"] == "gap"], [])


def add_gap(options=""):
    tc(f"qdisc add dev {DEV} root handle 1: gap {options}")


def loaded():
    return os.path.isdir("/sys/module/sch_gap")


# ------------------------------------------------------------------ module

@case
def module_is_loaded_by_the_first_use():
    run("rmmod", "sch_gap")
    equal(loaded(), False)
    folder = f"/lib/modules/{os.uname().release}"
    # The kernel calls modprobe by itself: give it a folder with this module only.
    sh("mount", "-t", "tmpfs", "tmpfs", folder)
    try:
        sh("cp", f"{MODULES}/sch_gap.ko", folder)
        run("depmod", "-a")
        add_gap()
        equal(loaded(), True)
    finally:
        sh("umount", folder)


@case
def module_stays_while_in_use():
    add_gap()
    result = run("rmmod", "sch_gap")
    equal(result.returncode, 1)
    matches(result.stderr, "in use")
    equal(root_qdisc(DEV)["kind"], "gap")
    tc(f"class add dev {DEV} parent 1: classid 1:10 gap rate 1mbit")


@case
def module_goes_when_unused():
    add_gap()
    tc(f"class add dev {DEV} parent 1: classid 1:10 gap rate 1mbit")
    tc(f"qdisc del dev {DEV} root")
    sh("rmmod", "sch_gap")
    equal(loaded(), False)
    sh("insmod", f"{MODULES}/sch_gap.ko")


# ------------------------------------------------------------------- qdisc

@case
def qdisc_takes_the_speed_of_the_device():
    add_gap()
    shown = root_qdisc(DEV)
    equal((shown["kind"], shown["handle"]), ("gap", "1:"))
    equal(shown["options"], {"link_rate": SPEED})
    matches(tc(f"qdisc show dev {DEV}"), r"^qdisc gap 1: root refcnt \d+ link_rate 1Gbit \n")


@case
def qdisc_without_a_handle_gets_one():
    tc(f"qdisc add dev {DEV} root gap")
    matches(root_qdisc(DEV)["handle"], r"^8[0-9a-f]{3}:$")


@case
def qdisc_shows_what_was_given():
    add_gap("rate 312.5mbit default 1:10")
    equal(root_qdisc(DEV)["options"],
          {"rate": 39062500, "default": "1:10", "link_rate": 39062500})
    matches(tc(f"qdisc show dev {DEV}"),
            r" rate 312500Kbit default 1:10 link_rate 312500Kbit \n")


@case
def qdisc_default_without_its_major_number():
    for text in ("10", ":10"):
        add_gap(f"default {text}")
        equal(root_qdisc(DEV)["options"]["default"], "1:10")
        tc(f"qdisc del dev {DEV} root")


@case
def qdisc_change_leaves_the_rest_alone():
    add_gap("default 1:10")
    tc(f"qdisc change dev {DEV} root handle 1: gap rate 500mbit")
    equal(root_qdisc(DEV)["options"],
          {"rate": 62500000, "default": "1:10", "link_rate": 62500000})
    tc(f"qdisc change dev {DEV} root gap default 1:20")
    equal(root_qdisc(DEV)["options"],
          {"rate": 62500000, "default": "1:20", "link_rate": 62500000})
    tc(f"qdisc change dev {DEV} root gap default none")
    equal(root_qdisc(DEV)["options"], {"rate": 62500000, "link_rate": 62500000})
    tc(f"qdisc change dev {DEV} root gap")
    equal(root_qdisc(DEV)["options"], {"rate": 62500000, "link_rate": 62500000})


@case
def qdisc_rate_may_exceed_the_speed_that_the_device_reports():
    add_gap("rate 8tbit")
    equal(root_qdisc(DEV)["options"], {"rate": 10**12, "link_rate": 10**12})
    matches(tc(f"qdisc show dev {DEV}"), r" rate 8Tbit link_rate 8Tbit ")
    tc(f"qdisc change dev {DEV} root gap rate 8bit")
    equal(root_qdisc(DEV)["options"], {"rate": 1, "link_rate": 1})


@case
def qdisc_replace_makes_changes_and_replaces():
    tc(f"qdisc replace dev {DEV} root handle 1: gap rate 100mbit")
    tc(f"class add dev {DEV} parent 1: classid 1:10 gap rate 10mbit")
    tc(f"qdisc replace dev {DEV} root handle 1: gap default 1:10")
    equal(root_qdisc(DEV)["options"],
          {"rate": 12500000, "default": "1:10", "link_rate": 12500000})
    equal(list(classes(DEV)), ["1:10"])
    tc(f"qdisc replace dev {DEV} root handle 2: gap")
    equal(root_qdisc(DEV)["handle"], "2:")
    equal(classes(DEV), {})
    tc(f"qdisc replace dev {DEV} root handle 3: pfifo limit 9")
    equal(root_qdisc(DEV)["kind"], "pfifo")
    tc(f"qdisc replace dev {DEV} root handle 1: gap")
    equal(root_qdisc(DEV)["kind"], "gap")


@case
def qdisc_del_brings_the_usual_one_back():
    before = root_qdisc(DEV)["kind"]
    add_gap()
    tc(f"qdisc del dev {DEV} root")
    equal(root_qdisc(DEV)["kind"], before)


@case
def qdisc_add_twice_is_refused():
    add_gap("rate 1mbit")
    refused(DEV, f"qdisc add dev {DEV} root handle 1: gap rate 2mbit", "Exclusivity flag on")


@case
def qdisc_change_of_none_is_refused():
    refused(DEV, f"qdisc change dev {DEV} root gap rate 1mbit", "Qdisc not found|No such file")


@case
def qdisc_mistakes_stop_in_the_plugin():
    add_gap("rate 1mbit")
    refused(DEV, f"qdisc change dev {DEV} root gap rate fast default 1:",
            r'^gap: rate "fast": not a rate.*\ngap: default "1:": ', status=1)


@case
def qdisc_default_of_another_qdisc_is_refused():
    sentence = "the default class belongs to another qdisc"
    refused(DEV, f"qdisc add dev {DEV} root handle 1: gap default 2:10", sentence)
    add_gap("default 1:10")
    refused(DEV, f"qdisc change dev {DEV} root gap rate 1mbit default 2:10", sentence)


@case
def qdisc_slower_than_a_class_is_refused():
    add_gap("rate 100mbit")
    tc(f"class add dev {DEV} parent 1: classid 1:10 gap rate 50mbit")
    refused(DEV, f"qdisc change dev {DEV} root gap rate 49mbit default 1:10",
            "a class is faster than the new link rate")
    tc(f"qdisc change dev {DEV} root gap rate 50mbit")


@case
def qdisc_elsewhere_than_at_the_root_is_refused():
    sentence = "works as the root qdisc only"
    tc(f"qdisc add dev {DEV} root handle 1: htb")
    tc(f"class add dev {DEV} parent 1: classid 1:1 htb rate 10mbit")
    refused(DEV, f"qdisc add dev {DEV} parent 1:1 gap rate 1mbit", sentence)
    fresh_device()
    add_gap()
    tc(f"class add dev {DEV} parent 1: classid 1:1 gap")
    refused(DEV, f"qdisc add dev {DEV} parent 1:1 handle 2: gap rate 1mbit", sentence)


VIRTUAL = {
    "veth": ("type", "veth", "peer", "name", "virtual1"),
    "bond": ("type", "bond"),
    "team": ("type", "team"),
    "vlan": ("link", DEV, "type", "vlan", "id", "5"),
    "macvlan": ("link", DEV, "type", "macvlan"),
    "dummy": ("type", "dummy"),
    "ifb": ("type", "ifb"),
    "bridge": ("type", "bridge"),
}


@case
def qdisc_on_virtual_devices_is_refused():
    for kind, how in VIRTUAL.items():
        note(kind)
        if "link" in how:
            sh("ip", "link", "add", *how[:2], "name", "virtual0", *how[2:])
        else:
            sh("ip", "link", "add", "virtual0", *how)
        try:
            refused("virtual0", "qdisc add dev virtual0 root gap rate 1gbit",
                    "a gap frame takes no time on a virtual device")
        finally:
            sh("ip", "link", "del", "virtual0")


@case
def qdisc_on_tap_tun_and_loopback_is_refused():
    for mode, sentence in (("tap", "a gap frame takes no time on a virtual device"),
                           ("tun", "gap frames need an Ethernet device")):
        note(mode)
        sh("ip", "tuntap", "add", "dev", "virtual0", "mode", mode)
        try:
            refused("virtual0", "qdisc add dev virtual0 root gap rate 1gbit", sentence)
        finally:
            sh("ip", "link", "del", "virtual0")
    refused("lo", "qdisc add dev lo root gap rate 1gbit", "gap frames need an Ethernet device")


@case
def qdisc_on_a_device_of_unknown_speed_needs_a_rate():
    refused(SPEEDLESS, f"qdisc add dev {SPEEDLESS} root gap",
            "the device does not report its speed; give the link rate with rate")
    tc(f"qdisc add dev {SPEEDLESS} root handle 1: gap rate 10mbit")
    equal(root_qdisc(SPEEDLESS)["options"], {"rate": 1250000, "link_rate": 1250000})
    tc(f"qdisc del dev {SPEEDLESS} root")


@case
def qdisc_requests_that_tc_never_sends_are_refused():
    for options, error, sentence in (
            (u64(RATE64, 0), errno.ERANGE, "integer out of range"),
            (u64(RATE64, 10**12 + 1), errno.ERANGE, "integer out of range"),
            (u64(RATE64, 2**64 - 1), errno.ERANGE, "integer out of range"),
            (u64(LINK_RATE64, 1000), errno.EINVAL, "[Aa]ttribute"),
            (attr(RATE64, b"1234"), errno.EINVAL, "[Aa]ttribute"),
            (attr(DEFAULT, b"12"), errno.EINVAL, "[Aa]ttribute"),
            (attr(77, b"1234"), errno.EINVAL, "[Aa]ttribute"),
            (b"\x02\0\x02\0", errno.EINVAL, "")):
        netlink_refused(DEV, (RTM_NEWQDISC, ADD, HANDLE, ROOT, options), error, sentence)
    add_gap("rate 1mbit")
    netlink_refused(DEV, (RTM_NEWQDISC, CHANGE, HANDLE, ROOT,
                          u64(RATE64, 1000) + u32(DEFAULT, 0x00020001)),
                    errno.EINVAL, "the default class belongs to another qdisc")


# ----------------------------------------------------------------- classes

@case
def class_rates_are_shown_as_given():
    add_gap()
    tc(f"class add dev {DEV} parent 1: classid 1:10 gap")
    tc(f"class add dev {DEV} parent 1: classid 1:20 gap rate 312.5mbit")
    tc(f"class add dev {DEV} parent 1: classid 1:30 gap rate unlimited")
    tc(f"class add dev {DEV} parent 1: classid 1:40 gap rate 1gbit")
    equal(classes(DEV), {
        "1:10": {"parent": "root", "rate": "unlimited"},
        "1:20": {"parent": "root", "rate": "312500Kbit"},
        "1:30": {"parent": "root", "rate": "unlimited"},
        "1:40": {"parent": "root", "rate": "1Gbit"},
    })


@case
def class_change_and_replace():
    add_gap()
    tc(f"class replace dev {DEV} parent 1: classid 1:10 gap rate 100mbit")
    tc(f"class change dev {DEV} parent 1: classid 1:10 gap rate 200mbit")
    equal(classes(DEV)["1:10"]["rate"], "200Mbit")
    tc(f"class change dev {DEV} classid 1:10 gap rate 8bit")
    equal(classes(DEV)["1:10"]["rate"], "8bit")
    tc(f"class change dev {DEV} classid 1:10 gap")
    equal(classes(DEV)["1:10"]["rate"], "8bit")
    tc(f"class replace dev {DEV} parent 1: classid 1:10 gap rate unlimited")
    equal(classes(DEV), {"1:10": {"parent": "root", "rate": "unlimited"}})


@case
def class_linger_of_an_empty_class_is_over_at_once():
    add_gap()
    tc(f"class add dev {DEV} parent 1: classid 1:10 gap rate 1mbit")
    tc(f"class change dev {DEV} classid 1:10 gap rate 2mbit linger 10s")
    equal(classes(DEV)["1:10"], {"parent": "root", "rate": "2Mbit"})


@case
def class_linger_keeps_the_rate_while_packets_wait():
    add_gap()
    # the second frame waits 1524 s
    tc(f"class add dev {DEV} parent 1: classid 1:10 gap rate 8bit")
    send_frames(DEV, frame("10.2.0.1", 1458), 3, priority=HANDLE | 0x10)
    tc(f"class change dev {DEV} classid 1:10 gap rate 16bit linger 10s")
    equal(classes(DEV)["1:10"], {"parent": "root", "rate": "8bit", "next_rate": "16bit"})
    tc(f"class change dev {DEV} classid 1:10 gap rate unlimited linger 9.5s")
    equal(classes(DEV)["1:10"], {"parent": "root", "rate": "8bit", "next_rate": "unlimited"})
    tc(f"class change dev {DEV} classid 1:10 gap rate 24bit")
    equal(classes(DEV)["1:10"], {"parent": "root", "rate": "24bit"})
    tc(f"class change dev {DEV} classid 1:10 gap rate 32bit linger 20ms")
    eventually(lambda: classes(DEV)["1:10"] == {"parent": "root", "rate": "32bit"})
    tc(f"class replace dev {DEV} parent 1: classid 1:10 gap rate 40bit linger 10s")
    equal(classes(DEV)["1:10"], {"parent": "root", "rate": "32bit", "next_rate": "40bit"})
    # A link as fast as the rate to come must stay possible, a slower one not.
    tc(f"class change dev {DEV} classid 1:10 gap rate 100mbit linger 10s")
    refused(DEV, f"qdisc change dev {DEV} root gap rate 99mbit",
            "a class is faster than the new link rate")


@case
def class_linger_is_over_when_the_class_runs_empty():
    add_gap()
    tc(f"class add dev {DEV} parent 1: classid 1:10 gap rate 100kbit")
    send_frames(DEV, frame("10.2.0.1", 1458), 10, priority=HANDLE | 0x10)
    tc(f"class change dev {DEV} classid 1:10 gap rate unlimited linger 10s")
    equal(classes(DEV)["1:10"], {"parent": "root", "rate": "100Kbit", "next_rate": "unlimited"})
    # nine intervals of 122 ms
    eventually(lambda: classes(DEV, "-s")["1:10"]["packets"] == 10, seconds=5)
    eventually(lambda: classes(DEV)["1:10"] == {"parent": "root", "rate": "unlimited"}, seconds=2)


@case
def class_linger_is_over_in_time():
    add_gap()
    tc(f"class add dev {DEV} parent 1: classid 1:10 gap rate 8bit")
    send_frames(DEV, frame("10.2.0.1", 1458), 3, priority=HANDLE | 0x10)
    tc(f"class change dev {DEV} classid 1:10 gap rate unlimited linger 100ms")
    # at the old rate the second packet would take 25 minutes
    eventually(lambda: classes(DEV, "-s")["1:10"]["packets"] == 3)
    equal(classes(DEV)["1:10"], {"parent": "root", "rate": "unlimited"})


@case
def class_tree_is_dumped():
    add_gap("default 1:111")
    tc(f"class add dev {DEV} parent 1: classid 1:1 gap rate 300mbit")
    tc(f"class add dev {DEV} parent 1:1 classid 1:11 gap rate 200mbit")
    tc(f"class add dev {DEV} parent 1:11 classid 1:111 gap rate 100mbit")
    tc(f"class add dev {DEV} parent 1:1 classid 1:12 gap rate 200mbit")
    tc(f"class add dev {DEV} parent 1: classid 1:2 gap")
    parents = {name: shown["parent"] for name, shown in classes(DEV).items()}
    equal(parents, {"1:1": "root", "1:11": "1:1", "1:111": "1:11", "1:12": "1:1", "1:2": "root"})
    graph = tc(f"-g class show dev {DEV}")
    matches(graph, r"\+---\(1:1\) gap rate 300Mbit")
    matches(graph, r"\| +\+---\(1:11\) gap rate 200Mbit|     \+---\(1:11\) gap rate 200Mbit")


@case
def class_dumps_of_many_classes_are_whole():
    add_gap()
    batch = "".join(f"class add dev {DEV} parent 1: classid 1:{i:x} gap rate {i}kbit\n"
                    for i in range(1, 501))
    sh("tc", "-batch", "-", data=batch)
    equal(classes(DEV), {f"1:{i:x}": {"parent": "root", "rate": f"{i}Kbit"}
                         for i in range(1, 501)})


@case
def class_refusals():
    add_gap("rate 100mbit")
    tc(f"class add dev {DEV} parent 1: classid 1:10 gap rate 10mbit")
    for command, sentence in (
            ("add parent 1: classid 1:10 gap rate 5mbit", "File exists|exclusiv"),
            ("change classid 1:77 gap rate 5mbit", "No such file"),
            ("add parent 1: classid 1:20 gap rate 100.1mbit",
             "the class rate exceeds the link rate; to leave the class unpaced use unlimited"),
            ("change classid 1:10 gap rate 1gbit", "the class rate exceeds the link rate"),
            ("add parent 1:77 classid 1:20 gap", "the parent class does not exist"),
            ("add parent 1: gap rate 1mbit", "a class needs a classid"),
            ("replace parent 1: classid 1:20 gap rate 1mbit linger 1ms",
             "linger delays a change of a class's rate"),
            ("add estimator 1sec 8sec parent 1: classid 1:20 gap",
             "rate estimators are not supported")):
        note(command)
        verb, rest = command.split(" ", 1)
        refused(DEV, f"class {verb} dev {DEV} {rest}", sentence)


@case
def class_parents_that_cannot_be():
    add_gap()
    tc(f"class add dev {DEV} parent 1: classid 1:10 gap")
    tc(f"class add dev {DEV} parent 1:10 classid 1:11 gap")
    tc(f"class add dev {DEV} parent 1: classid 1:20 gap")
    for command, sentence in (
            # another qdisc's, which does not exist
            ("add parent 2: classid 2:10 gap", "."),
            ("add parent 2:1 classid 1:30 gap", "."),
            ("add parent 1: classid 2:30 gap", "."),
            # its own parent
            ("add parent 1:30 classid 1:30 gap", "the parent class does not exist"),
            ("change parent 1:20 classid 1:11 gap rate 1mbit", "cannot be moved"),
            ("change parent 1:11 classid 1:11 gap rate 1mbit", "cannot be moved"),
            ("replace parent 1:10 classid 1:20 gap rate 1mbit", "cannot be moved")):
        note(command)
        verb, rest = command.split(" ", 1)
        refused(DEV, f"class {verb} dev {DEV} {rest}", sentence)


@case
def class_depth_is_limited():
    add_gap()
    parent = "1:"
    for depth in range(1, 9):
        tc(f"class add dev {DEV} parent {parent} classid 1:{depth} gap rate {100 - depth}mbit")
        parent = f"1:{depth}"
    refused(DEV, f"class add dev {DEV} parent 1:8 classid 1:9 gap",
            "classes may be nested 8 deep at most")
    equal(len(classes(DEV)), 8)


@case
def class_delete():
    add_gap("default 1:11")
    tc(f"class add dev {DEV} parent 1: classid 1:1 gap")
    tc(f"class add dev {DEV} parent 1:1 classid 1:11 gap")
    refused(DEV, f"class del dev {DEV} classid 1:1", "the class has child classes")
    refused(DEV, f"class del dev {DEV} classid 1:77", "No such file|not find|Invalid")
    tc(f"class del dev {DEV} classid 1:11")
    equal(list(classes(DEV)), ["1:1"])
    # 1:1 is a leaf again and takes a child qdisc
    tc(f"qdisc add dev {DEV} parent 1:1 handle 10: pfifo")
    tc(f"class del dev {DEV} classid 1:1")
    equal(classes(DEV), {})
    equal([q["kind"] for q in qdiscs(DEV)], ["gap"])


@case
def class_delete_with_filters_is_refused():
    add_gap()
    tc(f"class add dev {DEV} parent 1: classid 1:10 gap")
    tc(f"filter add dev {DEV} parent 1: protocol ip prio 1 matchall classid 1:10")
    refused(DEV, f"class del dev {DEV} classid 1:10", "filters lead to the class")
    tc(f"filter del dev {DEV} parent 1:")
    tc(f"class del dev {DEV} classid 1:10")


@case
def class_requests_that_tc_never_sends_are_refused():
    add_gap("rate 100mbit")
    tc(f"class add dev {DEV} parent 1: classid 1:10 gap rate 10mbit")
    existing, new = HANDLE | 0x10, HANDLE | 0x20
    rate, linger = u64(CLASS_RATE64, 1000), u64(CLASS_LINGER_NS, 1000)
    for flags, classid, options, error, sentence in (
            (CHANGE, existing, linger, errno.EINVAL, "linger delays a change"),
            (CHANGE, existing, u64(CLASS_LINGER_NS, 0), errno.EINVAL, "linger delays a change"),
            (ADD, new, rate + linger, errno.EINVAL, "linger delays a change"),
            (CHANGE, existing, rate + u64(CLASS_LINGER_NS, 10**10 + 1), errno.ERANGE,
             "integer out of range"),
            (CHANGE, existing, u64(CLASS_RATE64, 0), errno.ERANGE, "integer out of range"),
            (ADD, new, u64(CLASS_RATE64, 12500001), errno.EINVAL, "exceeds the link rate"),
            (ADD, new, u64(CLASS_RATE64, 2**64 - 2), errno.EINVAL, "exceeds the link rate"),
            (CHANGE, existing, u64(CLASS_NEXT_RATE64, 1000), errno.EINVAL, "[Aa]ttribute"),
            (CHANGE, existing, attr(CLASS_RATE64, b"1234"), errno.EINVAL, "[Aa]ttribute"),
            (CHANGE, existing, rate + attr(77, b""), errno.EINVAL, "[Aa]ttribute")):
        note(f"{options.hex()} {sentence}")
        netlink_refused(DEV, (RTM_NEWTCLASS, flags, classid, HANDLE, options), error, sentence)


# ---------------------------------------------------------- children, filters

@case
def child_qdiscs_come_and_go():
    add_gap()
    tc(f"class add dev {DEV} parent 1: classid 1:10 gap rate 1mbit")
    equal([q["kind"] for q in qdiscs(DEV)], ["gap"])
    tc(f"qdisc add dev {DEV} parent 1:10 handle 10: pfifo limit 5")
    child = [q for q in qdiscs(DEV) if q["handle"] == "10:"][0]
    equal((child["kind"], child["parent"], child["options"]), ("pfifo", "1:10", {"limit": 5}))
    equal(classes(DEV)["1:10"], {"parent": "root", "leaf": "10:", "rate": "1Mbit"})
    tc(f"qdisc replace dev {DEV} parent 1:10 handle 11: fq_codel")
    equal(classes(DEV)["1:10"]["leaf"], "11:")
    tc(f"class change dev {DEV} classid 1:10 gap rate 2mbit")
    equal(classes(DEV)["1:10"], {"parent": "root", "leaf": "11:", "rate": "2Mbit"})
    tc(f"qdisc del dev {DEV} parent 1:10")
    equal(classes(DEV)["1:10"], {"parent": "root", "rate": "2Mbit"})
    equal([q["kind"] for q in qdiscs(DEV)], ["gap"])


@case
def child_qdiscs_queue_what_the_class_holds_back():
    add_gap()
    tc(f"class add dev {DEV} parent 1: classid 1:10 gap rate 8bit")
    tc(f"qdisc add dev {DEV} parent 1:10 handle 10: pfifo limit 5")
    send_frames(DEV, frame("10.2.0.1", 100), 20, priority=HANDLE | 0x10)
    child = [q for q in qdiscs(DEV, "-s") if q["handle"] == "10:"][0]
    equal(child["qlen"], 5)
    # replaced with packets in it: they are gone, and the class works on
    tc(f"qdisc replace dev {DEV} parent 1:10 handle 11: fq_codel")
    tc(f"class change dev {DEV} classid 1:10 gap rate unlimited")
    before = classes(DEV, "-s")["1:10"]["packets"]
    send_frames(DEV, frame("10.2.0.1", 100), 7, priority=HANDLE | 0x10)
    eventually(lambda: classes(DEV, "-s")["1:10"]["packets"] == before + 7)
    # and back to the built-in queue
    tc(f"qdisc del dev {DEV} parent 1:10")
    send_frames(DEV, frame("10.2.0.1", 100), 7, priority=HANDLE | 0x10)
    eventually(lambda: classes(DEV, "-s")["1:10"]["packets"] == before + 14)


@case
def child_qdiscs_of_inner_classes_are_refused():
    add_gap()
    tc(f"class add dev {DEV} parent 1: classid 1:1 gap")
    tc(f"class add dev {DEV} parent 1:1 classid 1:11 gap")
    refused(DEV, f"qdisc add dev {DEV} parent 1:1 handle 10: pfifo",
            "only a class without children can have a qdisc")


@case
def child_qdisc_goes_when_its_class_gets_children():
    add_gap()
    tc(f"class add dev {DEV} parent 1: classid 1:1 gap")
    tc(f"qdisc add dev {DEV} parent 1:1 handle 10: pfifo")
    tc(f"class add dev {DEV} parent 1:1 classid 1:11 gap")
    equal([q["kind"] for q in qdiscs(DEV)], ["gap"])
    equal(classes(DEV)["1:1"], {"parent": "root", "rate": "unlimited"})


FILTERS = {
    "u32": "protocol ip prio 1 u32 match ip dst {} flowid {}",
    "flower": "protocol ip prio 2 flower dst_ip {} classid {}",
}


@case
def filters_and_priority_choose_the_class_and_bytes_are_wire_bytes():
    add_gap("default 1:30")
    for classid in ("1:10", "1:20", "1:30", "1:40"):
        tc(f"class add dev {DEV} parent 1: classid {classid} gap")
    tc(f"filter add dev {DEV} parent 1: " + FILTERS["u32"].format("10.1.0.0/16", "1:10"))
    tc(f"filter add dev {DEV} parent 1: " + FILTERS["flower"].format("10.2.0.0/16", "1:20"))
    # skb lengths 42, 60, 61 and 1500: max(length, 60) + 24 on the wire
    send_frames(DEV, frame("10.1.0.9", 0), 5)
    send_frames(DEV, frame("10.2.0.9", 18), 6)
    send_frames(DEV, frame("10.3.0.9", 19), 7)
    send_frames(DEV, frame("10.1.0.9", 1458), 8, priority=HANDLE | 0x40)
    send_frames(DEV, frame("10.1.0.9", 0), 9, priority=HANDLE)
    want = {"1:10": (5, 5 * 84), "1:20": (6, 6 * 84), "1:30": (7, 7 * 85), "1:40": (8, 8 * 1524)}

    def sent():
        return {name: (shown["packets"], shown["wire"])
                for name, shown in classes(DEV, "-s").items()}
    try:
        eventually(lambda: sent() == want)
    except AssertionError:
        equal(sent(), want)
    shown = root_qdisc(DEV, "-s")
    equal((shown["direct_packets"], shown["direct_wire_bytes"]), (9, 9 * 84))
    equal(shown["wire_bytes"], sum(wire for _, wire in want.values()) + 9 * 84)
    equal(shown["packets"], 35)
    equal(shown["gso_split"], 0)


@case
def filters_of_a_class_lead_further_down():
    add_gap("default 1:12")
    tc(f"class add dev {DEV} parent 1: classid 1:1 gap")
    tc(f"class add dev {DEV} parent 1:1 classid 1:11 gap")
    tc(f"class add dev {DEV} parent 1:1 classid 1:12 gap")
    tc(f"filter add dev {DEV} parent 1: protocol ip prio 1 matchall classid 1:1")
    tc(f"filter add dev {DEV} parent 1:1 " + FILTERS["flower"].format("10.2.0.1", "1:11"))
    send_frames(DEV, frame("10.2.0.1", 10), 3)
    send_frames(DEV, frame("10.2.0.2", 10), 4)
    eventually(lambda: {name: shown["packets"] for name, shown in classes(DEV, "-s").items()}
               == {"1:1": 7, "1:11": 3, "1:12": 4})


@case
def statistics_are_numbers_in_json():
    add_gap("rate 1gbit")
    tc(f"class add dev {DEV} parent 1: classid 1:10 gap rate 10mbit")
    send_frames(DEV, frame("10.2.0.1", 1458), 10, priority=HANDLE | 0x10)
    eventually(lambda: classes(DEV, "-s")["1:10"]["packets"] == 10)
    shown = root_qdisc(DEV, "-s")
    for name in ("wire_bytes", "gap_packets", "gap_wire_bytes", "gap_failed", "direct_packets",
                 "direct_wire_bytes", "gso_split"):
        equal(type(shown[name]), int)
    equal(shown["wire_bytes"], 10 * 1524)
    equal(shown["gap_failed"], 0)
    # At 10 of 1000 Mbit/s, 99 parts of 100 between packets are gaps, fewer
    # before one that was sent a little later.
    if not 4 * 99 * 1524 < shown["gap_wire_bytes"] < 9 * 99 * 1524 + 84:
        raise AssertionError(f"{shown['gap_wire_bytes']} bytes of gaps")
    text = tc(f"-s qdisc show dev {DEV}")
    matches(text, r"\n  wire 15240 bytes gaps \d+ \(\d+ bytes, failed 0\)\n"
                  r"  direct 0 pkt \(0 bytes\) gso_split 0\n")
    text = tc(f"-s class show dev {DEV}")
    matches(text, r"\n  wire 15240 bytes late_max \d+ bytes credit_lost \d+ bytes\n"
                  r"  acks_first 0 destinations 0\n")


# -------------------------------------------------- documentation, other tools

@case
def tc_without_the_plugin_adds_and_deletes():
    env = dict(ENVIRONMENT, TC_LIB_DIR="/nonexistent")
    result = run("tc", "qdisc", "add", "dev", DEV, "root", "handle", "1:", "gap", env=env)
    equal((result.returncode, result.stderr), (0, ""))
    equal(root_qdisc(DEV)["kind"], "gap")
    result = run("tc", "qdisc", "change", "dev", DEV, "root", "gap", "rate", "1mbit", env=env)
    equal(result.returncode, 1)
    matches(result.stderr, "Unknown qdisc")
    result = run("tc", "qdisc", "show", "dev", DEV, env=env)
    matches(result.stdout, r"^qdisc gap 1: root ")
    result = run("tc", "qdisc", "del", "dev", DEV, "root", env=env)
    equal((result.returncode, result.stderr), (0, ""))


def manual_examples():
    """The commands of tc-gap(8), one list for each paragraph of EXAMPLES."""
    with open(os.path.join(os.environ["HW_ROOT"], "tc-plugin", "tc-gap.8")) as page:
        text = page.read().split(".SH EXAMPLES", 1)[1].split(".SH ", 1)[0]
    for paragraph in text.split(".SS ")[1:]:
        title = paragraph.split("\n", 1)[0]
        lines = "".join(re.findall(r"^\.EX\n(.*?)^\.EE$", paragraph, re.M | re.S))
        commands = lines.replace("\\e\n", " ").replace("\\-", "-").splitlines()
        yield title, commands


@case
def manual_examples_work():
    count = 0
    for title, commands in manual_examples():
        note(title)
        if "qdisc del" not in commands[0]:
            fresh_device()
        for command in commands:
            equal(command.split()[0], "tc")
            tc(command[3:])
            count += 1
        if title.startswith("Two clusters"):
            equal({name: shown["rate"] for name, shown in classes(DEV).items()},
                  {"1:1": "unlimited", "1:2": "unlimited"})
            equal(tc(f"filter show dev {DEV}").count("flowid 1:2")
                  + tc(f"filter show dev {DEV}").count("classid 1:2"), 2)
    equal(count > 15, True)


@case
def module_leaves_nothing_behind():
    add_gap("default 1:12")
    tc(f"class add dev {DEV} parent 1: classid 1:1 gap rate 16bit")
    for classid in ("1:11", "1:12"):
        tc(f"class add dev {DEV} parent 1:1 classid {classid} gap rate 8bit")
    tc(f"qdisc add dev {DEV} parent 1:11 handle 11: fq_codel")
    tc(f"filter add dev {DEV} parent 1: " + FILTERS["u32"].format("10.2.0.0/16", "1:11"))
    tc(f"filter add dev {DEV} parent 1:1 " + FILTERS["flower"].format("10.2.0.0/16", "1:11"))
    for destination in ("10.1.0.1", "10.1.0.2", "10.2.0.1"):
        send_frames(DEV, frame(destination, 1000), 50)
    tc(f"class change dev {DEV} classid 1:12 gap rate unlimited linger 10s")
    tc(f"qdisc del dev {DEV} root")
    sh("rmmod", "sch_gap")
    equal(loaded(), False)


def make_devices():
    for module in ("sch_htb", "cls_u32", "cls_flower", "cls_matchall", "tun"):
        sh("modprobe", module)
    for module in ("simwire", "sch_gap"):
        sh("insmod", f"{MODULES}/{module}.ko")
    for name in (DEV, SPEEDLESS):
        sh("ip", "link", "add", name, "type", "simwire")
        for end in (name, f"{name}p"):
            # what the kernel sends on its own would be in the counters
            with open(f"/proc/sys/net/ipv6/conf/{end}/disable_ipv6", "w") as file:
                file.write("1")
            sh("ip", "link", "set", end, "up")
    with open(f"/sys/class/net/{SPEEDLESS}/simwire/speed_known", "w") as file:
        file.write("0")


if __name__ == "__main__":
    make_devices()
    sys.exit(run_cases(fresh_device))
