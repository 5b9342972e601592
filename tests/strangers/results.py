# SPDX-License-Identifier: Apache-2.0
"""Keeps what jobs have come to, in a file for each program and mode, until what they ran with
changes."""

import dataclasses
import functools
import hashlib
import json
import os
import re

import jobs

FORMAT = 1      # of the files, and of how jobs are run; a change has everything run again


@functools.cache
def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def key_of(library_version, program, mode):
    """Stands for what such a job runs with, whatever the commit."""
    files = list(program.files) + ([] if mode == jobs.NATIVE else sorted(jobs.HELPER.glob("libheadway-*.so")))
    parts = [FORMAT, library_version, program.command, program.ranks, program.environment,
             jobs.MODES.get(mode, ()), [digest(file) for file in files]]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


class Results:
    """The results of a library, in a folder of its own."""

    def __init__(self, folder, library_version):
        self.folder, self.library_version = folder, library_version
        folder.mkdir(parents=True, exist_ok=True)

    def _file(self, program, mode):
        # names of programs with their arguments are short, and differ in what is left of them
        return self.folder / f"{re.sub(r'[^A-Za-z0-9=.-]+', '_', program.name)}.{mode}.json"

    def read(self, program, mode):
        """Outcomes and what the daemon was asked; None: the job has to run."""
        file = self._file(program, mode)
        if not file.exists():
            return None
        kept = json.loads(file.read_text(encoding="utf-8"))
        if kept["key"] != key_of(self.library_version, program, mode):
            return None
        return [jobs.Outcome(**outcome) for outcome in kept["outcomes"]], kept["taken"]

    def write(self, program, mode, outcomes, taken):
        kept = {"key": key_of(self.library_version, program, mode), "program": program.name, "taken": taken,
                "outcomes": [dataclasses.asdict(outcome) for outcome in outcomes]}
        unfinished = self._file(program, "unfinished")
        unfinished.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
        os.replace(unfinished, self._file(program, mode))
