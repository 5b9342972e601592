# SPDX-License-Identifier: Apache-2.0
"""Names what tests/bench/feedback measures and judges it."""

from statistics import median

BYTES = 65536
# Slept before each call.  Feedback looks once a second: without pauses the job would
# be over before it had looked.
PAUSE_MS = 400
# Changes to headway.toml, text by text.
FILES = {
    "as it is": {},
    "too large buffers": {'trunk_delay = ': 'trunk_buffer = "4MiB"\nhost_buffer = "4MiB"\ntrunk_delay = '},
    "too fast a trunk": {'trunk_rate = "1250mbit"': 'trunk_rate = "1500mbit"'},
}
# Shorter than its default, or nothing would be seen of going down in so short a job.
WAYS = {"without": "", "with": "[feedback]\nenabled = true\nquiet_s = 10\n"}
MOST_SLOWER = 1.05


def spec(scene, library, repetitions):
    """Returns what the guest is told."""
    return {"scene": scene, "library": library, "bytes": BYTES, "pause_ms": PAUSE_MS, "files": FILES,
            "ways": WAYS, "repetitions": repetitions, "warmup": repetitions}


def judged(job, without):
    """The job with its ratio to the one without feedback and whether it meets its target."""
    ratio = median(job["samples_ms"]) / median(without["samples_ms"])
    if job["way"] == "without":
        met = True
    elif FILES[job["file"]] and without["timeouts"]:
        met = job["timeouts"] < without["timeouts"] and total(job) <= total(without)
    else:
        met = ratio <= MOST_SLOWER
    return {**job, "ratio": ratio, "met": met}


def total(job):
    return sum(job["samples_ms"])


def document(said, jobs):
    without = {job["file"]: job for job in jobs if job["way"] == "without"}
    return {"spec": said, "jobs": [judged(job, without[job["file"]]) for job in jobs]}


def report(found):
    yield "ms of the counted calls; RTOs, retransmitted segments and dropped frames in all of them"
    yield (f"{'headway.toml':19}{'feedback':10}{'median':>9}{'worst':>9}{'sum':>10}{'RTOs':>6}"
           f"{'retrans':>9}{'drops':>7}{'factor':>8}  target")
    for job in found["jobs"]:
        target = "" if job["way"] == "without" else "met" if job["met"] else "MISSED"
        factor = "" if job["factor"] is None else f"{job['factor']:g}"
        yield (f"{job['file']:19}{job['way']:10}{median(job['samples_ms']):9.2f}"
               f"{max(job['samples_ms']):9.2f}{total(job):10.2f}{job['timeouts']:6}"
               f"{job['retransmits']:9}{sum(job['drops'].values()):7}{factor:>8}  {target}".rstrip())
