# SPDX-License-Identifier: Apache-2.0
"""The qdisc that is a BPF program (userspace/phase/pacing_qdisc.bpf.c): in which order packets leave, what a full one
drops, and how it comes and goes.  Only kernels that take such qdiscs have these cases."""

import random
import socket
import struct

from cases_phases import BYTES_PER_S, OWN, in_phase, phased
from cases_programs import is_set_up, without_module
from cases_restart import SO_SNDBUFFORCE
from control import Control
from guestdaemon import BIN, BPF, DEV, EVERYBODY, HAS_BPF_QDISCS, SOCKET, Daemon, frame_starts, paced_at, records
from ktap import between, case, equal, wait_for
from tcguest import eventually, frame, matches, qdiscs, run, sh, simwire, tc

LONG_BYTES, SHORT_BYTES, SHORTER_BYTES, ACK_BYTES = 1514, 514, 314, 76      # without FCS
LONG_WIRE_BYTES, SHORT_WIRE_BYTES, SHORTER_WIRE_BYTES, ACK_WIRE_BYTES = 1538, 538, 338, 100
TO_A, TO_B = "10.2.0.1", "10.2.0.2"
SLOTS = 16384       # of bpf_qdisc.cpp, for one queue


def on_such_kernels(function):
    return case(function) if HAS_BPF_QDISCS else function


def acknowledgement(destination):
    """A TCP segment that only acknowledges."""
    ip_header = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 40, 0, 0, 64, socket.IPPROTO_TCP, 0,
                            socket.inet_aton("10.1.0.1"), socket.inet_aton(destination))
    tcp_header = struct.pack("!HHIIBBHHH", 7, 9, 1, 1, 5 << 4, 0x10, 1000, 0, 0)
    return (b"\2\0\0\0\0\2\2\0\0\0\0\1\x08\0" + ip_header + tcp_header).ljust(ACK_BYTES, b"\0")


def long_frame(destination):
    return frame(destination, LONG_BYTES - 42)


def short_frame(destination):
    return frame(destination, SHORT_BYTES - 42)


class Sender:
    """Hands frames to the device, as many as there are, however many wait."""

    def __enter__(self):
        self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x0800))
        self.socket.bind((DEV, 0))
        self.socket.setsockopt(socket.SOL_SOCKET, SO_SNDBUFFORCE, 256_000_000)
        return self

    def __exit__(self, *_):
        self.socket.close()

    def send(self, data, count):
        for _ in range(count):
            self.socket.send(data, socket.MSG_DONTWAIT)


def lengths_of(count):
    """Those of the next so many frames on the wire, which are all."""
    frame_starts(count)
    return [length for _, length in records()]


@on_such_kernels
def destinations_take_turns():
    Daemon(phased(backend=BPF.line))
    process = in_phase()
    simwire(DEV, "record_frames", 256)
    with Sender() as sender:
        sender.send(long_frame(TO_A), 60)
        sender.send(short_frame(TO_B), 10)
    lengths = lengths_of(70)
    positions = [i for i, length in enumerate(lengths) if length == SHORT_WIRE_BYTES]
    first = positions[0]
    equal(positions, list(range(first, first + 20, 2)), "every other frame is the other destination's:")
    equal(first < 10, True)
    process[0].close()


@on_such_kernels
def acknowledgements_go_first_with_no_more_bytes_than_data():
    """After a data frame as many as begin within its length, 16 of them, leave before the next one."""
    Daemon(phased(backend=BPF.line))
    process = in_phase()
    simwire(DEV, "record_frames", 256)
    with Sender() as sender:
        sender.send(long_frame(TO_A), 20)
        sender.send(acknowledgement(TO_A), 100)
    lengths = lengths_of(120)
    overtaking = lengths[lengths.index(ACK_WIRE_BYTES):]
    turns = "".join("d" if length == LONG_WIRE_BYTES else "a" for length in overtaking).split("d")
    equal([len(turn) for turn in turns[1:5]], [16] * 4, f"acknowledgements between two data frames, of {turns}:")
    process[0].close()


@on_such_kernels
def packets_that_wait_follow_a_new_rate():
    Daemon(phased(backend=BPF.line))
    control = Control(SOCKET)
    control.enter(EVERYBODY)
    paced_at(BYTES_PER_S)
    simwire(DEV, "record_frames", 512)
    with Sender() as sender:
        sender.send(long_frame(TO_A), 300)
        control.do("leave")
        starts = frame_starts(300)
    equal(starts[-1] - starts[0] < 50_000_000, True, "300 frames of 1.2 ms each at the old rate:")
    control.close()


@on_such_kernels
def a_full_qdisc_drops_from_the_longest_queue():
    """Who fills it loses packets: all of another destination of the class leave, and all of another class."""
    Daemon(phased(backend=BPF.line))
    process = in_phase()
    with Sender() as sender:
        sender.send(long_frame(TO_A), SLOTS + 1000)
        before, = [q for q in qdiscs(DEV, "-s") if q["kind"] == BPF.kind]
        simwire(DEV, "record_frames", 256)
        sender.send(short_frame(TO_B), 16)
        sender.send(frame(OWN, SHORTER_BYTES - 42), 16)
        for length in (SHORT_WIRE_BYTES, SHORTER_WIRE_BYTES):
            eventually(lambda: sum(one == length for _, one in records()) == 16, f"16 frames of {length} bytes")
        after, = [q for q in qdiscs(DEV, "-s") if q["kind"] == BPF.kind]
    equal((before["drops"] > 0, before["qlen"] <= SLOTS, after["qlen"] <= SLOTS), (True, True, True), f"{before}:")
    equal(after["drops"] > before["drops"], True, "others made room for them:")
    tc(f"qdisc del dev {DEV} root")
    process[0].close()


