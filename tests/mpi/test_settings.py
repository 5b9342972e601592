#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What the helper sets in Open MPI and in MPICH, and that they believe it.

  test_settings.py [Class.method ...]
  test_settings.py --list
"""

import contextlib
import re

from mpi_job import HelperTest, main


class OpenMpiSettings(HelperTest):
    """What Open MPI is told before MPI_Init, and that it believes it."""

    FLAGS, EAGER = "btl_tcp_flags", "btl_tcp_eager_limit"
    DYNAMIC_RULES = "coll_tuned_use_dynamic_rules"
    DEFAULT_FLAGS = 0x1 | 0x2 | 0x8 | 0x10 | 0x20 | 0x100
    PUT = 0x2

    def settings(self, **arguments):
        """Values of FLAGS, EAGER and DYNAMIC_RULES in a running job; the job."""
        return self.settings_of(self.command_of("mca_show", self.FLAGS, self.EAGER,
                                                self.DYNAMIC_RULES, **arguments))

    def settings_of(self, command):
        job = self.run_command(command)
        self.assertEqual(job.status, 0, job.stderr)
        lines = dict(line.split("=", 1) for line in job.stdout.splitlines())
        self.assertEqual(lines[self.DYNAMIC_RULES], "0")
        return lines, job

    def two_programs(self, **variables):
        """As settings(), in a job of two programs."""
        command = self.command_of("mca_show", self.FLAGS, self.EAGER, self.DYNAMIC_RULES, ranks=2,
                                  several=True, **variables)
        preload = [word for word in command if word.startswith(("LD_PRELOAD=", "HEADWAY_"))]
        return self.settings_of([*command, ":", "-n", "2",
                                 *(word for name in preload for word in ("-x", name)),
                                 self.program("mca_show")])

    def test_defaults_are_known(self):
        """If this fails, Open MPI's own defaults changed."""
        lines, _ = self.settings(helper=False)
        self.assertEqual(int(lines[self.FLAGS]), self.DEFAULT_FLAGS)
        self.assertEqual(lines[self.EAGER], "65536")

    def test_set_and_taken_back(self):
        """What became of mpi_add_procs_cutoff nobody can ask: MPI_T_init_thread() reads the environment again."""
        with self.daemon():
            lines, job = self.settings()
        self.assertEqual(int(lines[self.FLAGS]), self.DEFAULT_FLAGS & ~self.PUT)
        self.assertEqual(lines[self.EAGER], "131072")
        self.assertFalse([name for name in lines if name.startswith("environment")])
        self.assert_one_line(job, "btl_tcp_flags=", "btl_tcp_eager_limit=131072",
                             "mpi_add_procs_cutoff=1024", "HEADWAY_TRANSPORT=off")

    def test_without_a_daemon_on_the_node(self):
        """Of the flags all ranks must have the same, whatever their nodes have."""
        lines, job = self.settings()
        self.assertEqual(int(lines[self.FLAGS]), self.DEFAULT_FLAGS & ~self.PUT)
        self.assertEqual(lines[self.EAGER], "65536")
        self.assertNotRegex(job.stderr, "btl_tcp_eager_limit|mpi_add_procs_cutoff")

    def test_not_where_buffers_may_be_smaller(self):
        with self.daemon():
            lines, job = self.settings(mpirun=("--mca", "btl_tcp_max_send_size", "70000"))
        self.assertEqual(lines[self.EAGER], "65536")
        self.assert_one_line(job, "btl_tcp_eager_limit left alone")

    def test_several_programs_keep_their_flags(self):
        lines, job = self.two_programs()
        self.assertEqual(int(lines[self.FLAGS]), self.DEFAULT_FLAGS)
        self.assert_one_line(job, "btl_tcp_flags left alone in a job of several programs")
        lines, _ = self.two_programs(HEADWAY_ALL_RANKS="on")
        self.assertEqual(int(lines[self.FLAGS]), self.DEFAULT_FLAGS & ~self.PUT)

    def test_transport_off(self):
        with self.daemon():
            lines, job = self.settings(HEADWAY_TRANSPORT="off")
        self.assertEqual(int(lines[self.FLAGS]), self.DEFAULT_FLAGS)
        self.assertEqual(lines[self.EAGER], "65536")
        self.assert_one_line(job, "transport left alone")

    def test_all_off(self):
        with self.daemon():
            lines, job = self.settings(HEADWAY="off")
        self.assertEqual(int(lines[self.FLAGS]), self.DEFAULT_FLAGS)
        self.assertEqual(lines[self.EAGER], "65536")
        self.assertEqual(job.told, [])

    def test_users_own_flags_stay(self):
        lines, job = self.settings(mpirun=("--mca", self.FLAGS, "3"))
        self.assertEqual(lines[self.FLAGS], "3")
        self.assertEqual(lines["environment " + self.FLAGS], "3")
        self.assert_one_line(job, "OMPI_MCA_btl_tcp_flags=3 kept")

    def test_misspelt_switches_are_named(self):
        _, job = self.settings(HEADWAY_TRANSPORT="perhaps", HEADWAY_TIMEOUT_MS="soon")
        self.assert_one_line(job, "HEADWAY_TRANSPORT=perhaps is not understood",
                             "HEADWAY_TIMEOUT_MS=soon is not understood")


class MpichSettings(HelperTest):
    """What UCX tells it was given."""

    library = "mpich"
    # what Hydra says of a job whose ranks are on more than one node
    ACROSS_NODES = ("env", "-u", "MPI_LOCALNRANKS")

    def thresholds(self, with_daemon=True, **arguments):
        arguments = {"under": self.ACROSS_NODES, "UCX_LOG_LEVEL": "info", "UCX_LOG_FILE": "",
                     **arguments}
        with self.daemon() if with_daemon else contextlib.nullcontext():
            job = self.run_job("requests_check", **arguments)
        self.assertEqual(job.status, 0, job.stderr)
        return set(re.findall(r"UCX_RNDV_THRESH=(\w+)", job.stdout)), job

    def test_set(self):
        thresholds, job = self.thresholds()
        self.assertEqual(thresholds, {"1m"})
        self.assert_one_line(job, "MPICH: UCX_RNDV_THRESH=1m", "HEADWAY_TRANSPORT=off")

    def test_without_a_daemon_on_the_node(self):
        thresholds, job = self.thresholds(with_daemon=False)
        self.assertEqual(thresholds, set())
        self.assert_one_line(job, "transport left alone")

    def test_on_one_node(self):
        thresholds, job = self.thresholds(under=())
        self.assertEqual(thresholds, set())
        self.assert_one_line(job, "transport left alone")

    def test_shared_memory_only(self):
        thresholds, job = self.thresholds(UCX_TLS="self,sm")
        self.assertEqual(thresholds, set())
        self.assert_one_line(job, "TCP is not all of the network")

    def test_transport_off(self):
        thresholds, job = self.thresholds(HEADWAY_TRANSPORT="off")
        self.assertEqual(thresholds, set())
        self.assert_one_line(job, "transport left alone")

    def test_users_own_stays(self):
        thresholds, job = self.thresholds(UCX_RNDV_THRESH="7k")
        self.assertEqual(thresholds, {"7k"})
        self.assert_one_line(job, "UCX_RNDV_THRESH=7k kept")


if __name__ == "__main__":
    main()
