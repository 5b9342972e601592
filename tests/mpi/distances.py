#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""How far apart full data frames of a wire's records start, in byte-times.

usage: distances.py RECORDS LINK_BPS FROM_S UNTIL_S [MOST]

Looks at the frames that start between the two times (CLOCK_MONOTONIC), up to the
MOSTth full data frame of them, and prints

  FRAMES LEAST MEDIAN WITHOUT_GAP TOO_EARLY LONGEST_OTHER

the number of full data frames, the least and the median distance from one to the
next, how many follow the one before without a gap frame in between, how many of these
should have waited, and the longest other frame that is no gap.  In paced traffic there
is nothing to wait for where the distance is more than twice the median, as the sender
had nothing to send, nor after a late frame (the guest waited for the host's disk), for
which the qdisc makes up by one period at most.
"""
import statistics
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1] / "lib"))
import wire_records  # noqa: E402

FULL_FRAME = 1538
SHORTEST_GAP = 84


def between(frames, from_s, until_s, most):
    inside = [frame for frame in frames if from_s <= frame.start_s < until_s]
    full = [i for i, frame in enumerate(inside) if is_full(frame)]
    return inside[:full[most - 1] + 1] if len(full) > most else inside


def is_full(frame):
    return frame.wire_bytes == FULL_FRAME and frame.ethertype != wire_records.MAC_CONTROL


def judge(frames, link_bps):
    full = [i for i, frame in enumerate(frames) if is_full(frame)]
    pairs = list(zip(full, full[1:]))
    byte_times = [(frames[after].start_ns - frames[before].start_ns) * link_bps / 8e9
                  for before, after in pairs] or [0]
    median = statistics.median(byte_times)
    without_gap = too_early = late = 0
    for distance, (before, after) in zip(byte_times, pairs):
        if all(frame.ethertype != wire_records.MAC_CONTROL for frame in frames[before:after]):
            without_gap += 1
            too_early += distance <= 2 * median and late < SHORTEST_GAP
        late = min(max(0, late + distance - median), median)
    others = [frame.wire_bytes for frame in frames
              if frame.ethertype != wire_records.MAC_CONTROL and not is_full(frame)]
    return (len(full), round(min(byte_times)), round(median), without_gap, too_early,
            max(others, default=0))


if __name__ == "__main__":
    if len(sys.argv) not in (5, 6):
        sys.exit(__doc__.strip())
    recorded = wire_records.parse(Path(sys.argv[1]).read_bytes())
    link, begin, end, *limit = map(float, sys.argv[2:])
    print(*judge(between(recorded, begin, end, int(limit[0]) if limit else len(recorded)), link))
