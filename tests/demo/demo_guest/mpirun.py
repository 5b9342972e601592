# SPDX-License-Identifier: Apache-2.0
"""One mpirun of a program that pauses as collective_bench does, with counters read around the sampled calls."""

import json
import subprocess


class MpirunError(RuntimeError):
    pass


def command(launch, arguments, environment, program):
    """`launch`: of mpi-job; `environment`: variables for the ranks; `program`: its words."""
    exported = [f"{name}={value}" for name, value in environment.items()]
    return [*launch, *arguments, *exported, "--", *program]


def collective_bench(program, sizes, warmup, operation="alltoall"):
    """`sizes`: (bytes, repetitions)."""
    return [program, "--operation", operation, "--warmup", str(warmup), "--pause",
            "--sizes", ",".join(f"{size}:{repetitions}" for size, repetitions in sizes)]


def run(words, counters, log, environment=None):
    """The events of each size: what the bench printed, and what was counted.

    Everything else the job says goes to `log`.
    """
    job = subprocess.Popen(words, text=True, bufsize=1, env=environment, stdin=subprocess.PIPE,
                           stdout=subprocess.PIPE, stderr=log)
    results, before, counted = [], None, None
    for line in job.stdout:
        said = parse(line)
        if said is None:
            log.write(line)
            log.flush()
        elif said.get("pause") == "before":
            before = counters.before()
            answer(job)
        elif said.get("pause") == "after":
            counted = counters.after().since(before)
            answer(job)
        else:
            results.append({"bytes": said["bytes"], "samples_ms": said["samples_ms"],
                            "warmup_ms": said["warmup_ms"], "starts_s": said["starts_s"], **counted})
    job.stdin.close()
    if job.wait():
        raise MpirunError(f"status {job.returncode} of: {' '.join(words)}")
    return results


def parse(line):
    """The bench's objects; None for anything else a job may print."""
    if not line.startswith("{"):
        return None
    try:
        return json.loads(line)
    except ValueError:
        return None


def answer(job):
    job.stdin.write("\n")
    job.stdin.flush()
