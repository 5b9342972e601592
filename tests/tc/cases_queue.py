# SPDX-License-Identifier: Apache-2.0
"""The built-in queue of a class: which of its packets comes next."""

import contextlib
import ctypes
import encodings.idna   # noqa: F401, create_connection() wants it, and guests have what is imported
import os
import re
import socket
import struct
import time
import traceback

from ktap import between, case, equal
from tcguest import (DEV, HANDLE, add_gap, counters, eventually, frame, root_qdisc, run,
                     send_frames, sh, simwire, tc)

CLASS = 0x10
OURS, THEIRS = "10.9.0.1", "10.9.0.2"
CLONE_NEWNET = 0x40000000
SO_RCVBUFFORCE = 33
OTHER_PROTOCOL = 0x88b6     # for local experiments


def hold(options=""):
    """A class of which no packet leaves but the first."""
    add_gap(options)
    tc(f"class add dev {DEV} parent 1: classid 1:10 gap rate 8bit")


def let_go():
    tc(f"class change dev {DEV} classid 1:10 gap rate unlimited")


def arrivals(count):
    """The destinations and lengths of that many IPv4 frames that come out of the wire."""
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x0800)) as sock:
        sock.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 1 << 24)
        sock.settimeout(20)
        sock.bind((f"{DEV}p", 0))
        let_go()
        found = [sock.recv(2000) for _ in range(count)]
    return [(socket.inet_ntoa(data[30:34]), len(data)) for data in found]


def queue_for(destinations, lengths, head="10.2.9.9"):
    """One packet that leaves at once, then all of one destination, all of the next..."""
    send_frames(DEV, frame(head, 0), 1, priority=HANDLE | CLASS)
    queue_for_more(destinations, lengths)


def queue_for_more(destinations, lengths):
    for destination in destinations:
        for length in lengths:
            send_frames(DEV, frame(destination, length), 1, priority=HANDLE | CLASS)


@case
def destinations_take_turns():
    hold()
    neighbours = [f"10.2.0.{number}" for number in range(1, 33)]
    lengths = [100, 101, 102]
    queue_for(neighbours, lengths)
    equal(counters(DEV)["1:10"]["destinations"], len(neighbours))
    want = [(destination, 42 + length) for length in lengths for destination in neighbours]
    equal(arrivals(len(want)), want)


@case
def many_destinations_lose_none_and_keep_their_order():
    hold()
    many = [f"10.{x}.{y}.1" for x in range(2, 22) for y in range(20)]
    lengths = [100, 101]
    queue_for(many, lengths)
    found = arrivals(len(many) * len(lengths))
    equal(sorted(found), sorted((host, 42 + length) for host in many for length in lengths))
    for host in many:
        equal([length for name, length in found if name == host], [142, 143])
    # at most as many as there are turns come before anybody's second packet
    between(80, len({host for host, _ in found[:128]}), 128)


def dropped():
    return int(re.search(r"dropped (\d+)", tc(f"-s class show dev {DEV} classid 1:10"))[1])


def lengths_of(found, host):
    return [length - 42 for name, length in found if name == host]


@case
def a_full_queue_makes_room_in_the_longest_turn():
    """Whoever fills the queue loses packets: first what it sends then, and later for each packet of others its oldest."""
    hold("limit 100")
    queue_for(["10.2.0.1"], range(100, 230))
    equal((root_qdisc(DEV, "-s")["qlen"], dropped()), (100, 30))
    queue_for_more(["10.2.0.2"], range(100, 120))
    equal((root_qdisc(DEV, "-s")["qlen"], dropped()), (100, 50))
    equal(root_qdisc(DEV, "-s")["drops"], 50)
    found = arrivals(100)
    equal(lengths_of(found, "10.2.0.2"), list(range(100, 120)))
    equal(lengths_of(found, "10.2.0.1"), list(range(120, 200)))
    equal(root_qdisc(DEV, "-s")["backlog"], 0)


