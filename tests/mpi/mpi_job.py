# SPDX-License-Identifier: Apache-2.0
"""MPI jobs on this machine, with and without the helper library.

The ranks of a real Open MPI or MPICH job talk through shared memory; a fake
daemon tells each that its node has another name, so that the job seems to span
hosts of two clusters.

Needs HW_BIN (test programs), HW_LIB (the libraries) and HW_MPIRUN,
HW_MPIRUN_MPICH, as ctest sets them.
"""

import os
import subprocess
import sys
import tempfile
import time
import unittest

from fake_headwayd import FakeHeadwayd

PRELOAD = "libheadway-mpi.so"  # for whichever MPI library
RANKS = 4
NODES = ["a0", "a1", "b0", "b1"]
# For headwayd itself, see RealHeadwayds.
FIVE_NODES = ["a0", "a1", "a2", "b0", "b1"]
TWO_CLUSTERS = """
[[cluster]]
name = "a"
hosts = ["a[0-2]"]
prefixes = ["10.1.0.0/16"]
host_rate = "20mbit"
trunk_rate = "25mbit"
[[cluster]]
name = "b"
hosts = ["b[0-1]"]
prefixes = ["10.2.0.0/16"]
host_rate = "20mbit"
trunk_rate = "25mbit"
"""
JOB_TIME_LIMIT_S = 200
ONCE_MORE = "# mpirun says that a rank exited improperly; once more"
PATIENCE_MS = 30000  # the machine may be busy; a daemon that is late is another test's matter


class Job:
    """One finished mpirun."""

    def __init__(self, status, stdout, stderr, seconds):
        self.status = status
        self.stdout = stdout
        self.stderr = stderr
        self.seconds = seconds

    @property
    def may_have_ended_well(self):
        """Open MPI's mpirun misses a rank's MPI_Finalize once in some thousand jobs
        (open-mpi/ompi 7833): a job that is run once more tells whether the rank called it."""
        return self.status == 1 and "exiting improperly" in self.stderr

    @property
    def told(self):
        """What the helper said."""
        return [line for line in self.stderr.splitlines() if line.startswith("headway:")]

    def calls(self, operation=None):
        """(operation, bytes, ranks) of each collective, as the program printed them."""
        calls = []
        for line in self.stdout.splitlines():
            words = line.split()
            if words[:1] == ["call"] and operation in (None, words[1]):
                calls.append((words[1], int(words[2]), int(words[3])))
        return calls


