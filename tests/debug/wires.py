# SPDX-License-Identifier: Apache-2.0
"""The devices that tests on the debug kernel share.  Runs inside a guest as root.

Slow ones: each frame costs the debug kernel many times what it costs others.
"""

import contextlib
import ctypes
import os
import socket
import subprocess

FAR = "far"                         # the name space of the other ends
# How a wire may change at run time; see simwire_main.c.
WIRE_SETTINGS = (("rate_bps", (8_000_000, 8_500_000, 100_000_000)), ("renegotiate", (8_000_000, 100_000_000)),
                 ("ring_frames", (1, 64)), ("speed_known", (0, 1)), ("drop_mac_control", (0, 1)),
                 ("bql", (0, 1)), ("pause_stats", (0, 1)))
MODULES = os.path.join(os.environ.get("HW_BUILD", ""), "kmod", os.uname().release)


def run(*words):
    return subprocess.run(words, capture_output=True, text=True)


def sh(*words):
    """A command that must succeed; its standard output."""
    done = run(*words)
    if done.returncode:
        raise AssertionError(f"status {done.returncode} of {' '.join(words)}: {done.stderr}")
    return done.stdout


@contextlib.contextmanager
def inside(name_space):
    """Sockets that are made here belong to another network name space."""
    libc = ctypes.CDLL(None, use_errno=True)
    with open("/proc/self/ns/net") as here, open(f"/run/netns/{name_space}") as there:
        if libc.setns(there.fileno(), 0):
            raise OSError(ctypes.get_errno(), "setns")
        try:
            yield
        finally:
            libc.setns(here.fileno(), 0)


def load(*modules):
    for module in modules:
        if not os.path.isdir(f"/sys/module/{module}"):
            sh("insmod", f"{MODULES}/{module}.ko")


def stock_modules():
    """Everything requests may name, so that the kernel need not ask for modules."""
    sh("modprobe", "-a", "sch_fq", "sch_fq_codel", "sch_netem", "sch_tbf", "sch_prio", "sch_ingress",
       "sch_htb", "cls_matchall", "cls_basic", "cls_fw", "cls_u32", "act_gact", "act_mirred", "veth", "dummy")
    with open("/proc/sys/kernel/modprobe", "w") as file:
        file.write("\n")            # names made up by a fuzzer start no program


def set_wire(end, attribute, value):
    with open(f"/sys/class/net/{end}/simwire/{attribute}", "w") as file:
        file.write(str(value))


class Wire:
    """A pair of devices whose other end is in the name space FAR; a veth without a rate."""

    def __init__(self, name, rate_bps=0, queues=1):
        self.name, self.rate_bps, self.queues = name, rate_bps, queues

    def make(self):
        peer = self.name + "p"
        if self.rate_bps:
            sh("ip", "link", "add", self.name, "numtxqueues", str(self.queues), "type", "simwire")
            for end in (self.name, peer):
                set_wire(end, "rate_bps", self.rate_bps)
        else:
            sh("ip", "link", "add", self.name, "type", "veth", "peer", "name", peer)
        sh("ip", "link", "set", peer, "netns", FAR)
        sh("ip", "-n", FAR, "link", "set", peer, "up")
        sh("ip", "link", "set", self.name, "up")

    def index(self):
        return socket.if_nametoindex(self.name)
