# SPDX-License-Identifier: Apache-2.0
"""MPI jobs on this machine, with and without the helper library.

The ranks of a real Open MPI or MPICH job talk through shared memory; a fake
daemon tells each that its node has another name, so that the job seems to span
hosts of two clusters.

Needs HW_BIN (test programs), HW_LIB (the libraries), HW_MPIRUN, HW_MPIRUN_MPICH and
HW_PRTERUN (of Open MPI 5 alone), as ctest sets them; HW_HELPER where the helper is that of the standard's ABI
(tests/mpi/mpi5).
"""

import contextlib
import os
import signal
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
LIMIT_S = int(os.environ.get("HW_LIMIT_S", 200))  # for what hangs
PATIENCE_MS = 60000  # the most that the helper takes; where a test is not about limits, none is to expire
MPIRUN_OPTIONS = {
    # Open MPI 5.0.7 does not connect by every IPv6 address
    "btl_tcp_disable_family": 6,
    "mpi_yield_when_idle": 1, "btl_vader_single_copy_mechanism": "none",
    # mpirun judges by messages of its own, which race with the ranks' ends (open-mpi/ompi 7833); it is
    # not to end those that are left when it has misjudged one
    "orte_allowed_exit_without_sync": 1, "orte_abort_on_non_zero_status": 0}
PRTE_OPTIONS = {"PRTE_MCA_state_base_error_non_zero_exit": "0"}     # the same of Open MPI 5's, from its environment


def wait_for(condition, what):
    """Waits until an event; the limit is for what hangs."""
    deadline = time.monotonic() + LIMIT_S
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"waiting for {what}, {LIMIT_S} s")
        time.sleep(0.01)


class Job:
    """The ranks that a command starts, running or ended: what they wrote and how they ended
    (rank_record.c).  What their launcher prints, and its exit status, is no evidence: it loses the one
    and guesses the other."""

    def __init__(self, command, folder, environment):
        self.folder = folder
        with open(os.path.join(folder, "launcher"), "w", encoding="utf-8") as launcher:
            self.launcher = subprocess.Popen(command, env={**environment, "HW_RANK_RECORDS": folder},
                                             stdin=subprocess.DEVNULL, stdout=launcher, stderr=launcher)

    def wait(self):
        try:
            self.launcher.wait(LIMIT_S)
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError(f"the job has not ended within {LIMIT_S} s; its ranks: {self.statuses}; "
                                 f"they wrote:\n{self.stdout}{self.stderr}") from None
        return self

    def wait_for(self, condition, what):
        """Waits until an event of the running job; one that has ended will have none."""
        deadline = time.monotonic() + LIMIT_S
        while not condition():
            has_ended = self.launcher.poll() is not None
            if (has_ended and not condition()) or time.monotonic() > deadline:
                raise AssertionError(f"the job {'has ended' if has_ended else f'runs for {LIMIT_S} s'} without {what}; "
                                     f"its ranks: {self.statuses}; they and their launcher wrote:\n"
                                     f"{self.stdout}{self.stderr[-1000:]}{self._read('launcher')}")
            time.sleep(0.01)

    def kill(self):
        """Ends the launcher with its ranks, some of which would outlive it."""
        if self.launcher.poll() is not None:
            return
        self.launcher.kill()
        self.launcher.wait()
        for rank, recorder in self._of_ranks(".recorder").items():
            if not os.path.exists(os.path.join(self.folder, f"{rank}.status")):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(int(recorder), signal.SIGKILL)

    def _read(self, name):
        with open(os.path.join(self.folder, name), encoding="utf-8") as file:
            return file.read()

    def _of_ranks(self, kind):
        """Returns what the ranks wrote, by rank."""
        ranks = sorted(int(name.split(".")[0]) for name in os.listdir(self.folder) if name.endswith(kind))
        return {rank: self._read(f"{rank}{kind}") for rank in ranks}

    def kill_rank(self, rank):
        """Kills a rank as its launcher sees it: with the recorder, whose end is the program's."""
        os.kill(int(self._of_ranks(".recorder")[rank]), signal.SIGKILL)

    @property
    def stdout(self):
        return "".join(self._of_ranks(".out").values())

    @property
    def stderr(self):
        return "".join(self._of_ranks(".err").values())

    @property
    def statuses(self):
        """Returns each rank's exit status, or minus the signal that ended it; None: others ended
        it."""
        ended = self._of_ranks(".status")
        return [int(ended[rank]) if rank in ended else None for rank in self._of_ranks(".err")]

    @property
    def status(self):
        """0 if that of all ranks is, else the first other one; of one that others ended the launcher's words."""
        statuses = self.statuses or [None]
        first = next((status for status in statuses if status != 0), 0)
        return first if first is not None else f"{statuses}, {self.launcher.returncode}: {self._read('launcher')}"

    @property
    def told(self):
        """Returns what the helper said; the lines of rank 0 are first."""
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
        return ["sh", "-c", 'rank=${PMIX_RANK:-$PMI_RANK}; folder=$1; nodes=$2; shift 2; '
                'node=$(echo "$nodes" | cut -d " " -f $((rank + 1))); '
                'HEADWAY_SOCKET=$folder/$node.sock exec "$@"', "sh", self.folder, " ".join(nodes)]


