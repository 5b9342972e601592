# SPDX-License-Identifier: Apache-2.0
"""Test suites: the table of them (tests/suites.toml), how they run, and what they say.

A suite is a command that prints TAP: "ok", "not ok", "ok ... # SKIP", and "not ok ... # TODO" for a
failure that is expected.  It exits with another status than 0 if anything failed.  Its output goes to
a log.  Nothing here depends on how busy the machine is: a suite has a budget of processor time, and is
ended if it uses ten times as much, or does nothing at all for ten minutes.
"""

import dataclasses
import hashlib
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import time
import tomllib

import processes

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/systems"))
import debian       # noqa: E402

CORES = os.cpu_count() or 1
TABLE = "tests/suites.toml"
DEFAULT_PART = "check"
ALL = "all"                 # the parts together, but for those
OF_RELEASES = ("kernels", "debug", "deb", "ansible")    # that the part "systems" runs on each release
LOOK_S = 0.2                # between two looks at what runs
CPU_LIMIT_FACTOR = 10       # times the budget
CPU_LIMIT_LEAST_S = 60
IDLE_LIMIT_S = 600          # with less than IDLE_CPU_S of processor time
IDLE_CPU_S = 1
WALL_LIMIT_S = 7200         # of what waits and looks, waits and looks, for ever
TOLD_FACTOR = 1.5           # times the budget, told in the last lines
BEFORE_LINES = 20           # of a log, told before a failure
LINE = re.compile(r"(not )?ok\b(.*)")


@dataclasses.dataclass(frozen=True)
class Suite:
    """A row of the table."""
    name: str
    command: str            # words as in a shell; {cores}, {piece}, {pieces} stand for numbers
    cpu_s: float            # budget: the processor seconds that it needed on a quiet machine
    needs: tuple = ()       # CMake's targets, "kernel:NAME", "packages:FILE"
    part: str = DEFAULT_PART
    cores: int = 1          # that it keeps busy; 0: all
    piece: int = 1
    pieces: int = 1

    def family(self):
        """The name of the row: of all pieces, kernels or releases."""
        return self.name.split(".")[0]

    def words(self):
        return shlex.split(self.command.format(cores=CORES, piece=self.piece, pieces=self.pieces))


def _rows(name, row, values):
    """The row; or, if its command has {kernel} or {release}, a row for each of them, whose name ends with it."""
    for word, each in values.items():
        mark = "{" + word + "}"
        if mark in row.get("command", ""):
            return [(f"{name}.{one}", {**row, "command": row["command"].replace(mark, one),
                                       "needs": [need.replace(mark, one) for need in row.get("needs", ())]})
                    for one in each]
    return [(name, row)]


def read_table(text, kernels=(), releases=()):
    """The suites in the order of the file; ValueError names the row that is wrong."""
    suites = []
    for family, unfolded in tomllib.loads(text)["suite"].items():
        pieces = unfolded.get("pieces", 1)
        try:
            for name, row in _rows(family, unfolded, {"kernel": kernels, "release": releases}):
                for piece in range(1, pieces + 1):
                    suites.append(Suite(**{**row, "name": f"{name}.{piece}" if pieces > 1 else name, "piece": piece,
                                           "needs": tuple(row.get("needs", ()))}))
        except TypeError as error:
            raise ValueError(f"[{family}]: {error}") from None
    return suites


def table(file=None):
    """Reads the suites with this release's kernels; ValueError says what is wrong with the file, or
    that this is no known release."""
    try:
        kernels = debian.kernels_of(debian.codename())
    except debian.Unknown as error:
        raise ValueError(error) from None
    return read_table(pathlib.Path(file or ROOT / TABLE).read_text(), kernels, debian.releases())


def choose(rows, names, part=DEFAULT_PART):
    """Returns the suites with these names (pieces also by the name of all of them), or else those
    of the part; ValueError names what is not there."""
    known = {name for suite in rows for name in (suite.name, suite.family())}
    for name in names:
        if name not in known:
            raise ValueError(f"there is no suite '{name}'; there are: {' '.join(sorted(known))}")
    parts = {suite.part for suite in rows} | {ALL}
    if part not in parts:
        raise ValueError(f"there is no part '{part}'; there are: {' '.join(sorted(parts))}")
    if names:
        return [suite for suite in rows if {suite.name, suite.family()} & set(names)]
    return [suite for suite in rows if suite.part == part or part == ALL and suite.part not in OF_RELEASES]


