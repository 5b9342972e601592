# SPDX-License-Identifier: Apache-2.0
"""One mpirun of a program that pauses as collective_bench does, with counters read around the sampled calls."""

import json
import subprocess
from pathlib import Path

STATE = Path("/tmp/headway-topology")   # of tests/lib/topology.sh


class MpirunError(RuntimeError):
    pass


def state_of(hosts, folder=Path("/tmp")):
    """MPI_JOB_STATE for mpi-job: the topology as if there were only these hosts."""
    state = folder / ("hosts-" + "-".join(hosts))
    if not state.exists():
        state.mkdir()
        (state / "nodes").write_text("".join(f"{host}\n" for host in hosts))
        for host in hosts:
            (state / f"{host}.pid").symlink_to(STATE / f"{host}.pid")
    return str(state)


def command(launch, arguments, environment, program):
    """`launch`: of mpi-job; `environment`: variables for the ranks; `program`: its words."""
    exported = [f"{name}={value}" for name, value in environment.items()]
    return [*launch, *arguments, *exported, "--", *program]


def collective_bench(program, sizes, warmup, operation="alltoall"):
    """`sizes`: (bytes, repetitions) or (bytes, repetitions, milliseconds between calls)."""
    return [program, "--operation", operation, "--warmup", str(warmup), "--pause",
            "--sizes", ",".join(":".join(map(str, size)) for size in sizes)]


class Alone:
    """A job has no company while its sampled calls are timed.  tests/bench/company.py has more."""

    def ready(self):
        """Before them, while the job waits; returns when it may go on."""

    def go(self):
        """They begin."""

    def over(self):
        """They are over, and the job waits; what there is to tell of it."""
        return {}

    def end(self):
        """The job has ended."""


def run(words, counters, log, environment=None, company=Alone()):
    """The events of each size: what the bench printed, what was counted over the sampled
    calls, and as "warmup" what was counted before them, from the size before on.

    Everything else the job says goes to `log`.
    """
    return list(run_by_size(words, counters, log, environment, company))


def run_by_size(words, counters, log, environment=None, company=Alone()):
    """Yields the samples, each when it is there."""
    warmup, counted = None, None
    reached = before = counters.before()
    job = subprocess.Popen(words, text=True, bufsize=1, env=environment, stdin=subprocess.PIPE,
                           stdout=subprocess.PIPE, stderr=log)
    for line in job.stdout:
        said = parse(line)
        if said is None:
            log.write(line)
            log.flush()
        elif said.get("pause") == "before":
            company.ready()
            before = counters.before()
            warmup = before.since(reached)
            company.go()
            answer(job)
        elif said.get("pause") == "after":
            told = company.over()
            reached = counters.after()
            counted = reached.since(before) | told
            answer(job)
        else:
            yield said | counted | {"warmup": warmup}
    job.stdin.close()
    company.end()
    if job.wait():
        raise MpirunError(f"status {job.returncode} of: {' '.join(words)}")


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
