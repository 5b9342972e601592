#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of both helper libraries' own algorithms on one machine, against a fake
daemon and against the real one's planner and service: every algorithm does what
the MPI library's does; rank 0's plan decides; messages leave in their phase.

  test_algorithms.py [Class.method ...]
  test_algorithms.py --list
"""

import itertools
import json
import os
import re

from fake_headwayd import CLOSE, RATE_PHASE, WHOLE_PHASE
from mpi_job import FIVE_NODES, NODES, RANKS, TWO_CLUSTERS, ComparedTest, RealHeadwayds, main

LINEAR = ["alltoall", "alltoallv", "alltoallw", "gather", "gatherv", "scatter", "scatterv"]
ROUND = ["allgather", "allgatherv", "bcast"]
# Seeds of collectives whose one case is blocking and of 5 ranks in all; in the
# reversed one ranks count from the last.
FIRST_CASE = {"alltoall": 0, "gather": 5}
WORLD_ALLTOALL, REVERSED_ALLTOALL, WORLD_GATHER, WORLD_GATHER_ROOT = 20, 11, 10, 0


class Both:
    """Tests that hold for either MPI library; they are mixed into a class for each."""

    def test_linear_alltoalls(self):
        """A number of ranks that is no power of two, clusters of different sizes."""
        nodes = ["a0", "a1", "a2", "b0", "b1"]
        operations = ("alltoall", "alltoallv", "alltoallw")
        job, daemon = self.compare("collectives", "--cases", "760", "--only", ",".join(operations), "--seed", "7",
                                   nodes=nodes, algorithm="linear", HEADWAY_VERBOSE="1")
        for operation in operations:
            self.assertIn(f"{operation} of 5 ranks: linear", job.stderr)
        self.assert_only_rank_0_leaves_the_choice(daemon, len(nodes))

    def test_alltoalls_of_uneven_hosts(self):
        """Each host is paced by what its ranks send; hosts of as many ranks need not be told of."""
        for nodes, flows in ((["a0", "a0", "a1", "b0", "a0"],
                              {("a0", "a1"): 1000, ("a0", "b0"): 1000, ("a1", "b0"): 333}),
                             (["a0", "a1", "b0", "b0", "a1", "a0"], None)):
            with self.subTest(nodes=nodes):
                job, daemon = self.paced_job("collectives", "--cases", "300", "--only", "alltoall",
                                             "--seed", "7", nodes=nodes, algorithm="linear",
                                             HEADWAY_VERBOSE="1")
                self.assertEqual(job.status, 0, job.stderr)
                self.assertIn(f"alltoall of {len(nodes)} ranks: linear", job.stderr)
                told = [request for connection in daemon.connections
                        for request in connection.requests if request["op"] == "traffic"]
                self.assertEqual(bool(told), flows is not None)
                for request in told:
                    hosts = request["hosts"]
                    self.assertEqual({(hosts[a], hosts[b]): amount
                                      for a, b, amount in request["flows"]},
                                     {pair: amount for (a, b), amount in flows.items()
                                      for pair in ((a, b), (b, a))})

    def test_alltoalls_of_told_sizes(self):
        """Ranks whose messages differ tell each other, and each host's daemon is asked for every call; in pieces they
        do what the library does.  Of types with gaps and in place a copy would be needed: once a rank has had such,
        they tell no more."""
        nodes = ["a0", "a1", "a0", "b0", "b1"]
        # Telling takes two looks at the clock, on a busy machine, too: it always pays.
        job, daemon = self.paced_job("told_check", "60", nodes=nodes, algorithm="linear", preload=[self.pending_spy],
                                     SPY_CLOCK_NS="10000")
        self.assertEqual((job.status, job.stdout), (0, "all data right\n"), job.stderr)
        told = [[request["flows"] for request in connection.requests if request.get("one_call")]
                for connection in daemon.connections]
        self.assertEqual(len(told[0]), 2 * 16, "of each form until the next agreement")
        for flows in told:
            self.assertEqual(flows, told[0], "all ranks know the same")
        self.assertTrue(all(max(amount for *_, amount in flows) == 1000 for flows in told[0]))

    def test_pieces_do_not_wait_for_each_other(self):
        """A rank that waits for what comes is many pieces ahead of that: else each would take a latency.  By a plan without
        a duration no piece has a moment, and only what must be waited for is."""
        spy = "tests/ahead_spy.mpich.so" if self.library == "mpich" else "tests/ahead_spy.so"
        answer = {"phase": RATE_PHASE, "bytes_per_s": 500, "generation": 1, "paced": True, "end_s": 0}
        with self.daemon(nodes=NODES, algorithm="linear", replace={"traffic": lambda *_: answer}) as daemon:
            job = self.run_job("npb_kernel", "MOE", "--size", "4096", "--iterations", "1", "--warmup", "1", preload=[spy])
        self.assertEqual(job.status, 0, job.stderr)
        self.assertTrue(any(request.get("one_call") for request in daemon.connections[0].requests), "sizes were told")
        waits, ahead = map(int, re.search(r"^waited (\d+) times ahead by (-?\d+)$", job.stderr, re.MULTILINE).groups())
        self.assertGreater(waits, 0)
        self.assertGreater(ahead, 100)

    def test_telling_sizes_is_given_up_where_it_takes_too_long(self):
        """A call that lasts a nanosecond: after the 16 calls of an agreement nobody asks any more."""
        answer = {"phase": RATE_PHASE, "bytes_per_s": 500, "generation": 1, "paced": True, "end_s": 1e-9}
        with self.daemon(nodes=FIVE_NODES, algorithm="linear",
                         replace={"traffic": lambda *_: answer}) as daemon:
            job = self.run_job("npb_kernel", "MOE", "--size", "1024", "--iterations", "12", "--warmup", "1",
                               ranks=len(FIVE_NODES))
        self.assertEqual(job.status, 0, job.stderr)
        self.assertIn('"verified":true', job.stdout)
        asked = [sum(bool(request.get("one_call")) for request in connection.requests) for connection in daemon.connections]
        self.assertEqual(asked, [16] * len(FIVE_NODES))

    def test_linear_gather_and_scatter(self):
        """Straight between the root and everybody, each host of which may be the root."""
        nodes = ["a0", "a0", "a1", "b0", "b1"]
        operations = ("gather", "gatherv", "scatter", "scatterv")
        job, daemon = self.compare("collectives", "--cases", "1520", "--only", ",".join(operations), "--seed", "7",
                                   nodes=nodes, algorithm="linear", HEADWAY_VERBOSE="1")
        self.assertEqual(self.entered(daemon), set(operations))
        entered = [request for connection in daemon.connections for request, _ in connection.entries]
        self.assertEqual({request.get("algorithm") for request in entered}, {"linear"})
        for operation in operations:
            self.assertIn(f"{operation} of 5 ranks: linear", job.stderr)
            self.assertGreater(len({request["root"] for request in entered if request["operation"] == operation}), 1)
            self.assertTrue(any(f" {operation} blocking" in line and "in_place" in line
                                for line in job.stdout.splitlines()))

    def test_more_messages_than_the_window(self):
        """Each of 72 ranks has 144 messages, and 128 at most under way; the bench checks all bytes.
        """
        nodes = [f"a{at % 36}" for at in range(72)]
        with self.daemon(nodes=nodes, algorithm="linear"):
            job = self.run_job("collective_bench", "--operation", "alltoall", "--sizes", "5000",
                               "--warmup", "0", "--repetitions", "1", ranks=len(nodes),
                               HEADWAY_VERBOSE="1", HEADWAY_ALL_RANKS="on")
        self.assertEqual(job.status, 0, job.stderr)
        self.assertIn("alltoall of 72 ranks: linear", job.stderr)

    # ---- around a ring ---------------------------------------------------------

    def test_rings(self):
        """Ranks of a host and of a cluster are scattered over the job."""
        nodes = ["b0", "a0", "b1", "a0", "a1", "b0"]
        arguments = ("collectives", "--cases", "1520", "--only", ",".join(ROUND), "--seed", "1")
        plain = self.run_job(*arguments, helper=False, ranks=len(nodes))
        for siblings, with_halves in (("overlap", False), ("disjoint", True)):
            with self.subTest(siblings=siblings):
                job, daemon = self.paced_job(*arguments, nodes=nodes, algorithm="ring",
                                             HEADWAY_VERBOSE="1", HEADWAY_SIBLINGS=siblings)
                self.assert_same_output(job, plain)
                for operation in ROUND:
                    self.assertIn(f"{operation} of 6 ranks: ring", job.stderr)
                    self.assertEqual(f"{operation} of 3 ranks: ring" in job.stderr, with_halves)
                self.assert_rings_are_asked_for(daemon)

    def assert_rings_are_asked_for(self, daemon):
        """Everybody, from cluster to cluster and host to host."""
        for connection in daemon.connections:
            asked = [request for request in connection.requests if request["op"] == "traffic"
                     and len(request["hosts"]) == 4]
            self.assertGreater(len(asked), 0)
            for request in asked:
                next_of = {request["hosts"][a]: request["hosts"][b] for a, b, _ in request["flows"]}
                self.assertEqual(len(request["flows"]), 4)
                around = [next_of["a1"], next_of[next_of["a1"]], next_of[next_of[next_of["a1"]]]]
                self.assertEqual(sorted(around), ["a0", "b0", "b1"])
                self.assertEqual(sum(a[0] != b[0] for a, b in next_of.items()), 2)

    def test_ring_messages(self):
        """Between hosts each goes from the leader of a host to that of the next of the ring;
        all others stay on a host.  All are sent in the phase of the ring."""
        nodes = ["b0", "a0", "b1", "a0", "a1", "a0"]
        ring = [1, 4, 0, 2]  # the first ranks of a0 a1 b0 b1
        around = {(ring[at - 1], ring[at]) for at in range(len(ring))}
        with self.daemon(nodes=nodes, algorithm="ring"):
            for operation in ("allgather", "bcast"):
                with self.subTest(operation=operation):
                    job, sent = self.spied_job("collective_bench", "--operation", operation,
                                               "--sizes", "65536", "--repetitions", "1",
                                               ranks=len(nodes))
                    self.assertEqual(job.status, 0, job.stderr)
                    self.assertIn(f"{operation} of 6 ranks: ring", job.stderr)
                    between = {(a, b) for a, b, _ in sent if nodes[a] != nodes[b]}
                    self.assertEqual(between - around, set())
                    # a chain has a first and a last host
                    self.assertEqual(len(around - between), 1 if operation == "bcast" else 0)
                    within = {b for a, b, _ in sent if a != b and nodes[a] == nodes[b]}
                    self.assertLessEqual({3, 5}, within)
                    self.assertEqual({phase for *_, phase in sent}, {RATE_PHASE})

    def test_rings_are_not_for_small_messages(self):
        with self.daemon(nodes=FIVE_NODES, algorithm="ring") as daemon:
            job = self.run_job("collective_bench", "--operation", "bcast", "--sizes", "10000",
                               ranks=5, HEADWAY_VERBOSE="1")
        self.assertEqual(job.status, 0, job.stderr)
        self.assertNotIn("of 5 ranks", job.stderr)
        self.assertFalse(any("algorithms" in request for connection in daemon.connections
                             for request in connection.requests))

    def test_small_alltoalls_where_ports_hold_few(self):
        """All ranks know from which size on their daemons pace: the most that any of them says."""
        def hello_with(told):
            return lambda request, _connection: {"node": FIVE_NODES[request["rank"]], "cluster": "a", "phases": True,
                                                 **(told if request["rank"] == 1 else {})}

        for told, expected in (({"min_message_bytes": 1024}, True), ({"min_message_bytes": 2048}, False), ({}, False)):
            with self.subTest(told=told), self.daemon(nodes=FIVE_NODES, algorithm="linear",
                                                      replace={"hello": hello_with(told)}):
                job = self.run_job("collective_bench", "--sizes", "1024,512", ranks=5, HEADWAY_VERBOSE="1")
                self.assertEqual(job.status, 0, job.stderr)
                self.assertEqual("alltoall of 5 ranks: linear" in job.stderr, expected, job.stderr)
                self.assertEqual(job.stderr.count("of 5 ranks"), 1 if expected else 0, job.stderr)

    # ---- memory of devices ------------------------------------------------------

    def test_a_device_s_memory_is_touched_by_mpi_only(self):
        """At every second rank, by all our algorithms and by none.  UCX is not to read another process's memory itself."""
        fake = "fake_cuda.mpich.so" if self.library == "mpich" else "fake_cuda.so"
        for algorithm, operations in (("linear", ("alltoall", "alltoallv", "gather", "scatter")),
                                      ("ring", ("allgather", "bcast")), (None, ())):
            with self.subTest(algorithm=algorithm), self.daemon(nodes=NODES, algorithm=algorithm):
                job = self.run_job("device_check", ranks=len(NODES), HEADWAY_VERBOSE="1", UCX_TLS="posix,self",
                                   preload=[os.path.join("tests", fake)])
                self.assertEqual((job.status, job.stdout), (0, "all data right\n"), job.stderr)
                for operation in operations:
                    self.assertIn(f"{operation} of 4 ranks: {algorithm}", job.stderr)

    # ---- messages of no bytes ---------------------------------------------------

    def test_where_most_have_nothing_for_each_other(self):
        """Only messages of an alltoallv, an alltoallw, a gatherv and a scatterv that have bytes are
        sent."""
        around = sorted((a, (a + 1) % 5) for a in range(5))
        with self.daemon(nodes=FIVE_NODES, algorithm="linear"):
            job, sent = self.spied_job("sparse_check", "5000")
        self.assertEqual((job.status, job.stdout), (0, "all data right\n"), job.stderr)
        self.assertIn("alltoallw of 5 ranks: linear", job.stderr)
        self.assertEqual(sorted((a, b) for a, b, _ in sent),
                         sorted(2 * around + [(4, 0), (0, 4)]))

    def test_a_daemon_without_phases_decides_nothing(self):
        """The calls are the library's, whatever it predicts, and nobody asks."""
        long = {"paced": True, "pattern": 1, "min_message_bytes": 2048, "algorithm": "linear",
                "predicted": {"low_s": 8, "high_s": 8, "timeouts": 0, "reason": ""}}
        answers = {operation: lambda *_: long for operation in ("prepare", "enter", "leave")}
        for operation in ("gather", "scatter", "alltoall"):
            with (self.subTest(operation=operation),
                  self.daemon(nodes=FIVE_NODES, algorithm="linear", phases=False, replace=answers) as daemon):
                job, sent = self.spied_job("collective_bench", "--operation", operation, "--sizes", "16384",
                                           "--repetitions", "2", "--warmup", "0")
                self.assertEqual((job.status, sent), (0, []), job.stderr)
                self.assertNotIn("of 5 ranks: linear", job.stderr)
                told = [line.split("; ")[0] for line in job.told if "pacing" in line]
                self.assertEqual(told, ["headway: not pacing: rank 0 on a0: headwayd has no phases on this node: "
                                        "[kernel] phases is off in headway.toml, or HW-202 in its log tells why"])
            asked = {request["op"] for connection in daemon.connections for request in connection.requests}
            self.assertLessEqual(asked, {"hello", "join"})

    def test_what_is_small_at_all_ranks_is_the_library_s(self):
        """The call ends well also where the ranks do not know each other's sizes."""
        with self.daemon(nodes=FIVE_NODES, algorithm="linear"):
            job, sent = self.spied_job("sparse_check", "2047")
        self.assertEqual((job.status, job.stdout), (0, "all data right\n"), job.stderr)
        self.assertNotIn("of 5 ranks", job.stderr)
        self.assertEqual(sent, [])

    # ---- erroneous calls --------------------------------------------------------

    refused = ["negative count", "no type", "no type to receive", "uncommitted type", "root beyond",
               "root below", "no operation", "in place to receive", "no communicator"]
    truncated_class, other_class = 15, 16  # as the standard's ABI numbers them, and Open MPI

    def test_erroneous_calls(self):
        """Each rank gets the library's own class of error, and the next calls are right."""
        wrongs = [*self.refused, "truncating", "with room at the root"]
        plain = self.run_job("errors_check", "--alone", *wrongs, helper=False)
        self.assertNotIn("next wrong", plain.stdout)
        for algorithm, operations in (("linear", LINEAR), ("ring", ROUND)):
            with self.subTest(algorithm=algorithm):
                job, _ = self.paced_job("errors_check", f"--ours={','.join(operations)}", *wrongs, nodes=NODES,
                                        algorithm=algorithm, HEADWAY_VERBOSE="1",
                                        HEADWAY_SIBLINGS="disjoint")
                self.assert_same_output(job, plain)
                for operation in operations:
                    self.assertIn(f"{operation} of 4 ranks: {algorithm}", job.stderr)

    def test_a_message_that_is_too_long(self):
        """At one rank only.  Open MPI's own functions call that MPI_ERR_OTHER in some
        algorithms and wait for ever in others, so they are no measure."""
        wrongs = {"truncating one": ["alltoallv", "alltoallw"], "truncating the root": ["gatherv"],
                  "truncating a large one": ["alltoallv", "alltoallw"]}
        job, daemon = self.paced_job("errors_check", *wrongs, nodes=NODES, algorithm="linear",
                                     HEADWAY_VERBOSE="1", HEADWAY_SIBLINGS="disjoint")
        self.assertEqual(job.status, 0, job.stderr)
        for connection in daemon.connections:
            self.assertTrue(any(request.get("one_call") for request in connection.requests), "sizes were told")
        self.assertIn("alltoallv of 4 ranks: linear", job.stderr)
        self.assertEqual(job.stdout.splitlines(),
                         [f"{operation}, {wrong}: 0 {self.truncated_class} 0 0 next right"
                          for wrong, operations in wrongs.items() for operation in operations])

    def test_one_rank_that_deviates(self):
        """Whatever one rank asks for, it takes part: all ranks end, each gets the library's class of error where the library
        refuses, and the next call is right.  Of an erroneous program the libraries' own algorithms are no measure."""
        for algorithm, operations in (("linear", LINEAR), ("ring", ROUND)):
            with self.subTest(algorithm=algorithm):
                alone = self.run_job("deviations", "--alone", *operations, helper=False)
                job, _ = self.paced_job("deviations", *operations, nodes=NODES, algorithm=algorithm, HEADWAY_VERBOSE="1",
                                        HEADWAY_SIBLINGS="disjoint")
                lines = self.assert_deviations_end(job, alone, operations, algorithm)
                self.assert_only_sizes_matter([line for line in lines if " - " not in line])

    def assert_only_sizes_matter(self, lines):
        """Blocks of another size are too long for somebody, or those of a ring another rank's, or are nobody's error."""
        allowed = {"0", str(self.truncated_class), str(self.other_class)}
        self.assertGreater(len(lines), 100)
        for line in lines:
            name, classes = line.removesuffix(" next right").split(": ")
            is_harmless = name.split(", ")[1] in ("late", "bytes")
            self.assertLessEqual(set(classes.split()), {"0"} if is_harmless else allowed, line)

    def test_no_allocation_s_failure_is_a_job_s(self):
        """Each allocation of the library in each call fails once, at each rank: the call is right without it."""
        for algorithm, operations, least in (("linear", LINEAR, 1000), ("ring", ROUND, 600)):
            with self.subTest(algorithm=algorithm):
                job, _ = self.paced_job("deviations", "--memory", *operations, nodes=NODES, algorithm=algorithm,
                                        HEADWAY_SIBLINGS="disjoint", preload=[self.pending_spy])
                self.assertEqual(job.status, 0, job.stdout[-2000:] + job.stderr)
                lines = job.stdout.splitlines()
                self.assertEqual([line for line in lines if not line.endswith(": 0 0 0 0 next right")], [])
                self.assertGreater(len(lines), least)

    def jobs_told_of_memory(self, step):
        """Runs jobs in which one of the library's first allocations fails, each step-th, at rank 0
        and at another; the job reads a recording, too."""
        arguments = ("collectives", "--cases", "20", "--only", "alltoall", "--seed", "7")
        file = os.path.join(os.path.dirname(self.socket), "recorded.json")
        plain = self.run_job(*arguments, helper=False, ranks=len(NODES))
        self.run_job(*arguments, HEADWAY_RECORD=file)
        told = []
        for rank, first in ((0, 2), (1, 5)):
            for failing in range(first, 400, step):
                with self.subTest(rank=rank, failing=failing):
                    job, _ = self.paced_job(*arguments, nodes=NODES, algorithm="linear", preload=[self.pending_spy],
                                            SPY_RANK=str(rank), SPY_AT=str(failing), HEADWAY_PATTERN=file)
                    self.assert_same_output(job, plain)
                    told += re.findall("no memory", job.stderr)
        return len(told)

    def test_no_allocation_s_failure_in_init_is_a_job_s(self):
        self.assertGreater(self.jobs_told_of_memory(56), 2)

    def test_more_allocations_fail_in_init(self):
        self.assertGreater(self.jobs_told_of_memory(5), 40)

    def test_a_block_for_all_others_is_a_message(self):
        """Also of the rank whose it is: only the first has one, for an allgatherv of the library's."""
        job, daemon = self.paced_job("legal_check", "one-block", nodes=NODES)
        self.assertEqual((job.status, job.stdout), (0, "all data right\n"), job.stderr)
        for connection in daemon.connections:
            sizes = {request["message_bytes"] for request in connection.requests
                     if request["op"] == "phase" and "algorithms" not in request}
            self.assertEqual(sizes, {65536}, connection.rank)

    # ---- legal calls that few programs make -------------------------------------

    def assert_like_the_library(self, algorithm, *arguments, preload=(), **environment):
        """As without the helper, where that is so."""
        plain = self.run_job("legal_check", *arguments, helper=False, preload=list(preload), **environment)
        self.assertEqual(plain.status, 0, plain.stderr)
        with self.daemon(nodes=NODES, algorithm=algorithm):
            job = self.run_job("legal_check", *arguments, preload=list(preload), HEADWAY_VERBOSE="1", **environment)
        self.assertEqual((job.status, job.stdout), (0, plain.stdout), job.stderr)
        return job

    def test_legal_calls_that_few_programs_make(self):
        """The calls have types of absolute addresses, happen while a communicator is copied, or
        from and to one buffer; or communicators are never freed, and the ranks free those of the
        library's own in any order."""
        free_waits = "tests/free_waits.mpich.so" if self.library == "mpich" else "tests/free_waits.so"
        for algorithm in ("linear", "ring"):
            for case, preload in (("bottom", ()), ("idup", ()), ("one-buffer", ()), ("unfreed", [free_waits])):
                with self.subTest(algorithm=algorithm, case=case):
                    self.assert_like_the_library(algorithm, case, preload=preload)

    def test_error_handlers_that_do_not_return(self):
        """By a jump, or by an exception: the phase is left, and the next calls are right.  Open MPI's own alltoallv waits
        for ever after that."""
        for algorithm in ("linear",) if self.library == "ompi" else ("linear", "ring"):
            for case in ("jump", "throw"):
                with self.subTest(algorithm=algorithm, case=case), \
                     self.daemon(nodes=NODES, algorithm=algorithm) as daemon:
                    job = self.run_job("legal_check", case)
                    self.assertEqual((job.status, job.stdout), (0, "all data right\n"), job.stderr)
                    self.assertEqual(daemon.phases_entered(), [0] * RANKS)

    def test_refused_calls_of_the_library(self):
        """Rank 0's small all-to-alls, which are the MPI library's, are refused at times, whether it
        gets an error or has a handler that returns, jumps or throws.  A refused call does not
        count, so that the ranks still agree at the same calls."""
        for case in ("refused", "refused-jump", "refused-throw", "refused-count", "refused-half"):
            with self.subTest(case=case):
                self.assert_like_the_library("linear", case)

    def test_more_room_than_the_root_sends(self):
        """MPICH calls it an error of a broadcast where there is more room, and Open MPI does not.
        """
        job = self.assert_like_the_library("ring", "more-room", HEADWAY_SIBLINGS="disjoint")
        self.assertIn("bcast of 4 ranks: ring", job.stderr)

    def test_memory_in_place(self):
        """As much as the library needs, which is one block, or a window; the job ends well where memory is limited so
        that a copy of all would not fit."""
        window_kib, block_kib = 1024, 16 * 1024
        with self.daemon(nodes=NODES, algorithm="linear"):
            job = self.run_job("legal_check", "memory", str(RANKS * block_kib * 1024), HEADWAY_VERBOSE="1")
        self.assertEqual(job.status, 0, job.stderr)
        self.assertIn("alltoall of 4 ranks: linear", job.stderr)
        more_kib = int(re.search(r"(\d+) KiB more", job.stdout)[1])
        self.assertLess(more_kib, 2 * block_kib + window_kib, "its own block, and what MPI keeps of one")

    def test_sessions(self):
        """Alone they are not paced, and nothing is said; beside the world model they do no harm.  Open MPI has them from 5 on."""
        expected = (0, "all data right\n") if self.library == "mpich" or self.is_open_mpi_5 else (2, "")
        for case in ("alone", "beside"):
            with self.subTest(case=case), self.daemon(nodes=NODES, algorithm="linear") as daemon:
                job = self.run_job("sessions_check", case)
                self.assertEqual((job.status, job.stdout), expected, job.stderr)
                if case == "alone":
                    self.assertEqual((job.told, daemon.connections), ([], []))

    # ---- in which phase messages are sent -------------------------------------

    def run_spied(self, operation, seed, **keywords):
        """The job, whose one case is blocking and of all ranks, and (from, to, phase)
        of each message that our algorithms sent in it."""
        number = FIRST_CASE[operation]
        job, sent = self.spied_job("collectives", "--cases", str(number + 1), "--only", operation,
                                   "--seed", str(seed), **keywords)
        self.assertEqual(job.status, 0, job.stderr)
        self.assertRegex(job.stdout, rf"{number} {operation} blocking (world|reversed) ")
        return job, sent

    def spied_job(self, *arguments, **keywords):
        job = self.run_job(*arguments, ranks=keywords.pop("ranks", len(FIVE_NODES)), preload=[self.spy],
                           HEADWAY_VERBOSE="1", **keywords)
        return job, [tuple(map(int, words)) for words in
                     re.findall(r"^sent (\d+) (\d+) (\d+)$", job.stderr, re.MULTILINE)]

    # ---- the real headwayd's planner and service ------------------------------

    def run_with_real_daemons(self, operation, seed):
        folder = os.path.dirname(self.socket)
        with RealHeadwayds(folder, TWO_CLUSTERS) as daemons:
            job, sent = self.run_spied(operation, seed, under=daemons.on_nodes(FIVE_NODES))
        answers = {}
        for rank, text in re.findall(r"rank (\d+) on \w+, \w+: (\{.*\})", job.stderr):
            answer = json.loads(text)
            if "phase" in answer:
                answers[int(rank)] = answer  # the last: for what has been agreed on
        return job, sent, answers

    def test_headwayd_names_linear(self):
        """All at once, which its rates are for, and in one phase; on reversed ranks, too, and
        in place, where a rank sends itself copies."""
        for seed in (WORLD_ALLTOALL, REVERSED_ALLTOALL):
            with self.subTest(seed=seed):
                job, sent, answers = self.run_with_real_daemons("alltoall", seed)
                self.assertIn("alltoall of 5 ranks: linear\n", job.stderr)
                self.assertEqual({answer["algorithm"] for answer in answers.values()}, {"linear"})
                phases = [answers[rank]["phase"] for rank in range(5)]
                self.assertGreater(min(phases), 0)
                self.assertEqual(sorted(message for message in sent if message[0] != message[1]),
                                 sorted((rank, to, phases[rank])
                                        for rank, to in itertools.permutations(range(5), 2)))

    def test_headwayd_paces_a_gather(self):
        """The messages of 4 nodes go straight to the root, each in the phase of its node."""
        job, sent, answers = self.run_with_real_daemons("gather", WORLD_GATHER)
        self.assertIn("gather of 5 ranks: linear", job.stderr)
        messages = [(rank, WORLD_GATHER_ROOT, answers[rank]["phase"]) for rank in range(5)]
        self.assertEqual(sorted(sent), sorted(messages))
        for rank, answer in answers.items():
            self.assertEqual(answer["phase"] > 0, rank != WORLD_GATHER_ROOT, answer)

    def assert_only_rank_0_leaves_the_choice(self, daemon, ranks):
        """Rank 0 of each communicator leaves the choice; all others ask for what has been agreed
        on."""
        asked = [(connection.rank, request) for connection in daemon.connections
                 for request in connection.requests if "algorithms" in request
                 and request["comm_hosts"] == request["job_hosts"]]
        # the last is rank 0 of the communicator with all ranks reversed
        self.assertIn({rank for rank, _ in asked}, ({0}, {ranks - 1}, {0, ranks - 1}))
        for _, request in asked:
            self.assertEqual(request["algorithms"], ["linear"])
            self.assertNotIn("algorithm", request)

    def test_rank_0_decides(self):
        """Whatever the other ranks' daemons would answer."""
        nodes = ["a0", "a1", "a2", "b0", "b1"]
        arguments = ("collectives", "--cases", "300", "--only", "alltoall", "--seed", "7")
        plain = self.run_job(*arguments, helper=False, ranks=len(nodes))
        by_rank = ["linear", None, "ring", None, None]
        job, daemon = self.paced_job(*arguments, nodes=nodes, algorithm=lambda rank: by_rank[rank],
                                     HEADWAY_VERBOSE="1")
        self.assert_same_output(job, plain)
        self.assertIn("alltoall of 5 ranks: linear", job.stderr)
        for connection in daemon.connections:
            self.assertIn("linear", {request.get("algorithm") for request, _ in connection.entries})

    def test_no_room_for_a_communicator_at_one_rank(self):
        """Then all ranks leave it to the library, and the program's error handler, which
        would end the job, does not hear of it."""
        arguments = ("collectives", "--cases", "60", "--only", "alltoallv", "--seed", "7")
        plain = self.run_job(*arguments, helper=False, ranks=len(FIVE_NODES))
        fails = "split_fails.mpich.so" if self.library == "mpich" else "split_fails.so"
        with self.daemon(nodes=FIVE_NODES, algorithm="linear"):
            job = self.run_job(*arguments, ranks=len(FIVE_NODES), HEADWAY_VERBOSE="1",
                               preload=[os.path.join("tests", fails)])
        self.assert_same_output(job, plain)
        self.assertNotIn("alltoallv of 5 ranks", job.stderr)

    def test_another_plan_is_another_algorithm(self):
        """After 16 calls at the latest; rank 0 asks only when plans have changed."""
        asked = []
        with self.daemon(nodes=FIVE_NODES, algorithm="linear") as daemon:
            def on_request(request):
                if "algorithms" not in request:
                    return
                asked.append(request)
                if len(asked) == 1:
                    daemon.change_plans(None)
            daemon.on_request = on_request
            job = self.run_job("collective_bench", "--operation", "alltoall", "--sizes", "4096",
                               "--warmup", "0", "--repetitions", "50", ranks=len(FIVE_NODES),
                               HEADWAY_VERBOSE="1")
        self.assertEqual(job.status, 0, job.stderr)
        self.assertEqual(re.findall(r"alltoall of 5 ranks: (\w+)", job.stderr),
                         ["linear", "native"])
        self.assertEqual(len(asked), 2)
        for connection in daemon.connections:
            self.assertEqual([request["algorithm"] for request in connection.requests
                              if request["op"] == "phase" and "algorithm" in request],
                             ["linear"])

    def test_when_ranks_agree(self):
        """The ranks agree on each of three operations in turns, at its first call and then after 16
        more, whatever the sizes are: 80 all-to-alls, 40 gathers; then on a fourth one.  The
        program's communicator is used once, for the channel."""
        spy = "agreement_spy.mpich.so" if self.library == "mpich" else "agreement_spy.so"
        with self.daemon(nodes=FIVE_NODES, algorithm="linear"):
            job = self.run_job("agreements_check", "40", ranks=len(FIVE_NODES),
                               preload=[os.path.join("tests", spy)], HEADWAY_VERBOSE="1")
        self.assertEqual((job.status, job.stdout), (0, f"channels 1 agreements {5 + 3 + 1} 64\n"), job.stderr)
        for operation in ("alltoall", "gather", "alltoallv"):
            self.assertIn(f"{operation} of 5 ranks: linear", job.stderr)

    def test_daemons_on_some_ranks_only(self):
        """Rank 0's is missing, or all but its; or all are gone after the start."""
        nodes = ["a0", "a1", "a2", "b0", "b1"]
        arguments = ("collectives", "--cases", "300", "--only", "alltoall", "--seed", "7")
        plain = self.run_job(*arguments, helper=False, ranks=len(nodes))
        for name, dead, agreed in (("rank 0", lambda rank: rank == 0, "native"),
                                   ("others", lambda rank: rank > 0, "linear")):
            hello = lambda request, connection, dead=dead: \
                CLOSE if dead(connection.rank) else {"node": nodes[request["rank"]], "phases": True,
                                                     "cluster": nodes[request["rank"]][:1]}
            with self.subTest(name), self.daemon(nodes=nodes, algorithm="linear",
                                                 replace={"hello": hello}):
                job = self.run_job(*arguments, ranks=len(nodes), HEADWAY_VERBOSE="1")
                self.assert_same_output(job, plain)
                self.assertIn(f"alltoall of 5 ranks: {agreed}", job.stderr)
        with self.daemon(nodes=nodes, algorithm="linear",
                         replace={"phase": lambda *_: CLOSE}):
            job = self.run_job(*arguments, ranks=len(nodes))
        self.assert_same_output(job, plain)

    def test_unknown_algorithm(self):
        """The rates of another version of headwayd are not taken."""
        job, daemon = self.paced_job("collectives", "--cases", "300", "--only", "alltoall",
                                     "--seed", "7", nodes=NODES, algorithm="hypercube")
        self.assertEqual(job.status, 0, job.stderr)
        self.assertTrue(any("algorithms" in request for connection in daemon.connections
                            for request in connection.requests))
        self.assertEqual(self.entered(daemon), set())

    def test_a_plan_for_another_algorithm_is_not_taken(self):
        """Rates for linear messages would slow down a ring; all-to-alls are ours to carry out."""
        for operation, entered in (("allgather", set()), ("alltoall", {"alltoall"})):
            with self.subTest(operation=operation):
                job, daemon = self.paced_job("collectives", "--cases", "300", "--only", operation,
                                             "--seed", "7", nodes=NODES, algorithm="linear")
                self.assertEqual(job.status, 0, job.stderr)
                self.assertTrue(any(c.patterns for c in daemon.connections))
                self.assertEqual(self.entered(daemon), entered)