def build_cpu_s():
    """The budget of a build of everything that make check needs."""
    return tomllib.loads((ROOT / TABLE).read_text())["build_cpu_s"]


def tree():
    """Stands for the state of the work tree; without git for none."""
    def git(*words):
        return subprocess.run(["git", "-C", ROOT, *words], capture_output=True, check=False).stdout
    return hashlib.sha256(git("rev-parse", "HEAD") + git("diff", "HEAD")).hexdigest()


@dataclasses.dataclass
class Result:
    """The result of a suite, and what it cost."""
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    expected: int = 0           # failures that are: known, and named by the test
    wall_s: float = 0
    cpu_s: float = 0
    budget_cpu_s: float = 0
    failures: list = dataclasses.field(default_factory=list)    # names of the tests
    why: str = ""               # it was ended, or could not run
    could_run: bool = True

    def is_good(self):
        return not self.failed and self.passed + self.skipped + self.expected > 0

    def is_dear(self):
        return self.cpu_s > TOLD_FACTOR * self.budget_cpu_s

    def verdict(self):
        return "passed" if self.is_good() else "failed" if self.could_run else "could not run"


def read_results(folder):
    """Returns, by the names of suites, what a Run has kept there so far."""
    file = folder / "times.json"
    if not file.exists():
        return {}
    return {name: Result(**row) for name, row in json.loads(file.read_text()).items()}


def count(text, status, why=""):
    """The Result of a log and an exit status."""
    result = Result(why=why)
    for match in map(LINE.match, text.splitlines()):
        if not match:
            continue
        failed, rest = match.groups()
        if "# TODO" in rest and failed:
            result.expected += 1
        elif failed:
            result.failed += 1
            result.failures.append(re.sub(r"^[\s\d-]*", "", rest))
        elif "# SKIP" in rest:
            result.skipped += 1
        else:
            result.passed += 1
    # it broke before it could say what, or ran no test at all
    if not result.failed and (why or status or not result.passed + result.skipped + result.expected):
        result.failed = 1
        result.failures.append(why or (f"exit status {status}" if status else "no test"))
    return result


def failures_of(text, most_lines=60):
    """The lines of a log that say what failed, or how the log ends, if none was told.  Each failure has
    the last lines before it (of a guest that broke, say) and the comments after it, for some suites say
    why first and some afterwards.  A test within a test (of a guest) has an indent; the test around it
    says only that one of them failed."""
    kept, before, failed = [], [], False
    for line in text.splitlines():
        if match := LINE.match(line.lstrip()):
            failed = bool(match[1]) and "# TODO" not in line
            if failed:
                kept += [*before[-BEFORE_LINES:], line[:300]]
            before = []
        elif failed and line.lstrip().startswith("#"):
            kept.append(line[:300])
        else:
            before.append(line[:300])
    return kept[:most_lines] or ["the end of its log:", *("| " + line for line in text.splitlines()[-40:])]


class Watch:
    """Tells why a suite has to be ended; "": it has not."""

    def __init__(self, budget_cpu_s, now_s):
        self.most_cpu_s = max(CPU_LIMIT_FACTOR * budget_cpu_s, CPU_LIMIT_LEAST_S)
        self.began_s = self.busy_s = now_s
        self.busy_cpu_s = 0

    def look(self, now_s, cpu_s):
        if cpu_s - self.busy_cpu_s >= IDLE_CPU_S:
            self.busy_s, self.busy_cpu_s = now_s, cpu_s
        if cpu_s > self.most_cpu_s:
            return f"ended, as it used more than {self.most_cpu_s:g} s of processor time"
        if now_s - self.busy_s > IDLE_LIMIT_S:
            return f"ended, as it did nothing for {IDLE_LIMIT_S} s"
        if now_s - self.began_s > WALL_LIMIT_S:
            return f"ended after {WALL_LIMIT_S} s"
        return ""


