#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Sockets of the test bed for headway doctor, where iperf3 does not send or receive as wanted.

usage: traffic.py serve                             the receivers: slow, fast, one that stops, one that answers
       traffic.py send ADDRESS SECONDS [PORT]       send to the slow one, or another, for so long
       traffic.py bursts ADDRESS COUNT              send 2 MB to the fast one, wait 2 s, COUNT times
       traffic.py requests ADDRESS COUNT nagle|nodelay    in two pieces, and wait for each answer
       traffic.py names ADDRESS                     a name service that knows one address for every name
       traffic.py pause DEVICE SECONDS              a PAUSE frame of no time every millisecond
"""

import socket
import sys
import threading
import time

SLOW_PORT, FAST_PORT, STOPPED_PORT, ANSWERING_PORT, NAMES_PORT = 5300, 5301, 5302, 5303, 53
PIECE_BYTES, PERIOD_S = 100_000, 0.02
BURST_BYTES, IDLE_S = 2_000_000, 2
REQUEST_PIECE_BYTES = 100
PAUSE_FRAME = bytes.fromhex("0180c2000001 020000000001 8808 0001 0000") + bytes(42)


def receive(connection, piece_bytes, period_s):
    while connection.recv(piece_bytes):
        time.sleep(period_s)


def stop(_connection):
    threading.Event().wait()


def answer(connection):
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    while connection.recv(2 * REQUEST_PIECE_BYTES, socket.MSG_WAITALL):
        connection.sendall(bytes(REQUEST_PIECE_BYTES))


def listen(port, serve):
    listener = socket.create_server(("::", port), family=socket.AF_INET6, dualstack_ipv6=True)
    while True:
        connection, _ = listener.accept()
        with connection:
            serve(connection)


def serve_all():
    receivers = {SLOW_PORT: lambda c: receive(c, PIECE_BYTES, PERIOD_S), FAST_PORT: lambda c: receive(c, 1 << 20, 0),
                 STOPPED_PORT: stop, ANSWERING_PORT: answer}
    threads = [threading.Thread(target=listen, args=row) for row in receivers.items()]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def send(address, seconds, port):
    with socket.create_connection((address, port)) as connection:
        connection.settimeout(seconds)
        end = time.monotonic() + seconds
        try:
            while time.monotonic() < end:
                connection.sendall(bytes(PIECE_BYTES))
        except TimeoutError:
            pass    # the receiver is slow, which is what it is for


def bursts(address, count):
    with socket.create_connection((address, FAST_PORT)) as connection:
        for _ in range(count):
            connection.sendall(bytes(BURST_BYTES))
            time.sleep(IDLE_S)


def requests(address, count, no_delay):
    with socket.create_connection((address, ANSWERING_PORT)) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, no_delay)
        for _ in range(count):
            connection.sendall(bytes(REQUEST_PIECE_BYTES))
            connection.sendall(bytes(REQUEST_PIECE_BYTES))
            connection.recv(REQUEST_PIECE_BYTES, socket.MSG_WAITALL)


def names(address):
    """Answers questions for an IPv4 address; to others there is no answer (RFC 1035)."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as service:
        service.bind(("", NAMES_PORT))
        while True:
            query, client = service.recvfrom(512)
            end = query.index(0, 12) + 5    # of the question: name, type, class
            is_ipv4 = query[end - 4:end - 2] == b"\0\1"
            record = b"\xc0\x0c\0\1\0\1\0\0\0\x3c\0\4" + socket.inet_aton(address) if is_ipv4 else b""
            counts = b"\0\1" + (b"\0\1" if record else b"\0\0") + bytes(4)
            service.sendto(query[:2] + b"\x81\x80" + counts + query[12:end] + record, client)


def pause(device, seconds):
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as wire:
        wire.bind((device, 0))
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            wire.send(PAUSE_FRAME)
            time.sleep(0.001)


def main(words):
    match words:
        case ["serve"]:
            serve_all()
        case ["send", address, seconds]:
            send(address, float(seconds), SLOW_PORT)
        case ["send", address, seconds, port]:
            send(address, float(seconds), int(port))
        case ["bursts", address, count]:
            bursts(address, int(count))
        case ["requests", address, count, ("nagle" | "nodelay") as kind]:
            requests(address, int(count), kind == "nodelay")
        case ["names", address]:
            names(address)
        case ["pause", device, seconds]:
            pause(device, float(seconds))
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
