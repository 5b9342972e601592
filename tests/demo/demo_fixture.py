# SPDX-License-Identifier: Apache-2.0
"""Results as a guest would report them, made by arithmetic, for the tests."""

import random
import socket

from headway_demo import result, trace
from headway_demo.contender import CONTENDERS
from headway_demo.samples import SizeRun
from headway_demo.scene import KIB, bound, floor_ms

import wire_records     # headway_demo knows where it is

# contender -> (median / floor, spread, losses per all-to-all)
CHARACTER = {
    "stock": (12.0, 20.0, 300), "stock_tuned": (11.0, 20.0, 300), "rto_min": (9.0, 6.0, 150),
    "rto_min_least": (8.0, 6.0, 150), "rto_delack": (8.0, 6.0, 150),
    "throttle": (10.0, 20.0, 200), "pairwise": (14.0, 20.0, 100), "dctcp": (8.0, 7.0, 40),
    "bbr": (13.0, 9.0, 300),
    "fq": (1.4, 0.1, 20), "htb": (1.14, 0.05, 12), "htb_sfq": (1.18, 0.06, 20),
    "fq_rates": (1.4, 0.1, 20), "htb_rates": (1.14, 0.05, 12), "htb_rates_sfq": (1.18, 0.06, 20),
    "headway_timer": (1.02, 0.004, 0), "headway_fq": (1.03, 0.004, 0), "headway_bpf": (1.03, 0.004, 0),
    "headway_alone": (1.03, 0.004, 0),
    "headway": (1.01, 0.004, 0),
}
SIZES = (16 * KIB, 64 * KIB)


def run_of(samples_ms, size=64 * KIB, **counts):
    return SizeRun(size, tuple(samples_ms), (1.0,), counts.pop("timeouts", 0),
                   counts.pop("retransmits", 0), counts.pop("drops", {}),
                   softirq_s=1.0, busy_s=2.0, elapsed_s=10.0, **counts)


def size_run(name, scene, size, random_source, samples=3, pauses_ms=0, first=True):
    ratio, spread, losses = CHARACTER[name]
    least_ms = floor_ms(scene, size)
    times = tuple(round(least_ms * (ratio + spread * random_source.random()), 4)
                  for _ in range(samples))
    return SizeRun(
        message_bytes=size, samples_ms=times, warmup_ms=(round(times[0] * 1.5, 3),),
        timeouts=losses * samples // 100, retransmits=losses * samples,
        drops={"pa0": losses, "pb1": losses // 2, "trka": losses * 2, "trkb": losses},
        softirq_s=0.2 * sum(times) / 1e3, busy_s=0.3 * sum(times) / 1e3, elapsed_s=sum(times) / 1e3,
        pauses_ms=pauses_ms, first_ms=round(times[0] * 1.2, 3) if first else None,
        slowest_flow_to_mean=0.98, warmup_timeouts=losses // 100, warmup_drops=losses)


def collected(scene, names=tuple(CONTENDERS), libraries=("ompi",), ways=(0, 300), launches=5, seed=1):
    random_source = random.Random(seed)
    found = result.Collected(scene)
    for name in names:
        for library in libraries:
            for size in SIZES:
                for pauses_ms in ways:
                    for number in range(launches):
                        found.add(name, library, CONTENDERS[name].settings[0],
                                  size_run(name, scene, size, random_source, pauses_ms=pauses_ms,
                                           first=number % 2 == 0))
        found.plans[name] = f"tc qdisc show dev eth0   # as {name} leaves it"
    return found


def document(*scenes, **options):
    made = result.document([collected(scene, **options) for scene in scenes],
                           {"made": "by demo_fixture.py", "command": "tests/demo/demo"})
    for part in made["scenes"]:
        for message in part["messages"]:
            floor = message["floor_ms"]
            message["predicted_ms"] = {"unpaced": [floor * 0.95, floor * 0.95 + 400], "paced": [floor, floor]}
    return made


def records(start_s, seconds, share, rate_bps, wire_bytes=1538):
    """simwire's binary records of equal frames that fill `share` of the time."""
    interval_ns = int(wire_bytes * 8 / rate_bps / share * 1e9)
    return b"".join(wire_records.RECORD.pack(int(start_s * 1e9) + i * interval_ns, wire_bytes,
                                             socket.htons(0x0800), 0)
                    for i in range(int(seconds * 1e9 / interval_ns)))


def trunk_trace(scene, name, share, call_s=0.008):
    """Makes a call in which the trunk carries data from 0.1 ms after the start to 0.2 ms before the
    end."""
    call = trace.Call(100.0, (call_s - 0.0001) * 1e3, call_s * 1e3)
    directions = {
        way: wire_records.parse(records(call.start_s + 0.0001, call_s - 0.0003, share * part,
                                        scene.trunk_rate_bps))
        for way, part in (("a to b", 1.0), ("b to a", 0.95))}
    return trace.make(name, 65536, call, directions, scene.trunk_rate_bps, bound(scene, 65536)[0])
