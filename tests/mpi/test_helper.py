#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of the MPI helper under Open MPI, against a fake daemon: what it
asks the daemon, and that it survives any answer.

  test_helper.py [Class.method ...]
  test_helper.py --list
"""

import fcntl
import os
import subprocess

from fake_headwayd import (CLOSE, GENERATION_OFFSET, MIN_MESSAGE_BYTES, NO_ANSWER, SLOTS_BYTES, WHOLE_PHASE,
                           FakeHeadwayd)
from mpi_job import NODES, PATIENCE_MS, PRELOAD, RANKS, HelperTest, main, wait_for


class PacingTest(HelperTest):
    """Programs all of whose all-to-alls are paced, and none else."""

    def assert_paced_calls(self, job, daemon):
        """Rank 0 asked for exactly the calls that the program made and that are
        large enough and span hosts, in order, with their sizes."""
        entered = daemon.by_rank()[0].entered()
        expected = [(operation, size) for operation, size, ranks in job.calls()
                    if size >= MIN_MESSAGE_BYTES and ranks > 1]
        self.assertGreater(len(expected), 0)
        self.assertEqual(entered, expected)

    def assert_well_behaved(self, daemon):
        self.assertEqual(sorted(daemon.by_rank()), list(range(RANKS)))
        for connection in daemon.connections:
            self.assertEqual(connection.operations()[:3], ["hello", "join", "prepare"])
            self.assert_balanced(connection)
            self.assertTrue(connection.closed)
            self.assertEqual([request["v"] for request in connection.requests],
                             [1] * len(connection.requests))
            ids = [request["id"] for request in connection.requests]
            self.assertEqual(ids, sorted(set(ids)))

    def run_binding(self, program, *arguments):
        with self.daemon(plans_change=True) as daemon:
            job = self.run_job(program, *arguments)
        self.assert_succeeded(job)
        self.assert_one_line(job, "pacing all-to-all over 4 hosts from 2048 bytes a pair")
        self.assert_well_behaved(daemon)
        self.assert_paced_calls(job, daemon)
        self.assert_same_job(job, command=(program, *arguments))


class Bindings(PacingTest):
    """Each has functions of its own in an MPI library."""

    longer = ("test_fortran_use_mpi_init_thread", "test_fortran_use_mpi_f08_init_thread")

    def test_c(self):
        self.run_binding("alltoall_check")

    def test_fortran_mpif_h(self):
        self.run_binding("alltoall_mpif")

    def test_fortran_use_mpi(self):
        self.run_binding("alltoall_f90")

    def test_fortran_use_mpi_f08(self):
        self.run_binding("alltoall_f08")

    def test_fortran_use_mpi_init_thread(self):
        self.run_binding("alltoall_f90", "--threads")

    def test_fortran_use_mpi_f08_init_thread(self):
        self.run_binding("alltoall_f08", "--threads")


class BindingsMpich(Bindings):
    """In MPICH."""

    library = "mpich"


class Pacing(PacingTest):
    """Tests what the daemon is asked while everything goes well."""

    def test_hosts_of_each_communicator(self):
        with self.daemon() as daemon:
            job = self.run_job("alltoall_check")
        self.assert_succeeded(job)
        for connection in daemon.connections:
            half = ["a0", "b0"] if connection.rank % 2 == 0 else ["a1", "b1"]
            asked = [(pattern["operation"], pattern["comm_hosts"])
                     for pattern in connection.patterns if "algorithms" not in pattern]
            # the 20 copies of the whole job, and it itself, share one pattern
            self.assertEqual(asked, [("alltoall", NODES), ("alltoallv", NODES),
                                     ("alltoall", half)])
            for pattern in connection.patterns:
                self.assertEqual(pattern["job_hosts"], NODES)
                self.assertIs(pattern["siblings_disjoint"], False)
                self.assertEqual(pattern["ranks_per_host"], RANKS // len(NODES))

    def test_hello_tells_who_asks(self):
        with self.daemon() as daemon:
            self.assert_succeeded(self.run_job("alltoall_check"))
        hellos = [connection.requests[0] for connection in daemon.connections]
        self.assertEqual(len({hello["job"] for hello in hellos}), 1)
        self.assertEqual(sorted(hello["rank"] for hello in hellos), list(range(RANKS)))
        self.assertEqual(len({hello["pid"] for hello in hellos}), RANKS)

    def test_several_ranks_on_a_node(self):
        with self.daemon(nodes=["a0", "a0", "b0", "b0"]) as daemon:
            job = self.run_job("alltoall_check")
        self.assert_succeeded(job)
        self.assertEqual(daemon.by_rank()[3].patterns[0]["comm_hosts"], ["a0", "b0"])
        self.assertEqual(daemon.by_rank()[3].patterns[0]["ranks_per_host"], RANKS // 2)
        self.assert_well_behaved(daemon)

    def starts_told(self, **environment):
        with self.daemon() as daemon:
            job = self.run_job("alltoall_check", **environment)
        self.assert_succeeded(job)
        return job, [daemon.by_rank()[rank].requests[0]["start"] for rank in range(RANKS)]

    def test_all_ranks_tell_one_start(self):
        """Rank 0 draws it, unless whoever started the job has."""
        _, first = self.starts_told()
        _, second = self.starts_told()
        self.assertEqual((len(set(first)), len(set(second))), (1, 1))
        self.assertNotEqual(first[0], second[0])
        self.assertEqual(self.starts_told(HEADWAY_JOB_START=7)[1], [7] * RANKS)
        job, drawn = self.starts_told(HEADWAY_JOB_START="now")
        self.assertEqual(len(set(drawn)), 1)
        self.assertIn("HEADWAY_JOB_START=now is not understood", job.told[0])

    def test_rank_0_s_start_is_that_of_all(self):
        each = ["sh", "-c", "HEADWAY_JOB_START=$((${PMIX_RANK:-$PMI_RANK} + 5)) "
                'exec "$@"', "sh"]
        self.assertEqual(self.starts_told(under=each)[1], [5] * RANKS)

    def test_one_host_needs_no_pacing(self):
        with self.daemon(nodes=["a0"] * RANKS) as daemon:
            job = self.run_job("alltoall_check")
        self.assert_succeeded(job)
        self.assert_one_line(job, "nothing to pace: the job is on one host")
        for connection in daemon.connections:
            self.assertEqual(connection.operations(), ["hello", "join"])

    def test_one_rank_is_left_alone(self):
        with self.daemon() as daemon:
            job = self.run_job("alltoall_f90", ranks=1)
        self.assert_succeeded(job)
        self.assertEqual(job.told, [])
        self.assertEqual(daemon.connections, [])

    def test_daemon_says_not_to_pace(self):
        answer = {"pattern": 1, "paced": False, "reason": "all in one cluster",
                  "min_message_bytes": 2048}
        with self.daemon(replace={"prepare": lambda *_: answer}) as daemon:
            job = self.run_job("alltoall_check")
        self.assert_succeeded(job)
        self.assert_one_line(job, "nothing to pace: all in one cluster")
        for connection in daemon.connections:
            self.assertEqual(set(connection.operations()), {"hello", "join", "prepare"})

    def test_threads(self):
        """In one of which there may be a collective while the other asks for its own."""
        with self.daemon(plans_change=True) as daemon:
            job = self.run_job("alltoall_check", "--threads")
        self.assert_succeeded(job)
        self.assert_one_line(job, "pacing")
        for connection in daemon.connections:
            self.assertLessEqual({phase for _, phase in connection.entries}, {0, WHOLE_PHASE})
            self.assertEqual(connection.phase(), 0)
            self.assertGreaterEqual(len(connection.entries), 2 * 10 * 6)

    def test_siblings_disjoint(self):
        with self.daemon() as daemon:
            self.assert_succeeded(self.run_job("alltoall_check", HEADWAY_SIBLINGS="disjoint"))
        for connection in daemon.connections:
            self.assertIs(connection.patterns[0]["siblings_disjoint"], True)

    def test_verbose_shows_answers(self):
        with self.daemon():
            job = self.run_job("alltoall_check", HEADWAY_VERBOSE="1")
        self.assert_succeeded(job)
        for rank, node in enumerate(NODES):
            self.assertTrue(any(f"rank {rank} on {node}, alltoall: " in line and '"phase":' in line
                                for line in job.told), job.stderr)

    def test_exports_only_mpi_functions(self):
        helpers = [f"libheadway-{use}{name}.so" for use in ("", "record-") for name in ("ompi", "mpich", "abi")]
        for library, pattern in ((PRELOAD, r"^(P?MPIX?|mpi)_\w+ T "),
                                 *((helper, "^headway_wrapper_of T ") for helper in helpers)):
            names = subprocess.run(["nm", "-D", "--defined-only", "--format=posix",
                                    os.path.join(os.environ["HW_LIB"], library)],
                                   text=True, capture_output=True, check=True).stdout.splitlines()
            self.assertEqual(len(names) > 100, library == PRELOAD)
            for line in names:
                self.assertRegex(line, pattern)


class Outcome(HelperTest):
    """A job ends as it would have without the helper."""

    def test_no_daemon(self):
        job = self.run_job("alltoall_check")
        self.assert_succeeded(job)
        self.assert_one_line(job, f"not pacing: no headwayd at {self.socket}, which systemctl start headwayd starts; ",
                             "HEADWAY=off")
        self.assertLess(len(job.told[0]), 200, job.told[0])
        self.assertNotIn("No such file", job.told[0])
        self.assert_same_job(job, command=("alltoall_check",))

    def test_exit_status_with_and_without_daemon(self):
        command = ("alltoall_check", "--exit-status", "3")
        job = self.run_job(*command)
        self.assertEqual(job.statuses, [3] * RANKS)
        self.assert_one_line(job, "not pacing")
        with self.daemon():
            job = self.run_job(*command)
        self.assertEqual(job.statuses, [3] * RANKS)
        self.assert_one_line(job, "pacing all-to-all")

    def test_socket_path_too_long(self):
        job = self.run_job("alltoall_check", HEADWAY_SOCKET="/tmp/" + "x" * 200)
        self.assert_succeeded(job)
        self.assert_one_line(job, "longer than a path may be")

    def test_some_nodes_without_daemon(self):
        refuse = lambda request, connection: (
            CLOSE if request["rank"] == 2 else FakeHeadwayd.answer_hello(daemon, request, connection))
        with self.daemon(replace={"hello": refuse}) as daemon:
            job = self.run_job("alltoall_check")
        self.assert_succeeded(job)
        self.assert_one_line(job, "pacing only 3 of 4 ranks: rank 2 on ",
                             "headwayd closed the connection")
        for connection in daemon.connections:
            self.assert_balanced(connection)
            self.assertEqual(bool(connection.entries), connection.rank != 2)

    def test_network_that_the_daemon_does_not_know(self):
        """Ranks in containers; elsewhere their packets would be nobody's."""
        prefixes = {"own_network": True, "prefixes": ["198.51.100.0/24"]}
        for contained in (range(RANKS), [2]):
            def hello(request, connection, contained=contained):
                answer = FakeHeadwayd.answer_hello(daemon, request, connection)
                return {**answer, **(prefixes if request["rank"] in contained else {})}
            with self.subTest(contained=contained), self.daemon(replace={"hello": hello}) as daemon:
                job = self.run_job("alltoall_check")
                self.assert_succeeded(job)
                self.assert_one_line(
                    job, "not pacing: " if len(contained) == RANKS else "pacing only 3 of 4 ranks: rank 2 on ",
                    "this process is in a network namespace of its own",
                    "not in the cluster's prefixes (198.51.100.0/24)")
                for connection in daemon.connections:
                    self.assertEqual(bool(connection.entries), connection.rank not in contained)

    def test_some_nodes_without_phases(self):
        no_phases = lambda request, connection: {
            **FakeHeadwayd.answer_hello(daemon, request, connection), "phases": request["rank"] != 2}
        with self.daemon(replace={"hello": no_phases}) as daemon:
            job = self.run_job("alltoall_check")
        self.assert_succeeded(job)
        self.assert_one_line(job, "pacing only 3 of 4 ranks: rank 2 on b0: headwayd has no phases on this node: ")
        for connection in daemon.connections:
            self.assertEqual(bool(connection.entries), connection.rank != 2)

    def test_daemon_goes_away_at_a_call(self):
        with self.daemon(replace={"phase": lambda *_: CLOSE}):
            job = self.run_job("alltoall_check")
        self.assert_succeeded(job)
        self.assert_trouble(job, "pacing paused on .*: headwayd closed the connection; it goes on when headwayd is back")

    def test_daemon_refuses_calls(self):
        """Each is asked for once, and then left alone."""
        with self.daemon(replace={"phase": lambda *_: {"error": "no module"}}) as daemon:
            job = self.run_job("alltoall_check")
        self.assert_succeeded(job)
        self.assert_trouble(job, "not pacing alltoall on .*: headwayd: no module")
        for connection in daemon.connections:
            asked = [(request["operation"], tuple(request["comm_hosts"]), (request["message_bytes"] - 1).bit_length())
                     for request, _ in connection.entries]
            self.assertEqual(sorted(asked), sorted(set(asked)))
            self.assertEqual(connection.operations().count("prepare"), 3)

    def test_daemon_changes_its_plans(self):
        """As by a reload of its topology: all is prepared and asked for anew, and paced again."""
        asked = []

        def on_request(request):
            if request["op"] == "phase" and "algorithms" not in request:
                asked.append(request)
                if len(asked) == RANKS:
                    daemon.change_plans(None)

        with self.daemon() as daemon:
            daemon.on_request = on_request
            job = self.run_job("alltoall_check")
        self.assert_succeeded(job)
        self.assert_one_line(job, "pacing all-to-all over 4 hosts")
        for connection in daemon.connections:
            prepared = [(pattern["operation"], pattern["comm_hosts"]) for pattern in connection.patterns]
            self.assertEqual(prepared.count(("alltoall", NODES)), 2)

    def test_daemon_refuses_one_communicator(self):
        def plans_whole_jobs_only(request, connection):
            if request["comm_hosts"] != request["job_hosts"]:
                return {"error": "too many patterns"}
            return FakeHeadwayd.answer_prepare(daemon, request, connection)
        with self.daemon(replace={"prepare": plans_whole_jobs_only}, plans_change=True) as daemon:
            job = self.run_job("alltoall_check")
        self.assert_succeeded(job)
        self.assert_trouble(job, "not pacing alltoall on .*: headwayd: too many patterns")
        self.assertEqual(len(daemon.by_rank()[0].entries), len([1 for _, size, ranks in job.calls()
                                                         if size >= MIN_MESSAGE_BYTES and ranks == RANKS]))


