#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Whatever happens to headwayd, and whatever a program does beside MPI's
collectives, a job ends as it would without the helper: same exit status, same
output, and one line of ours beside that at its start at most.

  test_outcome.py [Class.method ...]
  test_outcome.py --list
"""

import json
import os
import signal
import subprocess
import time

from fake_headwayd import WHOLE_PHASE
from mpi_job import NODES, PATIENCE_MS, RANKS, HelperTest, main, wait_for

HERE = os.path.dirname(os.path.realpath(__file__))
TURNS = 40  # of a program that is not held up; the ranks agree on algorithms in every 16th call


class DaemonProcess:
    """A fake_headwayd that signals can be sent to, and what it was asked."""

    def __init__(self, test, path, *options):
        self.log = f"{path}.{time.monotonic_ns()}"
        command = ["/usr/bin/python3", f"{HERE}/fake_headwayd.py", path, self.log, *NODES]
        if os.path.exists(path):
            os.unlink(path)
        self.process = subprocess.Popen([*command, *options])
        test.addCleanup(self.end)
        wait_for(lambda: os.path.exists(path), "a daemon that listens")

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
    """Tests that hold for either MPI library; they are mixed into a class for each."""

    def begin(self, *arguments, **keywords):
        """A job that runs on; finish() ends it by its file."""
        self.stop_file = os.path.join(self.sessions, "stop")
        if os.path.exists(self.stop_file):
            os.unlink(self.stop_file)
        return self.start_command(self.command_of("outcome_check", *arguments, self.stop_file, **keywords))

    def finish(self, job):
        with open(self.stop_file, "w", encoding="ascii"):
            return job.wait()

    def assert_right(self, job, *, lines):
        self.assertEqual((job.status, job.stdout), (0, "all data right\n"), job.stderr)
        self.assertEqual(len(job.told), lines, job.stderr)

    def daemon_process(self, *options):
        return DaemonProcess(self, self.socket, *options)

    def in_pace(self, daemon):
        """Every rank has all that it needs to enter, of that daemon; the program
        has two operations."""
        return lambda: (daemon.requests("phase") >= RANKS and
                        daemon.requests("prepare") >= 2 * RANKS)

    def paced(self, *options, **keywords):
        """A job that runs on and its daemon, of which every rank has all that it needs."""
        daemon = self.daemon_process(*options)
        job = self.begin("until", **keywords)
        wait_for(self.in_pace(daemon), "a paced job")
        return job, daemon

    def wait_for_turns(self, job):
        """As many as show that nothing holds up the program."""
        before = job.stderr.count("turn ")
        job.wait_for(lambda: job.stderr.count("turn ") >= before + TURNS, "turns")

    def replaced(self, job, *, is_seen):
        """By a daemon with phases; the job goes on until it is paced by that."""
        second = self.daemon_process()
        wait_for(self.in_pace(second), "a job paced by the next daemon")
        self.assertEqual(second.requests("hello"), RANKS)
        job = self.finish(job)
        self.assert_right(job, lines=2 if is_seen else 1)
        self.assertEqual("pacing paused on " in job.stderr, is_seen)
        return job

    def test_killed_and_restarted(self):
        job, first = self.paced()
        first.signal(signal.SIGKILL)
        self.replaced(job, is_seen=True)

    def test_killed_and_restarted_without_phases(self):
        """It paces nothing, and is asked for none of it; nor is more said of it."""
        job, first = self.paced()
        first.signal(signal.SIGKILL)
        second = self.daemon_process("--no-phases")
        wait_for(lambda: second.requests("hello") >= RANKS, "ranks that greet the next daemon")
        self.wait_for_turns(job)
        self.assertEqual([second.requests(operation) for operation in ("prepare", "phase", "enter")], [0] * 3)
        second.signal(signal.SIGKILL)
        self.replaced(job, is_seen=True)

    def test_an_old_daemon_upgraded(self):
        """To one with phases."""
        first = self.daemon_process("--no-phases")
        job = self.begin("until")
        self.wait_for_turns(job)
        self.assertEqual([first.requests(operation) for operation in ("prepare", "phase", "enter")], [0] * 3)
        first.signal(signal.SIGKILL)
        job = self.replaced(job, is_seen=False)
        self.assertIn("not pacing: rank 0 on a0: headwayd has no phases on this node: ", job.told[0])

    def test_killed_for_good(self):
        for options in ((), ("--plans-change",)):
            with self.subTest(options=options):
                job, daemon = self.paced(*options)
                daemon.signal(signal.SIGKILL)
                job.wait_for(lambda job=job: "pacing paused on " in job.stderr, "a rank that misses the daemon")
                self.wait_for_turns(job)
                self.assert_right(self.finish(job), lines=2)

    def test_hung(self):
        """One request waits in vain; when the daemon goes on, so does pacing."""
        time_is_up = os.path.join(self.sessions, "time_is_up")
        job, daemon = self.paced("--plans-change", preload=["tests/time_is_up.so"], TIME_IS_UP=time_is_up)
        daemon.signal(signal.SIGSTOP)
        with open(time_is_up, "w", encoding="ascii"):
            job.wait_for(lambda: "pacing paused on " in job.stderr, "a request in vain")
        daemon.signal(signal.SIGCONT)
        # those whose request it still answers in time have lost nothing
        wait_for(lambda: daemon.requests("hello") > RANKS, "a rank that is back")
        job = self.finish(job)
        self.assert_right(job, lines=2)
        self.assertIn(f"did not answer within {PATIENCE_MS} ms; it goes on when headwayd is back", job.stderr)

    def test_hung_unnoticed(self):
        """Nobody asks it anything."""
        job, daemon = self.paced()
        daemon.signal(signal.SIGSTOP)
        self.wait_for_turns(job)
        self.assert_right(self.finish(job), lines=1)

    def test_a_child_leaves_its_parent_s_phase_alone(self):
        with self.daemon() as daemon:
            job = self.begin("fork")
            job.wait_for(lambda: job.stdout == "forked\n", "ranks whose children have ended")
            wait_for(lambda: daemon.phases_entered() == [WHOLE_PHASE] * RANKS, "phases")
            job = self.finish(job)
            self.assertEqual((job.status, job.stdout), (0, "forked\nall data right\n"), job.stderr)
            self.assertEqual(len(job.told), 1, job.stderr)
            self.assertEqual(daemon.phases_entered(), [0] * RANKS)
        for connection in daemon.connections:
            self.assertEqual(connection.operations()[:3], ["hello", "join", "prepare"])
            self.assertEqual(set(connection.operations()[3:]), {"phase"})

    def test_abort(self):
        """Inside a phase: by the program's status and no other, whatever a launcher makes of it; what the
        rank had entered ends with its connection."""
        spy = "tests/abort_spy.mpich.so" if self.library == "mpich" else "tests/abort_spy.so"
        with self.daemon() as daemon:
            job = self.run_job("outcome_check", "fail", "5", preload=[spy])
            wait_for(lambda: all(c.closed for c in daemon.connections), "closed connections")
        self.assertEqual([line for line in job.stderr.splitlines() if line.startswith("abort")], ["abort 5"], job.stderr)
        self.assertNotIn(0, job.statuses)
        self.assertEqual(len(job.statuses), RANKS)

    def test_intercommunicators(self):
        with self.daemon() as daemon:
            job = self.run_job("outcome_check", "intercommunicator")
        self.assert_right(job, lines=1)
        for connection in daemon.connections:
            self.assertEqual(connection.operations()[:3], ["hello", "join", "prepare"])
            self.assertEqual(set(connection.operations()[3:]), {"phase"})

    def test_recording_says_what_it_leaves_out(self):
        """The recording leaves out each rank's all-to-all between the groups, and a send of half of
        them."""
        file = os.path.join(os.path.dirname(self.socket), "recording.json")
        job = self.run_job("outcome_check", "intercommunicator", HEADWAY_RECORD=file)
        self.assertEqual((job.status, job.stdout), (0, "all data right\n"), job.stderr)
        self.assertTrue(any(f"the recording {file} leaves out {RANKS + RANKS // 2} calls: "
                            "one-sided ones" in line for line in job.told), job.stderr)
        with open(file, encoding="utf-8") as text:
            recording = json.load(text)
        self.assertEqual(recording["left_out"], RANKS + RANKS // 2)
        self.assertEqual({phase["operation"] for phase in recording["phases"]}, {"alltoall"})

    def test_recording_counts_what_it_cannot_record(self):
        """Scans and one-sided transfers, of which there are 14 in MPI 3.1."""
        file = os.path.join(os.path.dirname(self.socket), "recording.json")
        job = self.run_job("outcome_check", "uncounted", HEADWAY_RECORD=file)
        self.assertEqual((job.status, job.stdout), (0, "all data right\n"), job.stderr)
        with open(file, encoding="utf-8") as text:
            recording = json.load(text)
        self.assertEqual((recording["left_out"], recording["phases"]), (14 * RANKS, []))
        self.assertTrue(any(f"leaves out {14 * RANKS} calls: one-sided ones, scans" in line for line in job.told), job.stderr)

    def test_recording_without_memory(self):
        """An allocation fails at rank 0 or at another one, in larger and larger steps until there are no more: the job ends
        well, and its recording is whole or says what is missing."""
        file = os.path.join(os.path.dirname(self.socket), "recording.json")
        for forgetting in (0, 1):
            for which in (1, 4, 12, 36, 108, 324):
                with self.subTest(rank=forgetting, allocation=which):
                    job = self.run_job("outcome_check", "forgetful", str(which), str(forgetting), preload=[self.pending_spy],
                                       HEADWAY_RECORD=file)
                    self.assertEqual((job.status, "all data right" in job.stdout), (0, True), job.stderr)
                    is_told = any("no recording" in line or "leaves out" in line for line in job.told)
                    self.assertEqual(is_told, "forgot\n" in job.stdout, job.stdout + job.stderr)
                if "forgot\n" not in job.stdout:
                    break
            self.assertGreater(which, 8)


class OpenMpi(Both, HelperTest):
    """Under Open MPI."""

    def test_spawn(self):
        """Spawned processes are another job, which finds its own daemon.  Open MPI 5 hands the variables that
        mpirun was given on to the first job alone, so the other one has no helper."""
        with self.daemon() as daemon:
            job = self.run_job("outcome_check", "spawn", ranks=2)
        self.assert_right(job, lines=1)
        hellos = [connection.requests[0] for connection in daemon.connections]
        jobs = 1 if self.is_open_mpi_5 else 2
        self.assertEqual(len({hello["job"] for hello in hellos}), jobs)
        self.assertEqual(sorted(hello["rank"] for hello in hellos), sorted([0, 1] * jobs))


class Mpich(Both, HelperTest):
    """Under MPICH.  Debian's MPICH cannot spawn processes on one machine,
    with or without it."""

    library = "mpich"


if __name__ == "__main__":
    main()
