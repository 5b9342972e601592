# SPDX-License-Identifier: Apache-2.0
"""Reads what simwire has recorded: when each frame started on the wire."""

import socket
import struct
from typing import NamedTuple

RECORD = struct.Struct("=QIHH")     # struct simwire_record of tests/simwire/simwire.h
MAC_CONTROL = 0x8808


class Frame(NamedTuple):
    start_ns: int
    wire_bytes: int
    ethertype: int

    @property
    def start_s(self):
        return self.start_ns / 1e9


def parse(data):
    if len(data) % RECORD.size:
        raise ValueError(f"{len(data)} bytes are no whole number of frame records")
    return [Frame(start_ns, wire_bytes, socket.ntohs(protocol))
            for start_ns, wire_bytes, protocol, _ in RECORD.iter_unpack(data)]
