# SPDX-License-Identifier: Apache-2.0
"""One all-to-all as the trunk saw it, from the wires' exact record of every frame."""

from dataclasses import dataclass

BINS = 400              # of a picture, at most
BINS_OF_A_BOUND = 100   # no finer than that: a bin is to hold several frames
MARGIN = 0.04           # of the call, before and after it
# On the wire: an acknowledgement without data, with time stamps and three SACK blocks,
# has less, a frame with data more.
LEAST_DATA_BYTES = 150
# The parts of a call's time on one way of the trunk, in their order but for the middle three.
PARTS = ("before", "data", "acknowledgements", "idle", "after")


@dataclass(frozen=True)
class Call:
    """When all ranks began, and when the first and the last of them were through."""

    start_s: float
    first_through_ms: float
    ms: float

    @property
    def end_s(self):
        return self.start_s + self.ms / 1e3


def call_of(case):
    """The only sampled one of a case, as collective_bench tells of it."""
    start_s, first_through_ms, ms = (case[name][0] for name in
                                     ("starts_s", "first_through_ms", "samples_ms"))
    return Call(start_s, first_through_ms, ms)


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


def make(contender, message_bytes, call, directions, rate_bps, bound_ms):
    """A trace as it is kept in a file; `directions`: name -> frames of that way."""
    bin_ms = max(bound_ms / BINS_OF_A_BOUND, call.ms * (1 + 2 * MARGIN) / BINS)
    margin_ms = MARGIN * call.ms
    start_s, end_s = call.start_s - margin_ms / 1e3, call.end_s + margin_ms / 1e3
    return {
        "contender": contender,
        "bytes": message_bytes,
        "ms": call.ms,
        "first_through_ms": call.first_through_ms,
        "margin_ms": margin_ms,
        "bin_ms": bin_ms,
        "directions": {
            name: {"utilisation": utilisation(frames, rate_bps, start_s, end_s, bin_ms / 1e3),
                   "parts_us": parts_us(call, frames, rate_bps)}
            for name, frames in directions.items()},
    }


def parts_us(call, frames, rate_bps):
    """Says where the time of a call went on one way of the trunk, part by part; None if no data was
    sent.  What comes after the last frame is its way over the trunk and to its host, and what
    the kernel and the library do with it.

    What comes after the last frame is its way over the trunk and to its host, and what
    the kernel and the library do with it.
    """
    within = [frame for frame in frames if call.start_s <= frame.start_s < call.end_s]
    data = [frame for frame in within if frame.wire_bytes >= LEAST_DATA_BYTES]
    if not data:
        return None

    def held_us(some):
        return sum(frame.wire_bytes for frame in some) * 8 / rate_bps * 1e6

    first_s, end_s = data[0].start_s, data[-1].start_s + held_us(data[-1:]) / 1e6
    between = [frame for frame in within
               if first_s <= frame.start_s < end_s and frame.wire_bytes < LEAST_DATA_BYTES]
    before_us, spanned_us = (first_s - call.start_s) * 1e6, (end_s - first_s) * 1e6
    data_us, acks_us = held_us(data), held_us(between)
    values = (before_us, data_us, acks_us, spanned_us - data_us - acks_us, (call.end_s - end_s) * 1e6)
    return {name: round(value, 1) for name, value in zip(PARTS, values)}
