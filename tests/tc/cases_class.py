# SPDX-License-Identifier: Apache-2.0
"""Classes: rates, the tree, refusals.  cases_lease.py is about rates that expire."""

import errno
import os

from gapnl import (CLASS_CHILDREN_RATE64, CLASS_EFFECTIVE64, CLASS_EXPIRED, CLASS_LEFT_NS,
                   CLASS_LINGER_NS, CLASS_NEXT_RATE64, CLASS_QUANTUM_BYTES, CLASS_RATE64,
                   RTM_NEWTCLASS, attr, flag, u32, u64)
from ktap import case, equal
from tcguest import (ADD, CHANGE, DEV, HANDLE, SPEEDLESS, add_gap, classes, eventually, frame,
                     matches, netlink_refused, note, options, packets, qdiscs, refused,
                     send_frames, sh, tc)

# In 6.1 the warning has no numbers.
ASK_TOO_MUCH = ("classes ask for more wire bytes per second than their parent has"
                if os.uname().release.startswith("6.1.") else
                r"classes ask for \d+ wire bytes/s, their parent has \d+")


@case
def class_rates_are_shown_as_given():
    add_gap()
    tc(f"class add dev {DEV} parent 1: classid 1:10 gap")
    tc(f"class add dev {DEV} parent 1: classid 1:20 gap rate 312.5mbit")
    tc(f"class add dev {DEV} parent 1: classid 1:30 gap rate unlimited")
    tc(f"class add dev {DEV} parent 1: classid 1:40 gap rate 1gbit", warning=ASK_TOO_MUCH)
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
    eventually(lambda: classes(DEV)["1:10"] == {"parent": "root", "rate": "32bit"}, "the new rate")
    tc(f"class replace dev {DEV} parent 1: classid 1:10 gap rate 40bit linger 10s")
    equal(classes(DEV)["1:10"], {"parent": "root", "rate": "32bit", "next_rate": "40bit"})
    # A link as fast as the rate to come must stay possible, a slower one not.
    tc(f"class change dev {DEV} classid 1:10 gap rate 100mbit linger 10s")
    refused(DEV, f"qdisc change dev {DEV} root gap rate 99mbit",
            "a class is faster than the new link rate")


@case
def class_linger_is_over_when_the_class_runs_empty():
    add_gap()
    # five intervals of 1.2 s: time for a slow kernel to look, and less than the linger
    tc(f"class add dev {DEV} parent 1: classid 1:10 gap rate 10kbit")
    send_frames(DEV, frame("10.2.0.1", 1458), 6, priority=HANDLE | 0x10)
    tc(f"class change dev {DEV} classid 1:10 gap rate unlimited linger 10s")
    equal(classes(DEV)["1:10"], {"parent": "root", "rate": "10Kbit", "next_rate": "unlimited"})
    eventually(lambda: packets(DEV)["1:10"] == 6, "all packets")
    eventually(lambda: classes(DEV)["1:10"] == {"parent": "root", "rate": "unlimited"},
               "the new rate")


@case
def class_linger_is_over_in_time():
    add_gap()
    tc(f"class add dev {DEV} parent 1: classid 1:10 gap rate 8bit")
    send_frames(DEV, frame("10.2.0.1", 1458), 3, priority=HANDLE | 0x10)
    tc(f"class change dev {DEV} classid 1:10 gap rate unlimited linger 100ms")
    # at the old rate the second packet would take 25 minutes
    eventually(lambda: packets(DEV)["1:10"] == 3, "all packets")
    equal(classes(DEV)["1:10"], {"parent": "root", "rate": "unlimited"})


