#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Sockets of the test bed for headway doctor, where iperf3 does not send or receive as wanted.

usage: traffic.py slow                      receive 100 000 bytes every 20 ms
       traffic.py send ADDRESS SECONDS      send to it for so long
       traffic.py bursts ADDRESS COUNT      send 2 MB to iperf3's neighbour at port 5301, wait 500 ms, COUNT times
"""

import socket
import sys
import time

SLOW_PORT, FAST_PORT = 5300, 5301
PIECE_BYTES, PERIOD_S = 100_000, 0.02
BURST_BYTES, IDLE_S = 2_000_000, 0.5


def receive(port, piece_bytes, period_s):
    listener = socket.create_server(("", port))
    while True:
        connection, _ = listener.accept()
        with connection:
            while connection.recv(piece_bytes):
                time.sleep(period_s)


def send(address, seconds):
    with socket.create_connection((address, SLOW_PORT)) as connection:
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


def main(words):
    match words:
        case ["slow"]:
            receive(SLOW_PORT, PIECE_BYTES, PERIOD_S)
        case ["fast"]:
            receive(FAST_PORT, 1 << 20, 0)
        case ["send", address, seconds]:
            send(address, float(seconds))
        case ["bursts", address, count]:
            bursts(address, int(count))
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