class HelperTest(unittest.TestCase):
    """Runs jobs with and without the helper."""

    library = "ompi"
    mpirun_options = MPIRUN_OPTIONS
    longer = ()  # names of tests that are not part of make check, see Documentation/testing.rst

    def setUp(self):
        directory = tempfile.TemporaryDirectory(prefix="headway-mpi-")
        self.addCleanup(directory.cleanup)
        self.sessions = directory.name
        self.socket = os.path.join(directory.name, "control.sock")

    @property
    def pending_spy(self):
        """Returns the library to be preloaded: pending_spy.c."""
        return "tests/pending_spy.mpich.so" if self.library == "mpich" else "tests/pending_spy.so"

    def daemon(self, **arguments):
        arguments.setdefault("nodes", NODES)
        return FakeHeadwayd(self.socket, **arguments)

    def launcher(self, ranks, several=False):
        """mpirun with the options that suit this machine.  Each job has a folder of sessions to itself: of two
        mpiruns that make the same one at once, one fails (mkdir: File exists).
        `several`: of a job of two programs, at which Debian's mpirun of Open MPI 5.0.7 crashes; that of
        PRRTE does not, but knows nothing of Open MPI, so ranks are told here what mpirun would tell."""
        if self.library == "mpich":
            return [os.environ["HW_MPIRUN_MPICH"], "-n", str(ranks)]
        options = {"orte_tmpdir_base": tempfile.mkdtemp(dir=self.sessions), **self.mpirun_options}
        if several and self.is_open_mpi_5:
            return [os.environ["HW_PRTERUN"], "--map-by", ":oversubscribe", "--bind-to", "none", "-n", str(ranks),
                    "-x", "OMPI_NUM_APP_CTX=2",
                    *(word for name, value in options.items() for word in ("-x", f"OMPI_MCA_{name}={value}"))]
        return [os.environ["HW_MPIRUN"], "--oversubscribe", "--bind-to", "none", "-n", str(ranks),
                *(word for name, value in options.items() for word in ("--mca", name, str(value)))]

    @property
    def is_open_mpi_5(self):
        return bool(os.environ.get("HW_PRTERUN"))

    @property
    def recorder(self):
        return os.path.join(os.environ["HW_BIN"], "rank_record")

    @property
    def spy(self):
        """Tells in which phases messages are sent: phase_spy.c."""
        return os.path.join("tests", "phase_spy.mpich.so" if self.library == "mpich" else "phase_spy.so")

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
                   under=(), several=False, **environment):
        libraries = [PRELOAD, *preload] if helper else list(preload)
        libraries = environment.pop("LD_PRELOAD", libraries) + ["tests/ucx_nap.so"] * (self.library == "mpich")
        environment = {"HEADWAY_SOCKET": self.socket, "HEADWAY_TIMEOUT_MS": PATIENCE_MS, **environment}
        if libraries:
            environment["LD_PRELOAD"] = ":".join(os.path.join(os.environ["HW_LIB"], name) for name in libraries)
        return (self.launcher(ranks, several) + list(mpirun) + self.variables(environment) +
                [self.recorder, *under, self.program(program), *arguments])

    def run_job(self, program, *arguments, **keywords):
        """The arguments are those of command_of()."""
        return self.run_command(self.command_of(program, *arguments, **keywords))

    @staticmethod
    def environment(**more):
        inherited = {name: value for name, value in os.environ.items()
                     if not name.startswith(("HEADWAY", "OMPI_", "PMIX_"))}
        allowed_as_root = {f"{who}_ALLOW_RUN_AS_ROOT{sure}": "1" for who in ("OMPI", "PRTE") for sure in ("", "_CONFIRM")}
        return {**inherited, **allowed_as_root, **PRTE_OPTIONS, **more}

    def start_command(self, command, **environment):
        """A command that starts ranks, each below the recorder."""
        job = Job(command, tempfile.mkdtemp(dir=self.sessions), self.environment(**environment))
        self.addCleanup(job.kill)
        return job

    def run_command(self, command, **environment):
        return self.start_command(command, **environment).wait()

    def run_alone(self, command, **environment):
        """A command that starts no ranks."""
        return subprocess.run(command, env=self.environment(**environment), text=True, stdin=subprocess.DEVNULL,
                              capture_output=True, timeout=LIMIT_S, check=False)

    def ranks_of(self, ranks, program, *arguments):
        """The words that start them, for headway run."""
        return [*self.launcher(ranks), self.recorder, program, *arguments]

    def headway(self, *arguments):
        """The words of a command of the CLI."""
        return [os.path.join(os.path.dirname(os.environ["HW_BIN"]), "headway"), *arguments]

    def run_headway(self, *arguments, **environment):
        """Runs a command that starts ranks."""
        return self.run_command(self.headway(*arguments), HEADWAY_SOCKET=self.socket,
                                HEADWAY_TIMEOUT_MS=str(PATIENCE_MS), **environment)

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
        """It was in no phase when it asked for one, and is in none at the end."""
        self.assertEqual([phase for _, phase in connection.entries], [0] * len(connection.entries))
        self.assertEqual(connection.phase(), 0)

    def assert_same_job(self, job, **arguments):
        """The job ends as without the helper: same output, same status."""
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
        told = {name: keywords.pop(name) for name in ("algorithm", "plans_change") if name in keywords}
        with self.daemon(nodes=nodes, **told) as daemon:
            job = self.run_job(program, *arguments, ranks=ranks or len(nodes), **keywords)
        for connection in daemon.connections:
            self.assertEqual(connection.phase(), 0, "everything is left")
        return job, daemon

    def entered(self, daemon):
        """Operations; what is paced by its traffic has none."""
        return {request["operation"] for connection in daemon.connections
                for request, _ in connection.entries if request["op"] == "phase"}

    def assert_same_output(self, job, plain):
        self.assertEqual(plain.status, 0, plain.stderr)
        self.assertEqual(job.status, 0, job.stderr)
        mine, its = job.stdout.splitlines(), plain.stdout.splitlines()
        self.assertGreater(len(its), 0)
        different = [line for line, other in zip(mine, its) if line != other]
        self.assertEqual(different, [])
        self.assertEqual(len(mine), len(its), mine[-3:])

    def assert_deviations_end(self, job, alone, operations, algorithm):
        """Each case of deviations.cpp ends, and gives the library's class of error where that
        refuses alone; returns its lines."""
        self.assertEqual((alone.status, job.status), (0, 0), job.stdout + job.stderr)
        for operation in operations:
            self.assertIn(f"{operation} of 4 ranks: {algorithm}", job.stderr)
        lines = job.stdout.splitlines()
        self.assertEqual([line for line in lines if not line.endswith(" next right")], [])
        self.assertEqual([line for line in lines if " - " in line], alone.stdout.splitlines())
        return lines

    def compare(self, program, *arguments, **keywords):
        """The daemon of a paced job that did what the plain one did."""
        plain = self.run_job(program, *arguments, helper=False,
                             ranks=keywords.get("ranks") or len(keywords.get("nodes", self.nodes)))
        job, daemon = self.paced_job(program, *arguments, **keywords)
        self.assert_same_output(job, plain)
        return job, daemon


