#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What the helper sets in Open MPI and in MPICH, and that they believe it.

  test_settings.py [Class.method ...]
  test_settings.py --list
"""

import re

from mpi_job import HelperTest, main


class OpenMpiSettings(HelperTest):
    """What Open MPI is told before MPI_Init, and that it believes it."""

    FLAGS, EAGER = "btl_tcp_flags", "btl_tcp_eager_limit"
    TUNED = ("coll_tuned_use_dynamic_rules", "coll_tuned_alltoallv_algorithm")
    DEFAULT_FLAGS = 0x1 | 0x2 | 0x8 | 0x10 | 0x20 | 0x100
    PUT = 0x2

    def settings(self, **arguments):
        """Values of FLAGS, EAGER and TUNED in a running job; the job."""
        job = self.run_job("mca_show", self.FLAGS, self.EAGER, *self.TUNED,
                           "coll_tuned_dynamic_rules_filename", **arguments)
        self.assertEqual(job.status, 0, job.stderr)
        lines = dict(line.split("=", 1) for line in job.stdout.splitlines())
        return lines, job

    def test_defaults_are_known(self):
        """If this fails, Open MPI's own defaults changed."""
        lines, _ = self.settings(helper=False)
        self.assertEqual(int(lines[self.FLAGS]), self.DEFAULT_FLAGS)
        self.assertEqual(lines[self.EAGER], "65536")
        self.assertEqual([lines[name] for name in self.TUNED], ["0", "0"])

    def test_set_and_taken_back(self):
        lines, job = self.settings()
        self.assertEqual(int(lines[self.FLAGS]), self.DEFAULT_FLAGS & ~self.PUT)
        self.assertEqual(lines[self.EAGER], "131072")
        self.assertEqual([lines[name] for name in self.TUNED], ["1", "1"])
        self.assertRegex(lines["coll_tuned_dynamic_rules_filename"], r"^/proc/self/fd/\d+$")
        self.assertFalse([name for name in lines if name.startswith("environment")])
        self.assert_one_line(job, "btl_tcp_flags=", "linear all-to-all from 2048 bytes",
                             "HEADWAY_TRANSPORT=off", "HEADWAY_ALGORITHM=off")

    def test_transport_off(self):
        lines, job = self.settings(HEADWAY_TRANSPORT="off")
        self.assertEqual(int(lines[self.FLAGS]), self.DEFAULT_FLAGS)
        self.assertEqual(lines[self.EAGER], "65536")
        self.assertEqual([lines[name] for name in self.TUNED], ["1", "1"])
        self.assert_one_line(job, "transport left alone")

    def test_algorithm_off(self):
        lines, job = self.settings(HEADWAY_ALGORITHM="off")
        self.assertEqual(int(lines[self.FLAGS]), self.DEFAULT_FLAGS & ~self.PUT)
        self.assertEqual([lines[name] for name in self.TUNED], ["0", "0"])
        self.assert_one_line(job, "algorithm left alone")

    def test_all_off(self):
        lines, job = self.settings(HEADWAY="off")
        self.assertEqual(int(lines[self.FLAGS]), self.DEFAULT_FLAGS)
        self.assertEqual([lines[name] for name in self.TUNED], ["0", "0"])
        self.assertEqual(job.told, [])

    def test_users_own_flags_stay(self):
        lines, job = self.settings(mpirun=("--mca", self.FLAGS, "3"))
        self.assertEqual(lines[self.FLAGS], "3")
        self.assertEqual(lines["environment " + self.FLAGS], "3")
        self.assert_one_line(job, "OMPI_MCA_btl_tcp_flags=3 kept")

    def test_users_own_algorithms_stay(self):
        lines, job = self.settings(mpirun=("--mca", "coll_tuned_bcast_algorithm", "1"))
        self.assertEqual([lines[name] for name in self.TUNED], ["0", "0"])
        self.assert_one_line(job, "OMPI_MCA_coll_tuned_bcast_algorithm=1 kept")

    def test_misspelt_switches_are_named(self):
        _, job = self.settings(HEADWAY_TRANSPORT="perhaps", HEADWAY_TIMEOUT_MS="soon")
        self.assert_one_line(job, "HEADWAY_TRANSPORT=perhaps is not understood",
                             "HEADWAY_TIMEOUT_MS=soon is not understood")


class MpichSettings(HelperTest):
    """What UCX tells it was given."""

    library = "mpich"

    def thresholds(self, **arguments):
        job = self.run_job("requests_check", UCX_LOG_LEVEL="info", UCX_LOG_FILE="", **arguments)
        self.assertEqual(job.status, 0, job.stderr)
        return set(re.findall(r"UCX_RNDV_THRESH=(\w+)", job.stdout)), job

    def test_set(self):
        thresholds, job = self.thresholds()
        self.assertEqual(thresholds, {"1m"})
        self.assert_one_line(job, "MPICH: UCX_RNDV_THRESH=1m", "HEADWAY_TRANSPORT=off")

    def test_transport_off(self):
        thresholds, job = self.thresholds(HEADWAY_TRANSPORT="off")
        self.assertEqual(thresholds, set())
        self.assert_one_line(job, "transport left alone")

    def test_users_own_stays(self):
        thresholds, job = self.thresholds(UCX_RNDV_THRESH="7k")
        self.assertEqual(thresholds, {"7k"})
        self.assert_one_line(job, "UCX_RNDV_THRESH=7k kept")


class Algorithm(HelperTest):
    """Which algorithm Open MPI runs, as a spy inside it sees."""

    SIZES = (100, 2047, 2048, 16384, 65536, 1048576)

    def algorithms(self, *arguments, sizes=SIZES, **keywords):
        job = self.run_job("collective_bench", "--sizes", ",".join(map(str, sizes)),
                           "--repetitions", "1", "--warmup", "0", *arguments,
                           preload=("tests/algorithm_spy.so",), **keywords)
        self.assertEqual(job.status, 0, job.stderr)
        return [line.split()[1] for line in job.stderr.splitlines()
                if line.startswith("algorithm ")]

    def test_linear_from_2048_bytes(self):
        for ranks in (2, 3, 4, 8):
            with self.subTest(ranks=ranks):
                native = self.algorithms(helper=False, ranks=ranks)
                ours = self.algorithms(ranks=ranks)
                self.assertEqual(ours[:2], native[:2])
                self.assertEqual(ours[2:], ["linear"] * 4)
                self.assertNotEqual(native[2:], ours[2:])

    def test_alltoallv_linear(self):
        for ranks in (2, 4):
            with self.subTest(ranks=ranks):
                self.assertEqual(self.algorithms("--operation", "alltoallv", ranks=ranks), ["v_linear"] * 6)
        self.assertEqual(self.algorithms("--operation", "alltoallv", ranks=2, helper=False), ["v_pairwise"] * 6)

    def test_switched_off(self):
        self.assertEqual(self.algorithms(HEADWAY_ALGORITHM="off"), self.algorithms(helper=False))


if __name__ == "__main__":
    main()