@case
def class_tree_is_dumped():
    add_gap("default 1:111")
    tc(f"class add dev {DEV} parent 1: classid 1:1 gap rate 300mbit")
    tc(f"class add dev {DEV} parent 1:1 classid 1:11 gap rate 199mbit")
    tc(f"class add dev {DEV} parent 1:11 classid 1:111 gap rate 100mbit")
    tc(f"class add dev {DEV} parent 1:1 classid 1:12 gap rate 101mbit")
    tc(f"class add dev {DEV} parent 1: classid 1:2 gap")
    parents = {name: shown["parent"] for name, shown in classes(DEV).items()}
    equal(parents, {"1:1": "root", "1:11": "1:1", "1:111": "1:11", "1:12": "1:1", "1:2": "root"})
    graph = tc(f"-g class show dev {DEV}")
    matches(graph, r"\+---\(1:1\) gap rate 300Mbit")
    matches(graph, r"\| +\+---\(1:11\) gap rate 199Mbit|     \+---\(1:11\) gap rate 199Mbit")


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
    for flags, classid, attributes, error, sentence in (
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
        note(attributes.hex())
        netlink_refused(DEV, (RTM_NEWTCLASS, flags, classid, HANDLE, attributes), error,
                        sentence)


@case
def class_attributes_of_dumps_are_refused():
    add_gap()
    tc(f"class add dev {DEV} parent 1: classid 1:10 gap rate 10mbit")
    for attribute in (u64(CLASS_NEXT_RATE64, 1), u64(CLASS_LEFT_NS, 1), flag(CLASS_EXPIRED),
                      u64(CLASS_EFFECTIVE64, 1), u32(CLASS_QUANTUM_BYTES, 1),
                      u64(CLASS_CHILDREN_RATE64, 1)):
        netlink_refused(DEV, (RTM_NEWTCLASS, CHANGE, HANDLE | 0x10, HANDLE, attribute),
                        errno.EINVAL, "[Aa]ttribute")


@case
def class_details_are_what_the_tree_comes_to():
    add_gap("backend gap")
    for parent, classid, rate in (("1:", "1:1", "300mbit"), ("1:1", "1:11", "200mbit"),
                                  ("1:1", "1:12", "unlimited"), ("1:", "1:2", "unlimited")):
        tc(f"class add dev {DEV} parent {parent} classid {classid} gap rate {rate}")
    equal(classes(DEV, "-d"), {
        "1:1": {"parent": "root", "rate": "300Mbit", "effective": "300Mbit",
                "quantum_bytes": "84", "children_rate": "200Mbit"},
        "1:11": {"parent": "1:1", "rate": "200Mbit", "effective": "200Mbit",
                 "quantum_bytes": "84"},
        "1:12": {"parent": "1:1", "rate": "unlimited", "effective": "300Mbit"},
        "1:2": {"parent": "root", "rate": "unlimited", "effective": "1Gbit"},
    })
    equal(options()["children_rate"], 37500000)
    matches(tc(f"-d qdisc show dev {DEV}"), r" children_rate 300Mbit ")
    tc(f"qdisc change dev {DEV} root gap backend timer")
    equal(classes(DEV, "-d")["1:11"]["quantum_bytes"], "1")


@case
def class_details_without_any_limit():
    add_gap(dev=SPEEDLESS)
    tc(f"class add dev {SPEEDLESS} parent 1: classid 1:1 gap")
    equal(classes(SPEEDLESS, "-d"), {"1:1": {"parent": "root", "rate": "unlimited"}})


@case
def class_sums_beyond_the_parent_are_warned_about():
    add_gap()
    tc(f"class add dev {DEV} parent 1: classid 1:1 gap rate 600mbit")
    tc(f"class add dev {DEV} parent 1: classid 1:2 gap rate 500mbit", warning=ASK_TOO_MUCH)
    equal(options()["children_rate"], 137500000)
    tc(f"class change dev {DEV} classid 1:2 gap rate 400mbit")
    tc(f"class add dev {DEV} parent 1:1 classid 1:11 gap rate 600mbit")
    tc(f"class add dev {DEV} parent 1:1 classid 1:12 gap rate 8bit", warning=ASK_TOO_MUCH)
    if "d+" in ASK_TOO_MUCH:
        tc(f"class change dev {DEV} classid 1:12 gap rate 16bit",
           warning="classes ask for 75000002 wire bytes/s, their parent has 75000000")