@case
def a_new_limit_holds_for_what_comes_then():
    hold("limit 20")
    queue_for(["10.2.0.1"], range(100, 130))
    equal((root_qdisc(DEV, "-s")["qlen"], dropped()), (20, 10))
    tc(f"qdisc change dev {DEV} root gap limit 30")
    queue_for_more(["10.2.0.1"], range(100, 115))
    equal((root_qdisc(DEV, "-s")["qlen"], dropped()), (30, 15))
    tc(f"qdisc change dev {DEV} root gap limit 5")
    equal((root_qdisc(DEV, "-s")["qlen"], dropped()), (30, 15))
    queue_for_more(["10.2.0.1"], [100])
    equal((root_qdisc(DEV, "-s")["qlen"], dropped()), (30, 16))
    equal(len(arrivals(30)), 30)


@case
def other_packets_take_turns_by_their_station():
    hold()
    stations = [bytes([2, 0, 0, 0, 1, number]) for number in range(4)]
    send_frames(DEV, frame("10.2.9.9", 0), 1, priority=HANDLE | CLASS)
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(OTHER_PROTOCOL)) as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_PRIORITY, HANDLE | CLASS)
        sock.bind((DEV, OTHER_PROTOCOL))
        for station in stations:
            sock.send(station + b"\2\0\0\0\0\1" + OTHER_PROTOCOL.to_bytes(2, "big") + b"x" * 60)
            sock.send(station + b"\2\0\0\0\0\1" + OTHER_PROTOCOL.to_bytes(2, "big") + b"y" * 60)
    equal(counters(DEV)["1:10"]["destinations"], len(stations))
    let_go()
    eventually(lambda: counters(DEV)["1:10"]["packets"] == 9, "the packets")


class OtherEnd:
    """A process with the wire's other end in a network name space of its own."""

    def __init__(self, dev, talk):
        self.dev, self._talk = f"{dev}p", talk
        ready, self.begin = os.pipe(), os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            self._run(ready[1])
        os.read(ready[0], 1)
        sh("ip", "link", "set", self.dev, "netns", str(self.pid))

    def start(self):
        os.write(self.begin[1], b"b")

    def _run(self, ready):
        try:
            if ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWNET) != 0:
                raise OSError(ctypes.get_errno(), "unshare")
            os.write(ready, b"r")
            os.read(self.begin[0], 1)
            sh("ip", "address", "add", f"{THEIRS}/24", "dev", self.dev)
            sh("ip", "link", "set", self.dev, "up")
            self._talk()
            os._exit(0)
        except BaseException:       # whatever it is, this process has to end here
            traceback.print_exc()
        os._exit(1)

    def has_ended_well(self):
        return os.waitpid(self.pid, 0)[1] == 0


@contextlib.contextmanager
def connected_behind_a_class(dev, rate, link_bytes_per_s, talk, parent_rate=None, mtu=1500):
    """A connection to the other end, which talks, through a class of that rate, or below one; and the other end.
    TCP does not hear of another MTU of the device."""
    sh("ip", "link", "add", dev, "type", "simwire")
    try:
        other = OtherEnd(dev, talk)
        sh("ip", "address", "add", f"{OURS}/24", "dev", dev)
        sh("ip", "link", "set", dev, "mtu", str(mtu), "up")
        sh("ip", "route", "replace", f"{THEIRS}/32", "dev", dev, "src", OURS, "mtu", "lock", "1500")
        simwire(dev, "rate_bps", 8 * link_bytes_per_s)
        add_gap("default 1:10", dev=dev)
        if parent_rate:
            tc(f"class add dev {dev} parent 1: classid 1:1 gap rate {parent_rate}")
        parent = "1:1" if parent_rate else "1:"
        tc(f"class add dev {dev} parent {parent} classid 1:10 gap rate {rate}")
        with socket.create_server((OURS, 7)) as server:
            server.settimeout(20)
            other.start()
            connection, _ = server.accept()
        with connection:
            connection.settimeout(20)
            yield connection, other
    finally:
        run("ip", "link", "del", dev)


def answer_one_byte():
    with socket.create_connection((OURS, 7), timeout=20) as sock:
        equal(sock.recv(1), b"b")       # data waits over there now
        sock.send(b"x")
        equal(sock.recv(1), b"e")