# What make check tests with MPICH although it does so with Open MPI: each wrapper, that calls of any kind, right and
# wrong ones, end as without the helper, and what the helper asks of MPICH itself: settings, launcher, connections.
WITH_BOTH = ("test_every_operation_in_c", "test_erroneous_calls", "test_legal_calls_that_few_programs_make", "test_abort",
             "test_paced", "test_set", "test_run_of_a_launcher", "test_flows_are_seen")


def cases(of_longer_check):
    """Loads the tests of make check, or those of the longer one: what a class leaves to it (its `longer`), and of
    MPICH's classes what those of Open MPI test in make check as well, but for WITH_BOTH."""
    suite = unittest.defaultTestLoader.loadTestsFromModule(sys.modules["__main__"])
    every = {case.id().removeprefix("__main__."): case for group in suite for case in group}

    def is_left(name):
        return name.split(".")[1] in getattr(every[name], "longer", ())

    def is_longer(name):
        twins = {name.replace("Mpich", "OpenMpi"), name.replace("Mpich", "")} - {name}
        is_twin = any(twin in every and not is_left(twin) for twin in twins)
        return is_left(name) or is_twin and name.split(".")[1] not in WITH_BOTH

    return [name for name in every if is_longer(name) == of_longer_check]


def main():
    """FILE [--list | --list-longer | Class.method ...]"""
    if sys.argv[1:] in (["--list"], ["--list-longer"]):
        print("\n".join(cases(sys.argv[1] == "--list-longer")))
    else:
        unittest.main()
