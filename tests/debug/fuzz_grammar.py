# SPDX-License-Identifier: Apache-2.0
"""Requests a user of the gap qdisc might send: the fuzzer's raw material.

Everything comes from one random.Random, so a seed stands for one sequence.
Each device has its own usual handle and few classes, so that requests meet each
other's results.  Values are ordinary ones most of the time, else boundaries.
"""

import dataclasses
import struct

import rtnetlink as nl
from rtnetlink import (NLM_F_ACK, NLM_F_APPEND, NLM_F_CREATE, NLM_F_DUMP, NLM_F_EXCL, NLM_F_REPLACE,
                       TC_H_CLSACT, TC_H_INGRESS, TC_H_ROOT, TCA_KIND, TCA_OPTIONS, TCA_RATE,
                       TCA_STAB, text, u32, u64)

MAJORS = (0x10000, 0x20000, 0x30000)
MINORS = tuple(range(1, 9))
BOUNDARIES = (0, 1, 2, 59, 60, 84, 1514, 65535, 65536, 2**31 - 1, 2**31, 2**32 - 1, 2**32,
              10**10, 10**12, 10**12 + 1, 2**63 - 1, 2**63, 2**64 - 1)
ODD_HANDLES = (0, 1, 0xFFFF, 0x7FFF0000, 0x80010000, TC_H_CLSACT, TC_H_INGRESS, TC_H_ROOT)
# Bytes per second: the slowest wire has 1000000
RATES_BPS = (1, 84, 12500, 125000, 333333, 1000000, 12500000)

# How an option's value looks, and which values are ordinary.
QDISC_OPTIONS = {
    "RATE64": (u64, RATES_BPS),
    "DEFAULT": (u32, (0, 1, 2, 0x10001, 0x10002, 0x20001)),
    "BACKEND": (u32, (0, 1)),
    "LIMIT": (u32, (2, 3, 10000)),
}


