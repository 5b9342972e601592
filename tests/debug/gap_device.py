# SPDX-License-Identifier: Apache-2.0
"""Requests for one device's gap qdisc, and what the kernel shows of it."""

import os
import socket
import struct

import rtnetlink as nl
from rtnetlink import (NLM_F_ACK, NLM_F_CREATE, NLM_F_EXCL, NLM_F_REPLACE, TC_H_ROOT, TCA_KIND,
                       TCA_OPTIONS, TCA_STATS, TCA_STATS2, TCA_XSTATS, text)

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
UAPI = nl.uapi_enums(os.path.join(ROOT, "kmod/include/uapi/linux/pkt_sched_gap.h"))
ADD, CHANGE, REPLACE = NLM_F_CREATE | NLM_F_EXCL, 0, NLM_F_CREATE | NLM_F_REPLACE
MAJOR = 0x10000
MATCH_ALL_PACKETS = 1 << 16 | 0x0300        # priority 1, ETH_P_ALL
# Of an object's options: what time and traffic change by themselves.
PASSING = {"gap qdisc": {UAPI["TCA_GAP_" + name] for name in ("BACKEND_USED", "REASON")},
           "gap class": {UAPI["TCA_GAP_CLASS_LEFT_NS"]},
           "matchall filter": {4}}      # TCA_MATCHALL_PCNT counts packets


def qdisc_option(name, value, pack=nl.u64):
    return pack(UAPI["TCA_GAP_" + name], value)


def class_option(name, value):
    return nl.u64(UAPI["TCA_GAP_CLASS_" + name], value)


def phase_option(*entries):
    """Pairs of a phase and its rate."""
    return (UAPI["TCA_GAP_CLASS_PHASES"],
            b"".join(struct.pack("=QII", rate, phase, 0) for phase, rate in entries))


def backend(name):
    return qdisc_option("BACKEND", UAPI["GAP_BACKEND_" + name.upper()], nl.u32)


class GapDevice:
    def __init__(self, name):
        self.name = name
        self.index = socket.if_nametoindex(name)
        self.netlink = nl.Netlink()

    # ----------------------------------------------------------- requests

    def request(self, kind, flags, handle, parent, attributes=(), info=0):
        return nl.tc_message(kind, flags | NLM_F_ACK, self.index, handle, parent, attributes, info)

    def qdisc(self, flags, *options, kind="gap", handle=MAJOR, parent=TC_H_ROOT):
        """A qdisc; its options are attributes, or the bytes of a structure."""
        options = options[0] if options and isinstance(options[0], bytes) else list(options)
        attributes = [text(TCA_KIND, kind), *([(TCA_OPTIONS, options)] if options else [])]
        return self.request(nl.RTM_NEWQDISC, flags, handle, parent, attributes)

    def delete_qdisc(self, parent=TC_H_ROOT):
        return self.request(nl.RTM_DELQDISC, 0, 0, parent)

    def tclass(self, flags, minor, *options, parent=0):
        attributes = [text(TCA_KIND, "gap"), (TCA_OPTIONS, list(options))]
        return self.request(nl.RTM_NEWTCLASS, flags, MAJOR | minor, MAJOR | parent, attributes)

    def delete_class(self, minor):
        return self.request(nl.RTM_DELTCLASS, 0, MAJOR | minor, 0)

    def matchall(self, minor, parent=0):
        attributes = [text(TCA_KIND, "matchall"), (TCA_OPTIONS, [nl.u32(1, MAJOR | minor)])]
        return self.request(nl.RTM_NEWTFILTER, ADD, 0, MAJOR | parent, attributes, MATCH_ALL_PACKETS)

    def delete_filter(self, parent=0):
        return self.request(nl.RTM_DELTFILTER, 0, 0, MAJOR | parent, (), MATCH_ALL_PACKETS)

    def link(self, up=None, mtu=None, address=None):
        attributes = [*([nl.u32(4, mtu)] if mtu else []), *([(1, address)] if address else [])]
        return nl.link_message(nl.RTM_SETLINK, NLM_F_ACK, self.index, attributes, up)

    def do(self, *requests):
        """Requests that must succeed."""
        for request in requests:
            error = self.netlink.request(request)
            if error:
                raise AssertionError(f"{os.strerror(error or 0)} ({error}): {request.hex()}")

    # -------------------------------------------------------------- dumps

    def objects(self, kind, parent=0):
        """Handle, parent, info and lasting attributes of what has a handle."""
        found = []
        for body in self.netlink.dump(kind, self.index, parent):
            _, _, _, index, handle, above, info = nl.TCMSG.unpack_from(body)
            if index == self.index and handle:
                found.append((handle, above, info, self.lasting(kind, body[nl.TCMSG.size:])))
        return sorted(found)

    @staticmethod
    def lasting(kind, attributes):
        attributes = [(number, payload) for number, payload in nl.decode(attributes)
                      if number not in (TCA_STATS, TCA_STATS2, TCA_XSTATS)]
        what = {nl.RTM_GETQDISC: " qdisc", nl.RTM_GETTCLASS: " class"}.get(kind, " filter")
        passing = PASSING.get(dict(attributes).get(TCA_KIND, b"")[:-1].decode() + what, ())
        return tuple((number, tuple(option for option in nl.decode(payload) if option[0] not in passing))
                     if number == TCA_OPTIONS and passing else (number, payload)
                     for number, payload in attributes)

    def state(self):
        """Everything that a request changes and that neither time nor packets do."""
        qdiscs, classes = self.objects(nl.RTM_GETQDISC), self.objects(nl.RTM_GETTCLASS)
        parents = [handle for handle, *_ in classes if handle & 0xFFFF0000 == MAJOR]
        if any(handle == MAJOR for handle, *_ in qdiscs):
            parents.append(MAJOR)
        return qdiscs, classes, [self.objects(nl.RTM_GETTFILTER, parent) for parent in parents]
