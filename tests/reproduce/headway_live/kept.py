# SPDX-License-Identifier: Apache-2.0
"""What was measured so far: one JSON file, a member for each experiment, written when it is over."""

import json


class Kept:
    def __init__(self, file):
        self.file = file
        self.experiments = self._read()

    def _read(self):
        return json.loads(self.file.read_text()) if self.file.exists() else {}

    def add(self, name, said, events):
        """`said`: what the guest was told.  Another process may have added others meanwhile."""
        self.experiments = self._read()
        self.experiments[name] = {"spec": said, "events": events}
        self.file.parent.mkdir(parents=True, exist_ok=True)
        unfinished = self.file.with_suffix(".new")
        unfinished.write_text(json.dumps(self.experiments) + "\n")
        unfinished.replace(self.file)

    def found(self, name):
        """The Found of an experiment, or None."""
        kept = self.experiments.get(name)
        return Found(**kept) if kept else None


class Found:
    """What an experiment has measured."""

    def __init__(self, spec, events):
        self.scene = spec["scene"]
        self.jobs = {job["name"]: job for job in spec["jobs"]}
        self.results = [event for event in events if event["event"] == "result"]
        documents = [event["document"] for event in events if event["event"] == "measured"]
        self.measured = documents[-1] if documents else None

    def of(self, job):
        """Its results, in the order of its sizes or patterns."""
        return [result for result in self.results if result["job"] == job]
