# SPDX-License-Identifier: Apache-2.0
"""Classes: rates, the tree, refusals.  cases_lease.py is about rates that expire."""

import errno
import struct

from gapnl import (CLASS_EXPIRED, CLASS_LEFT_NS, CLASS_PHASES, CLASS_RATE64, RTM_NEWTCLASS, attr,
                   flag, phases, u64)
from ktap import case, equal
from tcguest import (ADD, CHANGE, DEV, HANDLE, SPEEDLESS, add_gap, classes, matches, netlink,
                     netlink_refused, note, qdiscs, refused, sh, tc)


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
             "the rate exceeds the link rate; to leave packets unpaced use unlimited"),
            ("change classid 1:10 gap rate 1gbit", "the rate exceeds the link rate"),
            ("change classid 1:10 gap phase 1 1mbit phase 2 1gbit", "the rate exceeds the link rate"),
            ("add parent 1:77 classid 1:20 gap", "the parent class does not exist"),
            ("add parent 1: gap rate 1mbit", "a class needs a classid"),
            ("add estimator 1sec 8sec parent 1: classid 1:20 gap",
             "rate estimators are not supported"),
            ("change estimator 1sec 8sec classid 1:10 gap",
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
    rate = u64(CLASS_RATE64, 1000)
    for flags, classid, attributes, error, sentence in (
            (CHANGE, existing, u64(CLASS_RATE64, 0), errno.ERANGE, "integer out of range"),
            (ADD, new, u64(CLASS_RATE64, 12500001), errno.EINVAL, "exceeds the link rate"),
            (ADD, new, u64(CLASS_RATE64, 2**64 - 2), errno.EINVAL, "exceeds the link rate"),
            (CHANGE, existing, phases({0: 1000}), errno.ERANGE, "a phase has a number from 1 to 160"),
            (CHANGE, existing, phases({161: 1000}), errno.ERANGE, "a phase has a number from 1 to 160"),
            (ADD, new, rate + phases({1: 12500001}), errno.EINVAL, "exceeds the link rate"),
            (CHANGE, existing, attr(CLASS_PHASES, struct.pack("=QII", 1000, 1, 7)), errno.ERANGE,
             "a phase has a number"),
            (CHANGE, existing, attr(CLASS_PHASES, b"12345678"), errno.EINVAL, "cut off in the middle"),
            (CHANGE, existing, attr(CLASS_RATE64, b"1234"), errno.EINVAL, "[Aa]ttribute"),
            (CHANGE, existing, rate + attr(77, b""), errno.EINVAL, "[Aa]ttribute")):
        note(attributes.hex())
        netlink_refused(DEV, (RTM_NEWTCLASS, flags, classid, HANDLE, attributes), error,
                        sentence)


@case
def class_rates_beyond_any_link_are_refused_while_the_speed_is_unknown():
    add_gap(dev=SPEEDLESS)
    fastest = 200_000_000_000
    tc(f"class add dev {SPEEDLESS} parent 1: classid 1:10 gap rate {8 * fastest}bit")
    for attribute in (u64(CLASS_RATE64, fastest + 1), u64(CLASS_RATE64, 2**64 - 2),
                      phases({1: fastest + 1})):
        netlink_refused(SPEEDLESS, (RTM_NEWTCLASS, CHANGE, HANDLE | 0x10, HANDLE, attribute),
                        errno.EINVAL, "exceeds the link rate")


@case
def class_attributes_of_dumps_are_refused():
    add_gap()
    tc(f"class add dev {DEV} parent 1: classid 1:10 gap rate 10mbit")
    for attribute in (u64(CLASS_LEFT_NS, 1), flag(CLASS_EXPIRED)):
        netlink_refused(DEV, (RTM_NEWTCLASS, CHANGE, HANDLE | 0x10, HANDLE, attribute),
                        errno.EINVAL, "[Aa]ttribute")


@case
def class_rates_of_phases():
    add_gap()
    tc(f"class add dev {DEV} parent 1: classid 1:10 gap rate 100mbit phase 3 10mbit")
    equal(classes(DEV)["1:10"]["phases"], {3: "10Mbit"})
    tc(f"class change dev {DEV} classid 1:10 gap phase 160 unlimited phase 1 8bit")
    equal(classes(DEV)["1:10"]["phases"], {1: "8bit", 3: "10Mbit", 160: "unlimited"})
    tc(f"class change dev {DEV} classid 1:10 gap phase 3 none phase 1 20mbit")
    equal(classes(DEV)["1:10"]["phases"], {1: "20Mbit", 160: "unlimited"})
    tc(f"class change dev {DEV} classid 1:10 gap rate 200mbit")
    equal(classes(DEV)["1:10"]["phases"], {1: "20Mbit", 160: "unlimited"})
    # of two alike in one request the last counts
    equal(netlink(RTM_NEWTCLASS, CHANGE, DEV, HANDLE | 0x10, HANDLE, attr(
        CLASS_PHASES, struct.pack("=QIIQII", 1000, 2, 0, 2000, 2, 0))), (0, ""))
    equal(classes(DEV)["1:10"]["phases"][2], "16Kbit")
    words = " ".join(f"phase {i} {i}mbit" for i in range(1, 161))
    tc(f"class change dev {DEV} classid 1:10 gap {words}")
    equal(classes(DEV)["1:10"]["phases"], {i: f"{i}Mbit" for i in range(1, 161)})


@case
def class_phases_are_for_leaves():
    add_gap()
    tc(f"class add dev {DEV} parent 1: classid 1:1 gap phase 1 1mbit")
    tc(f"class add dev {DEV} parent 1:1 classid 1:11 gap")
    refused(DEV, f"class change dev {DEV} classid 1:1 gap phase 1 2mbit",
            "only a class without children has packets, and rates for their phases")
    tc(f"class del dev {DEV} classid 1:11")
    tc(f"class change dev {DEV} classid 1:1 gap phase 1 2mbit")
    equal(classes(DEV)["1:1"]["phases"], {1: "2Mbit"})
