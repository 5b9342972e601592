# SPDX-License-Identifier: Apache-2.0
"""Keeps what was measured of networks so far: one JSON file, a guest's spec and events by the name
of the experiment."""

from headway_bench import apps


class Results:
    """As apps.Results; an experiment is kept whole, when its guest has ended."""

    def __init__(self, document=None):
        self.experiments = document or {}

    def document(self):
        return self.experiments

    def add(self, name, experiment):
        self.experiments[name] = experiment

    def found(self, name):
        """The Found of an experiment, or None."""
        kept = self.experiments.get(name)
        return Found(**kept) if kept else None


class Found:
    """Returns what the jobs of a network have measured."""

    def __init__(self, spec, events):
        self.jobs = {job["name"]: job for job in spec["jobs"]}
        self.results = [event for event in events if event["event"] == "result"]

    def of(self, job):
        """Its results, in the order in which they came."""
        return [result for result in self.results if result["job"] == job]


def kept_in(file):
    """The file, to which several processes may add."""
    return apps.Kept(file, Results)
