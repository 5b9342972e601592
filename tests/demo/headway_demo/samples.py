# SPDX-License-Identifier: Apache-2.0
"""Holds what was measured in one launch at one size and way, and adds up several."""

from dataclasses import dataclass, field
from statistics import fmean, median, stdev


@dataclass(frozen=True)
class SizeRun:
    """The sampled calls of one case in one launch, warm-up not included."""

    message_bytes: int
    samples_ms: tuple
    warmup_ms: tuple
    timeouts: int          # TCPTimeouts, all nodes
    retransmits: int       # RetransSegs, all nodes
    drops: dict = field(default_factory=dict)  # switch port (trka and trkb: the trunk) -> frames
    softirq_s: float = 0.0
    busy_s: float = 0.0
    elapsed_s: float = 0.0  # of guest time, over which the above was counted, without pauses
    pauses_ms: int = 0      # slept before each call
    first_ms: float = None  # of the launch's first call, if this was its first case
    slowest_flow_to_mean: float = 0.0
    warmup_timeouts: int = 0    # from the launch, or from the case before, to the first sample
    warmup_drops: int = 0

    @property
    def trunk_drops(self):
        return sum(count for port, count in self.drops.items() if is_trunk(port))

    @property
    def port_drops(self):
        return sum(count for port, count in self.drops.items() if not is_trunk(port))

    @classmethod
    def from_event(cls, event):
        slept_s = len(event["samples_ms"]) * event["between_ms"] / 1e3
        return cls(
            message_bytes=event["bytes"],
            samples_ms=tuple(event["samples_ms"]),
            warmup_ms=tuple(event["warmup_ms"]),
            timeouts=event["timeouts"],
            retransmits=event["retransmits"],
            drops=dict(event["drops"]),
            softirq_s=event["softirq_s"],
            busy_s=event["busy_s"],
            elapsed_s=max(event["elapsed_s"] - slept_s, 0.0),
            pauses_ms=event["between_ms"],
            first_ms=event.get("first_ms"),
            slowest_flow_to_mean=event["slowest_flow_to_mean"],
            warmup_timeouts=event["warmup"]["timeouts"],
            warmup_drops=sum(event["warmup"]["drops"].values()),
        )


def is_trunk(port):
    return port.startswith("trk")


def all_samples(runs):
    return [sample for run in runs for sample in run.samples_ms]


def median_ms(runs):
    return median(all_samples(runs))


def share(part_s, whole_s):
    return part_s / whole_s if whole_s else 0.0


def variation(values):
    """Standard deviation / mean."""
    return stdev(values) / fmean(values) if len(values) > 1 else 0.0


def added(counts):
    """Sums of dictionaries of numbers."""
    sums = {}
    for count in counts:
        for key, number in count.items():
            sums[key] = sums.get(key, 0) + number
    return dict(sorted(sums.items()))


def summary(runs, bound_ms, firsts_ms=()):
    """The figures of one contender at one size and way, as they stand in demo.json.

    `firsts_ms`: first calls of the launches that began with this size."""
    values = all_samples(runs)
    elapsed_s = sum(run.elapsed_s for run in runs)
    return {
        "median_ms": round(median(values), 3),
        "max_ms": round(max(values), 3),
        "first_ms": round(max(firsts_ms), 3) if firsts_ms else None,
        "cv": round(variation(values), 4),
        "bound_ratio": round(median(values) / bound_ms, 4),
        "timeouts": sum(run.timeouts for run in runs),
        "retransmits": sum(run.retransmits for run in runs),
        "trunk_drops": sum(run.trunk_drops for run in runs),
        "port_drops": sum(run.port_drops for run in runs),
        "drops": added(run.drops for run in runs),
        "warmup_timeouts": sum(run.warmup_timeouts for run in runs),
        "warmup_drops": sum(run.warmup_drops for run in runs),
        "slowest_flow_to_mean": round(median(run.slowest_flow_to_mean for run in runs), 4),
        "samples": len(values),
        "mpiruns": len(runs),
        "samples_ms": [list(run.samples_ms) for run in runs],
        "firsts_ms": sorted(firsts_ms),
        "warmup_max_ms": round(max((ms for run in runs for ms in run.warmup_ms), default=0.0), 3),
        "softirq_share": round(share(sum(run.softirq_s for run in runs), elapsed_s), 4),
        "busy_share": round(share(sum(run.busy_s for run in runs), elapsed_s), 4),
    }
