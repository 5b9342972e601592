# SPDX-License-Identifier: Apache-2.0
"""Keeps what was measured so far, and says what of an experiment is left: one JSON file has a
member for each experiment.

An experiment's spec is what a guest would be told to measure all of it.  Its items are the document of
`headway measure`, where that is wanted, and what its jobs have one after the other: sizes or patterns of
links.  An item that there is under the same settings is not measured again.
"""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2] / "bench"))
from headway_bench import apps  # noqa: E402

# For forecasts only, seconds of one processor of the machine this was tried on: a guest, `headway measure` for a
# host, a job; for a megabyte that messages carry, and for a millisecond of links that are used.
BOOT_S, MEASURED_HOST_S, JOB_S, MEGABYTE_S, LINKS_MS_S = 25, 25, 15, 0.6, 0.16


def kept_in(file):
    """The file, which several processes may add to."""
    return apps.Kept(file, Results)


class Results:
    """As apps.Results; `document` is what the file holds, a "spec" and "events" by experiment."""

    def __init__(self, document=None):
        self.experiments = document or {}

    def document(self):
        return self.experiments

    def add(self, experiment, event):
        """`experiment`: its name, its spec, whether to begin anew.  What was measured by other settings is forgotten."""
        name, spec, anew = experiment
        self.experiments[name] = {"spec": spec, "events": [*([] if anew else self.events(name, spec)), event]}

    def events(self, name, spec):
        """Returns the events that are items of this spec."""
        known = self.experiments.get(name)
        if not known or known["spec"]["scene"] != spec["scene"]:
            return []
        jobs = {job["name"]: job for job in spec["jobs"]}
        same = {job["name"] for job in known["spec"]["jobs"] if settings(job) == settings(jobs.get(job["name"], {}))}
        return [event for event in known["events"]
                if event["event"] == "measured" or (event["event"] == "result" and event["job"] in same and has(jobs[event["job"]], event))]

    def found(self, name):
        """The Found of an experiment, or None."""
        known = self.experiments.get(name)
        return Found(**known) if known else None


class Found:
    """The results of an experiment."""

    def __init__(self, spec, events):
        self.spec, self.events = spec, events
        self.scene = spec["scene"]
        self.jobs = {job["name"]: job for job in spec["jobs"]}
        self.results = [event for event in events if event["event"] == "result"]
        documents = [event["document"] for event in events if event["event"] == "measured"]
        self.measured = documents[-1] if documents else None

    def of(self, job):
        """Its results, in the order of its sizes or patterns."""
        order = list(items(self.jobs[job]))
        return sorted((result for result in self.results if result["job"] == job), key=lambda result: order.index(item_of(result)))

    def complete(self, job):
        return len(self.of(job)) == len(items(self.jobs[job]))


# ---- items of a job ------------------------------------------------------------------

def settings(job):
    """Returns what makes a job's items differ from those of the same name before."""
    return {name: value for name, value in job.items() if name not in ("sizes", "patterns", "numbers")}


def items(job):
    """The patterns of links by number, or [bytes, calls] by bytes."""
    if job["kind"] == "links":
        return dict(zip(job.get("numbers", range(len(job["patterns"]))), job["patterns"]))
    return {size[0]: size for size in job["sizes"]}


def item_of(result):
    return result["pattern"] if "pattern" in result else result["bytes"]


def has(job, result):
    """Whether it is an item of this job, with as many calls at least."""
    item = items(job).get(item_of(result))
    if job["kind"] == "links":
        return item == result["links"]
    return item is not None and len(result["samples_ms"]) >= item[1]


def left(spec, events):
    """The spec of what is missing; jobs of links have the numbers of their patterns."""
    jobs = []
    for job in spec["jobs"]:
        there = {item_of(event) for event in events if event.get("job") == job["name"]}
        missing = {key: item for key, item in items(job).items() if key not in there}
        if missing:
            its = {"patterns": list(missing.values()), "numbers": list(missing)} if job["kind"] == "links" else {"sizes": list(missing.values())}
            jobs.append(job | its)
    measure = spec["measure"] and not any(event["event"] == "measured" for event in events)
    return spec | {"measure": measure, "jobs": jobs}


def is_nothing(spec):
    return not spec["measure"] and not spec["jobs"]


def count(spec):
    return spec["measure"] + sum(len(items(job)) for job in spec["jobs"])


# ---- how long it takes ---------------------------------------------------------------

def usual_s(job, item):
    """Returns how long an item takes on the machine this was tried on."""
    if job["kind"] == "links":
        return LINKS_MS_S * (job["lead_ms"] + job["window_ms"])
    size, calls = item
    messages = len(job["hosts"]) - 1
    if job["operation"] == "alltoall":
        messages *= len(job["hosts"])
    return MEGABYTE_S * (calls + job["warmup"]) * messages * size / 1e6


def forecast_s(missing):
    """Forecasts specs of what is missing, a guest for each."""
    return sum(BOOT_S + (MEASURED_HOST_S * spec["scene"]["nodes"] if spec["measure"] else 0)
               + sum(JOB_S + sum(usual_s(job, item) for item in items(job).values()) for job in spec["jobs"])
               for spec in missing if not is_nothing(spec))
