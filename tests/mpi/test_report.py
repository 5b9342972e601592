#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""HEADWAY_REPORT tells what the collectives of a job did.

  test_report.py [Class.method ...]
  test_report.py --list
"""

import json
import os

from fake_headwayd import FakeHeadwayd
from mpi_job import FIVE_NODES, RANKS, TWO_CLUSTERS, HelperTest, RealHeadwayds, main

PREDICTED_S = 0.25
FIRST_RANK_ONLY = ["sh", "-c", 'test "${PMIX_RANK:-$PMI_RANK}" = 0 || unset HEADWAY_REPORT; '
                   'exec "$@"', "sh"]


class Both:
    """Tests that hold for either MPI library; they are mixed into a class for each."""

    def setUp(self):
        super().setUp()
        self.file = os.path.join(os.path.dirname(self.socket), "report.json")

    def predicting_daemon(self):
        time = {"low_s": PREDICTED_S, "high_s": PREDICTED_S}
        return self.daemon(replace={"plan": lambda request, connection: {
            "paced": True, "predicted_paced": time, "predicted_unpaced": time}})

    def reported_job(self, report, **keywords):
        job = self.run_job("alltoall_check", HEADWAY_REPORT=report, **keywords)
        self.assert_succeeded(job)
        return job

    def rows(self):
        with open(self.file, encoding="utf-8") as file:
            return json.load(file)["collectives"]

    def test_file(self):
        with self.predicting_daemon():
            self.reported_job(self.file)
        rows = [row for row in self.rows() if row["operation"] == "alltoall" and row["paced"]]
        self.assertTrue(rows)
        for row in rows:
            duration = row["duration"]
            self.assertGreater(row["message_bytes_most"], 1024)
            self.assertLessEqual(row["bytes"], row["calls"] * row["message_bytes_most"])
            self.assertLessEqual(duration["min_ns"], duration["median_ns"])
            self.assertLessEqual(duration["median_ns"], duration["max_ns"])
            self.assertEqual(sum(count for _, count in duration["classes"]) % row["calls"], 0)
            self.assertEqual(row["predicted_s"], PREDICTED_S)
            self.assertAlmostEqual(row["ratio"], duration["median_ns"] / 1e9 / PREDICTED_S)

    def test_calls_are_counted(self):
        with self.predicting_daemon():
            job = self.run_job("collective_bench", "--sizes", "16384", "--repetitions", "5",
                               HEADWAY_REPORT=self.file)
        self.assertEqual(job.status, 0, job.stderr)
        bench = json.loads(job.stdout.splitlines()[0])
        calls = len(bench["warmup_ms"]) + len(bench["samples_ms"])
        rows = [row for row in self.rows() if row["operation"] == "alltoall"]
        self.assertEqual([(row["communicator"], row["calls"], row["bytes"]) for row in rows],
                         [("MPI_COMM_WORLD, 4 ranks", calls, calls * 16384)])
        self.assertEqual(sum(count for _, count in rows[0]["duration"]["classes"]),
                         calls * RANKS)

    def test_summary_is_a_table_of_one_rank(self):
        with self.predicting_daemon():
            job = self.reported_job("summary")
        lines = job.stderr.splitlines()
        self.assertEqual(sum("what the collectives of this job did" in line for line in lines), 1)
        header = next(line for line in lines if line.startswith("communicator"))
        for word in ("operation", "calls", "algorithm", "paced", "median ms", "predicted ms", "ratio"):
            self.assertIn(word, header)
        self.assertTrue([line for line in lines if "alltoall" in line and " yes " in line])
        self.assertTrue([line for line in lines
                         if line == "not paced, alltoall: messages under 2048 bytes are not paced"])
        self.assertTrue([line for line in lines if line.startswith("TCP of the job's 4 nodes")])
        self.assertTrue([line for line in lines if line.startswith("TCP between the job's ranks, ")])
        unpredicted = next(line.split() for line in lines if " alltoallv " in line)
        self.assertEqual(unpredicted[-2:], ["-", "-"])

    def test_requests_are_counted(self):
        """From their start to where the program sees their end; paced or not."""
        with self.predicting_daemon():
            job = self.run_job("requests_check", HEADWAY_REPORT=self.file)
        self.assertEqual(job.status, 0, job.stderr)
        self.assert_requests(paced=True)
        for row in self.rows():
            if row["operation"] == "ialltoall":
                self.assertEqual(row["predicted_s"], PREDICTED_S)

    def test_requests_are_counted_without_a_daemon(self):
        job = self.run_job("requests_check", HEADWAY_REPORT=self.file)
        self.assertEqual(job.status, 0, job.stderr)
        self.assert_requests(paced=False)
        for row in self.rows():
            self.assertIn("no headwayd at", row["reason"])

    def assert_requests(self, paced):
        rows = {row["operation"]: row for row in self.rows()}
        row = rows["ialltoall"]
        self.assertEqual((row["calls"], row["bytes"], row["paced"], row["algorithm"]), (1, 4000, paced, "native"))
        self.assertEqual(sum(count for _, count in row["duration"]["classes"]), RANKS)
        # another collective lies between start and wait
        self.assertGreaterEqual(row["duration"]["min_ns"], 1000)
        self.assertNotIn("alltoall_init", rows)  # a persistent one is the MPI library's own

    def test_requests_that_nobody_waits_for(self):
        with self.predicting_daemon():
            job = self.run_job("requests_check", "--abandon", HEADWAY_REPORT=self.file)
        self.assertEqual(job.status, 0, job.stderr)
        rows = {row["operation"]: row for row in self.rows()}
        self.assertEqual(rows["iallgather"]["calls"], 1)
        self.assertEqual(rows["iallgather"]["duration"]["classes"], [])

    def test_predictions_are_those_of_the_answers(self):
        """The daemon predicts what it plans, of a ring by its steps."""
        def phase(request, connection):
            answer = FakeHeadwayd.answer_phase(daemon, request, connection)
            seconds = request["message_bytes"] / 1e6
            return {**answer, "predicted": {"low_s": seconds, "high_s": seconds}}
        algorithm = lambda rank: None
        with self.daemon(replace={"phase": phase}, algorithm=algorithm) as daemon:
            for operation, wanted in (("gather", "linear"), ("allgather", "ring"), ("bcast", "ring")):
                daemon.algorithm = wanted
                with self.subTest(operation):
                    job = self.run_job("collective_bench", "--operation", operation, "--sizes", "16384",
                                       "--repetitions", "3", HEADWAY_REPORT=self.file)
                    self.assertEqual(job.status, 0, job.stderr)
                    # until the ranks agree for the second time, the program's own small broadcasts decide
                    row, = [row for row in self.rows() if row["operation"] == operation and
                            row["message_bytes_most"] == 16384 and row["algorithm"] == wanted]
                    self.assertTrue(row["paced"])
                    step = 16384 // RANKS if operation == "bcast" else 16384
                    self.assertEqual(row["predicted_s"], step / 1e6)

    def test_predictions_of_headwayd(self):
        """It predicts all-to-alls, gathers and rings, where it may choose the size."""
        folder = os.path.dirname(self.socket)
        with RealHeadwayds(folder, TWO_CLUSTERS) as daemons:
            for operation, algorithm in (("alltoall", "linear"), ("alltoallv", "linear"),
                                         ("gather", "linear"), ("allgather", "ring")):
                with self.subTest(operation):
                    job = self.run_job("collective_bench", "--operation", operation, "--sizes", "65536",
                                       "--repetitions", "2", ranks=len(FIVE_NODES),
                                       under=daemons.on_nodes(FIVE_NODES), HEADWAY_REPORT=self.file)
                    self.assertEqual(job.status, 0, job.stderr)
                    rows = [row for row in self.rows() if row["operation"] == operation]
                    self.assertTrue(rows)
                    for row in rows:
                        self.assertEqual(row["algorithm"], algorithm)
                        # 64 KiB from each host, over links of 20 Mbit/s; ranks here share memory
                        predicted_s = row["predicted_s"] or 0
                        self.assertEqual(operation == "alltoallv", predicted_s < 65536 * 8 / 20e6)

    def test_without_daemon_it_says_why_nothing_was_paced(self):
        job = self.reported_job(self.file)
        self.assertEqual(len(job.told), 1, job.stderr)
        self.assertTrue(self.rows())
        for row in self.rows():
            self.assertFalse(row["paced"])
            self.assertRegex(row["reason"], "no headwayd at|it is between two groups")

    def test_the_first_rank_decides(self):
        with self.predicting_daemon():
            self.reported_job(self.file, under=FIRST_RANK_ONLY)
        self.assertTrue(self.rows())

    def test_file_that_cannot_be_written(self):
        with self.predicting_daemon():
            job = self.reported_job("/nowhere/report.json")
        self.assertEqual(sum("no report: /nowhere/report.json cannot be written" in line
                             for line in job.told), 1, job.stderr)

    def without_memory(self, rank, which):
        """Lets the library's allocation number `which` fail at that rank, in a call, or when MPI is
        finalised: the job ends well, and its report is whole, or there is none, and the helper
        says so.  Returns whether there were as many."""
        with self.subTest(rank=rank, allocation=which), self.predicting_daemon():
            job = self.run_job("outcome_check", "forgetful", str(which), str(rank), "later", preload=[self.pending_spy],
                               HEADWAY_REPORT=self.file)
            self.assertEqual((job.status, "all data right" in job.stdout), (0, True), job.stderr)
            is_written = os.path.exists(self.file)
            self.assertEqual("headway: no report: not enough memory" in job.told, not is_written, job.stderr)
            if is_written:
                self.assertTrue(self.rows())
                os.remove(self.file)
            return "forgot\n" in job.stdout

    def test_a_rank_without_memory(self):
        for rank in (0, 1):
            forgotten = [which for which in (1, 3, 30, 85, 250, 460) if self.without_memory(rank, which)]
            self.assertGreater(len(forgotten), 3 if rank == 0 else 2)

    def test_more_ranks_without_memory(self):
        for rank in (0, 1):
            which = 1 + rank
            while self.without_memory(rank, which):
                which += 4

    def test_option_of_headway_run(self):
        with self.predicting_daemon():
            self.assert_succeeded(self.run_headway(
                "run", "--report", self.file, "--", *self.ranks_of(RANKS, self.program("alltoall_check"))))
        self.assertTrue(self.rows())
        wrong = self.run_alone(self.headway("run", "--report", "table", "--", "true"))
        self.assertEqual(wrong.returncode, 2)
        self.assertIn("--report table: expected summary, or a file that ends in .json", wrong.stderr)

    def test_value_that_is_not_understood(self):
        with self.daemon():
            job = self.reported_job("yes")
        self.assertIn("HEADWAY_REPORT=yes is not understood, expected summary or FILE.json",
                      job.stderr)


class OpenMpi(Both, HelperTest):
    library = "ompi"
    longer = ("test_more_ranks_without_memory",)


class Mpich(Both, HelperTest):
    """Whose calls and requests are others; what is told of them is the same."""

    library = "mpich"
    longer = ("test_more_ranks_without_memory",)


if __name__ == "__main__":
    main()
