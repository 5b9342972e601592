# SPDX-License-Identifier: Apache-2.0
"""Netlink of the gap qdisc for tests: numbers and packing, without gap_attr."""

import struct

RTM_NEWQDISC, RTM_NEWTCLASS, RTM_GETTCLASS = 36, 40, 42
NLA_F_NESTED = 0x8000
TCA_KIND, TCA_OPTIONS, TCA_XSTATS, TCA_RATE, TCA_STATS2 = 1, 2, 4, 5, 7
TCA_STATS_BASIC, TCA_STATS_APP = 1, 4

(RATE64, DEFAULT, LINK_RATE64, BACKEND, UNUSED, BACKEND_USED, REASON, BYPASS, LIMIT) = range(2, 11)
(CLASS_RATE64, CLASS_PHASES, CLASS_FALLBACK64, CLASS_EXPIRES_NS, CLASS_LEFT_NS,
 CLASS_EXPIRED, CLASS_BURST) = range(2, 9)
UNLIMITED = 2**64 - 1


def attr(kind, payload):
    data = struct.pack("=HH", 4 + len(payload), kind) + payload
    return data + b"\0" * (-len(data) % 4)


def u64(kind, value):
    return attr(kind, struct.pack("=Q", value))


def u32(kind, value):
    return attr(kind, struct.pack("=I", value))


def flag(kind):
    return attr(kind, b"")


def attrs_of(data):
    """By kind, flag bits kept; of two alike the last."""
    found = {}
    while len(data) >= 4:
        length, kind = struct.unpack_from("=HH", data)
        found[kind] = data[4:length]
        data = data[(length + 3) & ~3:]
    return found


def phases(rates):
    """The table of {phase: bytes per second}."""
    return attr(CLASS_PHASES, b"".join(struct.pack("=QII", rate, phase, 0)
                                       for phase, rate in rates.items()))