class OtherRanks(HelperTest):
    """Ranks without the library, with other settings, or late: all ranks pace or none do, and
    nobody waits for ever.  Who is late by how much is start_agreement_test's matter."""

    LATE_RANKS = (0, 3)
    # of those who wait for ranks that do not come; a busy machine may let others miss it, too
    MEETING_MS = 2000
    LATE = r"(rank \d did not say within \d+ ms|rank 0 began its first collective more than \d+ ms after)"

    def run_two(self, program, *arguments, first=(), second=(), mpirun=(), **environment):
        """Ranks 0 and 1 with the words of `first` before the program, 2 and 3 with those of
        `second`; `env -u LD_PRELOAD` is as a program that is linked statically."""
        with self.daemon() as daemon:
            one, two = (self.command_of(program, *arguments, ranks=2, under=under, mpirun=words, several=True, **environment)
                        for under, words in ((first, mpirun), (second, ())))
            job = self.run_command([*one, ":", *two[two.index("-n"):]])
        return job, daemon

    def assert_not_paced(self, job, daemon, why):
        self.assert_succeeded(job)
        self.assertEqual(daemon.connections, [])
        self.assert_told(job, why)

    def assert_told(self, job, why):
        """Rank 0's line, and perhaps one of those who came earlier and waited for rank 0."""
        self.assertIn(len(job.told), (1, 2), job.stderr)
        for line in job.told:
            self.assertIn("not pacing", line)
            self.assertRegex(line, why)

    def test_some_without_the_library(self):
        """Or all but these: whoever has it waits in vain."""
        for without in ("first", "second"):
            with self.subTest(without=without):
                job, daemon = self.run_two("alltoall_check", HEADWAY_TIMEOUT_MS=self.MEETING_MS,
                                           **{without: ("env", "-u", "LD_PRELOAD")})
                self.assert_not_paced(job, daemon, self.LATE)
            self.setUp()

    def test_some_switched_off(self):
        job, daemon = self.run_two("alltoall_check", second=("env", "HEADWAY=off"), HEADWAY_TIMEOUT_MS=self.MEETING_MS)
        self.assert_not_paced(job, daemon, self.LATE)

    def test_other_settings(self):
        job, daemon = self.run_two("alltoall_check", second=("env", "HEADWAY_ALGORITHM=off"))
        self.assert_not_paced(job, daemon, "rank 2 has another version of this library, or other HEADWAY_ variables")

    def test_two_programs_with_the_library(self):
        job, daemon = self.run_two("alltoall_check")
        self.assert_succeeded(job)
        self.assert_one_line(job, "pacing all-to-all over 4 hosts")
        self.assertEqual(sorted(daemon.by_rank()), list(range(RANKS)))

    def test_promised(self):
        """Nothing is asked, and nobody waits."""
        with self.daemon() as daemon:
            job = self.run_job("alltoall_check", HEADWAY_ALL_RANKS="on")
        self.assert_succeeded(job)
        self.assert_one_line(job, "pacing all-to-all over 4 hosts")
        self.assertEqual(sorted(daemon.by_rank()), list(range(RANKS)))

    def test_late_ranks(self):
        """Who comes when the others have given it up finds that out."""
        for rank in self.LATE_RANKS:
            with self.subTest(rank=rank), self.daemon() as daemon:
                come = os.path.join(self.sessions, "come")
                job = self.start_command(self.command_of(
                    "alltoall_check", preload=("tests/late_rank.so",), LATE_RANK=rank, LATE_UNTIL=come,
                    HEADWAY_TIMEOUT_MS=self.MEETING_MS))
                job.wait_for(lambda job=job: "not pacing" in job.stderr, "ranks that wait no longer")
                with open(come, "w", encoding="ascii"):
                    job.wait()
                self.assert_not_paced(job, daemon, self.LATE)
            self.setUp()


