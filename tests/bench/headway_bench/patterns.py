# SPDX-License-Identifier: Apache-2.0
"""Names what tests/bench/patterns measures and judges it."""

import sys
from pathlib import Path
from statistics import median

sys.path.append(str(Path(__file__).resolve().parents[2] / "demo"))
from headway_demo import scene as scenes  # noqa: E402

LIBRARIES = ("ompi", "mpich")
# The operation; bytes from one rank to another (of a broadcast or reduction, of the whole
# vector; of the skewed alltoallv, of the heavy pairs; of a halo or a grid, to each
# neighbour); ranks on a node, or on one and the next.
PATTERNS = {
    "alltoall": ("alltoall", 16384, 2), "small alltoall": ("alltoall", 1024, 4),
    "uneven alltoall": ("alltoall", 16384, "3,1"),
    "alltoallv": ("alltoallv", 16384, 2), "skewed alltoallv": ("alltoallv_skewed", 32768, 2),
    "allgather": ("allgather", 65536, 2), "gather": ("gather", 65536, 2), "scatter": ("scatter", 65536, 2),
    "bcast": ("bcast", 524288, 2),
    "neighbours": ("neighbor_alltoall", 65536, 2), "halo": ("halo", 65536, 2),
}
# Ways by contender (of tests/demo/contenders), of a pattern or of those that have none of
# their own.  "unpaced": by the algorithms that Headway chooses, with nothing paced; of a
# halo, whose messages are the program's own, that is stock.  "staged": see
# tests/mpi/staged_alltoallv.h.  A recording is made on the network that it is for, unpaced.
WAYS = {
    "stock": {"skewed alltoallv": ["stock", "staged"], "halo": ["stock", "record"], "other": ["stock"]},
    "headway_unpaced": {"halo": [], "other": ["unpaced"]},
    "headway": {"halo": ["hints", "run"], "other": ["headway"]},
}
UNPACED = ("stock", "staged", "unpaced", "record")
# These contenders tell by which algorithm Headway carried a pattern out.
TELLING = ("unpaced", "headway")
MOST_SLOWER = 1.03


def spec(scene, libraries, patterns, repetitions, warmup=2):
    """Returns what the guest is told."""
    return {"scene": scene, "contenders": WAYS, "libraries": list(libraries),
            "patterns": {name: PATTERNS[name] for name in PATTERNS if name in patterns},
            "repetitions": repetitions, "warmup": warmup}


def to_bound(job, scene):
    """How many times longer than the trunk needs for the data of an all-to-all; else None."""
    if not job.get("crossing_bytes"):
        return None
    return median(job["samples_ms"]) / scenes.wire_ms(1, job["crossing_bytes"], scene["trunk_rate_bps"])


def judged(job, stock, scene):
    """The job with its ratios to stock and to the bound and whether it meets its target.

    Where stock loses time to time-outs Headway must have none; elsewhere it must
    not be slower.  Of what is not paced nothing is asked.
    """
    ratio = median(job["samples_ms"]) / median(stock["samples_ms"])
    if job["way"] in UNPACED:
        met = True
    elif stock["timeouts"]:
        met = job["timeouts"] == 0
    else:
        met = ratio <= MOST_SLOWER
    return {**job, "ratio": ratio, "to_bound": to_bound(job, scene), "met": met}


def document(said, jobs):
    stock = {(job["library"], job["pattern"]): job for job in jobs if job["way"] == "stock"}
    return {"spec": said, "jobs": [judged(job, stock[job["library"], job["pattern"]], said["scene"])
                                   for job in jobs]}


def algorithms(report, operation):
    """By what an operation's calls with the largest messages were carried out, of
    HEADWAY_REPORT's file; smaller ones are the bench's own.  Paced is what the helper asked for."""
    rows = [row for row in report["collectives"] if row["operation"] == operation.removesuffix("_skewed")]
    largest = max(row["message_bytes_most"] for row in rows)
    return sorted({row["algorithm"] + ("" if row["paced"] else ", no rates")
                   for row in rows if row["message_bytes_most"] == largest})


def report(found):
    yield "ms of the sampled calls; RTOs, retransmitted segments and dropped frames in all of them"
    yield (f"{'library':8}{'pattern':21}{'way':12}{'median':>9}{'worst':>9}{'to stock':>10}{'to bound':>10}"
           f"{'RTOs':>6}{'retrans':>9}{'drops':>7}  target  algorithm")
    for job in sorted(found["jobs"], key=lambda job: (job["library"], list(PATTERNS).index(job["pattern"]))):
        target = "" if job["way"] in UNPACED else "met" if job["met"] else "MISSED"
        bound = f"{job['to_bound']:10.3f}" if job["to_bound"] else f"{'':10}"
        yield (f"{job['library']:8}{job['pattern']:21}{job['way']:12}{median(job['samples_ms']):9.2f}"
               f"{max(job['samples_ms']):9.2f}{job['ratio']:10.3f}{bound}{job['timeouts']:6}"
               f"{job['retransmits']:9}{sum(job['drops'].values()):7}  {target:8}"
               f"{'; '.join(job.get('algorithms', []))}".rstrip())
