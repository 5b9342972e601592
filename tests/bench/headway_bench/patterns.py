# SPDX-License-Identifier: Apache-2.0
"""What tests/bench/patterns measures and how it judges it."""

from statistics import median

LIBRARIES = ("ompi", "mpich")
# Bytes from one rank to another; of a broadcast or reduction, of the whole vector;
# of a halo, to each neighbour.
SIZES = {"alltoall": 16384, "allgather": 65536, "gather": 65536, "bcast": 524288, "reduce": 524288,
         "allreduce": 524288, "reduce_scatter_block": 65536, "halo": 65536}
# Headway's ways by contender (of tests/demo/contenders): a recording is made on
# the network that it is for, unpaced.
WAYS = {
    "stock": {"collective": ["stock"], "halo": ["stock", "record"]},
    "headway": {"collective": ["headway"], "halo": ["hints", "run"]},
}
UNPACED = ("stock", "record")
MOST_SLOWER = 1.05


def spec(scene, libraries, patterns, repetitions, warmup=2):
    """What the guest is told."""
    return {"scene": scene, "contenders": WAYS, "libraries": list(libraries),
            "sizes": {pattern: SIZES[pattern] for pattern in SIZES if pattern in patterns},
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
    for job in sorted(found["jobs"], key=lambda job: (job["library"], list(SIZES).index(job["pattern"]))):
        target = "" if job["way"] in UNPACED else "met" if job["met"] else "MISSED"
        yield (f"{job['library']:8}{job['pattern']:21}{job['way']:12}{median(job['samples_ms']):9.2f}"
               f"{max(job['samples_ms']):9.2f}{job['ratio']:10.3f}{job['timeouts']:6}"
               f"{job['retransmits']:9}{sum(job['drops'].values()):7}  {target}".rstrip())