class OtherRanksMpich(OtherRanks):
    """Tests libheadway-mpich.so, whose ranks wait in the same functions."""

    library = "mpich"
    LATE_RANKS = (3,)

    def test_slurm_is_asked_in_no_other_language(self):
        """A step of Slurm whose names MPICH does not understand: requests of PMI 1 only where MPICH itself sends such."""
        for spy, version, writes in (("pmi_spy", "1", True), ("pmi_spy", "2", False), ("libpmi_spy", "1", False)):
            with self.subTest(spy=spy, version=version), self.daemon():
                job = self.run_job("alltoall_check", preload=[f"tests/{spy}.so"], SLURM_JOB_ID="1", SLURM_STEP_ID="0",
                                   MPIR_CVAR_PMI_VERSION=version, HEADWAY_TIMEOUT_MS=self.MEETING_MS)
                self.assert_succeeded(job)
                self.assertEqual("wrote to PMI" in job.stderr, writes, job.stderr)
                self.assertIn("not pacing", job.stderr)


class OtherRanksOverTcp(HelperTest):
    """Open MPI may end by a fault where ranks differ in how they send large messages; in what the library sets they
    may."""

    def test_some_without_the_library(self):
        job, _ = OtherRanks.run_two(self, "large_exchange", first=("env", "-u", "OMPI_COMM_WORLD_LOCAL_SIZE"),
                                    second=("env", "-u", "LD_PRELOAD"), HEADWAY_TIMEOUT_MS=OtherRanks.MEETING_MS,
                                    mpirun=("--mca", "btl", "tcp,self", "--mca", "pml", "ob1"))
        self.assert_succeeded(job)
        OtherRanks.assert_told(self, job, OtherRanks.LATE)
        self.assertIn("pml_ob1_max_rdma_per_request=0", job.stderr)