@on_such_kernels
def what_has_no_room_for_the_qdisc_is_paced_by_fq_and_says_why():
    """Jobs may have 130 classes to each of 34 clusters, and it takes 4096."""
    others = "".join(f'[[cluster]]\nname = "c{i}"\nhosts = ["c{i}"]\nprefixes = ["10.{100 + i}.0.0/16"]\n'
                     'host_rate = "10mbit"\ntrunk_rate = "12.5mbit"\n' for i in range(32))
    with without_module():
        Daemon(phased() + others)
        told = Control(SOCKET).do("status")["daemon"]
        equal(told["backend"], "fq")
        matches(told["backend_reason"],
                "sch_gap is not there; the BPF qdisc has no room for 1 TX queues and 4423 classes: it takes 4096")


@on_such_kernels
def a_device_that_goes_down_loses_what_waits_and_nothing_else():
    Daemon(phased(backend=BPF.line))
    process = in_phase()
    for _ in range(2):
        with Sender() as sender:
            sender.send(long_frame(TO_A), 500)
            sender.send(short_frame(TO_B), 500)
            sender.send(acknowledgement(TO_A), 500)
            sh("ip", "link", "set", DEV, "down")
            sh("ip", "link", "set", DEV, "up")
        wait_for(lambda: all(q["qlen"] == 0 for q in qdiscs(DEV, "-s") if q["kind"] == BPF.kind), "nothing waits")
        paced_at(BYTES_PER_S)
        paced_at(BYTES_PER_S, TO_B)
    process[0].close()


@on_such_kernels
def nobody_else_gets_an_instance():
    """The qdisc's name is there only while headwayd makes one; and then for its own device."""
    Daemon(phased(backend=BPF.line))
    for device in (DEV, "lo"):
        refused = run("tc", "qdisc", "add", "dev", device, "root", "handle", "77:", BPF.kind)
        equal(refused.returncode != 0, True, device)
    equal(is_set_up(BPF), True)


TREE = {1: (0, 50), **{minor: (1, 10) for minor in range(2, 10)}, 10: (1, 0), 11: (0, 5), 12: (11, 20), 13: (0, 8)}
LEAVES = [minor for minor in TREE if minor not in {parent for parent, _ in TREE.values()}]
EACH = 60


def bits_per_s_of(found):
    """Of frames by (start, bytes): from the first to the last, but for the bursts at both ends."""
    found = found[3:-3]
    return sum(length for _, length in found[:-1]) * 8e9 / (found[-1][0] - found[0][0])


@on_such_kernels
def classes_below_each_other_share_what_is_above_them():
    """Eleven leaves with packets in random order: nobody is faster than his rate, nor are those together that have
    a class above, which is busy all the time; and each packet leaves."""
    dice = random.Random(53)
    sh(f"{BIN}/bpf_pacing", DEV, *(f"{minor}{f':{parent}' if parent else ''}={mbit * 10**6}"
                                   for minor, (parent, mbit) in TREE.items()))
    tc(f"filter add dev {DEV} egress bpf direct-action object-file {BIN}/told_by_priority.bpf.o section tc")
    order = LEAVES * EACH
    dice.shuffle(order)
    simwire(DEV, "record_frames", 1024)
    with Sender() as sender:
        for leaf in order:
            sender.socket.setsockopt(socket.SOL_SOCKET, socket.SO_PRIORITY, leaf | dice.randrange(8) << 16)
            sender.send(frame(TO_A, 1000 + 16 * leaf - 42), 1)
        frame_starts(len(order))
    found = records()
    of = {leaf: [one for one in found if one[1] == 1000 + 16 * leaf + 24] for leaf in LEAVES}
    equal({leaf: len(frames) for leaf, frames in of.items()}, {leaf: EACH for leaf in LEAVES})
    for leaf, frames in of.items():
        limits = [mbit for mbit in (TREE[leaf][1], TREE.get(TREE[leaf][0], (0, 0))[1]) if mbit]
        equal(bits_per_s_of(frames) < min(limits) * 1.01e6, True, f"{leaf} sends {bits_per_s_of(frames)} bit/s:")
    together = sorted(one for leaf in LEAVES if TREE[leaf][0] == 1 for one in of[leaf])
    between(0.99e6 * 50, bits_per_s_of(together), 1.001e6 * 50, "all below the first class:")
    between(0.99e6 * 5, bits_per_s_of(of[12]), 1.001e6 * 5, "below a slower one:")
    tc(f"qdisc del dev {DEV} root")
    tc(f"qdisc del dev {DEV} clsact")


@on_such_kernels
def what_waits_goes_with_the_qdisc():
    daemon = Daemon(phased(backend=BPF.line))
    process = in_phase()
    with Sender() as sender:
        sender.send(long_frame(TO_A), 1000)
        tc(f"qdisc del dev {DEV} root")
    eventually(lambda: is_set_up(BPF), "the qdisc is there again")
    paced_at(BYTES_PER_S)
    process[0].close()
    equal(daemon.stop(), 0)
