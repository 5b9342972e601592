# SPDX-License-Identifier: Apache-2.0
"""What tests/bench/patterns measures and how it judges it."""

from statistics import median

LIBRARIES = ("ompi", "mpich")
# The operation; bytes from one rank to another (of a broadcast or reduction, of the whole
# vector; of a halo, to each neighbour); ranks on a node.
PATTERNS = {
    "alltoall": ("alltoall", 16384, 2), "small alltoall": ("alltoall", 1024, 4),
    "allgather": ("allgather", 65536, 2), "gather": ("gather", 65536, 2),
    "bcast": ("bcast", 524288, 2), "reduce": ("reduce", 524288, 2),
    "allreduce": ("allreduce", 524288, 2), "reduce_scatter_block": ("reduce_scatter_block", 65536, 2),
    "halo": ("halo", 65536, 2),
}
# Ways by contender (of tests/demo/contenders), of a pattern or of those that have none of
# their own.  "linear": an all-to-all with all messages at once, as Headway sends them, but
# unpaced.  A recording is made on the network that it is for, unpaced.
WAYS = {
    "stock": {"alltoall": ["stock", "linear"], "halo": ["stock", "record"], "other": ["stock"]},
    "headway": {"halo": ["hints", "run"], "other": ["headway"]},
}
UNPACED = ("stock", "linear", "record")
MOST_SLOWER = 1.05


def spec(scene, libraries, patterns, repetitions, warmup=2):
    """What the guest is told."""
    return {"scene": scene, "contenders": WAYS, "libraries": list(libraries),
            "patterns": {name: PATTERNS[name] for name in PATTERNS if name in patterns},
            "repetitions": repetitions, "warmup": warmup}


def judged(job, stock):
    """The job with its ratio to stock and whether it meets its target.

    Where stock loses time to time-outs Headway must have none; elsewhere it must
    not be slower.  Of stock itself nothing is asked.
    """
    ratio = median(job["samples_ms"]) / median(stock["samples_ms"])
    if job["way"] in UNPACED:
        met = True
    elif stock["timeouts"]:
        met = job["timeouts"] == 0
    else:
        met = ratio <= MOST_SLOWER
    return {**job, "ratio": ratio, "met": met}


def document(said, jobs):
    stock = {(job["library"], job["pattern"]): job for job in jobs if job["way"] == "stock"}
    return {"spec": said, "jobs": [judged(job, stock[job["library"], job["pattern"]]) for job in jobs]}


def report(found):
    yield "ms of the sampled calls; RTOs, retransmitted segments and dropped frames in all of them"
    yield (f"{'library':8}{'pattern':21}{'way':12}{'median':>9}{'worst':>9}{'to stock':>10}"
           f"{'RTOs':>6}{'retrans':>9}{'drops':>7}  target")
    for job in sorted(found["jobs"], key=lambda job: (job["library"], list(PATTERNS).index(job["pattern"]))):
        target = "" if job["way"] in UNPACED else "met" if job["met"] else "MISSED"
        yield (f"{job['library']:8}{job['pattern']:21}{job['way']:12}{median(job['samples_ms']):9.2f}"
               f"{max(job['samples_ms']):9.2f}{job['ratio']:10.3f}{job['timeouts']:6}"
               f"{job['retransmits']:9}{sum(job['drops'].values()):7}  {target}".rstrip())
