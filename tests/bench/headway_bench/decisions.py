# SPDX-License-Identifier: Apache-2.0
"""Names what tests/bench/decisions measures and judges the planner's decisions."""

from statistics import median

OPERATIONS = ("alltoall", "gather")
SIZES = (1024, 4096, 16384, 65536)
# Ways by contender of tests/demo/contenders.  "unpaced": by the algorithms that Headway chooses,
# with nothing paced.  "cautious": a headway.toml without buffers, which paces whatever might lose
# a packet.  "described": the true buffers.  "measured": the file that headway measure has written
# and its document.
WAYS = {"stock": "stock", "unpaced": "headway_unpaced", "cautious": "headway", "described": "headway",
        "measured": "headway"}
CHOICE = "measured"
MOST_SLOWER = 1.05
MOST_SLOWER_THAN_DESCRIBED = 1.02


def spec(scene, repetitions, operations=OPERATIONS, sizes=SIZES, warmup=2):
    """Returns what the guest is told."""
    return {"scene": scene, "ways": WAYS, "operations": list(operations), "sizes": list(sizes),
            "repetitions": repetitions, "warmup": warmup}


def mean_ms(job):
    """A call that waits for a time-out counts with all that it takes."""
    return sum(job["samples_ms"]) / len(job["samples_ms"])


def judged(decision, jobs):
    """A decision beside what each way took; `jobs`: of its operation and size, by way."""
    took = {way: mean_ms(job) for way, job in jobs.items()}
    best = min((way for way in took if way != CHOICE), key=took.get)
    ratio = took[CHOICE] / took[best]
    to_described = took[CHOICE] / took["described"]
    return {**decision, "mean_ms": took, "median_ms": {way: median(job["samples_ms"]) for way, job in jobs.items()},
            "timeouts": {way: job["timeouts"] for way, job in jobs.items()},
            "drops": {way: job["drops"] for way, job in jobs.items()}, "best": best, "ratio": ratio,
            "to_described": to_described,
            "met": ratio <= MOST_SLOWER and to_described <= MOST_SLOWER_THAN_DESCRIBED}


def document(said, events):
    jobs, made = {}, []
    for event in events:
        if event["event"] == "job":
            jobs.setdefault((event["operation"], event["bytes"]), {})[event["way"]] = event
    for event in events:
        kind = event.get("operation"), event.get("bytes")
        if event["event"] == "decision" and set(jobs.get(kind, ())) == set(said["ways"]):
            made.append(judged({name: value for name, value in event.items() if name != "event"}, jobs[kind]))
    return {"spec": said, "decisions": made}


def report(found):
    ways = list(found["spec"]["ways"])
    yield "mean ms of a call; in brackets time-outs of all sampled calls"
    yield (f"{'operation':10}{'bytes':>7}  {'plan':9}" + "".join(f"{way:>16}" for way in ways)
           + f"{'to best':>9}{'to descr.':>10}  target")
    for made in found["decisions"]:
        cells = "".join(f"{made['mean_ms'][way]:11.3f} {'(' + str(made['timeouts'][way]) + ')':>4}" for way in ways)
        yield (f"{made['operation']:10}{made['bytes']:7}  {'paced' if made['paced'] else 'not paced':9}{cells}"
               f"{made['ratio']:9.3f}{made['to_described']:10.3f}  {'met' if made['met'] else 'MISSED'}")
