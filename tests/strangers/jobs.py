# SPDX-License-Identifier: Apache-2.0
"""One job of a stranger's program, without Headway or under the preload, and what came of it."""

import collections
import contextlib
import dataclasses
import os
import pathlib
import resource
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests/mpi"), str(ROOT / "tests/lib")]
import mpi_job                              # noqa: E402
import processes                            # noqa: E402
import suites                               # noqa: E402
from fake_headwayd import FakeHeadwayd      # noqa: E402

HELPER = ROOT / "build/strangers/helper/lib"    # with small sizes: libheadway/size_limits.hpp
RECORDER = ROOT / "build/bin/tests/rank_record"
NATIVE = "native"
HOSTS = ("a0", "b0", "a1")      # of ranks 0, 1, 2, 3 and so on again; the first letter is the cluster
RANKS_MAX = 128
PORT_BUFFER_BYTES = 1024        # so that messages of different sizes go in several pieces
CALL_S = 1e-5                   # for each 1000 bytes of the largest flow: so long a call with told sizes is planned to take
BUDGET_FACTOR = 2               # times the processor time of the dearest native run
LOOK_S = 2                      # between two looks at what may hang
MARK = "HW_STRANGERS_JOB"       # in the environment of all that a job starts
ENDED_BY_OTHERS = (None, -9, -15)

ROUND = ("allgather", "allgatherv", "bcast", "reduce", "allreduce", "reduce_scatter", "reduce_scatter_block")
TOTAL = ("alltoall", "alltoallv", "alltoallw")
ROOTED = ("gather", "gatherv", "scatter", "scatterv")
# These go by our algorithm; by "linear" those with messages of different sizes go in pieces.
MODES = {"linear": TOTAL + ROOTED, "ring": ROUND, "own": TOTAL + ROOTED + ROUND}


@dataclasses.dataclass
class Outcome:
    """The outcome of one job."""
    statuses: list          # of each rank: its exit status, minus the signal that ended it, or "ended by others"
    lines: list             # that its ranks wrote, sorted
    hung: bool = False
    cpu_s: float = 0.0      # processor seconds
    told: list = dataclasses.field(default_factory=list)    # lines of the helper, which are not the program's


class Daemon(FakeHeadwayd):
    """Names our algorithm for these operations; every message is paced."""

    def __init__(self, path, operations):
        super().__init__(path, nodes=[HOSTS[rank % len(HOSTS)] for rank in range(RANKS_MAX)], phases=True)
        self.operations = operations
        self.taken = collections.Counter()  # how often each algorithm was named, and sizes were told

    def answer_hello(self, request, connection):
        return {**super().answer_hello(request, connection), "min_message_bytes": 1,
                "port_buffer_bytes": PORT_BUFFER_BYTES}

    def answer_prepare(self, request, connection):
        return {**super().answer_prepare(request, connection), "min_message_bytes": 1}

    def answer_traffic(self, request, connection):
        if request.get("one_call"):
            self.taken["told sizes"] += 1
        answer = super().answer_traffic(request, connection)
        return {**answer, "end_s": CALL_S} if "end_s" in answer else answer

    def _algorithm_for(self, request, connection):
        if "algorithm" in request:
            return request["algorithm"]
        if "algorithms" not in request or request["operation"] not in self.operations:
            return None
        self.taken[request["algorithms"][0]] += 1
        return request["algorithms"][0]


class Job(mpi_job.Job):
    """Whose ranks may write anything."""

    def _read(self, name):
        with open(os.path.join(self.folder, name), encoding="utf-8", errors="replace") as file:
            return file.read()


class Library:
    """An MPI library's launcher, and what its ranks need beside the helper."""

    def __init__(self, name):
        self.name = name
        self.program = shutil.which({"ompi": "mpirun.openmpi", "mpich": "mpirun.mpich"}[name])
        # ranks outnumber the processors
        self.preload = [ROOT / "build/lib/tests/ucx_nap.so"] if name == "mpich" else []

    def version(self):
        """Stands for the library: it changes with it."""
        return subprocess.run([self.program, "--version"], capture_output=True, text=True, check=True,
                              env=mpi_job.HelperTest.environment()).stdout

    def words(self, program, folder, variables):
        """Returns the words of the launcher, before those of the program."""
        if self.name == "mpich":
            return [self.program, "-n", str(program.ranks), "-wdir", str(program.folder),
                    *(word for name, value in variables.items() for word in ("-genv", name, value))]
        options = {"orte_tmpdir_base": folder, **mpi_job.MPIRUN_OPTIONS}
        return [self.program, "--oversubscribe", "--bind-to", "none", "-n", str(program.ranks),
                "-wdir", str(program.folder),
                *(word for name, value in options.items() for word in ("--mca", name, str(value))),
                *(word for name, value in variables.items() for word in ("-x", f"{name}={value}"))]


def ends(job, ranks, mark, budget_cpu_s):
    """False: it hangs, for it has used ten times its budget, or has done nothing for ten minutes.  Open MPI's mpirun
    may stay when all ranks have ended."""
    watch = suites.Watch(budget_cpu_s, time.monotonic())
    while True:
        with contextlib.suppress(subprocess.TimeoutExpired):
            job.launcher.wait(LOOK_S)
            return True
        left = processes.of(mark, MARK)
        if len(job._of_ranks(".status")) == ranks and set(left) <= {job.launcher.pid}:
            return True
        if watch.look(time.monotonic(), processes.cpu_s(left)):
            return False


def used_cpu_s():
    """By all jobs that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def run(library, program, budget_cpu_s, socket=None):
    """The Outcome of a job: under the preload, if there is the socket of a daemon."""
    preload = list(library.preload)
    variables = {"MPITEST_RETURN_WITH_CODE": "yes", **dict(program.environment)}
    if socket:
        preload.insert(0, HELPER / mpi_job.PRELOAD)
        variables.update(HEADWAY_SOCKET=socket, HEADWAY_TIMEOUT_MS=str(mpi_job.PATIENCE_MS))
    if preload:
        variables["LD_PRELOAD"] = ":".join(map(str, preload))
    with tempfile.TemporaryDirectory(prefix="headway-strangers-", ignore_cleanup_errors=True) as folder:
        words = library.words(program, folder, variables) + [str(RECORDER), *program.command]
        mark = os.path.basename(folder)
        before_cpu_s = used_cpu_s()
        job = Job(words, tempfile.mkdtemp(dir=folder), mpi_job.HelperTest.environment(**{MARK: mark}))
        try:
            hung = not ends(job, program.ranks, mark, budget_cpu_s)
        finally:
            processes.end(mark, MARK)
        job.launcher.wait()
        return Outcome(statuses_of(job), lines_of(job, program), hung, round(used_cpu_s() - before_cpu_s, 2),
                       sorted(set(job.told)))


def statuses_of(job):
    return ["ended by others" if status in ENDED_BY_OTHERS else status for status in job.statuses]


def lines_of(job, program):
    """The program's own.  Processes that it spawns write through the launcher."""
    text = job.stdout + "\n" + job.stderr
    if program.suite == "spawn" and not any(job.statuses):
        text += job._read("launcher")
    return sorted(line for line in text.splitlines() if line.strip() and not line.startswith("headway:"))


def run_paced(library, program, mode, budget_cpu_s):
    """The Outcome, and what the daemon was asked."""
    with tempfile.TemporaryDirectory(prefix="headway-strangers-") as folder:
        with Daemon(os.path.join(folder, "control.sock"), MODES[mode]) as daemon:
            outcome = run(library, program, budget_cpu_s, daemon.path)
        return outcome, dict(daemon.taken)