def phases(kind, value):
    """Some entries of a class's table; the number is one of them and says how many."""
    entries = [(value // 2 ** 8 % 2 ** 62 if value > 300 else 125000, (value + i) % 300, 0)
               for i in range(value % 5)]
    return kind, b"".join(struct.pack("=QII", *entry) for entry in entries)


CLASS_OPTIONS = {
    "RATE64": (u64, (*RATES_BPS[:-1], 2**64 - 1)),
    "PHASES": (phases, (1, 2, 3, 159, 160, 161, 125000 * 256 + 2)),
    "FALLBACK64": (u64, (*RATES_BPS[:-1], 2**64 - 1)),
    "EXPIRES_NS": (u64, (0, 1000000, 20000000, 10**9)),
    "BURST": (u32, (0, 1, 67000, 2**20)),
}
# Dumped only: a request with one of them must be refused.
QDISC_SHOWN = ("LINK_RATE64", "BACKEND_USED", "REASON", "PAD", "UNSPEC")
CLASS_SHOWN = ("LEFT_NS", "EXPIRED", "PAD", "UNSPEC")


@dataclasses.dataclass
class Request:
    """One request, still a tree; device is a number that the sender knows."""
    label: str
    kind: int
    flags: int
    device: int
    handle: int = 0
    parent: int = 0
    info: int = 0
    family: int = 0
    attributes: list = dataclasses.field(default_factory=list)
    up: bool | None = None      # of a link

    def encode(self, ifindex):
        if self.kind == nl.RTM_SETLINK:
            return nl.link_message(self.kind, self.flags, ifindex, self.attributes, self.up)
        body = nl.TCMSG.pack(self.family, 0, 0, ifindex, self.handle, self.parent, self.info)
        return nl.message(self.kind, self.flags, body + nl.encode(self.attributes))


class Grammar:
    def __init__(self, random, uapi, devices):
        self.random = random
        self.devices = devices
        self.qdisc_types = self.types(uapi, "TCA_GAP_", QDISC_OPTIONS, QDISC_SHOWN)
        self.class_types = self.types(uapi, "TCA_GAP_CLASS_", CLASS_OPTIONS, CLASS_SHOWN)
        makers = ((self.new_qdisc, 20), (self.graft, 12), (self.delete_qdisc, 6), (self.get_qdisc, 4),
                  (self.new_class, 25), (self.delete_class, 10), (self.get_class, 4),
                  (self.new_filter, 5), (self.delete_filter, 3), (self.get_filter, 1),
                  (self.dump, 3), (self.set_link, 2))
        self.makers = [maker for maker, _ in makers]
        self.weights = [weight for _, weight in makers]

    @staticmethod
    def types(uapi, prefix, options, shown):
        """The number of each attribute; the contract may not know more of them."""
        known = {name[len(prefix):]: number for name, number in uapi.items()
                 if name.startswith(prefix) and not
                 (prefix == "TCA_GAP_" and name.startswith("TCA_GAP_CLASS_"))}
        if set(known) != {*options, *shown}:
            raise ValueError(f"the contract's attributes {prefix}* and the fuzzer's differ: "
                             f"{set(known) ^ {*options, *shown}}")
        return known

    def next(self):
        maker, = self.random.choices(self.makers, self.weights)
        return maker(self.random.randrange(self.devices))

    # ------------------------------------------------------------- values

    def often(self, percent):
        return self.random.random() * 100 < percent

    def number(self, ordinary):
        if self.often(90):
            return self.random.choice(ordinary)
        return self.random.choice(BOUNDARIES)

    def handle(self, device):
        if self.often(95):
            return MAJORS[device % len(MAJORS)]
        return self.random.choice(MAJORS + ODD_HANDLES)

    def classid(self, device):
        # most in a few places, some in many: classes that meet, tables that grow
        if self.often(90):
            return self.handle(device) | self.random.choice(MINORS)
        return self.handle(device) | self.random.randrange(0x200)

    def options(self, table, types, shown, most):
        """A nest of some options; rarely one that is for dumps only."""
        found = []
        for name in self.random.sample(sorted(table), self.random.randint(0, most)):
            pack, ordinary = table[name]
            limit = 2**32 if pack is u32 else 2**64
            found.append(pack(types[name], self.number(ordinary) % limit))
        if self.often(3):
            found.append(u64(types[self.random.choice(shown)], self.number(RATES_BPS)))
        return found

    def new_flags(self):
        if self.often(50):
            return NLM_F_ACK | NLM_F_CREATE | NLM_F_REPLACE
        return NLM_F_ACK | self.random.choice((0, NLM_F_CREATE, NLM_F_REPLACE, NLM_F_CREATE | NLM_F_EXCL,
                                               NLM_F_CREATE | NLM_F_REPLACE | NLM_F_EXCL, NLM_F_APPEND))

    # ------------------------------------------------------------- qdiscs

    def gap_options(self):
        return self.options(QDISC_OPTIONS, self.qdisc_types, QDISC_SHOWN, 4)

    def new_qdisc(self, device):
        attributes = [text(TCA_KIND, "gap")]
        if self.often(80):
            attributes.append((TCA_OPTIONS, self.gap_options()))
        if self.often(3):
            attributes.append(self.size_table())
        parent = TC_H_ROOT if self.often(90) else self.classid(device)
        return Request("new qdisc", nl.RTM_NEWQDISC, self.new_flags(), device,
                       self.handle(device), parent, attributes=attributes)

    def size_table(self):
        # struct tc_sizespec: logs, overhead, link layer, mpu, mtu, table size
        spec = struct.pack("=BBhiIIIII", 0, 0, 0, self.random.choice((0, 24, -14)), 1, 0, 0, 0, 0)
        return TCA_STAB, [(1, spec)]

    def child_options(self, kind):
        choice = self.random.choice
        if kind in ("pfifo", "bfifo"):
            return nl.pfifo_options(choice((1, 10, 1000, 100000)))
        if kind == "tbf":
            return nl.tbf_options(choice((1000, 1250000, 125000000)))
        if kind == "netem":
            return nl.netem_options(choice((0, 1000, 100000)), choice((1, 1000)),
                                    choice((0, 2**30)), choice((0, 2**30)))
        if kind == "prio":
            return struct.pack("=i16B", 3, *[choice((0, 1, 2)) for _ in range(16)])
        if kind == "gap":
            return self.gap_options()
        return None

    def graft(self, device):
        kind = self.random.choice(("pfifo", "bfifo", "fq", "fq_codel", "netem", "tbf", "prio", "gap", "mq"))
        options = self.child_options(kind)
        attributes = [text(TCA_KIND, kind)]
        if options is not None:
            attributes.append((TCA_OPTIONS, options))
        handle = self.random.choice((0, 0, 0, 0x40000, 0x50000, self.handle(device)))
        parent = self.classid(device) if self.often(97) else TC_H_ROOT
        return Request("graft", nl.RTM_NEWQDISC, self.new_flags(), device, handle, parent,
                       attributes=attributes)

    def delete_qdisc(self, device):
        # the root seldom: it would leave nothing for the others
        if self.often(15):
            handle, parent = self.random.choice((0, self.handle(device))), TC_H_ROOT
        else:
            handle, parent = self.random.choice((0, 0, 0, 0x40000, 0x50000)), self.classid(device)
        return Request("delete qdisc", nl.RTM_DELQDISC, NLM_F_ACK, device, handle, parent)

    def get_qdisc(self, device):
        return Request("get qdisc", nl.RTM_GETQDISC, NLM_F_ACK, device, self.handle(device),
                       self.random.choice((0, TC_H_ROOT, self.classid(device))))

    # ------------------------------------------------------------ classes

    def new_class(self, device):
        classid = self.classid(device)
        parent = self.random.choice((classid & 0xFFFF0000, classid & 0xFFFF0000, 0, self.classid(device)))
        attributes = [text(TCA_KIND, "gap")]
        if self.often(90):
            attributes.append((TCA_OPTIONS, self.options(CLASS_OPTIONS, self.class_types, CLASS_SHOWN, 3)))
        if self.often(2):
            attributes.append((TCA_RATE, struct.pack("=bB", 0, 1)))
        return Request("new class", nl.RTM_NEWTCLASS, self.new_flags(), device, classid, parent,
                       attributes=attributes)

    def delete_class(self, device):
        return Request("delete class", nl.RTM_DELTCLASS, NLM_F_ACK, device, self.classid(device), 0)

    def get_class(self, device):
        return Request("get class", nl.RTM_GETTCLASS, NLM_F_ACK, device, self.classid(device), 0)

    # ------------------------------------------------------------ filters

    def filter(self, label, kind, flags, device, attributes):
        priority = self.random.randint(1, 4)
        parent = self.handle(device) if self.often(70) else self.classid(device)
        return Request(label, kind, flags, device, self.random.choice((0, 1)), parent,
                       info=priority << 16 | 0x0300, attributes=attributes)  # ETH_P_ALL

    def new_filter(self, device):
        kind = self.random.choice(("matchall", "basic", "fw"))
        # TCA_MATCHALL_CLASSID, TCA_BASIC_CLASSID, TCA_FW_CLASSID are all 1
        options = [u32(1, self.classid(device))]
        if kind == "matchall" and self.often(30):
            options.append((2, [self.verdict()]))
        return self.filter("new filter", nl.RTM_NEWTFILTER, self.new_flags(), device,
                           [text(TCA_KIND, kind), (TCA_OPTIONS, options)])

    def verdict(self):
        # a gact action: TCA_ACT_KIND 1, TCA_ACT_OPTIONS 2, TCA_GACT_PARMS 2
        parms = struct.pack("=IIiii", 0, 0, self.random.choice((-1, 0, 1, 2, 3, 4, 5, 8)), 0, 0)
        return 1, [text(1, "gact"), (2, [(2, parms)])]

    def delete_filter(self, device):
        attributes = [text(TCA_KIND, "matchall")] if self.often(50) else []
        return self.filter("delete filter", nl.RTM_DELTFILTER, NLM_F_ACK, device, attributes)

    def get_filter(self, device):
        return self.filter("get filter", nl.RTM_GETTFILTER, NLM_F_ACK, device,
                           [text(TCA_KIND, "matchall")])

    # ------------------------------------------------------------- others

    def dump(self, device):
        kind = self.random.choice((nl.RTM_GETQDISC, nl.RTM_GETTCLASS, nl.RTM_GETTFILTER))
        return Request("dump", kind, NLM_F_DUMP, device, 0, self.random.choice((0, self.handle(device))))

    def set_link(self, device):
        request = Request("set link", nl.RTM_SETLINK, NLM_F_ACK, device)
        what = self.random.choice(("state", "state", "mtu", "address", "queue"))
        if what == "state":
            request.up = self.often(60)
        elif what == "mtu":
            request.attributes = [u32(4, self.number((1500, 576, 68, 9000)) % 2**32)]
        elif what == "address":
            request.attributes = [(1, b"\2" + self.random.randbytes(5))]
        else:
            request.attributes = [u32(13, self.number((0, 1, 1000)) % 2**32)]   # IFLA_TXQLEN
        return request