def acknowledge_behind_data(dev, rate, link_bytes_per_s, parent_rate=None):
    """Sixty frames wait for six seconds in a class of that rate when our TCP has to
    acknowledge a byte; how many times an acknowledgment went first, and what waited then."""
    with connected_behind_a_class(dev, rate, link_bytes_per_s, answer_one_byte, parent_rate) as (connection, other):
        send_frames(dev, frame("10.2.0.1", 1458), 60)
        connection.send(b"b")
        equal(connection.recv(1), b"x")
        time.sleep(0.06)    # delayed acknowledgments take 40 ms
        waiting = root_qdisc(dev, "-s")["qlen"]
        first = counters(dev)["1:10"]["acks_first"]
        connection.send(b"e")
        equal(other.has_ended_well(), True)
    return first, waiting


@case
def acknowledgments_go_first_where_a_class_is_paced():
    first, waiting = acknowledge_behind_data("wire8", "120kbit", 125_000_000)
    between(1, first, 10)
    between(20, waiting, 60)


@case
def acknowledgments_go_first_below_a_class_that_is_paced():
    first, waiting = acknowledge_behind_data("wire11", "unlimited", 125_000_000, "120kbit")
    between(1, first, 10)
    between(20, waiting, 60)


def send_until_the_end():
    with socket.create_connection((OURS, 7), timeout=20) as sock:
        equal(sock.recv(1), b"b")
        with contextlib.suppress(ConnectionError):
            while True:
                sock.sendall(bytes(100_000))


def share_of_data(dev, rate, parent_rate=None):
    """Returns the part of the wire bytes that a class has that always has data, while TCP receives
    as much as it can; and how many bytes that is for each byte that the class sends."""
    with connected_behind_a_class(dev, rate, 125_000_000, send_until_the_end, parent_rate) as (connection, _):
        connection.send(b"b")
        receive_all(connection, 500_000)        # the other end sends much at a time by now
        send_frames(dev, frame("10.2.0.1", 1458), 60)
        before, received = counters(dev)["1:10"], 0
        end = time.monotonic() + 0.3
        while time.monotonic() < end:
            received += len(connection.recv(65536))
        after = counters(dev)["1:10"]
        between(10, root_qdisc(dev, "-s")["qlen"], 10_000)
        wire, packets = after["wire"] - before["wire"], after["packets"] - before["packets"]
        acks = after["acks_first"] - before["acks_first"]
        # all packets that were no data are as long
        return (packets - acks) * 1524 / wire, received / wire


@case
def acknowledgments_leave_half_of_the_class_to_data():
    """Without a bound those of 1 Gbit/s would take all of it."""
    share, received = share_of_data("wire12", "2mbit")
    between(0.4, share, 0.7)
    between(5, received, 100)


@case
def acknowledgments_leave_half_of_a_class_above_to_data():
    share, received = share_of_data("wire13", "unlimited", "2mbit")
    between(0.4, share, 0.7)
    between(5, received, 100)


@case
def acknowledgments_wait_their_turn_where_only_the_link_is_full():
    first, waiting = acknowledge_behind_data("wire9", "unlimited", 15_000)
    equal(first, 0)
    between(20, waiting, 60)


OUR_BYTES, THEIR_BYTES = 40_000, 1_000_000


def receive_all(sock, count):
    while count > 0:
        count -= len(sock.recv(min(count, 65536)))


def counted_by(protocol, path="/proc/net/netstat"):
    with open(path, encoding="utf-8") as file:
        names, values = (line.split()[1:] for line in file if line.startswith(f"{protocol}:"))
    return dict(zip(names, map(int, values)))


def send_much_and_receive():
    """Nothing that came is refused because it acknowledges too little."""
    with socket.create_connection((OURS, 7), timeout=20) as sock:
        equal(sock.recv(1), b"d")       # more waits over there now
        sock.sendall(bytes(THEIR_BYTES))
        receive_all(sock, OUR_BYTES - 1)
        sock.send(b"e")
    counted = counted_by("TcpExt")
    equal((counted["TCPChallengeACK"], counted["TCPACKSkippedChallenge"]), (0, 0))


