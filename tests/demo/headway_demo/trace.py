# SPDX-License-Identifier: Apache-2.0
"""Trunk utilisation over time, from the wire's exact record of every frame."""

BINS_OF_A_BOUND = 40    # of the least time that an exchange takes
MARGIN_BINS = 4         # before the first call and after the last


def utilisation(frames, rate_bps, start_s, end_s, bin_s):
    """Share of each bin of [start_s, end_s) in which the wire carried frames.

    `frames` as wire_records has them.  One that spans bins counts in each for
    the time it held the wire there.
    """
    bins = max(int(round((end_s - start_s) / bin_s)), 1)
    held_s = [0.0] * bins
    for frame in frames:
        begin = frame.start_s - start_s
        end = begin + frame.wire_bytes * 8 / rate_bps
        first = max(int(begin // bin_s), 0)
        last = min(int(end // bin_s), bins - 1)
        for i in range(first, last + 1):
            held_s[i] += max(min(end, (i + 1) * bin_s) - max(begin, i * bin_s), 0.0)
    return [round(min(held / bin_s, 1.0), 4) for held in held_s]


def make(contender, message_bytes, calls, directions, rate_bps, bin_s):
    """A trace as it is kept in a file: calls are (start_s, milliseconds)."""
    margin_s = MARGIN_BINS * bin_s
    start_s = calls[0][0] - margin_s
    end_s = calls[-1][0] + calls[-1][1] / 1e3 + margin_s
    return {
        "contender": contender,
        "bytes": message_bytes,
        "rate_bps": rate_bps,
        "bin_ms": round(bin_s * 1e3, 6),
        "calls": [{"start_ms": round((begin - start_s) * 1e3, 3), "ms": ms} for begin, ms in calls],
        "directions": {name: utilisation(frames, rate_bps, start_s, end_s, bin_s)
                       for name, frames in directions.items()},
    }