class RealHeadwayds:
    """headwayd's own planner and control service for each node of a headway.toml,
    over a fake kernel: node_headwayds."""

    def __init__(self, folder, config):
        self.folder = folder
        self.config = os.path.join(folder, "headway.toml")
        with open(self.config, "w", encoding="utf-8") as file:
            file.write(config)

    def __enter__(self):
        self.process = subprocess.Popen(
            [os.path.join(os.environ["HW_BIN"], "node_headwayds"), self.config, self.folder],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        if self.process.stdout.readline() != "ready\n":
            raise RuntimeError("node_headwayds does not start")
        return self

    def __exit__(self, *_):
        self.process.communicate()

    def on_nodes(self, nodes):
        """The beginning of a command whose rank R runs on the R-th of the nodes."""
        return ["sh", "-c", 'rank=${OMPI_COMM_WORLD_RANK:-$PMI_RANK}; folder=$1; nodes=$2; shift 2; '
                'node=$(echo "$nodes" | cut -d " " -f $((rank + 1))); '
                'HEADWAY_SOCKET=$folder/$node.sock exec "$@"', "sh", self.folder, " ".join(nodes)]


class HelperTest(unittest.TestCase):
    """Runs jobs with and without the helper."""

    library = "ompi"

    def setUp(self):
        directory = tempfile.TemporaryDirectory(prefix="headway-mpi-")
        self.addCleanup(directory.cleanup)
        self.sessions = directory.name
        self.socket = os.path.join(directory.name, "control.sock")

    def daemon(self, **arguments):
        arguments.setdefault("nodes", NODES)
        return FakeHeadwayd(self.socket, **arguments)

    def launcher(self, ranks):
        """mpirun with the options that suit this machine.  Two jobs that begin while another
        ends would come into each other's way in Open MPI's folder of sessions below /tmp."""
        if self.library == "mpich":
            return [os.environ["HW_MPIRUN_MPICH"], "-n", str(ranks)]
        return [os.environ["HW_MPIRUN"], "--oversubscribe", "-n", str(ranks),
                "--mca", "orte_tmpdir_base", self.sessions,
                "--mca", "mpi_yield_when_idle", "1", "--mca", "hwloc_base_binding_policy",
                "none", "--mca", "btl_vader_single_copy_mechanism", "none"]

    def variables(self, environment):
        """mpirun's options that give the ranks these variables."""
        if self.library == "mpich":
            return [word for name, value in environment.items()
                    for word in ("-genv", name, str(value))]
        return [word for name, value in environment.items() for word in ("-x", f"{name}={value}")]

    def program(self, name):
        suffix = ".mpich" if self.library == "mpich" else ""
        return os.path.join(os.environ["HW_BIN"], name + suffix)

    def command_of(self, program, *arguments, helper=True, ranks=RANKS, preload=(), mpirun=(),
                   under=(), **environment):
        waiting = ["tests/ucx_nap.so"] if self.library == "mpich" else []
        libraries = [os.path.join(os.environ["HW_LIB"], name)
                     for name in ([PRELOAD] if helper else []) + list(preload) + waiting]
        environment = {"HEADWAY_SOCKET": self.socket, **environment}
        if libraries:
            environment = {"LD_PRELOAD": ":".join(libraries), **environment}
        return (self.launcher(ranks) + list(mpirun) + self.variables(environment) +
                [*under, self.program(program), *arguments])

    def run_job(self, program, *arguments, **keywords):
        """The arguments are those of command_of()."""
        return self.run_command(self.command_of(program, *arguments, **keywords))

    @staticmethod
    def environment(**more):
        inherited = {name: value for name, value in os.environ.items()
                     if not name.startswith(("HEADWAY", "OMPI_", "PMIX_"))}
        allowed_as_root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        return {**inherited, **allowed_as_root, **more}

    def run_command(self, command, **environment):
        job = self.run_once(command, environment)
        if job.may_have_ended_well:
            print(ONCE_MORE, file=sys.stderr)
            job = self.run_once(command, environment)
        return job

    def run_once(self, command, environment):
        start = time.monotonic()
        done = subprocess.run(command, env=self.environment(**environment),
                              text=True, stdin=subprocess.DEVNULL, capture_output=True,
                              timeout=JOB_TIME_LIMIT_S, check=False)
        return Job(done.returncode, done.stdout, done.stderr, time.monotonic() - start)

    def assert_succeeded(self, job):
        self.assertEqual(job.status, 0, job.stdout + job.stderr)
        self.assertIn("all data right", job.stdout)

    def assert_one_line(self, job, *words):
        self.assertEqual(len(job.told), 1, job.stderr)
        for word in words:
            self.assertIn(word, job.told[0])

    def assert_trouble(self, job, pattern):
        """Beside the line at the start there is one that matches."""
        trouble = [line for line in job.told if "pacing all-to-all over 4 hosts" not in line]
        self.assertEqual((len(job.told), len(trouble)), (2, 1), job.stderr)
        self.assertRegex(trouble[0], pattern)

    def assert_balanced(self, connection):
        """Enters and leaves alternate, and nothing is left entered."""
        steps = [op for op in connection.operations() if op in ("enter", "leave")]
        self.assertEqual(steps, ["enter", "leave"] * (len(steps) // 2))

    def assert_same_job(self, job, **arguments):
        """As without the helper: same output, same status."""
        plain = self.run_job(*arguments.pop("command"), helper=False, **arguments)
        self.assertEqual(plain.told, [])
        self.assertEqual(job.stdout, plain.stdout)
        self.assertEqual(job.status, plain.status)


class ComparedTest(HelperTest):
    """Jobs that do with the helper what they do without."""

    ranks = 8
    nodes = ["a0", "a0", "a1", "a1", "b0", "b0", "b1", "b1"]

    def paced_job(self, program, *arguments, nodes=None, ranks=None, **keywords):
        """The job and the daemon it had."""
        nodes = nodes or self.nodes
        told = {name: keywords.pop(name, None) for name in ("algorithm", "phases")}
        with self.daemon(nodes=nodes, **told) as daemon:
            job = self.run_job(program, *arguments, ranks=ranks or len(nodes),
                               HEADWAY_TIMEOUT_MS=PATIENCE_MS, **keywords)
        return job, daemon

    def entered(self, daemon):
        return {connection.patterns[request["pattern"] - 1]["operation"]
                for connection in daemon.connections
                for request in connection.requests if request["op"] == "enter"}

    def assert_left_everything(self, daemon):
        for connection in daemon.connections:
            operations = connection.operations()
            self.assertEqual(operations.count("enter"), operations.count("leave"))

    def assert_same_output(self, job, plain):
        self.assertEqual(plain.status, 0, plain.stderr)
        self.assertEqual(job.status, 0, job.stderr)
        mine, its = job.stdout.splitlines(), plain.stdout.splitlines()
        self.assertGreater(len(its), 0)
        different = [line for line, other in zip(mine, its) if line != other]
        self.assertEqual(different, [])
        self.assertEqual(len(mine), len(its))

    def compare(self, program, *arguments, **keywords):
        """The daemon of a paced job that did what the plain one did."""
        plain = self.run_job(program, *arguments, helper=False,
                             ranks=keywords.get("ranks") or len(keywords.get("nodes", self.nodes)))
        job, daemon = self.paced_job(program, *arguments, **keywords)
        self.assert_same_output(job, plain)
        self.assert_left_everything(daemon)
        return job, daemon


def all_cases():
    suite = unittest.defaultTestLoader.loadTestsFromModule(sys.modules["__main__"])
    for group in suite:
        for case in group:
            yield case.id().removeprefix("__main__.")


def main():
    """FILE [--list | Class.method ...]"""
    if sys.argv[1:] == ["--list"]:
        print("\n".join(all_cases()))
    else:
        unittest.main()