class HostileDaemon(HelperTest):
    """Whatever comes instead of an answer: one line, no pacing, same job."""

    def assert_survives(self, operation, function, *words, **variables):
        with self.daemon(replace={operation: function}) as daemon:
            job = self.run_job("alltoall_check", ranks=2, **variables)
        self.assert_succeeded(job)
        self.assert_one_line(job, "not pacing: ", *words)
        for connection in daemon.connections:
            self.assertEqual(connection.entries, [])

    def test_garbage(self):
        for operation in ("hello", "prepare"):
            self.assert_survives(operation, lambda *_: b"\x00\xff\xfe not json \n\x1b[31m",
                                 "not one of its protocol")

    def test_other_json(self):
        for answer in (b"[]", b"7", b'"ok"', b"{}", b"null", b'{"ok":true}', b'{"id":1}',
                       b'{"v":1,"id":"1","ok":true}', b'{"v":1,"id":-1,"ok":true}',
                       b'{"v":1,"id":1e400,"ok":true}', b'{"v":1,"id":1,"ok":"yes"}'):
            self.assert_survives("hello", lambda *_, answer=answer: answer,
                                 "not one of its protocol")

    def test_nested_deeply(self):
        self.assert_survives("hello", lambda *_: b"[" * 60000, "not one of its protocol")
        self.assert_survives("hello", lambda *_: b"[" * 30000 + b"]" * 30000,
                             "not one of its protocol")

    def test_too_long(self):
        self.assert_survives("hello", lambda *_: b'{"v":1,"id":1,"ok":true,"x":"' +
                             b"x" * 100000 + b'"}', "longer than the protocol allows")

    def test_wrong_id(self):
        self.assert_survives("hello", lambda *_: b'{"v":1,"id":999,"ok":true}',
                             "something that was not asked")

    def test_silence(self):
        """The daemon is silent after everybody has asked it."""
        for operation in ("hello", "prepare"):
            asked = []
            time_is_up = os.path.join(self.sessions, operation)

            def no_answer(*request, asked=asked, time_is_up=time_is_up):
                asked.append(request)
                if len(asked) == 2:
                    with open(time_is_up, "w", encoding="ascii"):
                        return NO_ANSWER
                return NO_ANSWER

            self.assert_survives(operation, no_answer, f"did not answer within {PATIENCE_MS} ms",
                                 preload=["tests/time_is_up.so"], TIME_IS_UP=time_is_up)

    def test_turns_the_client_away(self):
        self.assert_survives("hello", lambda *_: b'{"v":1,"id":null,"ok":false,"error":"full"}',
                             "headwayd: full")

    def test_closes(self):
        for operation in ("hello", "prepare"):
            self.assert_survives(operation, lambda *_: CLOSE, "closed the connection")

    def test_refuses_with_a_strange_sentence(self):
        self.assert_survives("prepare", lambda *_: {"error": "no\nway\x1b[31m" + "y" * 5000},
                             "headwayd: no?way?[31m")
        self.assert_survives("prepare", lambda *_: {"error": ["not a sentence"]},
                             "refused without a reason")

    def test_prepare_without_its_members(self):
        for answer in ({}, {"paced": "yes"}, {"paced": True},
                       {"paced": True, "pattern": -1, "min_message_bytes": 1},
                       {"paced": True, "pattern": 1, "min_message_bytes": "many"},
                       {"paced": True, "pattern": 1.5, "min_message_bytes": 1}):
            self.assert_survives("prepare", lambda *_, answer=answer: dict(answer),
                                 "not one of its protocol")

    def test_slots_that_may_vanish(self):
        """Cut off before they are sent, or by whoever has them at any time: a load from there is SIGBUS."""
        def join(size, seals):
            def answer(request, connection):
                connection.slots = os.memfd_create("slots", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
                os.truncate(connection.slots, size)
                fcntl.fcntl(connection.slots, fcntl.F_ADD_SEALS, seals)
                connection.slots_are_due = True
                return {"map_bytes": SLOTS_BYTES, "slot_offset": 0, "generation_offset": GENERATION_OFFSET}
            return answer

        for size, seals in ((0, fcntl.F_SEAL_SHRINK), (SLOTS_BYTES - 1, fcntl.F_SEAL_SHRINK), (SLOTS_BYTES, 0)):
            self.assert_survives("join", join(size, seals), "headwayd's answer to join is of no memory that can be")

    def test_strange_node_names(self):
        """Not refused: the name is the daemon's to give, even a long one."""
        with self.daemon(nodes=["\n", "x" * 5000, "\u00e9" * 300, "b1"]):
            job = self.run_job("alltoall_check")
        self.assert_succeeded(job)
        self.assert_one_line(job, "pacing all-to-all over 4 hosts")

    def test_never_accepts(self):
        with self.daemon(backlog=0, accepts=False):
            job = self.run_job("alltoall_check", HEADWAY_TIMEOUT_MS=300)
        self.assert_succeeded(job)
        self.assert_one_line(job, "not pacing")

    def test_not_a_socket(self):
        with open(self.socket, "w", encoding="ascii"):
            job = self.run_job("alltoall_check")
        self.assert_succeeded(job)
        self.assert_one_line(job, "not pacing: no headwayd at " + self.socket)


if __name__ == "__main__":
    main()
