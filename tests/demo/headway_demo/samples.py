# SPDX-License-Identifier: Apache-2.0
"""What was measured in one mpirun at one size, and what several add up to."""

from dataclasses import dataclass, field
from statistics import median


@dataclass(frozen=True)
class SizeRun:
    """The sampled calls of one size in one mpirun, warm-up not included."""

    message_bytes: int
    samples_ms: tuple
    warmup_ms: tuple
    timeouts: int          # TCPTimeouts, all nodes
    retransmits: int       # RetransSegs, all nodes
    drops: dict = field(default_factory=dict)  # switch port (trka and trkb: the trunk) -> frames
    softirq_s: float = 0.0
    busy_s: float = 0.0
    elapsed_s: float = 0.0  # of virtual time, over which the above was counted

    @property
    def trunk_drops(self):
        return sum(count for port, count in self.drops.items() if is_trunk(port))

    @property
    def port_drops(self):
        return sum(count for port, count in self.drops.items() if not is_trunk(port))

    @property
    def lossy(self):
        return bool(self.timeouts or self.retransmits or sum(self.drops.values()))

    @classmethod
    def from_event(cls, event):
        return cls(
            message_bytes=event["bytes"],
            samples_ms=tuple(event["samples_ms"]),
            warmup_ms=tuple(event["warmup_ms"]),
            timeouts=event["timeouts"],
            retransmits=event["retransmits"],
            drops=dict(event["drops"]),
            softirq_s=event["softirq_s"],
            busy_s=event["busy_s"],
            elapsed_s=event["elapsed_s"],
        )


def is_trunk(port):
    return port.startswith("trk")


def median_ms(runs):
    return median(sample for run in runs for sample in run.samples_ms)


def worst_ms(runs):
    return max(sample for run in runs for sample in run.samples_ms)


def share(part_s, whole_s):
    return part_s / whole_s if whole_s else 0.0


def summary(runs, bound_ms):
    """The figures of one contender at one size, as they stand in demo.json."""
    middle = median_ms(runs)
    drops = {}
    for run in runs:
        for port, count in run.drops.items():
            drops[port] = drops.get(port, 0) + count
    elapsed_s = sum(run.elapsed_s for run in runs)
    return {
        "median_ms": round(middle, 3),
        "max_ms": round(worst_ms(runs), 3),
        "bound_ratio": round(middle / bound_ms, 4),
        "timeouts": sum(run.timeouts for run in runs),
        "retransmits": sum(run.retransmits for run in runs),
        "trunk_drops": sum(run.trunk_drops for run in runs),
        "port_drops": sum(run.port_drops for run in runs),
        "drops": dict(sorted(drops.items())),
        "samples": sum(len(run.samples_ms) for run in runs),
        "mpiruns": len(runs),
        "samples_ms": [list(run.samples_ms) for run in runs],
        "warmup_max_ms": round(max((ms for run in runs for ms in run.warmup_ms), default=0.0), 3),
        "softirq_share": round(share(sum(run.softirq_s for run in runs), elapsed_s), 4),
        "busy_share": round(share(sum(run.busy_s for run in runs), elapsed_s), 4),
    }
