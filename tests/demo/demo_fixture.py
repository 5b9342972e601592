# SPDX-License-Identifier: Apache-2.0
"""Results as a guest would report them, made by arithmetic, for the tests."""

import random
import socket

from headway_demo import result, trace
from headway_demo.contender import CONTENDERS
from headway_demo.samples import SizeRun
from headway_demo.scene import bound

import wire_records     # headway_demo knows where it is

# contender -> (median / bound, spread, losses per all-to-all)
CHARACTER = {
    "stock": (1.5, 0.3, 300), "rto_min": (1.09, 0.08, 150), "fq": (1.4, 0.1, 20),
    "htb": (1.14, 0.05, 12), "htb_sfq": (1.18, 0.06, 20), "dctcp": (1.11, 0.2, 40),
    "headway": (1.07, 0.004, 0),
}


def size_run(name, scene, size, random_source, samples=3):
    ratio, spread, losses = CHARACTER[name]
    bound_ms, _ = bound(scene, size)
    times = tuple(round(bound_ms * (ratio + spread * random_source.random()), 3)
                  for _ in range(samples))
    return SizeRun(
        message_bytes=size, samples_ms=times, warmup_ms=(round(times[0] * 1.5, 3),),
        timeouts=losses * samples // 100, retransmits=losses * samples,
        drops={"pa0": losses, "pb1": losses // 2, "trka": losses * 2, "trkb": losses},
        softirq_s=0.2 * sum(times) / 1e3, busy_s=0.3 * sum(times) / 1e3, elapsed_s=sum(times) / 1e3)


def collected(scene, names=tuple(CONTENDERS), mpiruns=5, seed=1):
    random_source = random.Random(seed)
    found = result.Collected(scene)
    for name in names:
        transport = CONTENDERS[name].transports[-1]
        for size in scene.sizes:
            for _ in range(mpiruns):
                found.add(name, transport, size_run(name, scene, size, random_source))
            found.choose(name, size, transport)
        found.plans[name] = f"tc qdisc show dev eth0   # as {name} leaves it"
    return found


def document(*scenes, **options):
    return result.document([collected(scene, **options) for scene in scenes],
                           {"made": "by demo_fixture.py", "command": "tests/demo/demo"})


def records(start_s, seconds, share, rate_bps, wire_bytes=1538):
    """simwire's binary records of equal frames that fill `share` of the time."""
    interval_ns = int(wire_bytes * 8 / rate_bps / share * 1e9)
    return b"".join(wire_records.RECORD.pack(int(start_s * 1e9) + i * interval_ns, wire_bytes,
                                             socket.htons(0x0800), 0)
                    for i in range(int(seconds * 1e9 / interval_ns)))


def trunk_trace(scene, name, share, calls=3, call_s=0.4):
    starts = [100.0 + i * (call_s + 0.03) for i in range(calls)]
    directions = {
        way: [frame for start in starts
              for frame in wire_records.parse(records(start, call_s, share * part,
                                                      scene.trunk_rate_bps))]
        for way, part in (("a to b", 1.0), ("b to a", 0.95))}
    return trace.make(name, 65536, [(start, call_s * 1e3) for start in starts], directions,
                      scene.trunk_rate_bps)