def window_ends(frames):
    """Returns, for TCP segments of ours without and with data, the sequence numbers at which the
    window ends."""
    ends = {False: [], True: []}
    for data in frames:
        ack, offset, flags, window = struct.unpack_from("!IBBH", data, 42)
        has_data = struct.unpack_from("!H", data, 16)[0] > 20 + (offset >> 4) * 4
        if not flags & 2:   # SYN
            ends[has_data].append((ack + window) % 2**32)
    return ends[False], ends[True]


@contextlib.contextmanager
def no_window_scaling():
    path = "/proc/sys/net/ipv4/tcp_window_scaling"
    with open(path, "w", encoding="utf-8") as file:
        file.write("0")
    try:
        yield
    finally:
        with open(path, "w", encoding="utf-8") as file:
            file.write("1")


@case
def data_that_acknowledgments_overtake_offer_no_larger_window():
    """Nobody reads here, so that the window ends at one number; data are queued before the other end fills it."""
    with (no_window_scaling(), connected_behind_a_class("wire14", "2mbit", 125_000_000, send_much_and_receive) as
          (connection, other), socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3)) as sock):
        sock.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 1 << 24)
        sock.bind(("wire14", 3))
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 32768)
        connection.sendall(b"d" * OUR_BYTES)
        frames = []
        while sum(len(data) > 200 for data in frames) < OUR_BYTES // 1448:
            data = sock.recv(2000)
            if data[12:14] == b"\x08\0" and data[23] == socket.IPPROTO_TCP and data[26:30] == socket.inet_aton(OURS):
                frames.append(data)
        of_acks, of_data = window_ends(frames)
        between(2, len(of_acks), 1000)
        between(OUR_BYTES // 1448, len(of_data), 100)
        equal([end for end in of_data if end > max(of_acks)], [])
        receive_all(connection, THEIR_BYTES)
        equal(connection.recv(1), b"e")
        equal(other.has_ended_well(), True)


IP_MTU_DISCOVER, IP_PMTUDISC_INTERFACE = 10, 4
# Where a fragment begins, this reads as a TCP header that acknowledges very much or very little: some of each look old.
LIKE_A_HEADER = (b"\0\0\0\0\x50\x10\xff\xff" b"\x80\0\0\0\x50\x10\xff\xff") * (OUR_BYTES // 16)


def send_some_and_look():
    with socket.create_connection((OURS, 7), timeout=20) as sock:
        received = sock.recv(1)         # more waits over there now
        sock.sendall(bytes(20_000))
        while len(received) < OUR_BYTES and (more := sock.recv(65536)):
            received += more
        equal(received == LIKE_A_HEADER, True)
        sock.send(b"e")


@case
def what_looks_like_a_header_in_a_fragment_is_left_alone():
    """TCP believes in a larger MTU than the device has, so that IP makes two fragments of each segment."""
    with connected_behind_a_class("wire15", "2mbit", 125_000_000, send_some_and_look, mtu=1000) as (connection, other):
        connection.setsockopt(socket.IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_INTERFACE)
        before = counted_by("Ip", "/proc/net/snmp")["FragCreates"]
        connection.sendall(LIKE_A_HEADER)
        receive_all(connection, 20_000)
        equal(connection.recv(1), b"e")
        equal(other.has_ended_well(), True)
        between(2 * (OUR_BYTES // 1448), counted_by("Ip", "/proc/net/snmp")["FragCreates"] - before, 1000)
        between(1, counters("wire15")["1:10"]["acks_first"], 1000)


@case
def data_that_acknowledgments_overtake_are_not_refused():
    """Ten frames wait for 60 ms.  Meanwhile much more comes than one window, and is acknowledged."""
    with connected_behind_a_class("wire10", "2mbit", 125_000_000, send_much_and_receive) as (connection, other):
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 32768)    # twice that, and no more
        connection.sendall(b"d" * OUR_BYTES)
        receive_all(connection, THEIR_BYTES)
        equal(connection.recv(1), b"e")
        equal(other.has_ended_well(), True)
        between(10, counters("wire10")["1:10"]["acks_first"], 1000)