class OpenMpi(Both, ComparedTest):
    """Under Open MPI."""

    longer = ("test_more_messages_than_the_window", "test_more_allocations_fail_in_init")

    def test_revocable_communicators(self):
        """Where the program may revoke a communicator and go on, nobody waits on ours: all calls are the library's."""
        with self.daemon(nodes=NODES, algorithm="linear"):
            if self.is_open_mpi_5:
                job = self.run_job("legal_check", "revoked", mpirun=["--with-ft", "ulfm"], HEADWAY_VERBOSE="1")
            else:  # one that says so and cannot
                job = self.run_job("collective_bench", "--sizes", "65536", "--repetitions", "3", HEADWAY_VERBOSE="1",
                                   preload=["tests/fault_tolerant.so"])
        self.assertEqual(job.status, 0, job.stdout + job.stderr)
        self.assertNotIn("of 4 ranks: linear", job.stderr)

    def test_what_the_library_forgives(self):
        """More room than the root of a broadcast sends, and less than a gather's root has room for."""
        for algorithm in ("linear", "ring"):
            with self.subTest(algorithm=algorithm):
                self.assert_like_the_library(algorithm, "room")


class Mpich(Both, ComparedTest):
    """Under MPICH."""

    library = "mpich"
    longer = ("test_more_allocations_fail_in_init",)

    def test_the_handler_hears_once(self):
        """The handler hears once of a freed communicator."""
        self.assert_like_the_library("ring", "handler")

    # to Open MPI a handle is an address, behind which there may be anything by then
    refused = [*Both.refused, "freed communicator"]
    truncated_class, other_class = (15, 16) if "HW_HELPER" in os.environ else (14, 15)

if __name__ == "__main__":
    main()
