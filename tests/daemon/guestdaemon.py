# SPDX-License-Identifier: Apache-2.0
"""A guest's headwayd: its configuration, its life, the device it paces."""

import collections
import contextlib
import os
import pathlib
import queue
import re
import signal
import struct
import subprocess
import sys
from typing import NamedTuple

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "tc"))

from fdstore import LAUNCHER, Notifications, Store
from tcguest import (classes, eventually, frame, matches, note, packets, qdiscs, root_qdisc, run,
                     send_frames, sh, simwire, state)
from ktap import HANGS_AFTER_S, equal

BIN = os.path.join(os.environ["HW_BUILD"], "bin")
MODULES = os.path.join(os.environ["HW_BUILD"], "kmod", os.uname().release)
DEV = "eth0"
CONFIG, SOCKET = "/tmp/headway.toml", "/run/headway/control.sock"
STATE = "/tmp/headway-state"
EVERYBODY = [f"a{i}" for i in range(4)] + [f"b{i}" for i in range(4)]
# U * trunk / senders = 0.99 * 1.25 Gbit/s / 4 = 309.375 Mbit/s: whole bytes/s
PLANNED = "309375Kbit"

running = []  # daemons of the case


class Program(NamedTuple):
    backend: str
    kind: str
    root: str
    mq_root: str

    @property
    def line(self):
        """Of headway.toml."""
        return f'backend = "{self.backend}"'


FQ, BPF = Program("fq", "fq", "4857:", "4858:"), Program("bpf", "headway", "4859:", "485a:")
# Linux 6.16 and later.
HAS_BPF_QDISCS = re.search(r" bpf_qdisc_watchdog_schedule$", pathlib.Path("/proc/kallsyms").read_text(), re.MULTILINE)


def config(**more):
    """The text of a configuration; `more` replaces lines of it."""
    values = {"policy": "", "interface": f'interface = "{DEV}"', "daemon": "",
              "host_rate": 'host_rate = "1gbit"', "phases": 'phases = "off"',
              "gap_frames": 'gap_frames = "off"', "backend": "", **more}
    return f"""
[node]
name = "a0"
{values["interface"]}
[policy]
{values["policy"]}
[kernel]
{values["phases"]}
{values["gap_frames"]}
{values["backend"]}
[daemon]
{values["daemon"]}
[[cluster]]
name = "a"
hosts = ["a[0-3]"]
prefixes = ["10.1.0.0/16", "fd00:1::/64"]
{values["host_rate"]}
trunk_rate = "1.25gbit"
[[cluster]]
name = "b"
hosts = ["b[0-3]"]
prefixes = ["10.2.0.0/16", "10.3.7.0/24", "fd00:2::/64"]
{values["host_rate"]}
trunk_rate = "1.25gbit"
"""


def write_config(text):
    with open(CONFIG, "w") as file:
        file.write(text)


class Daemon:
    """headwayd in the foreground; ready when it says so to systemd's socket.

    `store` is what outlives it; without one, what it stores goes with it.
    """

    def __init__(self, text, wait=True, wrapper=(), options=(), store=None, program=None,
                 state=STATE):
        write_config(text)
        self.own_store = None if store else Store()
        self.notify = Notifications(store or self.own_store)
        self.log = open("/tmp/headwayd.log", "w+")
        command = [*LAUNCHER, *wrapper, program or f"{BIN}/headwayd", "--config", CONFIG,
                   "--verbose", *options]
        launch, environment = (store or self.own_store).launch()
        self.process = subprocess.Popen(command, stdout=self.log, stderr=self.log, **launch,
                                        env=dict(os.environ, NOTIFY_SOCKET=self.notify.path,
                                                 STATE_DIRECTORY=state,
                                                 **environment))
        running.append(self)
        if wait:
            self.expect("READY=1")

    def expect(self, word):
        """Read notifications until one has that word."""
        try:
            while word not in (text := self.notify.texts.get(timeout=HANGS_AFTER_S)):
                note(f"notification: {text!r}")
        except queue.Empty:
            raise AssertionError(f"no {word}; the daemon said:\n{self.said()}") from None

    def said(self):
        self.log.seek(0)
        return self.log.read()

    def ended(self):
        """Exit status, when it ends by itself."""
        return self.process.wait(timeout=HANGS_AFTER_S)

    def stop(self):
        self.process.terminate()
        return self.ended()

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait(timeout=HANGS_AFTER_S)
        if self.own_store:
            self.own_store.clear()

    @staticmethod
    def kill_last():
        running.pop().kill()


