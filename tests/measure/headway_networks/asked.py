# SPDX-License-Identifier: Apache-2.0
"""Asks the program `headway` about a network, by the document and the headway.toml that it has
measured."""

import json
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory


class Headway:
    def __init__(self, program):
        self.program = Path(program).resolve()

    def of(self, found):
        return Network(self.program, found)


class Network:
    """Asks with measured parameters, in a folder of its own; a context."""

    def __init__(self, program, found):
        self.program, self.found = program, found

    def __enter__(self):
        self.folder = TemporaryDirectory()
        self.write("measured.json", json.dumps(self.found["document"]))
        self.write("measured.toml", self.found["config"])
        return self

    def __exit__(self, *_):
        self.folder.cleanup()

    def write(self, name, text):
        (Path(self.folder.name) / name).write_text(text)

    def run(self, *words):
        return subprocess.run([self.program, *words], cwd=self.folder.name, capture_output=True, text=True, check=False)

    def asked(self, verb, *words):
        """Returns what `headway plan` or `predict` says of a traffic matrix or an operation."""
        done = self.run(verb, "--config", "measured.toml", *words, "--json")
        if done.returncode:
            raise RuntimeError(f"headway {verb} {' '.join(words)}: {done.stderr.strip()}")
        return json.loads(done.stdout)

    def matrix(self, messages):
        """Writes the words of plan and predict; `messages`: (source, destination, bytes), by the
        number of a host."""
        self.write("matrix.json", json.dumps({"ranks": len(self.found["document"]["hosts"]), "flows": [
            {"source": source, "destination": destination, "bytes": size, "messages": 1}
            for source, destination, size in messages]}))
        return "--matrix", "matrix.json"

    def wrongs(self, config):
        """The sentences about this headway.toml, and whether the status tells that there are some."""
        self.write("said.toml", config)
        done = self.run("measure", "--from", "measured.json", "--config", "said.toml")
        if done.stderr:
            raise RuntimeError(f"headway measure --from: {done.stderr.strip()}")
        return done.stdout.splitlines(), done.returncode == 1
