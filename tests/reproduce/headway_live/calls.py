# SPDX-License-Identifier: Apache-2.0
"""Times of single calls: what is computed of them."""

from statistics import mean, median

# A call that waits for a timer takes at least this long: Linux sends a probe for a lost tail after
# two jiffies of 4 ms, of which the first one may be nearly over, and retransmits no sooner than
# after 200 ms.
EXCESS_MS = 4
TIMED_OUT_MS = 150
# Calls further apart than that are of different levels.
LEVEL_GAP_MS = 10


def excesses(samples, least=None):
    """Returns by how much calls of one size take longer than `least` (the shortest), where that is
    too long for anything but a timer."""
    least = min(samples) if least is None else least
    return [sample - least for sample in samples if sample - least >= EXCESS_MS]


def timed_out(samples):
    """Where even the shortest may have waited: those that took as long as a retransmission time-out."""
    return [sample for sample in samples if sample >= TIMED_OUT_MS]


def levels(values):
    """Groups of values with nothing near them: (least, most, how many) of each."""
    groups = []
    for value in sorted(values):
        if groups and value - groups[-1][-1] <= LEVEL_GAP_MS:
            groups[-1].append(value)
        else:
            groups.append([value])
    return [(group[0], group[-1], len(group)) for group in groups]


def histogram(samples, width):
    """Counts of bins from 0 on, the last one that of the longest."""
    counts = [0] * (int(max(samples) // width) + 1)
    for sample in samples:
        counts[int(sample // width)] += 1
    return counts


def straight_line(points):
    """(start, slope) of y over x by least squares."""
    x_mean, y_mean = mean(x for x, _ in points), mean(y for _, y in points)
    slope = sum((x - x_mean) * (y - y_mean) for x, y in points) / sum((x - x_mean) ** 2 for x, _ in points)
    return y_mean - slope * x_mean, slope


def error_pct(measured, predicted):
    """The papers' own: measured / predicted - 1."""
    return 100 * (measured / predicted - 1)


def within(errors, limit_pct):
    """The part of errors of at most so many per cent."""
    return sum(abs(error) <= limit_pct for error in errors) / len(errors)


def summary(result, least=None):
    """Returns a size's milliseconds, and how many calls waited for a timer; `least` as of
    excesses()."""
    samples = result["samples_ms"]
    return {"bytes": result["bytes"], "calls": len(samples), "median": median(samples), "mean": mean(samples), "least": min(samples),
            "most": max(samples), "escalated": len(excesses(samples, least)), "timed_out": len(timed_out(samples)), "timeouts": result["timeouts"],
            "probes": result["loss_probes"], "retransmits": result["retransmits"], "drops": result["drops"]}


def ms(value):
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def signed(value):
    """Writes a whole number of per cent, without a sign at 0."""
    return f"{round(value):+d}" if round(value) else "0"


def kib(size):
    return f"{size / 1024:g} KiB" if size >= 1024 else f"{size} B"
