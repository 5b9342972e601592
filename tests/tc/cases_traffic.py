# SPDX-License-Identifier: Apache-2.0
"""Child qdiscs, filters, and the statistics of what goes through them."""

import contextlib
import socket

from ktap import between, case, equal
from tcguest import (DEV, HANDLE, ICOUNT, SLOW, SLOW_SPEED, add_gap, classes, counters, eventually,
                     frame, loaded, matches, packets, qdiscs, refused, root_qdisc, send_frames, sh, tc)

FILTERS = {
    "u32": "protocol ip prio 1 u32 match ip dst {} flowid {}",
    "flower": "protocol ip prio 2 flower dst_ip {} classid {}",
}
UDP_SEGMENT = 103


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
        return {name: (shown["packets"], shown["wire"]) for name, shown in counters(DEV).items()}
    eventually(lambda: sum(packets(DEV).values()) == 26, "all packets")
    equal(sent(), want)
    shown = root_qdisc(DEV, "-s")
    equal((shown["direct_packets"], shown["direct_wire_bytes"]), (9, 9 * 84))
    equal(shown["wire_bytes"], sum(wire for _, wire in want.values()) + 9 * 84)
    equal(shown["packets"], 35)
    equal(shown["gso_split"], 0)


@contextlib.contextmanager
def gso_to_the_class():
    """Sends so many bytes, in frames of 1000 bytes of payload, as one GSO packet of class 1:10."""
    sh("ip", "addr", "replace", "10.9.0.1/24", "dev", DEV)
    sh("ip", "neigh", "replace", "10.9.0.2", "lladdr", "02:00:00:00:00:02", "dev", DEV)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_PRIORITY, HANDLE | 0x10)
        sock.setsockopt(socket.IPPROTO_UDP, UDP_SEGMENT, 1000)
        yield lambda length: sock.sendto(bytes(length), ("10.9.0.2", 9))


@case
def segments_of_a_gso_packet_are_single_packets_to_a_child():
    add_gap()
    tc(f"class add dev {DEV} parent 1: classid 1:10 gap rate 100mbit")
    tc(f"qdisc add dev {DEV} parent 1:10 handle 10: pfifo")
    with gso_to_the_class() as send:
        send(8000)
    eventually(lambda: packets(DEV) == {"1:10": 8}, "the segments")
    equal(root_qdisc(DEV, "-s")["gso_split"], 1)
    child = [q for q in qdiscs(DEV, "-s") if q["handle"] == "10:"][0]
    equal((child["packets"], child["bytes"]), (8, 8 * 1042))


@case
def a_gso_packet_within_the_burst_is_charged_whole():
    add_gap()
    tc(f"class add dev {DEV} parent 1: classid 1:10 gap rate 100mbit burst {8 * (1042 + 24)}")
    with gso_to_the_class() as send:
        send(8000)
        eventually(lambda: packets(DEV) == {"1:10": 8}, "the whole packet, counted as its frames")
        equal(root_qdisc(DEV, "-s")["gso_split"], 0)
        equal(counters(DEV)["1:10"]["wire"], 8 * (1042 + 24))
        send(9000)
        eventually(lambda: packets(DEV) == {"1:10": 17}, "the frames of one that is longer")
    equal(root_qdisc(DEV, "-s")["gso_split"], 1)
    equal(counters(DEV)["1:10"]["wire"], 17 * (1042 + 24))


@case
def classes_have_no_filters_of_their_own():
    add_gap("default 1:12")
    tc(f"class add dev {DEV} parent 1: classid 1:1 gap")
    tc(f"class add dev {DEV} parent 1:1 classid 1:11 gap")
    tc(f"class add dev {DEV} parent 1:1 classid 1:12 gap")
    refused(DEV, f"filter add dev {DEV} parent 1:1 " + FILTERS["flower"].format("10.2.0.1", "1:11"),
            "classes have no filters of their own; add them to the qdisc")
    tc(f"filter add dev {DEV} parent 1: " + FILTERS["flower"].format("10.2.0.1", "1:11"))
    # to a class that has no packets itself
    tc(f"filter add dev {DEV} parent 1: protocol ip prio 3 matchall classid 1:1")
    send_frames(DEV, frame("10.2.0.1", 10), 3)
    send_frames(DEV, frame("10.2.0.2", 10), 4)
    eventually(lambda: packets(DEV) == {"1:1": 7, "1:11": 3, "1:12": 4}, "the packets")


