# SPDX-License-Identifier: Apache-2.0
"""Traffic for tests that change a qdisc under it: frames of all sorts.

Sends until it is told to stop, whatever happens to the devices meanwhile.
"""

import multiprocessing
import os
import random
import socket
import struct
import time

SOL_PACKET, PACKET_VNET_HDR, PACKET_QDISC_BYPASS = 263, 15, 20
ETHERNET = b"\x02\0\0\0\0\x02\x02\0\0\0\0\x01"
LOCAL_EXPERIMENT = b"\x88\xb5"
BURST_FRAMES = 8


def ipv4(protocol, destination, payload):
    return struct.pack("!BBHHHBBH4s4s", 0x45, 0, 20 + len(payload), 0, 0, 64, protocol, 0,
                       bytes((10, 0, 0, 1)), bytes((10, 0, 0, destination))) + payload


def tcp(payload):
    return struct.pack("!HHIIBBHHH", 1, 2, 0, 0, 0x50, 0x10, 1000, 0, 0) + payload


def plain(choice):
    return ETHERNET + LOCAL_EXPERIMENT + bytes(choice.choice((46, 200, 1486)))


def tagged(choice):
    tag = struct.pack("!HH", 0x8100, choice.randrange(1, 4))
    return ETHERNET + tag + LOCAL_EXPERIMENT + bytes(46)


def datagram(choice):
    return ETHERNET + b"\x08\0" + ipv4(17, choice.randrange(2, 60), bytes(choice.choice((8, 1000))))


def acknowledgement(choice):
    return ETHERNET + b"\x08\0" + ipv4(6, choice.randrange(2, 6), tcp(b""))


def offloaded(choice):
    """A TCP packet that is many frames on the wire, behind its struct virtio_net_hdr."""
    frame = ETHERNET + b"\x08\0" + ipv4(6, choice.randrange(2, 6), tcp(bytes(choice.choice((3000, 20000)))))
    return struct.pack("=BBHHHH", 1, 1, 54, 1000, 34, 16) + frame


class Sender:
    """One device's sockets; a device that is away is looked for again."""

    def __init__(self, device, choice):
        self.device, self.choice, self.sockets = device, choice, []

    def open(self):
        self.close()
        for number, value in ((None, 0), (PACKET_VNET_HDR, 1), (PACKET_QDISC_BYPASS, 1)):
            sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
            self.sockets.append(sock)
            sock.setblocking(False)
            if number:
                sock.setsockopt(SOL_PACKET, number, value)
            sock.bind((self.device, 0))

    def close(self):
        for sock in self.sockets:
            sock.close()
        self.sockets = []

    def burst(self):
        """How many of a few frames were taken."""
        if not self.sockets:
            self.open()
        normal, offload, bypass = self.sockets
        sent = 0
        for _ in range(BURST_FRAMES):
            make = self.choice.choice((plain, plain, tagged, datagram, datagram, acknowledgement, offloaded))
            sock = offload if make is offloaded else bypass if self.choice.random() < 0.02 else normal
            major, minor = self.choice.choice(((0, 0), (1, 0), (1, 1), (1, 2), (1, 5), (2, 1), (3, 3)))
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_PRIORITY, major << 16 | minor)
            try:
                sock.send(make(self.choice))
                sent += 1
            except BlockingIOError:
                break           # as much as a socket may have waits already
        return sent


def send_until(stop, devices, seed, sent):
    choice = random.Random(seed)
    senders = [Sender(device, choice) for device in devices]
    while not stop.is_set():
        for sender in senders:
            try:
                sent.value += sender.burst()
            except (OSError, MemoryError):
                sender.close()  # down, full, or gone: it may be back later
        time.sleep(0.002)       # leave processors to the others


class Traffic:
    """Processes that send while a with block runs; sent() counts their frames."""

    def __init__(self, devices, processes=2, prepare=lambda: None):
        self.stop = multiprocessing.Event()
        self.counts = [multiprocessing.Value("Q", 0) for _ in range(processes)]
        self.processes = [multiprocessing.Process(target=self.work, args=(prepare, devices, seed, count))
                          for seed, count in enumerate(self.counts)]

    def work(self, prepare, devices, seed, count):
        prepare()
        send_until(self.stop, devices, seed, count)
        os._exit(0)

    def sent(self):
        return sum(count.value for count in self.counts)

    def __enter__(self):
        for process in self.processes:
            process.start()
        return self

    def __exit__(self, *_):
        self.stop.set()
        for process in self.processes:
            process.join(60)
            process.kill()