class Running:
    """A suite that runs; all that it starts has the mark."""

    def __init__(self, suite, folder, mark):
        self.suite, self.mark = suite, mark
        self.log = folder / f"{suite.name}.log"
        self.began = self.looked = time.monotonic()
        self.watch, self.why = Watch(suite.cpu_s, self.began), ""
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(suite.words(), cwd=ROOT, stdin=subprocess.DEVNULL, stdout=log,
                                            stderr=subprocess.STDOUT, start_new_session=True,
                                            env={**os.environ, processes.MARK: self.mark})

    def look(self):
        """Its Result, if it has ended; None: it goes on."""
        pid, status, usage = os.wait4(self.process.pid, os.WNOHANG)
        if pid:
            self.process.returncode = os.waitstatus_to_exitcode(status)
            processes.end(self.mark)
            return self.result(usage)
        if time.monotonic() - self.looked > 5:
            self.looked = time.monotonic()
            self.limit()
        return None

    def limit(self):
        """Ends what hangs."""
        self.why = self.watch.look(time.monotonic(), processes.cpu_s(processes.of(self.mark)))
        if self.why:
            processes.end(self.mark)

    def result(self, usage):
        result = count(self.log.read_text(errors="replace"), self.process.returncode, self.why)
        result.wall_s = round(time.monotonic() - self.began, 1)
        result.cpu_s = round(usage.ru_utime + usage.ru_stime, 1)
        result.budget_cpu_s = self.suite.cpu_s
        return result


class Run:
    """Suites that run, as many at once as there are processors; what they said is kept in
    FOLDER/times.json as they end."""

    def __init__(self, folder, tell=print):
        self.folder, self.tell, self.running, self.results, self.marks = folder, tell, [], {}, []
        folder.mkdir(parents=True, exist_ok=True)

    def busy(self):
        return sum(one.suite.cores or CORES for one in self.running)

    def start(self, suite):
        """Starts the suite as soon as there is room for it."""
        while self.running and self.busy() + (suite.cores or CORES) > CORES:
            self.wait()
        self.marks.append(f"{os.getpid()}-{suite.name}")
        self.running.append(Running(suite, self.folder, self.marks[-1]))

    def wait(self):
        """Waits until one ends."""
        while True:
            for one in self.running:
                if result := one.look():
                    self.running.remove(one)
                    self.keep(one.suite, result)
                    return
            time.sleep(LOOK_S)

    def keep(self, suite, result):
        self.results[suite.name] = result
        times = {name: dataclasses.asdict(one) for name, one in self.results.items()}
        text = json.dumps(times, indent=1)
        (self.folder / "times.json.new").write_text(text + "\n")
        (self.folder / "times.json.new").rename(self.folder / "times.json")
        self.report(suite, result)

    def report(self, suite, result):
        log = self.folder / f"{suite.name}.log"
        text = log.read_text(errors="replace") if log.exists() else ""
        self.tell(f"{suite.name:16} {result.passed:4} passed {result.failed:3} failed {result.skipped:3} skipped"
                  f" {result.wall_s:6.0f} s, {result.cpu_s:6.0f} s of processor time")
        shown = [line for line in text.splitlines() if re.match(r"ok .*# SKIP", line)]
        if result.expected:
            shown.append(f"{result.expected} tests fail as they are expected to: # TODO in {log}")
        if not result.is_good():
            shown += [result.why] * bool(result.why) + failures_of(text) * bool(text)
        for line in shown:
            self.tell("             " + line)

    def finish(self):
        while self.running:
            self.wait()

    def end(self):
        """Nothing goes on, not even a suite that was just starting."""
        for mark in self.marks:
            processes.end(mark)

    def summary(self):
        """The last lines; True: nothing failed."""
        for name, result in self.results.items():
            if result.is_dear():
                self.tell(f"{name} took {result.cpu_s:.0f} s of processor time; its budget in tests/suites.toml is "
                          f"{result.budget_cpu_s:g}")
        expected = sum(result.expected for result in self.results.values())
        total = [sum(getattr(result, what) for result in self.results.values())
                 for what in ("passed", "failed", "skipped")]
        self.tell("{} passed, {} failed, {} skipped".format(total[0], total[1], total[2] + expected))
        return total[1] == 0 and total[0] > 0
