# SPDX-License-Identifier: Apache-2.0
"""Ordered classes: children that take turns, and how packets join the stricter one.

At 8bit a packet of 1500 bytes takes 25 minutes: what waits behind one in
these cases waits until its class's rate is changed.
"""

import errno

from gapnl import CLASS_GROUP, CLASS_ORDERED_NS, RTM_NEWTCLASS, u32, u64
from ktap import case, equal
from tcguest import (CHANGE, DEV, HANDLE, ICOUNT, add_gap, classes, counters, eventually,
                     frame, netlink_refused, packets, refused, send_frames, tc)

SLOW, FAST, SLOWER = 0x11, 0x12, 0x13


def change(classid, words):
    tc(f"class change dev {DEV} classid {classid} gap {words}")


def add_phases(ordered="10s"):
    """A parent and three children; the fast one has no rate of its own."""
    add_gap()
    tc(f"class add dev {DEV} parent 1: classid 1:1 gap ordered {ordered}")
    tc(f"class add dev {DEV} parent 1:1 classid 1:11 gap rate 16bit")
    tc(f"class add dev {DEV} parent 1:1 classid 1:12 gap")
    tc(f"class add dev {DEV} parent 1:1 classid 1:13 gap rate 8bit")


def send(minor, count):
    send_frames(DEV, frame("10.2.0.1", 1458), count, priority=HANDLE | minor)


def sent():
    """Packets that have left each child, in the order of the class ids."""
    by_class = packets(DEV)
    return [by_class[f"1:{minor:x}"] for minor in (SLOW, FAST, SLOWER)]


def eventually_sent(want):
    eventually(lambda: sent() == want, f"{want} packets sent, not {sent()}")


@case
def order_is_shown_as_given():
    add_phases("10ms")
    equal(classes(DEV)["1:1"], {"parent": "root", "rate": "unlimited", "ordered": "10ms"})
    change("1:1", "rate 1mbit ordered 9.5s")
    equal(classes(DEV)["1:1"], {"parent": "root", "rate": "1Mbit", "ordered": "9500ms"})
    change("1:1", "rate 2mbit")
    equal(classes(DEV)["1:1"], {"parent": "root", "rate": "2Mbit", "ordered": "9500ms"})
    change("1:1", "ordered off")
    equal(classes(DEV)["1:1"], {"parent": "root", "rate": "2Mbit"})


@case
def order_is_of_leaves():
    add_phases()
    refused(DEV, f"class add dev {DEV} parent 1:11 classid 1:111 gap",
            "a class below an ordered one can have none itself")
    tc(f"class add dev {DEV} parent 1: classid 1:2 gap")
    tc(f"class add dev {DEV} parent 1:2 classid 1:21 gap")
    tc(f"class add dev {DEV} parent 1:21 classid 1:211 gap")
    leaves = "an ordered class orders classes that have none below them"
    refused(DEV, f"class change dev {DEV} classid 1:2 gap ordered 1ms", leaves)
    refused(DEV, f"class change dev {DEV} classid 1:11 gap ordered 1ms", leaves)
    refused(DEV, f"class add dev {DEV} parent 1:1 classid 1:14 gap ordered 1ms", leaves)
    tc(f"class change dev {DEV} classid 1:21 gap ordered 1ms")


@case
def order_time_has_a_range():
    add_phases()
    netlink_refused(DEV, (RTM_NEWTCLASS, CHANGE, HANDLE | 1, HANDLE,
                          u64(CLASS_ORDERED_NS, 10**10 + 1)), errno.ERANGE, "out of range")


@case
def order_children_may_ask_for_more_than_there_is():
    """They never send together: no warning, which tc() would not let pass."""
    add_gap()
    tc(f"class add dev {DEV} parent 1: classid 1:1 gap rate 10mbit ordered 10ms")
    tc(f"class add dev {DEV} parent 1:1 classid 1:11 gap rate 8mbit")
    tc(f"class add dev {DEV} parent 1:1 classid 1:12 gap rate 9mbit")


@case
def order_stricter_child_waits_for_its_turn():
    add_phases()
    send(SLOW, 2)
    eventually_sent([1, 0, 0])
    send(SLOWER, 1)
    equal(sent(), [1, 0, 0])    # as a rival it would be gone
    change("1:11", "rate 100mbit")
    eventually(lambda: sent()[0] == 2, "the packet that had the turn")
    if ICOUNT:                  # a packet that was late leaves no distance to keep
        equal(sent(), [2, 0, 0])
    change("1:13", "rate 100mbit")
    eventually_sent([2, 0, 1])
    equal(counters(DEV)["1:13"]["turns"], 1)


