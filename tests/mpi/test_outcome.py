#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Whatever happens to headwayd, and whatever a program does beside MPI's
collectives, a job ends as it would without the helper: same exit status, same
output, and one line of ours beside that at its start at most.

  test_outcome.py [Class.method ...]
  test_outcome.py --list
"""

import functools
import json
import os
import signal
import subprocess
import sys
import time

from fake_headwayd import WHOLE_PHASE
from mpi_job import JOB_TIME_LIMIT_S, NODES, ONCE_MORE, PATIENCE_MS, RANKS, HelperTest, Job, main

HERE = os.path.dirname(os.path.realpath(__file__))
WAIT_LIMIT_S = 120  # the machine may be busy


class MayHaveEndedWell(Exception):
    """See Job.may_have_ended_well."""


def once_more(test):
    """A test whose job may have ended well is run again, which must not raise that again."""
    @functools.wraps(test)
    def run(self):
        try:
            test(self)
        except MayHaveEndedWell:
            print(ONCE_MORE, file=sys.stderr)
            test(self)
    return run


class DaemonProcess:
    """A fake_headwayd that signals can be sent to, and what it was asked."""

    def __init__(self, test, path, phases):
        self.log = f"{path}.{time.monotonic_ns()}"
        command = ["/usr/bin/python3", f"{HERE}/fake_headwayd.py", path, self.log, *NODES]
        if os.path.exists(path):
            os.unlink(path)
        self.process = subprocess.Popen(command + ["--phases"] * phases)
        test.addCleanup(self.end)
        test.wait_for(lambda: os.path.exists(path), "a daemon that listens")

    def signal(self, number):
        self.process.send_signal(number)
        if number == signal.SIGKILL:
            self.process.wait()

    def end(self):
        self.process.kill()
        self.process.wait()

    def requests(self, operation):
        with open(self.log, encoding="utf-8") as file:
            lines = [line for line in file if line.endswith("\n")]
        return sum(json.loads(line)["op"] == operation for line in lines)


class Both:
    """What holds for either MPI library; mixed into a class for each."""

    def wait_for(self, condition, what):
        deadline = time.monotonic() + WAIT_LIMIT_S
        while not condition():
            self.assertLess(time.monotonic(), deadline, "waiting for " + what)
            time.sleep(0.01)

    def begin(self, *arguments, **environment):
        """A job that runs on; finish() ends it by its file."""
        self.stop_file = os.path.join(os.path.dirname(self.socket), "stop")
        if os.path.exists(self.stop_file):
            os.unlink(self.stop_file)
        command = self.command_of("outcome_check", *arguments, self.stop_file, **environment)
        job = subprocess.Popen(command, env=self.environment(), text=True,
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE)
        self.addCleanup(job.kill)
        return job

    def finish(self, job):
        with open(self.stop_file, "w", encoding="ascii"):
            stdout, stderr = job.communicate(timeout=JOB_TIME_LIMIT_S)
        ended = Job(job.returncode, stdout, stderr, 0)
        if ended.may_have_ended_well:
            raise MayHaveEndedWell(stderr)
        return ended

    def assert_right(self, job, *, lines):
        self.assertEqual((job.status, job.stdout), (0, "all data right\n"), job.stderr)
        self.assertEqual(len(job.told), lines, job.stderr)

    def daemon_process(self, phases):
        return DaemonProcess(self, self.socket, phases)

    def in_pace(self, daemon, phases):
        """Every rank has all that it needs to enter, of that daemon; the program
        has two operations."""
        operation = "phase" if phases else "enter"
        return lambda: (daemon.requests(operation) >= RANKS and
                        daemon.requests("prepare") >= 2 * RANKS)

    def dies_and_returns(self, phases, after):
        first = self.daemon_process(phases)
        job = self.begin("until", HEADWAY_TIMEOUT_MS=PATIENCE_MS)
        self.wait_for(self.in_pace(first, phases), "a paced job")
        first.signal(signal.SIGKILL)
        second = self.daemon_process(after)
        self.wait_for(self.in_pace(second, after), "a job paced by the next daemon")
        self.assertEqual(second.requests("hello"), RANKS)
        job = self.finish(job)
        self.assert_right(job, lines=2)
        self.assertIn("pacing paused on ", job.told[1])

    @once_more
    def test_killed_and_restarted(self):
        self.dies_and_returns(phases=True, after=True)

    @once_more
    def test_killed_and_restarted_without_phases(self):
        self.dies_and_returns(phases=True, after=False)

    @once_more
    def test_an_old_daemon_upgraded(self):
        self.dies_and_returns(phases=False, after=True)

    @once_more
    def test_killed_for_good(self):
        for phases in (True, False):
            with self.subTest(phases=phases):
                daemon = self.daemon_process(phases)
                job = self.begin("seconds", "4", HEADWAY_TIMEOUT_MS="500")
                self.wait_for(self.in_pace(daemon, phases), "a paced job")
                daemon.signal(signal.SIGKILL)
                job = self.finish(job)
                self.assert_right(job, lines=2)
                self.assertIn("pacing paused on ", job.told[1])

    @once_more
    def test_hung(self):
        """One request waits in vain; when the daemon goes on, so does pacing."""
        daemon = self.daemon_process(phases=False)
        job = self.begin("until", HEADWAY_TIMEOUT_MS="2000")
        self.wait_for(self.in_pace(daemon, phases=False), "a paced job")
        daemon.signal(signal.SIGSTOP)
        line = job.stderr.readline() + job.stderr.readline()
        daemon.signal(signal.SIGCONT)
        # those whose request it still answers in time have lost nothing
        self.wait_for(lambda: daemon.requests("hello") > RANKS, "a rank that is back")
        job = self.finish(job)
        self.assertEqual((job.status, job.stdout, job.told), (0, "all data right\n", []))
        self.assertIn("pacing all-to-all", line)
        self.assertIn("did not answer within 2000 ms; it goes on when headwayd is back", line)

    @once_more
    def test_hung_with_phases(self):
        """Nobody asks it anything, so nobody notices."""
        daemon = self.daemon_process(phases=True)
        job = self.begin("seconds", "3")
        self.wait_for(self.in_pace(daemon, phases=True), "a paced job")
        daemon.signal(signal.SIGSTOP)
        self.assert_right(self.finish(job), lines=1)

    @once_more
    def test_a_child_leaves_its_parent_s_phase_alone(self):
        with self.daemon(phases=True) as daemon:
            job = self.begin("fork")
            self.assertEqual(job.stdout.readline(), "forked\n")
            self.wait_for(lambda: daemon.phases_entered() == [WHOLE_PHASE] * RANKS, "phases")
            job = self.finish(job)
            self.assert_right(job, lines=1)
            self.assertEqual(daemon.phases_entered(), [0] * RANKS)
        for connection in daemon.connections:
            self.assertEqual(connection.operations()[:3], ["hello", "join", "prepare"])
            self.assertEqual(set(connection.operations()[3:]), {"phase"})

    def test_abort(self):
        plain = self.run_job("outcome_check", "fail", "5", helper=False)
        with self.daemon(phases=True) as daemon:
            job = self.run_job("outcome_check", "fail", "5")
            self.wait_for(lambda: all(c.closed for c in daemon.connections), "closed connections")
        self.assertEqual((job.status, job.stdout), (plain.status, plain.stdout), job.stderr)
        self.assertEqual(job.status, 5)

    def test_intercommunicators(self):
        with self.daemon(phases=True) as daemon:
            job = self.run_job("outcome_check", "intercommunicator")
        self.assert_right(job, lines=1)
        for connection in daemon.connections:
            self.assertEqual(connection.operations()[:3], ["hello", "join", "prepare"])
            self.assertEqual(set(connection.operations()[3:]), {"phase"})

    def test_recording_says_what_it_leaves_out(self):
        """Of each rank an all-to-all between the groups; a send of half of them."""
        file = os.path.join(os.path.dirname(self.socket), "recording.json")
        job = self.run_job("outcome_check", "intercommunicator", HEADWAY_RECORD=file)
        self.assertEqual((job.status, job.stdout), (0, "all data right\n"), job.stderr)
        self.assertTrue(any(f"the recording {file} leaves out {RANKS + RANKS // 2} sends and "
                            "collectives" in line for line in job.told), job.stderr)
        with open(file, encoding="utf-8") as text:
            recording = json.load(text)
        self.assertEqual(recording["left_out"], RANKS + RANKS // 2)
        self.assertEqual({phase["operation"] for phase in recording["phases"]}, {"alltoall"})


class OpenMpi(Both, HelperTest):
    """Under Open MPI."""

    def test_spawn(self):
        """Spawned processes are another job, which finds its own daemon."""
        plain = self.run_job("outcome_check", "spawn", helper=False, ranks=2)
        with self.daemon(phases=True):
            job = self.run_job("outcome_check", "spawn", ranks=2)
        self.assertEqual((job.status, job.stdout), (plain.status, plain.stdout), job.stderr)
        self.assertEqual(plain.status, 0, plain.stderr)
        self.assertLessEqual(len(job.told), 2, job.stderr)


class Mpich(Both, HelperTest):
    """Under MPICH.  Debian's MPICH cannot spawn processes on one machine,
    with or without it."""

    library = "mpich"


if __name__ == "__main__":
    main()
