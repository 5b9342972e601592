#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Tests what collective_bench tells of its calls, and of the connections under them, and link_bench
of links that are used at once; and what calls cost that the helper does not pace.

  test_bench.py [Class.method ...]
  test_bench.py --list
"""

import json

from mpi_job import HelperTest, main

RANKS = 3


class Both:
    """Tests that hold for either MPI library; they are mixed into a class for each."""

    mpirun, preload, over_tcp = (), (), {}

    def bench(self, *arguments, ranks=RANKS):
        job = self.run_job("collective_bench", *arguments, helper=False, ranks=ranks, mpirun=self.mpirun,
                           preload=self.preload, **self.over_tcp)
        self.assertEqual(job.status, 0, job.stderr)
        return [json.loads(line) for line in job.stdout.splitlines() if line.startswith("{")]

    def test_sleeps_between_calls_where_it_is_told(self):
        paused, not_paused = self.bench("--sizes", "4096:3:200,4096:3", "--warmup", "1")
        self.assertEqual((paused["between_ms"], not_paused["between_ms"]), (200, 0))
        # the pause is not part of a call
        ends_s = [start + ms / 1000 for start, ms in zip(paused["starts_s"], paused["samples_ms"])]
        self.assertEqual(len(ends_s), 3)
        for end_s, next_s in zip(ends_s, paused["starts_s"][1:]):
            self.assertGreater(next_s - end_s, 0.199)

    def test_the_first_call_is_the_first_of_the_first_size(self):
        first, second = self.bench("--sizes", "4096:2,8192:2", "--warmup", "1")
        self.assertEqual(first["first_ms"], first["warmup_ms"][0])
        self.assertNotIn("first_ms", second)
        first, = self.bench("--sizes", "4096:2", "--warmup", "0")
        self.assertEqual(first["first_ms"], first["samples_ms"][0])

    def test_a_size_may_name_its_operation(self):
        gather, alltoall = self.bench("--sizes", "gather:4096:2,8192:1", "--warmup", "1")
        self.assertEqual([gather[name] for name in ("operation", "bytes")], ["gather", 4096])
        self.assertEqual([alltoall[name] for name in ("operation", "bytes")], ["alltoall", 8192])
        self.assertEqual((len(gather["samples_ms"]), len(alltoall["samples_ms"])), (2, 1))
        self.assertIn("first_ms", gather)
        self.assertNotIn("first_ms", alltoall)

    def test_an_operation_needs_bytes_and_a_name_that_is_known(self):
        for sizes, words in (("gather", "an operation without bytes"), ("gathered:8", "gathered: there are")):
            job = self.run_job("collective_bench", "--sizes", sizes, helper=False, ranks=1,
                               mpirun=self.mpirun, preload=self.preload, **self.over_tcp)
            self.assertNotEqual(job.status, 0)
            self.assertIn(words, job.stderr)

    def test_the_papers_algorithms(self):
        """The first call is checked byte by byte: of clusters of equal and other sizes, and
        of numbers of ranks that are no power of two."""
        for ranks, first_cluster in ((8, 4), (5, 2), (5, 4), (6, 1)):
            for algorithm in ("linear", "pairwise_ring", "pairwise_xor", "alltoall_b", "grid"):
                with self.subTest(ranks=ranks, first_cluster=first_cluster, algorithm=algorithm):
                    result, = self.bench("--sizes", "3000:1", "--warmup", "0", "--lock-step",
                                         "--algorithm", algorithm, "--first-cluster",
                                         str(first_cluster), ranks=ranks)
                    self.assertEqual(result["ranks"], ranks)

    def test_operations_of_blocks(self):
        """Each is checked byte by byte, on numbers of ranks that are no power of two."""
        operations = ("alltoall", "alltoallv", "alltoallv_skewed", "neighbor_alltoall",
                      "neighbor_alltoall_ring", "neighbor_alltoall_cube",
                      "neighbor_alltoall_open", "allgather", "gather", "scatter")
        for ranks in (3, 6):
            results = self.bench("--sizes", ",".join(f"{operation}:3000:1" for operation in operations),
                                 "--warmup", "0", ranks=ranks)
            self.assertEqual([(result["operation"], result["ranks"]) for result in results],
                             [(operation, ranks) for operation in operations])

    def test_in_stages(self):
        """The stages carry equal blocks, skewed ones, and ones of which a quarter of the bytes
        leaves some empty."""
        for ranks in (1, 2, 5, 8):
            results = self.bench("--sizes", "alltoallv:3000:1,alltoallv_skewed:3001:1,alltoallv_skewed:3:1",
                                 "--warmup", "0", "--staged", ranks=ranks)
            self.assertEqual([result["bytes"] for result in results], [3000, 3001, 3])

    def test_stages_are_of_lists_only(self):
        job = self.run_job("collective_bench", "--sizes", "8", "--staged", helper=False, ranks=1,
                           mpirun=self.mpirun, preload=self.preload, **self.over_tcp)
        self.assertNotEqual(job.status, 0)
        self.assertIn("--staged is for", job.stderr)

    def test_what_crosses_between_clusters(self):
        def crossing(sizes, *arguments):
            return [result.get("crossing_bytes")
                    for result in self.bench("--sizes", sizes, "--warmup", "0", *arguments, ranks=6)]

        self.assertEqual(crossing("alltoallv:4000:1", "--first-cluster", "2"), [8 * 4000])
        alltoall, gather, skewed = crossing("alltoall:4000:1,gather:4000:1,alltoallv_skewed:4000:1")
        self.assertEqual((alltoall, gather), (9 * 4000, None))
        self.assertGreater(skewed, 9 * 1000)
        self.assertLess(skewed, 9 * 4000)

    def test_flows_are_seen(self):
        """Through every connection; with one rank there is none."""
        result, = self.bench("--sizes", "65536:3", "--warmup", "1")
        self.assertGreater(result["slowest_flow_to_mean"], 0)
        self.assertLessEqual(result["slowest_flow_to_mean"], 1)
        alone, = self.bench("--sizes", "65536:1", "--warmup", "1", ranks=1)
        self.assertEqual(alone["slowest_flow_to_mean"], 0)

    def link_bench(self, *arguments):
        return self.run_job("link_bench", "--bytes", "65536", "--lead-ms", "20", "--window-ms", "100", *arguments, helper=False,
                            ranks=RANKS, mpirun=self.mpirun, preload=self.preload, **self.over_tcp)

    def test_links_at_once(self):
        """Each pattern's links in their order, one after the other; of a window without a message the gap is all of it."""
        job = self.link_bench("0>1,2>1", "1>0,0>1,2>0")
        self.assertEqual(job.status, 0, job.stderr)
        found = [json.loads(line) for line in job.stdout.splitlines() if line.startswith("{")]
        self.assertEqual([result["pattern"] for result in found], [0, 1])
        self.assertEqual([result["links"] for result in found], [[[0, 1], [2, 1]], [[1, 0], [0, 1], [2, 0]]])
        for result in found:
            self.assertEqual(len(result["mbps"]), len(result["links"]))
            self.assertGreater(min(result["mbps"]), 0)
            self.assertGreater(min(result["longest_gap_ms"]), 0)
            self.assertLessEqual(max(result["longest_gap_ms"]), 100)

    def test_links_that_are_none(self):
        for pattern in ("0>0", "0>9", "0-1", "0>1;1>2", ""):
            with self.subTest(pattern=pattern):
                job = self.link_bench(pattern) if pattern else self.link_bench()
                self.assertNotEqual(job.status, 0)
                self.assertRegex(job.stderr, r"link_bench\S*: ")

    def costs_ns(self, **keywords):
        stub = "tests/no_work.mpich.so" if self.library == "mpich" else "tests/no_work.so"
        job = self.run_job("call_cost", preload=[stub], **keywords)
        self.assertEqual(job.status, 0, job.stderr)
        return {words[1]: float(words[2]) for words in map(str.split, job.stdout.splitlines())
                if words[0] == "cost"}

    def test_cost_of_calls(self):
        """Measures calls without and with the helper; how long they take is not judged here, where
        other tests use the processors, too."""
        plain = self.costs_ns(helper=False)
        with self.daemon():
            paced = self.costs_ns()
        self.assertEqual(sorted(plain), ["isend", "test", "wait"])
        self.assertEqual(sorted(paced), sorted(plain))
        for name, cost_ns in sorted(paced.items()):
            print(f"# {name}: {cost_ns - plain[name]:.1f} ns more than without the helper")


class OpenMpi(Both, HelperTest):
    longer = ("test_cost_of_calls",)
    mpirun = ("--mca", "pml", "ob1", "--mca", "btl", "tcp,self", "--mca", "btl_tcp_if_include", "lo")


class Mpich(Both, HelperTest):
    """The programs find MPICH's connections; they compute the same as with Open MPI."""

    library = "mpich"
    longer = ("test_cost_of_calls",)
    preload = ("tests/ucx_sleep.so",)   # without it MPI_Finalize hangs over TCP
    over_tcp = {"UCX_TLS": "tcp", "UCX_NET_DEVICES": "lo"}


if __name__ == "__main__":
    main()
