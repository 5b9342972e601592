#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of both helper libraries on one machine, against a fake daemon: every
wrapped operation does what it does without the helper; requests are held until
they are complete; a program's own rate; recordings.

  test_collectives.py [Class.method ...]
  test_collectives.py --list
"""

import json
import os
import re

from fake_headwayd import RATE_PHASE, TRUNK_BITS_PER_S, FakeHeadwayd
from mpi_job import NODES, PRELOAD, RANKS, ComparedTest, main

OPERATIONS = ["alltoall", "alltoallv", "alltoallw", "allgather", "allgatherv", "gather", "gatherv",
              "scatter", "scatterv", "bcast", "reduce", "allreduce", "reduce_scatter",
              "reduce_scatter_block", "neighbor_allgather", "neighbor_allgatherv",
              "neighbor_alltoall", "neighbor_alltoallv", "neighbor_alltoallw"]
NOT_PLANNED = {"reduce", "allreduce", "reduce_scatter", "reduce_scatter_block"}
ROOTED = {"gather", "gatherv", "scatter", "scatterv", "bcast", "reduce"}


class Both:
    """Tests that hold for either MPI library; they are mixed into a class for each."""

    cases = 300
    def test_every_operation_in_c(self):
        _, daemon = self.compare("collectives", "--cases", str(self.cases), "--seed", "1", plans_change=True)
        self.assertEqual(self.entered(daemon), set(OPERATIONS) - NOT_PLANNED)
        self.assertEqual(len({connection.requests[0]["job"] for connection in daemon.connections}), 1)
        for connection in daemon.connections:
            for pattern in connection.patterns:
                self.assertEqual("root" in pattern, pattern["operation"] in ROOTED, pattern)
                if "root" in pattern:
                    self.assertIn(pattern["root"], pattern["comm_hosts"])

    def compare_fortran(self, binding):
        _, daemon = self.compare(f"collectives_{binding}", "114", nodes=NODES)
        too_small = {"bcast"}  # in 114 cases
        self.assertEqual(self.entered(daemon), set(OPERATIONS) - NOT_PLANNED - too_small)

    def test_every_operation_with_mpif_h(self):
        self.compare_fortran("mpif")

    def test_every_operation_with_use_mpi(self):
        self.compare_fortran("f90")

    def test_every_operation_with_mpi_f08(self):
        self.compare_fortran("f08")

    def test_requests_are_held(self):
        """Another collective begins and ends meanwhile, which is laxer: a request's phase holds until its wait."""
        strict = {"alltoall": 11, "allgather": 12}

        def phase(request, connection):
            number = strict[request["operation"]]
            return {**FakeHeadwayd.answer_phase(daemon, request, connection), "phase": number, "bytes_per_s": number}

        with self.daemon(replace={"phase": phase}, plans_change=True) as daemon:
            job = self.run_job("requests_check", preload=[self.spy])
        self.assertEqual((job.status, job.stdout), (0, "done\n"), job.stderr)
        for rank in range(RANKS):
            waits = re.findall(rf"^waits {rank} (\d+)$", job.stderr, re.MULTILINE)
            self.assertEqual(waits[0], str(strict["alltoall"]))
        for connection in daemon.connections:
            steps = [(request["operation"], held) for request, held in connection.entries]
            one_request = [("alltoall", 0), ("allgather", strict["alltoall"])]
            # the persistent all-to-all around the others is the MPI library's own
            self.assertEqual(steps, one_request + [("allgather", 0)] * 3)

    def test_a_child_ends(self):
        job, daemon = self.paced_job("requests_check", "--fork", nodes=NODES, plans_change=True)
        self.assertEqual((job.status, job.stdout), (0, "done\n"), job.stderr)
        self.assertEqual(len(job.told), 1)
        for connection in daemon.connections:
            self.assertEqual(len(connection.entries), 5)

    def pending_job(self, what, **environment):
        with self.daemon():
            job = self.run_job("pending_check", what, preload=[self.pending_spy], **environment)
        self.assertEqual(job.status, 0, job.stdout + job.stderr)
        self.assertIn("all data right\n", job.stdout)
        return job

    def test_requests_without_memory(self):
        """Whichever allocation fails in their calls: the job goes on, and nothing stays entered."""
        self.pending_job("memory")
        self.pending_job("memory", HEADWAY_REPORT=os.path.join(self.sessions, "report.json"))

    def test_waits_need_no_memory(self):
        self.assertIn("allocated 0\n", self.pending_job("waits").stdout)

    def test_requests_whose_handle_is_another_s_by_then(self):
        """As with threads: MPI has completed one, and the wait for it has not yet returned."""
        self.pending_job("reused")

    # ---- a program's own rate -------------------------------------------------

    def rate_job(self, program, *arguments, daemon=None, **environment):
        """Returns what the program printed, the rates that each rank asked for, and the phases in
        which it sent; `daemon`: arguments of the fake."""
        with self.daemon(**(daemon or {})) as headwayd:
            job = self.run_job(program, *arguments, preload=[self.spy], **environment)
            if headwayd.has_phases:
                self.assertEqual(headwayd.phases_entered(), [0] * RANKS)
        self.assertEqual(job.status, 0, job.stderr)
        asked = {connection.rank: [request["bytes_per_s"] for request in connection.requests
                                   if request["op"] == "rate"]
                 for connection in headwayd.connections}
        self.assertEqual(sorted(asked), list(range(RANKS)))  # a connection each
        phases = {rank: [] for rank in range(RANKS)}
        for source, phase in re.findall(r"^sent (\d+) \d+ (\d+)$", job.stderr, re.MULTILINE):
            phases[int(source)].append(int(phase))
        job.values = dict(line.split() for line in job.stdout.splitlines())
        return job, asked, phases

    def test_own_rate_in_c(self):
        most = TRUNK_BITS_PER_S // 8000
        job, asked, phases = self.rate_job("sending_rate_check")
        self.assertEqual(job.values, {
            "maxrate": str(most), "first": "none", "paper_maxrate": str(most),
            "paper_first": str(most), "paper": "1", "paper_quarter": str(most // 4),
            "quarter": str(most // 4), "ended": "0", "dup": "none", "split": "none", "set": "777",
            "world": str(most // 4), "zero": "0", "anew": "none", "ordinary": "1", "tag_ub": "1",
            "last": "500"})
        self.assertEqual(len(job.told), 1, job.stderr)
        for rank in range(RANKS):
            # each once, however often it is set
            self.assertEqual(asked[rank], [most // 4 * 1000, 777000, 500000])
            paper = [RATE_PHASE, 0, RATE_PHASE]
            communicators = [RATE_PHASE, 0, RATE_PHASE, 0, RATE_PHASE, RATE_PHASE, RATE_PHASE,
                             RATE_PHASE, 0]
            self.assertEqual(phases[rank], paper + communicators + [RATE_PHASE])

    def test_own_rate_in_fortran(self):
        most = TRUNK_BITS_PER_S // 8000
        for binding in ("mpif", "f90", "f08"):
            with self.subTest(binding):
                job, asked, phases = self.rate_job(f"sending_rate_{binding}")
                self.assertEqual(job.values, {"maxrate": str(most), "first": "-1",
                                              "quarter": str(most // 4), "dup": "-1"})
                for rank in range(RANKS):
                    self.assertEqual(asked[rank], [most // 4 * 1000, 777000])
                    self.assertEqual(phases[rank], [RATE_PHASE, RATE_PHASE, 0])

    def test_own_rate_without_helper(self):
        for keywords in ({"helper": False}, {"HEADWAY": "off"}):
            job = self.run_job("sending_rate_check", **keywords)
            self.assertEqual((job.status, job.told), (0, []), job.stderr)
            for line in ("maxrate none", "last none", "paper 0", "ordinary 1"):
                self.assertIn(line + "\n", job.stdout)

    def test_own_rate_without_daemon(self):
        job = self.run_job("sending_rate_check")
        self.assertEqual((job.status, len(job.told)), (0, 2), job.stderr)
        self.assertIn("headway_matb has no effect: not pacing: no headwayd at", job.told[1])
        for line in ("maxrate none", "set 777", "last 500"):
            self.assertIn(line + "\n", job.stdout)

    def test_own_rate_and_daemon_without_phases(self):
        job, asked, _ = self.rate_job("sending_rate_check", daemon={"phases": False})
        self.assertEqual(len(job.told), 2, job.stderr)
        self.assertIn("headway_matb has no effect: headwayd is not there, or has no phases",
                      job.stderr)
        self.assertEqual(set(map(len, asked.values())), {0})

    def test_own_rate_that_is_no_number(self):
        job, asked, phases = self.rate_job("sending_rate_check", "--no-numbers")
        self.assertEqual(job.values["last"], "500")
        self.assertEqual(len(job.told), 2, job.stderr)
        self.assertIn("headway_matb=fast is not understood, expected 0 to 2147483647", job.stderr)
        for rank in range(RANKS):
            self.assertEqual(asked[rank][-1], 500000)
            self.assertEqual(phases[rank][-6:], [RATE_PHASE] * 6)

    def test_maxrate_of_the_environment(self):
        job, _, _ = self.rate_job("sending_rate_check", HEADWAY_MAXRATE="1000")
        self.assertEqual((job.values["maxrate"], job.values["quarter"]), ("1000", "250"))
        job, _, _ = self.rate_job("sending_rate_check", HEADWAY_MAXRATE="1e3")
        self.assertEqual(job.values["maxrate"], str(TRUNK_BITS_PER_S // 8000))
        self.assertIn("HEADWAY_MAXRATE=1e3 is not understood", job.told[0])

    def test_daemon_that_knows_no_rates(self):
        refuse = lambda *_: {"error": "the operation rate is unknown"}
        job, asked, phases = self.rate_job("sending_rate_check",
                                           daemon={"replace": {"rate": refuse}})
        self.assertIn(f"world {TRUNK_BITS_PER_S // 8000 // 4}\n", job.stdout)
        self.assertEqual(len(job.told), 2)
        self.assertIn("headway_matb has no effect: headwayd: the operation rate is unknown",
                      job.stderr)
        for rank in range(RANKS):
            self.assertEqual(len(asked[rank]), 3)  # different rates; each once
            self.assertEqual(set(phases[rank]), {0})

    # ---- recordings ---------------------------------------------------------

    def recorded(self, *arguments, **keywords):
        file = os.path.join(os.path.dirname(self.socket), "recording.json")
        job = self.run_job(*arguments, HEADWAY_RECORD=file, **keywords)
        self.assertEqual(job.status, 0, job.stderr)
        with open(file, encoding="utf-8") as text:
            recording = json.load(text)
        flows = {(phase["phase"], phase["operation"], flow["source"], flow["destination"]):
                 (flow["bytes"], flow["messages"])
                 for phase in recording["phases"] for flow in phase["flows"]}
        return flows, recording

    def test_recording(self):
        flows, recording = self.recorded("requests_check", "--send")
        self.assertEqual(recording["ranks"], RANKS)
        self.assertEqual(len(recording["hosts"]), RANKS)
        expected = {}
        for rank in range(RANKS):
            after, size = (rank + 1) % RANKS, 4 * (rank + 1)
            expected[0, "point_to_point", rank, after] = (3 * size, 3)
            expected[3, "point_to_point", rank, after] = (size, 1)
            for other in set(range(RANKS)) - {rank}:
                expected[0, "alltoall", rank, other] = (4000, 1)
                expected[0, "allgather", rank, other] = (4000, 1)
                expected[3, "allgather", rank, other] = (12000, 3)
        self.assertEqual(flows, expected)

    def test_recording_in_fortran(self):
        flows, _ = self.recorded("collectives_f08", "38")
        self.assertIn((0, "alltoall", 0, 1), flows)

    def test_recording_on_a_full_disk(self):
        file = os.path.join(os.path.dirname(self.socket), "recording.json")
        # what a process writes to first has its number in its name
        full = ("sh", "-c", 'ln -s /dev/full "$0.$$"; exec "$@"', file)
        job = self.run_job("requests_check", under=full, HEADWAY_RECORD=file)
        self.assertEqual((job.status, job.stdout), (0, "done\n"), job.stderr)
        self.assertEqual(len([line for line in job.told if "no recording" in line]), 1, job.stderr)
        self.assertIn("No space left on device", job.stderr)
        left = [name for name in os.listdir(os.path.dirname(file)) if name.startswith("recording.json")]
        self.assertEqual(len(left), RANKS - 1, "links of the ranks that write no recording")
        self.assertNotIn("recording.json", left)

    # ---- headway run --------------------------------------------------------

    def test_run_draws_the_start_of_the_job(self):
        """One for all that the command starts, unless it is there already."""
        show = ["sh", "-c", "echo $HEADWAY_JOB_START"]
        told = [self.run_headway("run", "--", *self.ranks_of(2, *show)).stdout.split() for _ in range(2)]
        self.assertEqual([len(starts) for starts in told], [2, 2])
        self.assertEqual([len(set(starts)) for starts in told], [1, 1])
        self.assertNotEqual(told[0], told[1])
        self.assertIn(int(told[0][0]), range(1, 2**53))
        run = self.headway("run", "--", *show)
        self.assertEqual(self.run_alone(run, HEADWAY_JOB_START="7").stdout, "7\n")
        done = self.run_alone(run, HEADWAY_JOB_START="now")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertEqual(done.stderr, "headway: HEADWAY_JOB_START=now is not understood, expected 1 to "
                                      "9007199254740991; unset it, and a number is drawn\n")

    def test_record(self):
        file = os.path.join(self.sessions, "recorded.json")
        job = self.run_headway("record", "-o", file, "--", *self.ranks_of(2, self.program("requests_check")))
        self.assertEqual(job.status, 0, job.stderr)
        with open(file, encoding="utf-8") as text:
            self.assertEqual(json.load(text)["ranks"], 2)
        done = self.run_alone(self.headway("run", "--pattern", file, "--", "sh", "-c", "echo $HEADWAY_PATTERN"))
        self.assertEqual((done.returncode, done.stdout), (0, file + "\n"), done.stderr)

    def test_pattern_paces_its_phases(self):
        """Every rank asks for the traffic of both phases between all hosts, once."""
        file = os.path.join(os.path.dirname(self.socket), "recorded.json")
        self.run_job("requests_check", "--send", HEADWAY_RECORD=file)
        job, daemon = self.paced_job("requests_check", "--send", nodes=NODES,
                                     HEADWAY_PATTERN=file)
        self.assertEqual((job.status, job.stdout), (0, "done\n"), job.stderr)
        self.assert_one_line(job, "point-to-point by " + file)
        place = [list(dict.fromkeys(NODES)).index(node) for node in NODES]
        flows = [[place[rank], place[(rank + 1) % RANKS], 250 * (rank + 1)]
                 for rank in range(RANKS)]
        for rank, connection in daemon.by_rank().items():
            asked = [request for request in connection.requests if request["op"] == "traffic"]
            self.assertEqual(len(asked), 2, rank)
            for request in asked:
                self.assertEqual(request["hosts"], list(dict.fromkeys(NODES)))
                self.assertEqual(sorted(request["flows"]), sorted(flows))

    def test_pattern_leaves_out_small_messages(self):
        """Ranks send 4, 8, 12 and 16 bytes at a time; only one is told what is small."""
        file = os.path.join(os.path.dirname(self.socket), "recorded.json")
        self.run_job("requests_check", "--send", HEADWAY_RECORD=file)

        def hello(request, _connection):
            told = {"min_message_bytes": 12} if request["rank"] == 1 else {}
            return {"node": NODES[request["rank"]], "cluster": "a", "phases": True, **told}

        with self.daemon(replace={"hello": hello}) as daemon:
            job = self.run_job("requests_check", "--send", HEADWAY_PATTERN=file)
        self.assertEqual((job.status, job.stdout), (0, "done\n"), job.stderr)
        senders = {connection.rank: [len(request["flows"]) for request in connection.requests
                                     if request["op"] == "traffic"]
                   for connection in daemon.connections}
        self.assertEqual(senders, {0: [], 1: [], 2: [2, 2], 3: [2, 2]})

    def test_neighbours_are_traffic(self):
        """The helper knows who sends to whom on a grid of all ranks, but not on a distributed
        graph."""
        arguments = ("collectives", "--cases", "40", "--only", "neighbor_alltoall", "--seed", "3")
        plain = self.run_job(*arguments, helper=False)
        job, daemon = self.paced_job(*arguments, nodes=NODES)
        self.assert_same_output(job, plain)
        # 2 x 2, round in the first dimension only, where both neighbours are the same
        flows = [[0, 1, 500], [0, 2, 1000], [1, 0, 500], [1, 3, 1000],
                 [2, 0, 1000], [2, 3, 500], [3, 1, 1000], [3, 2, 500]]
        for connection in daemon.connections:
            asked = [request for request in connection.requests if request["op"] == "traffic"]
            self.assertGreater(len(asked), 0)
            for request in asked:
                self.assertEqual(request["hosts"], NODES)
                self.assertEqual(sorted(request["flows"]), flows)

    def test_pattern_of_another_job(self):
        file = os.path.join(os.path.dirname(self.socket), "recorded.json")
        self.run_job("requests_check", "--send", ranks=2, HEADWAY_RECORD=file)
        job, daemon = self.paced_job("requests_check", nodes=NODES, HEADWAY_PATTERN=file)
        self.assertEqual((job.status, job.stdout), (0, "done\n"), job.stderr)
        self.assert_one_line(job, "is not used: it is of another number of ranks")
        self.assertEqual(sum(connection.operations().count("traffic")
                             for connection in daemon.connections), 0)


LONGER = ("test_every_operation_with_mpif_h", "test_every_operation_with_use_mpi", "test_every_operation_with_mpi_f08",
          "test_own_rate_in_fortran", "test_recording_in_fortran")


class OpenMpi(Both, ComparedTest):
    """Under Open MPI."""

    longer = LONGER

    # ---- without any MPI library ------------------------------------------------

    def test_run_hands_on_the_exit_status(self):
        done = self.run_alone(self.headway("run", "--", "sh", "-c", "exit 7"))
        self.assertEqual((done.returncode, done.stderr), (7, ""))

    def test_run_refuses_what_is_no_recording(self):
        done = self.run_alone(self.headway("run", "--pattern", "/etc/hostname", "--", "true"))
        self.assertEqual(done.returncode, 2)
        self.assertIn("it is no recording", done.stderr)

    def test_programs_without_mpi(self):
        library = os.path.join(os.environ["HW_LIB"], PRELOAD)
        for command, status in ((["true"], 0), (["sh", "-c", "cat /dev/null; exit 9"], 9),
                                (["/usr/bin/python3", "-c", "import os; os.fork()"], 0)):
            done = self.run_alone(command, LD_PRELOAD=library)
            self.assertEqual((done.returncode, done.stdout, done.stderr), (status, "", ""))


class Mpich(Both, ComparedTest):
    """Under MPICH, whose ranks never yield, so there are fewer cases."""

    library = "mpich"
    longer = LONGER
    cases = 190


if __name__ == "__main__":
    main()
