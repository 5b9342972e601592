#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Tests what the helper sets in Open MPI and in MPICH, and that they believe it.

  test_settings.py [Class.method ...]
  test_settings.py --list
"""

import contextlib
import ctypes
import re

from mpi_job import RANKS, HelperTest, main


class OpenMpiSettings(HelperTest):
    """Open MPI is told this before MPI_Init, and believes it."""

    RDMA, EAGER, FLAGS = "pml_ob1_max_rdma_per_request", "btl_tcp_eager_limit", "btl_tcp_flags"
    DEFAULTS = {RDMA: "4", EAGER: "65536", FLAGS: str(0x1 | 0x2 | 0x8 | 0x10 | 0x20 | 0x100)}
    # what mpirun says of a job whose ranks are on more than one node
    ACROSS_NODES = ("env", "-u", "OMPI_COMM_WORLD_LOCAL_SIZE")

    def settings(self, **arguments):
        """Values of the three in a running job; the job."""
        return self.settings_of(self.command_of("mca_show", *self.DEFAULTS,
                                                **{"under": self.ACROSS_NODES, **arguments}))

    def settings_of(self, command):
        job = self.run_command(command)
        self.assertEqual(job.status, 0, job.stderr)
        return dict(line.split("=", 1) for line in job.stdout.splitlines()), job

    def assert_left_alone(self, **arguments):
        lines, job = self.settings(**arguments)
        self.assertEqual(lines, self.DEFAULTS)
        self.assert_one_line(job, "Open MPI: transport left alone;")

    def test_defaults_are_known(self):
        """If this fails, Open MPI's own defaults changed."""
        lines, _ = self.settings(helper=False)
        self.assertEqual(lines, self.DEFAULTS)

    def test_set_and_taken_back(self):
        """Nobody can ask what became of mpi_add_procs_cutoff: MPI_T_init_thread() reads the
        environment again."""
        with self.daemon():
            lines, job = self.settings()
        self.assertEqual(lines, {**self.DEFAULTS, self.RDMA: "0", self.EAGER: "131072"})
        self.assert_one_line(job, "pml_ob1_max_rdma_per_request=0", "btl_tcp_eager_limit=131072",
                             "mpi_add_procs_cutoff=1024", "HEADWAY_TRANSPORT=off")

    def test_without_a_daemon_on_the_node(self):
        self.assert_left_alone()

    def test_on_one_node(self):
        with self.daemon():
            self.assert_left_alone(under=())

    def test_other_networks(self):
        with self.daemon():
            lines, job = self.settings_of(self.command_of("mca_show", self.RDMA, under=self.ACROSS_NODES,
                                                          mpirun=("--mca", "btl", "vader,self")))
        self.assertEqual(lines, {self.RDMA: "4"})
        self.assert_one_line(job, "transport left alone, for TCP is not all of the network")

    def test_not_where_buffers_may_be_smaller(self):
        with self.daemon():
            lines, job = self.settings(mpirun=("--mca", "btl_tcp_max_send_size", "70000"))
        self.assertEqual(lines[self.EAGER], "65536")
        self.assert_one_line(job, "btl_tcp_eager_limit left alone")

    def test_in_a_job_of_several_programs(self):
        command = self.command_of("mca_show", *self.DEFAULTS, ranks=2, several=True, under=self.ACROSS_NODES)
        preload = [word for word in command if word.startswith(("LD_PRELOAD=", "HEADWAY_"))]
        with self.daemon():
            lines, _ = self.settings_of([*command, ":", "-n", "2", *(word for name in preload for word in ("-x", name)),
                                         self.program("mca_show")])
        self.assertEqual(lines[self.RDMA], "0")

    def test_transport_off(self):
        with self.daemon():
            self.assert_left_alone(HEADWAY_TRANSPORT="off")

    def test_all_off(self):
        with self.daemon():
            lines, job = self.settings(HEADWAY="off")
        self.assertEqual(lines, self.DEFAULTS)
        self.assertEqual(job.told, [])

    def test_users_own_stays(self):
        with self.daemon():
            lines, job = self.settings(mpirun=("--mca", self.RDMA, "3"))
        self.assertEqual((lines[self.RDMA], lines["environment " + self.RDMA]), ("3", "3"))
        self.assert_one_line(job, f"OMPI_MCA_{self.RDMA}=3 kept")

    def test_misspelt_switches_are_named(self):
        _, job = self.settings(HEADWAY_TRANSPORT="perhaps", HEADWAY_TIMEOUT_MS="soon")
        self.assert_one_line(job, "HEADWAY_TRANSPORT=perhaps is not understood",
                             "HEADWAY_TIMEOUT_MS=soon is not understood")