QDISC_COUNTERS = ("wire_bytes", "gap_packets", "gap_wire_bytes", "gap_failed", "direct_packets",
                  "direct_wire_bytes", "gso_split", "underruns", "underrun_ns", "fallbacks",
                  "expired")


def send_ten():
    """Ten packets of 1524 byte-times at 1 of 20 Mbit/s; what the counters rose by."""
    before = root_qdisc(SLOW, "-s")
    done = packets(SLOW)["1:10"]
    send_frames(SLOW, frame("10.2.0.1", 1458), 10, priority=HANDLE | 0x10)
    eventually(lambda: packets(SLOW)["1:10"] == done + 10, "ten packets")
    after = root_qdisc(SLOW, "-s")
    return {name: after[name] - before[name] for name in QDISC_COUNTERS}


@case
def statistics_of_gap_frames():
    add_gap("backend gap", SLOW)
    tc(f"class add dev {SLOW} parent 1: classid 1:10 gap rate 12.5mbit")
    rose = send_ten()
    equal((rose["wire_bytes"], rose["gap_failed"]), (10 * 1524, 0))
    # Between two packets 914 byte-times are gaps, but for what the first was late, and for the
    # time the wire was idle because the sender was held up.
    idle = rose["underrun_ns"] * SLOW_SPEED // 10**9
    between(max(1, 9 * 914 - 1538 - idle), rose["gap_wire_bytes"], 9 * 915 + 84)
    # The timer sleeps all of every long gap but its last 200 us, which are 500 byte-times.
    tc(f"class change dev {SLOW} classid 1:10 gap rate 1mbit")
    rose = send_ten()
    # A timer that is later than those 200 us leaves no gap to send, and a busy host lets a gap pass before it can be slept.
    between(1 if ICOUNT else 0, rose["gap_wire_bytes"], 10 * 500 + 84 if ICOUNT else 9 * 19 * 1524)


@case
def statistics_of_the_timer():
    add_gap("backend timer", SLOW)
    tc(f"class add dev {SLOW} parent 1: classid 1:10 gap rate 1mbit")
    rose = send_ten()
    equal((rose["wire_bytes"], rose["gap_packets"]), (10 * 1524, 0))


@case
def statistics_as_text():
    add_gap("backend timer", SLOW)
    tc(f"class add dev {SLOW} parent 1: classid 1:10 gap rate 1mbit")
    send_ten()
    matches(tc(f"-s qdisc show dev {SLOW}"),
            r"\n  wire 15240 bytes gaps 0 \(0 bytes, failed 0\)\n"
            r"  direct 0 pkt \(0 bytes\) gso_split 0\n"
            r"  underruns 0 \(0 ns\)\n"
            r"  fallbacks 0 expired 0\n")
    matches(tc(f"-s class show dev {SLOW}"),
            r"\n  wire 15240 bytes credit_lost \d+ bytes\n"
            r"  acks_first 0 destinations 0 expired 0\n")
    for name in QDISC_COUNTERS:
        equal(type(root_qdisc(SLOW, "-s")[name]), int)


# The last of all: the module is gone then.
@case
def module_leaves_nothing_behind():
    add_gap("default 1:12")
    tc(f"class add dev {DEV} parent 1: classid 1:1 gap rate 16bit")
    for classid in ("1:11", "1:12"):
        tc(f"class add dev {DEV} parent 1:1 classid {classid} gap rate 8bit")
    tc(f"qdisc add dev {DEV} parent 1:11 handle 11: fq_codel")
    tc(f"filter add dev {DEV} parent 1: " + FILTERS["u32"].format("10.2.0.0/16", "1:11"))
    tc(f"filter add dev {DEV} parent 1: " + FILTERS["flower"].format("10.1.0.0/16", "1:11"))
    for destination in ("10.1.0.1", "10.1.0.2", "10.2.0.1"):
        send_frames(DEV, frame(destination, 1000), 50)
    tc(f"class change dev {DEV} classid 1:12 gap fallback 8bit expires 10s")
    tc(f"qdisc del dev {DEV} root")
    sh("rmmod", "sch_gap")
    equal(loaded(), False)
