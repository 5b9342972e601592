# SPDX-License-Identifier: Apache-2.0
"""Questions to `headway-eval`, as many at once as a chapter likes, and to `headway fit`."""

import json
import subprocess
from pathlib import Path


class Ask:
    """ask(model, op, inputs) -> results in order; None for an answer that is an error."""

    def __init__(self, headway):
        self.headway = headway
        self.headway_eval = Path(headway).with_name("headway-eval")  # is built beside it

    def __call__(self, model, op, inputs):
        lines = [line(model, op, given, i) for i, given in enumerate(inputs)]
        done = subprocess.run([self.headway_eval], input="\n".join(lines) + "\n", text=True,
                              capture_output=True, check=False)
        answers = [json.loads(text) for text in done.stdout.splitlines()]
        if [answer["id"] for answer in answers] != list(range(len(lines))):
            raise RuntimeError(f"{self.headway_eval}: {len(lines)} questions, {len(answers)} "
                               f"answers {done.stderr}")
        return [answer.get("result") for answer in answers]

    def one(self, model, op, given):
        result, = self(model, op, [given])
        if result is None:
            raise RuntimeError(f"no result: {line(model, op, given, 0)}")
        return result

    def fit(self, model, given):
        """The parameters that `headway fit` finds."""
        done = subprocess.run([self.headway, "fit", "--json", model, "/dev/stdin"], input=json.dumps(given), text=True,
                              capture_output=True, check=False)
        if done.returncode:
            raise RuntimeError(f"{self.headway} fit {model}: {done.stderr.strip()}")
        return json.loads(done.stdout)


def line(model, op, given, name):
    return json.dumps({"id": name, "model": model, "op": op, "input": given},
                      separators=(",", ":"))