def ucx_version():
    """The major and the minor number of the UCX that MPICH uses here."""
    major, minor, release = (ctypes.c_uint() for _ in range(3))
    ctypes.CDLL("libucp.so.0").ucp_get_version(*map(ctypes.byref, (major, minor, release)))
    return major.value, minor.value


class MpichSettings(HelperTest):
    """UCX tells what it was given."""

    library = "mpich"
    # what Hydra says of a job whose ranks are on more than one node
    ACROSS_NODES = ("env", "-u", "MPI_LOCALNRANKS")

    def thresholds(self, with_daemon=True, **arguments):
        arguments = {"under": self.ACROSS_NODES, "UCX_LOG_LEVEL": "info", "UCX_LOG_FILE": "",
                     **arguments}
        with self.daemon() if with_daemon else contextlib.nullcontext():
            job = self.run_job("requests_check", **arguments)
        self.assertEqual(job.status, 0, job.stderr)
        return set(re.findall(r"UCX_RNDV_THRESH=([\w:,]+)", job.stdout)), job

    def test_set(self):
        """A wrong value would end the job in MPI_Init.  Of other nodes alone, where UCX knows that."""
        wanted = "intra:auto,inter:128k" if ucx_version() >= (1, 17) else "128k"
        thresholds, job = self.thresholds()
        self.assertEqual(thresholds, {wanted})
        self.assert_one_line(job, f"MPICH: UCX_RNDV_THRESH={wanted}", "HEADWAY_TRANSPORT=off")

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

    def test_a_busy_receiver_s_memory(self):
        """40 messages of 512 KiB stay at the worker until they are received."""
        for helper in (False, True):
            with self.daemon():
                job = self.run_job("busy_manager", helper=helper, ranks=2, under=self.ACROSS_NODES, UCX_TLS="tcp,self")
            grown_mib, received = job.stdout.splitlines()
            self.assertEqual(received, "all received", job.stderr)
            self.assertLess(int(grown_mib), 8)

    def test_users_own_stays(self):
        thresholds, job = self.thresholds(UCX_RNDV_THRESH="7k")
        self.assertEqual(thresholds, {"7k"})
        self.assert_one_line(job, "UCX_RNDV_THRESH=7k kept")


class OverTcp(HelperTest):
    """Open MPI over TCP: nobody asks for a put where there is a daemon, and whoever has none may."""

    OPTIONS = ("--mca", "btl", "tcp,self", "--mca", "pml", "ob1")
    FIRST_TWO = ("sh", "-c", 'unset OMPI_COMM_WORLD_LOCAL_SIZE; test "$PMIX_RANK" -lt 2 || HEADWAY_SOCKET=/nowhere; '
                 'exec "$@"', "sh")

    def exchange(self, **keywords):
        """The job, and how many puts each rank made, in no order."""
        with self.daemon():
            job = self.run_job("large_exchange", preload=["tests/put_spy.so"], mpirun=self.OPTIONS, **keywords)
        self.assert_succeeded(job)
        puts = [int(line.split()[3]) for line in job.stderr.splitlines() if line.startswith("sends ")]
        self.assertEqual(len(puts), RANKS)
        return job, puts

    def test_without_us(self):
        _, puts = self.exchange(helper=False)
        self.assertGreater(min(puts), 0)

    def test_with_a_daemon(self):
        _, puts = self.exchange(under=OpenMpiSettings.ACROSS_NODES)
        self.assertEqual(puts, [0] * RANKS)

    def test_some_without_a_daemon(self):
        job, puts = self.exchange(under=self.FIRST_TWO)
        self.assert_one_line(job, "pacing only 2 of 4 ranks")
        self.assertGreater(max(puts), 0)


if __name__ == "__main__":
    main()
