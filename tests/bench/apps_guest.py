#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Runs in the guest machine of tests/bench/apps: the jobs of one network.

Reads HW_OUT/spec.json; tells each run's result as a line of "@" and JSON.
"""

import itertools
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1] / "demo"))
sys.path.append(str(Path(__file__).resolve().parent))
from demo_guest import mpirun  # noqa: E402
from demo_guest.counters import Counters  # noqa: E402
from demo_guest.opened_files import OpenedFiles  # noqa: E402
from demo_guest.testbed import PROGRAM_SUFFIX  # noqa: E402
from company import Flood, SecondJob, Traffic, halves  # noqa: E402
from headway_bench import apps  # noqa: E402
from patterns_guest import set_up, tell  # noqa: E402

REPORT = Path("/tmp/headway-report.json")
RECORDING = Path("/tmp/headway-recording.json")
FOLDER = Path("/tmp/headway-program")   # in which programs of Debian find and leave files
LOOK_S = 0.01
LOG = Path("/tmp/mpirun.log")   # in memory: a job that talks must not wait for the host's disk
REHEARSAL = asdict(apps.kernel("IS", 1 << 14, 1))


def set_sockets(testbed, sysctls):
    """On all nodes, which share what net.core says."""
    for name, value in sysctls.items():
        testbed.shell.run(f"{'' if name.startswith('net.core.') else 'hw_each_node '}sysctl -qw '{name}={value}'")


def use_divisor(testbed, divisor):
    """The headway.toml of the contenders that come up next."""
    config = testbed.config
    if divisor:
        config = Path(f"/etc/headway/divisor-{divisor}.toml")
        config.write_text(testbed.config.read_text() + f"[policy]\ndivisor = {divisor}\n")
    testbed.shell.run(f"DEMO_CONFIG='{config}'")


@contextmanager
def log_of(testbed):
    """Keeps what jobs have said, however they end."""
    try:
        yield
    finally:
        if LOG.exists():
            shutil.copy(LOG, testbed.out)


class Jobs:
    def __init__(self, testbed, ranks_per_node):
        self.testbed, self.ranks_per_node = testbed, ranks_per_node
        self.rehearsed = set()

    def run(self, job):
        self._rehearse(job)
        settings = self._record(job) if job["recorded"] else {}
        for _ in range(job["runs"]):
            tell("start", cell=job["cell"])
            run = self._mpirun(job, job["program"], settings)
            if job["helper"] and REPORT.exists():       # who is ended early has none
                run["choices"] = apps.choices(json.loads(REPORT.read_text()))
            tell("run", cell=job["cell"], run=run)

    def _record(self, job):
        """By a job that counts for nothing; what a job is told that is to be paced by it."""
        RECORDING.unlink(missing_ok=True)
        self._mpirun(job, job["program"], {"HEADWAY_RECORD": str(RECORDING)})
        return {"HEADWAY_PATTERN": str(RECORDING)}

    def _rehearse(self, job):
        """A job that counts for nothing: afterwards everything that a job opens is in memory."""
        kind = tuple(job["rehearsal"])
        if kind in self.rehearsed:
            return
        opened = OpenedFiles()
        self._mpirun(job, self.rehearsed_program(job))
        opened.into_memory()
        self.rehearsed.add(kind)

    @staticmethod
    def rehearsed_program(job):
        program = job["program"]
        if program["rehearsed"]:
            return program | program["rehearsed"]
        return REHEARSAL if program["pauses"] else program

    def _mpirun(self, job, program, settings=None):
        if program["pauses"]:
            result, = self.sampled(job, program, settings)
            return result
        whole = Whole(job["cell"]["program"], program)
        return self._started(whole.run, job, program, settings)

    def sampled(self, job, program, settings=None):
        """The results of a job that pauses, one for each size that it has."""
        return self._started(mpirun.run, job, program, settings)

    def _started(self, run, job, program, settings):
        REPORT.unlink(missing_ok=True)
        settings = settings or {}
        with open(LOG, "a", encoding="utf-8") as log:
            if job.get("beside", apps.NOTHING) != apps.NOTHING:
                return self._in_company(run, job, program, settings, log)
            company = Traffic(self.testbed, job["traffic_bin_ms"]) if job.get("traffic_bin_ms") else mpirun.Alone()
            return run(self._command(job, program, settings), self.testbed.counters, log, self.testbed.mpirun_environment(),
                       company)

    def _in_company(self, run, job, program, settings, log):
        """On the first half of the nodes, where segments that are sent again are counted; drops are everybody's."""
        own, others = halves(self.testbed)
        environment = self.testbed.mpirun_environment()
        company = mpirun.Alone()
        if job["beside"] == apps.FLOOD:
            company = Flood(self.testbed, others, log)
        elif job["beside"] == apps.JOB:
            company = SecondJob(self._command(job | {"reported": False}, program, {}), environment | others.environment(), log)
        counters = Counters(own.pids, self.testbed.counters.read_drops, self.testbed.counters.softirq_meter)
        return run(self._command(job, program, settings), counters, log, environment | own.environment(), company)

    def _command(self, job, program, settings):
        library = job["library"]
        preload = [self.testbed.helper()] if job["helper"] else []
        environment = {"LD_PRELOAD": ":".join([*preload, self.testbed.sleep(library)]), **dict(program["environment"]), **settings}
        if job["alone"]:
            environment |= self.testbed.without_daemon()
        if job["helper"] and job.get("reported", True):
            environment["HEADWAY_REPORT"] = str(REPORT)
        path = self.testbed.build / "bin" / (program["path"] + PROGRAM_SUFFIX[library])
        folder = ["--wdir", str(FOLDER)] if program["files"] else []
        return mpirun.command(self.testbed.mpirun_words(library, self.ranks_per_node), [*job["words"], *folder], environment,
                              [str(path), *program["arguments"]])


