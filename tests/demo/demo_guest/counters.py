# SPDX-License-Identifier: Apache-2.0
"""Reads what nodes, switches and the processor have counted, while all is quiet."""

import socket
import struct
import time
from dataclasses import dataclass
from pathlib import Path

import rtnetlink

TCA_STATS_QUEUE = 3     # in TCA_STATS2: queued packets and bytes, drops, ...


def table_value(text, group, name):
    """A value of /proc/net/snmp or netstat: a line of names, a line of values."""
    lines = [line.split() for line in text.splitlines() if line.startswith(group + ":")]
    if len(lines) == 2 and name in lines[0]:
        return int(lines[1][lines[0].index(name)])
    raise ValueError(f"the kernel does not count {group} {name}")


@dataclass(frozen=True)
class Snapshot:
    clock_s: float
    softirq_s: float
    idle_s: float
    timeouts: int
    retransmits: int
    drops: dict

    def since(self, before):
        """Returns what happened between two snapshots, as it is reported."""
        elapsed_s = self.clock_s - before.clock_s
        return {
            "elapsed_s": round(elapsed_s, 6),
            "softirq_s": round(self.softirq_s - before.softirq_s, 6),
            "busy_s": round(elapsed_s - (self.idle_s - before.idle_s), 6),
            "timeouts": self.timeouts - before.timeouts,
            "retransmits": self.retransmits - before.retransmits,
            "drops": {port: count - before.drops.get(port, 0) for port, count in self.drops.items()},
        }


class PortDrops:
    """Returns what the root qdiscs of ports have dropped.  It starts no program, because counters
    are read often, and starting one is what costs an emulated processor most."""

    def __init__(self, ports):
        self.ports = {socket.if_nametoindex(port): port for port in ports}
        self.netlink = rtnetlink.Netlink()

    def read(self):
        found = {}
        for body in self.netlink.dump(rtnetlink.RTM_GETQDISC, 0):
            _, _, _, ifindex, _, parent, _ = rtnetlink.TCMSG.unpack_from(body)
            if parent == rtnetlink.TC_H_ROOT and ifindex in self.ports:
                found[self.ports[ifindex]] = drops_of(body[rtnetlink.TCMSG.size:])
        return found


def drops_of(attributes):
    stats = dict(rtnetlink.decode(dict(rtnetlink.decode(attributes))[rtnetlink.TCA_STATS2]))
    return struct.unpack_from("=III", stats[TCA_STATS_QUEUE])[2]


class Counters:
    """`node_pids`: a process in each node's network; `read_drops`: port -> frames."""

    def __init__(self, node_pids, read_drops, softirq_meter):
        self.node_pids = node_pids
        self.read_drops = read_drops
        self.softirq_meter = softirq_meter

    def before(self):
        """Counts at the beginning of an interval: the clock is read last."""
        counted = self._counted()
        return Snapshot(drops=self.read_drops(), **counted, **self._clocks())

    def after(self):
        """Counts at its end: the clock is read first."""
        clocks = self._clocks()
        return Snapshot(drops=self.read_drops(), **self._counted(), **clocks)

    def _clocks(self):
        return {"clock_s": time.monotonic(), "softirq_s": self.softirq_meter.spent_s(),
                "idle_s": idle_s()}

    def _counted(self):
        timeouts = retransmits = 0
        for pid in self.node_pids:
            net = Path(f"/proc/{pid}/net")
            timeouts += table_value((net / "netstat").read_text(), "TcpExt", "TCPTimeouts")
            retransmits += table_value((net / "snmp").read_text(), "Tcp", "RetransSegs")
        return {"timeouts": timeouts, "retransmits": retransmits}


def idle_s():
    """Idle time of the one processor: to the nanosecond, by kernels that tell; to 10 ms by later ones than 6.12."""
    for line in Path("/proc/timer_list").read_text().splitlines():
        words = line.split()
        if words[:2] == [".idle_sleeptime", ":"]:
            return int(words[2]) / 1e9
    return float(Path("/proc/uptime").read_text(encoding="ascii").split()[1])