@case
def order_groups_are_rivals():
    add_phases()
    change("1:13", "group 1")
    equal(classes(DEV)["1:13"]["group"], "1")
    send(SLOW, 2)
    eventually_sent([1, 0, 0])
    send(SLOWER, 1)
    eventually_sent([1, 0, 1])
    send(FAST, 1)               # joins who is of its own group
    equal(counters(DEV)["1:11"]["joined"], 1)
    change("1:13", "group 0")
    equal("group" in classes(DEV)["1:13"], False)
    netlink_refused(DEV, (RTM_NEWTCLASS, CHANGE, HANDLE | 0x13, HANDLE | 1, u32(CLASS_GROUP, 8)),
                    errno.ERANGE, "out of range")


@case
def order_a_class_with_packets_changes_its_group():
    add_phases()
    send(SLOW, 2)
    eventually_sent([1, 0, 0])
    send(SLOWER, 1)
    equal(sent(), [1, 0, 0])
    change("1:13", "group 7")   # nobody has the turn there
    eventually_sent([1, 0, 1])
    send(SLOWER, 1)
    change("1:13", "group 0")   # behind who has it here
    change("1:13", "rate 100mbit")
    equal(sent(), [1, 0, 1])
    change("1:11", "group 2")   # who has it goes: the next one's turn
    eventually_sent([1, 0, 2])
    change("1:11", "rate 100mbit")
    eventually_sent([2, 0, 2])
    send(SLOW, 2)
    tc(f"class del dev {DEV} classid 1:11")


@case
def order_a_class_is_made_in_its_group():
    add_gap()
    tc(f"class add dev {DEV} parent 1: classid 1:1 gap ordered 10s")
    tc(f"class add dev {DEV} parent 1:1 classid 1:11 gap rate 16bit group 2")
    tc(f"class add dev {DEV} parent 1:1 classid 1:12 gap group 2")
    tc(f"class add dev {DEV} parent 1:1 classid 1:13 gap rate 8bit")
    send(SLOW, 2)
    send(SLOWER, 1)
    send(FAST, 1)
    eventually_sent([1, 0, 1])
    change("1:1", "ordered off")
    send(FAST, 1)
    eventually_sent([1, 1, 1])


@case
def order_rivals_do_not_wait():
    add_phases("off")
    send(SLOW, 2)
    send(SLOWER, 1)
    eventually_sent([1, 0, 1])


@case
def order_laxer_packets_join_the_stricter_child():
    add_phases()
    send(SLOW, 2)
    eventually_sent([1, 0, 0])
    send(FAST, 3)
    equal(sent(), [1, 0, 0])
    equal(counters(DEV)["1:11"]["joined"], 3)
    change("1:11", "rate 100mbit")
    eventually_sent([5, 0, 0])
    send(FAST, 2)               # empty: the leave has taken effect
    eventually_sent([5, 2, 0])
    equal(counters(DEV)["1:11"]["joined"], 3)
    equal(counters(DEV)["1:12"]["turns"], 1)


@case
def order_joining_ends_in_time():
    add_phases("1ns")
    send(SLOW, 2)
    eventually_sent([1, 0, 0])
    send(FAST, 3)
    equal(counters(DEV)["1:11"]["joined"], 1)   # the first one starts the time
    equal(sent(), [1, 0, 0])                    # but all are behind what waits
    change("1:11", "rate 100mbit")
    eventually_sent([3, 2, 0])


@case
def order_packet_of_the_stricter_phase_ends_joining():
    add_phases("1ns")
    send(SLOW, 2)
    send(FAST, 1)
    send(SLOW, 1)
    send(FAST, 1)
    equal(counters(DEV)["1:11"]["joined"], 2)


@case
def order_deleting_the_child_that_has_the_turn():
    add_phases()
    send(SLOW, 2)
    eventually_sent([1, 0, 0])
    send(SLOWER, 2)
    equal(sent(), [1, 0, 0])
    tc(f"class del dev {DEV} classid 1:11")
    change("1:13", "rate 100mbit")
    eventually(lambda: packets(DEV)["1:13"] == 2, "the packets of the next child")


@case
def order_ends_and_begins_under_backlog():
    add_phases()
    send(SLOW, 2)
    eventually_sent([1, 0, 0])
    send(SLOWER, 2)
    change("1:1", "ordered off")
    change("1:13", "rate 100mbit")
    eventually_sent([1, 0, 2])
    send(SLOWER, 2)
    eventually_sent([1, 0, 4])
    change("1:13", "rate 8bit")
    send(SLOWER, 2)
    change("1:1", "ordered 1ms")
    tc(f"class del dev {DEV} classid 1:11")
    change("1:13", "rate 100mbit")
    eventually(lambda: packets(DEV)["1:13"] == 6, "all packets")


@case
def order_with_another_queue_below():
    add_phases()
    tc(f"qdisc add dev {DEV} parent 1:11 handle 11: pfifo limit 2")
    send(SLOW, 5)               # one leaves, two wait, two are dropped
    send(SLOWER, 1)
    eventually_sent([1, 0, 0])
    tc(f"qdisc del dev {DEV} parent 1:11")
    change("1:13", "rate 100mbit")
    eventually_sent([1, 0, 1])
