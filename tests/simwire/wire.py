# SPDX-License-Identifier: Apache-2.0
"""A simwire for tests written in Python: its attributes, frames, timestamps.

Runs inside a guest as root.
"""

import array
import itertools
import os
import socket
import struct
import subprocess
import time

import wire_records     # this and ktap are in tests/lib
from ktap import equal, wait_for

FRAME_MIN_BYTES = 60
OVERHEAD_BYTES = 24
BITS_NS = 8 * 10**9
ETHERTYPE = 0x88B5              # for local experiments
MAC_CONTROL = wire_records.MAC_CONTROL

SO_TIMESTAMPING = 37                # linux/socket.h; values of linux/net_tstamp.h
RX_SOFTWARE, SOFTWARE, RAW_HARDWARE = 1 << 3, 1 << 4, 1 << 6
TIMESPEC = struct.Struct("=qq")


def sh(*words):
    """A command that must succeed; its standard output.

    Loading it may take any virtual time; vm-run has a time limit.
    """
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        raise AssertionError(f"status {done.returncode} of {' '.join(words)}: {done.stderr}")
    return done.stdout


def wire_bytes(length):
    return max(length, FRAME_MIN_BYTES) + OVERHEAD_BYTES


class End:
    """One end of a wire, a device in this network namespace."""

    def __init__(self, name):
        self.name = name

    def path(self, attribute):
        return f"/sys/class/net/{self.name}/simwire/{attribute}"

    def __getitem__(self, attribute):
        with open(self.path(attribute)) as file:
            return int(file.read())

    def __setitem__(self, attribute, value):
        # unbuffered, so that an error is this statement's
        with open(self.path(attribute), "wb", buffering=0) as file:
            file.write(str(value).encode())

    def net(self, attribute):
        with open(f"/sys/class/net/{self.name}/{attribute}") as file:
            return file.read().strip()

    def set_net(self, attribute, value):
        with open(f"/sys/class/net/{self.name}/{attribute}", "w") as file:
            file.write(str(value))

    def records(self):
        with open(self.path("records"), "rb") as file:
            return wire_records.parse(file.read())

    def limits(self, name, queue=0):
        """A value of the byte queue limits."""
        return int(self.net(f"queues/tx-{queue}/byte_queue_limits/{name}"))


class Pair:
    """A wire of its own, both ends up; removed at the end of a with block.

    Without byte queue limits the ring alone decides when the device takes a
    frame; limits, as they start low, let a wire run dry.
    """

    def __init__(self, name="w0", qdisc="pfifo limit 10000", queues=1, bql=0):
        sh("ip", "link", "add", name, "numtxqueues", str(queues), "type", "simwire")
        self.near, self.far = End(name), End(name + "p")
        for end in (self.near, self.far):
            end["bql"] = bql
            sh("ip", "link", "set", end.name, "arp", "off", "multicast", "off", "up")
            sh("tc", "qdisc", "replace", "dev", end.name, "root", *qdisc.split())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if os.path.exists(f"/sys/class/net/{self.near.name}"):
            sh("ip", "link", "del", self.near.name)


class Sender:
    """Hands frames to a device's qdisc, exactly as they are."""

    def __init__(self, end, priority=0):
        self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_PRIORITY, priority)
        self.socket.setsockopt(socket.SOL_SOCKET, 32, 1 << 24)  # SO_SNDBUFFORCE
        self.socket.bind((end.name, 0))

    def send(self, length, ethertype=ETHERTYPE):
        header = b"\x02\0\0\0\0\x02" + b"\x02\0\0\0\0\x01" + struct.pack("!H", ethertype)
        self.socket.send(header + bytes(length - len(header)))

    def send_vlan(self, length, vlan):
        header = b"\x02\0\0\0\0\x02" + b"\x02\0\0\0\0\x01" + struct.pack("!HHH", 0x8100, vlan, ETHERTYPE)
        self.socket.send(header + bytes(length - len(header)))

    def close(self):
        self.socket.close()


class Receiver:
    """Frames that arrive at a device, with the hardware's and the kernel's time."""

    def __init__(self, end, ethertype=ETHERTYPE):
        self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ethertype))
        self.socket.setsockopt(socket.SOL_SOCKET, 33, 1 << 24)  # SO_RCVBUFFORCE
        self.socket.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPING, RX_SOFTWARE | SOFTWARE | RAW_HARDWARE)
        self.socket.bind((end.name, ethertype))
        self.socket.settimeout(10)

    def receive(self):
        """(frame, software receive time, hardware receive time), times in ns."""
        data, control, _, _ = self.socket.recvmsg(16384, 512)
        for level, kind, value in control:
            if (level, kind) == (socket.SOL_SOCKET, SO_TIMESTAMPING):
                times = [seconds * 10**9 + ns for seconds, ns in TIMESPEC.iter_unpack(value)]
                return data, times[0], times[2]
        raise AssertionError("a frame without timestamps")

    def cut_hashed(self, length):
        """Lets frames with a hash of their flow arrive cut to that length, others whole."""
        rxhash = 0x100000000 - 0x1000 + 32  # SKF_AD_OFF + SKF_AD_RXHASH
        code = ((0x20, 0, 0, rxhash), (0x15, 0, 1, 0), (0x06, 0, 0, 0xffff), (0x06, 0, 0, length))
        program = array.array("B", b"".join(struct.pack("HBBI", *one) for one in code))
        self.socket.setsockopt(socket.SOL_SOCKET, 26,  # SO_ATTACH_FILTER
                               struct.pack("HL", len(code), program.buffer_info()[0]))

    def nothing_arrives(self, seconds):
        self.socket.settimeout(seconds)
        try:
            self.socket.recv(16384)
        except TimeoutError:
            return True
        finally:
            self.socket.settimeout(10)
        return False

    def close(self):
        self.socket.close()


def hold_and_send(pair, rate_bps, lengths, ethertypes=None, senders=None):
    """Send frames that are all queued before the first of them may start.

    A primer on a slow wire holds it meanwhile, so the schedule alone decides
    when they start.  Returns the records of what then was on the wire.
    """
    senders = senders or [Sender(pair.near)]
    pair.near["record_frames"] = len(lengths) + 1
    pair.near["rate_bps"] = 2000
    before = frames_taken(pair.near)
    senders[0].send(60)                     # 336 ms
    pair.near["rate_bps"] = rate_bps
    for length, ethertype, sender in zip(lengths, ethertypes or [ETHERTYPE] * len(lengths),
                                         itertools.cycle(senders)):
        sender.send(length, ethertype)
    if time.monotonic_ns() >= pair.near.records()[0].start_ns + 84 * BITS_NS // 2000:
        raise AssertionError("sending took longer than the primer; the machine is too slow")
    wait_for(lambda: frames_taken(pair.near) == before + len(lengths) + 1, "the device takes all frames")
    for sender in senders:
        sender.close()
    return pair.near.records()[1:]


def frames_taken(end):
    return end["tx_frames"] + end["tx_filtered_frames"]


def follow_each_other(records, rate_bps):
    """Each frame starts right behind the one before, without rounding errors."""
    done_bytes = 0
    for number, frame in enumerate(records):
        expected_ns = records[0].start_ns + done_bytes * BITS_NS // rate_bps
        equal(frame.start_ns, expected_ns, f"start of frame {number} at {rate_bps} bit/s")
        done_bytes += frame.wire_bytes