def kill_clients():
    """Kills the clients of control.py: a child of one that was killed goes on by itself, storing.
    """
    for process in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            with open(f"/proc/{process}/cmdline", "rb") as words:
                if b"/control.py" in words.read():
                    os.kill(int(process), signal.SIGKILL)


def end_all():
    """No client, no daemon, no qdisc."""
    kill_clients()
    while running:
        running.pop().kill()
    for qdisc in ("root", "clsact"):
        run("tc", "qdisc", "del", "dev", DEV, qdisc)


def clean():
    """Before each case: nor a socket, nor a job."""
    end_all()
    sh("ip", "link", "set", DEV, "gso_max_segs", "65535")
    run("rm", "-rf", SOCKET, SOCKET + ".jobs", STATE)
    equal([q for q in qdiscs(DEV) if q["kind"] in ("gap", "fq", "clsact")], [])


def refused_to_start(text, status, pattern, dev=DEV):
    """headwayd must end with that status and reason and leave the kernel alone."""
    before = state(dev)
    daemon = Daemon(text, wait=False)
    equal((daemon.ended(), daemon.said().count("\n") > 0), (status, True))
    matches(daemon.said(), pattern)
    equal(state(dev), before)
    equal(os.path.exists(SOCKET), False)


def rate_of(classid):
    return classes(DEV)[classid]["rate"]


def direct_packets():
    return root_qdisc(DEV, "-s")["direct_packets"]


def goes_to_no_class():
    """Three packets are sent, and no class counts them: they are direct, or bypass the qdisc."""
    before, before_by_class = root_qdisc(DEV, "-s")["packets"], packets(DEV)
    send_frames(DEV, frame("10.2.0.1", 1000), 3)
    eventually(lambda: root_qdisc(DEV, "-s")["packets"] >= before + 3, "the packets")
    return packets(DEV) == before_by_class


def at_rest():
    return all(c["rate"] == "unlimited" for c in classes(DEV).values())


NEXT_BYTES = 1042           # of a frame of bytes_per_s_of_next()
NEXT_WIRE_BYTES = NEXT_BYTES + 24


# On the wire, of a TCP segment without payload.  Whether an end is one of these, or goes with the last
# payload, and whether a handshake's has left when connect() returns, depends on who runs first.
BARE_SEGMENT_BYTES = 66 + 24


def records():
    """Returns IPv4 frames with a payload, since simwire records: (ns at which it began on the wire,
    bytes there)."""
    with open(f"/sys/class/net/{DEV}/simwire/records", "rb") as file:
        data = file.read()
    frames = [struct.unpack("=QI2s2x", data[at:at + 16]) for at in range(0, len(data), 16)]
    return [(start, wire_bytes) for start, wire_bytes, protocol in frames
            if protocol == b"\x08\x00" and wire_bytes > BARE_SEGMENT_BYTES]


def frame_starts(wanted):
    """When each of so many began, and there are no more."""
    eventually(lambda: len(records()) >= wanted, f"{wanted} frames")
    found = records()
    equal(len(found), wanted, f"frames, of these sizes: {dict(collections.Counter(size for _, size in found))}:")
    return [start for start, _ in found]


def bytes_per_s_of_next(destination):
    """Returns the wire time between two frames that are sent one behind the other."""
    simwire(DEV, "record_frames", 64)
    send_frames(DEV, frame(destination, NEXT_BYTES - 42), 3)
    starts = frame_starts(3)
    return NEXT_WIRE_BYTES * 10**9 / (starts[2] - starts[1])


def paced_at(bytes_per_s, destination="10.2.0.1", when=None):
    """The next packets there leave at that rate."""
    measured = bytes_per_s_of_next(destination)
    equal((when, 0.995 < measured / bytes_per_s < 1.005, measured, bytes_per_s),
          (when, True, measured, bytes_per_s))


def is_unpaced(destination="10.2.0.1"):
    """The next packets there leave as fast as this program sends them."""
    return bytes_per_s_of_next(destination) > 5_000_000


def unpaced(destination="10.2.0.1"):
    equal(is_unpaced(destination), True)


def make_device():
    for module in ("sch_htb", "cls_bpf", "cls_flower", "veth"):
        sh("modprobe", module)
    for module in ("simwire", "sch_gap"):
        sh("insmod", f"{MODULES}/{module}.ko")
    add_device()


def add_device(queues=1):
    sh("ip", "link", "add", DEV, "numtxqueues", str(queues), "type", "simwire")
    for end in (DEV, f"{DEV}p"):
        # what the kernel sends on its own would be in the counters
        with open(f"/proc/sys/net/ipv6/conf/{end}/disable_ipv6", "w") as file:
            file.write("1")
        sh("ip", "link", "set", end, "up")
