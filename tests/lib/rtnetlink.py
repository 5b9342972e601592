# SPDX-License-Identifier: Apache-2.0
"""rtnetlink requests of traffic control, for tests that send what tc would not.

An attribute is a pair (type, payload); the payload is bytes, or a list of
attributes for a nest.  encode() makes bytes of a list of them.
"""

import os
import re
import socket
import struct

RTM_NEWLINK, RTM_DELLINK, RTM_SETLINK = 16, 17, 19
RTM_NEWQDISC, RTM_DELQDISC, RTM_GETQDISC = 36, 37, 38
RTM_NEWTCLASS, RTM_DELTCLASS, RTM_GETTCLASS = 40, 41, 42
RTM_NEWTFILTER, RTM_DELTFILTER, RTM_GETTFILTER = 44, 45, 46

NLM_F_REQUEST, NLM_F_ACK, NLM_F_DUMP = 1, 4, 0x300
NLM_F_REPLACE, NLM_F_EXCL, NLM_F_CREATE, NLM_F_APPEND = 0x100, 0x200, 0x400, 0x800
NLMSG_ERROR, NLMSG_DONE = 2, 3
NLA_F_NESTED, NLA_F_NET_BYTEORDER = 0x8000, 0x4000
NLA_TYPE_MASK = 0x3FFF
SOL_NETLINK, NETLINK_EXT_ACK = 270, 11

TCA_KIND, TCA_OPTIONS, TCA_STATS, TCA_XSTATS, TCA_RATE = 1, 2, 3, 4, 5
TCA_STATS2, TCA_STAB = 7, 8
TC_H_ROOT, TC_H_INGRESS, TC_H_CLSACT = 0xFFFFFFFF, 0xFFFFFFF1, 0xFFFF0000

HEADER = struct.Struct("=IHHII")
TCMSG = struct.Struct("=BBHiIII")
IFINFOMSG = struct.Struct("=BBHiII")


def u8(kind, value):
    return kind, struct.pack("=B", value)


def u32(kind, value):
    return kind, struct.pack("=I", value)


def u64(kind, value):
    return kind, struct.pack("=Q", value)


def text(kind, value):
    return kind, value.encode() + b"\0"


def encode(attributes):
    parts = []
    for kind, payload in attributes:
        if isinstance(payload, list):
            payload = encode(payload)
            kind |= NLA_F_NESTED
        parts.append(struct.pack("=HH", (4 + len(payload)) & 0xFFFF, kind & 0xFFFF))
        parts.append(payload + b"\0" * (-len(payload) % 4))
    return b"".join(parts)


def decode(data):
    """The attributes in data, nests as bytes."""
    found = []
    while len(data) >= 4:
        length, kind = struct.unpack_from("=HH", data)
        if length < 4:
            break
        found.append((kind & NLA_TYPE_MASK, data[4:length]))
        data = data[(length + 3) & ~3:]
    return found


# ------------------------------------------------- TCA_OPTIONS of some qdiscs

def pfifo_options(limit):
    return struct.pack("=I", limit)


def tbf_options(rate_bytes_per_s, limit_bytes=100000, burst_ticks=1000000):
    rate = struct.pack("=BBHhHI", 0, 1, 0, 0, 0, rate_bytes_per_s)
    return [(1, rate + bytes(len(rate)) + struct.pack("=III", limit_bytes, burst_ticks, 0))]


def netem_options(latency_ticks=0, limit=1000, loss=0, duplicate=0):
    """Probabilities are parts of 2**32."""
    return struct.pack("=IIIIII", latency_ticks, limit, loss, 0, duplicate, 0)


# ------------------------------------------------------------------ messages

def message(kind, flags, body):
    return HEADER.pack(HEADER.size + len(body), kind, flags | NLM_F_REQUEST, 1, 0) + body


def tc_message(kind, flags, ifindex, handle, parent, attributes=(), info=0):
    body = TCMSG.pack(0, 0, 0, ifindex, handle, parent, info) + encode(attributes)
    return message(kind, flags, body)


def link_message(kind, flags, ifindex, attributes=(), up=None):
    """up: None leaves the device's state alone."""
    body = IFINFOMSG.pack(0, 0, 0, ifindex, 1 if up else 0, 0 if up is None else 1)
    return message(kind, flags, body + encode(attributes))


class Netlink:
    """A socket for requests; the kernel works them off while they are sent."""

    def __init__(self):
        self.socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
        self.socket.setsockopt(SOL_NETLINK, NETLINK_EXT_ACK, 1)
        self.socket.bind((0, 0))

    def answers(self):
        """(type, payload) of each message that is there; OSError 105 if some were lost."""
        while True:
            try:
                data = self.socket.recv(1 << 17, socket.MSG_DONTWAIT)
            except BlockingIOError:
                return
            while len(data) >= HEADER.size:
                length, kind, _, _, _ = HEADER.unpack_from(data)
                yield kind, data[HEADER.size:length]
                data = data[(length + 3) & ~3:]

    def error(self):
        """The acknowledgement's errno, 0 for success, None if there was none."""
        found = None
        for kind, payload in self.answers():
            if kind == NLMSG_ERROR:
                found = -struct.unpack_from("=i", payload)[0]
        return found

    def request(self, data):
        """Send a request that is answered by an acknowledgement; its errno."""
        self.socket.send(data)
        return self.error()

    def dump(self, kind, ifindex, parent=0):
        """The bodies of all objects of a kind on a device."""
        self.socket.send(tc_message(kind, NLM_F_DUMP, ifindex, 0, parent))
        bodies = []
        for answer, payload in self.answers():
            if answer == NLMSG_ERROR:
                number = -struct.unpack_from("=i", payload)[0]
                raise OSError(number, os.strerror(number))
            if answer != NLMSG_DONE:
                bodies.append(payload)
        return bodies

    def close(self):
        self.socket.close()


def uapi_enums(header):
    """The values of all enumerators in a header; each enum must count from 0."""
    with open(header) as file:
        source = re.sub(r"/\*.*?\*/", "", file.read(), flags=re.S)
    values = {}
    for body in re.findall(r"enum\s*\w*\s*\{([^}]*)\}", source):
        names = [name for name in re.split(r"[\s,]+", body) if name]
        values.update((name, value) for value, name in enumerate(names))
    return values