class Whole:
    """A job that does not pause: everything is counted from its start to its end.  Nothing is beside it."""

    def __init__(self, name, program):
        self.name, self.program = name, program

    def run(self, words, counters, log, environment, _):
        self._prepare()
        before = counters.before()
        job = subprocess.Popen(words, text=True, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log)
        ended = self.program["last"] and self._end(job)
        printed = job.communicate()[0]
        counted = counters.after().since(before)
        told = self._output() if self.program["output"] else printed
        log.write(told)
        if job.returncode and not ended:
            raise mpirun.MpirunError(f"status {job.returncode} of: {' '.join(words)}")
        return apps.result(self.name, told) | counted

    def _prepare(self):
        shutil.rmtree(FOLDER, ignore_errors=True)
        FOLDER.mkdir()
        for name, text in self.program["files"]:
            (FOLDER / name).write_text(text)

    def _end(self, job):
        """Ends it where the last line that counts has been written; whether it was."""
        while job.poll() is None:
            if self.program["last"] in self._output():
                self._kill_ranks()
                return True
            time.sleep(LOOK_S)
        return False

    def _kill_ranks(self):
        """At once: mpirun, told to end, lets them send for seconds.  It ends when they have."""
        for process in Path("/proc").glob("[0-9]*"):
            try:
                if os.readlink(process / "exe") == self.program["path"]:
                    os.kill(int(process.name), signal.SIGKILL)
            except (FileNotFoundError, ProcessLookupError):
                pass

    def _output(self):
        file = FOLDER / self.program["output"]
        return file.read_text() if file.exists() else ""


def main():
    testbed, spec = set_up()
    set_sockets(testbed, spec["sysctls"])
    jobs = Jobs(testbed, spec["ranks_per_node"])
    with log_of(testbed):
        for (setup, divisor), group in itertools.groupby(spec["jobs"], lambda job: (job["setup"], job["divisor"])):
            use_divisor(testbed, divisor)
            # what a node then looks like, for whoever wants to know
            shown = testbed.out / f"{setup}-{divisor or 'own-choice'}.txt"
            shown.write_text(testbed.contender_up(setup))
            for job in group:
                jobs.run(job)
            testbed.contender_down(setup)


if __name__ == "__main__":
    main()
