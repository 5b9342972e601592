# SPDX-License-Identifier: Apache-2.0
"""The programs of strangers' suites: MPICH's test/mpi by its testlists, and each file of mpi4py's tests."""

import dataclasses
import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[2]
STRANGERS = ROOT / "build/strangers"
DEFAULT_RANKS = 2           # of test/mpi, where a list names none
DEFAULT_LIMIT_S = 180       # likewise, after which it is taken to hang
BUDGET_OF_LIMIT = 0.05       # processor seconds for each second of that: a job that uses ten times as much hangs
MPI4PY = "mpi4py"
MPI4PY_RANKS = 5
BY_EACH_ALGORITHM = ("coll", "errors", "comm", "attr")
ONCE = ("datatype", "threads", "io", "topo", "rma", "spawn", MPI4PY)
SUITES = BY_EACH_ALGORITHM + ONCE


@dataclasses.dataclass(frozen=True)
class Program:
    """With its arguments: what one job runs."""
    name: str               # SUITE/..., unlike that of any other
    ranks: int
    command: tuple
    folder: pathlib.Path    # where it runs
    files: tuple            # what it is made of
    environment: tuple = ()     # pairs
    budget_cpu_s: float = BUDGET_OF_LIMIT * DEFAULT_LIMIT_S
    why_not: str = ""       # it cannot be run

    @property
    def suite(self):
        return self.name.split("/")[0]


def programs(suite, library):
    """Returns the programs of a suite as built for that library; FileNotFoundError if it is not."""
    if suite == MPI4PY:
        return mpi4py_programs(STRANGERS / "mpi4py-src", STRANGERS / f"mpi4py-{library}")
    return list(read_list(STRANGERS / "mpich-src/test/mpi", STRANGERS / library, suite))


def read_list(sources, builds, folder):
    """Reads the programs of a folder's testlist and of the lists that it names: configure has made
    some in the folder of the build."""
    found = [tree / folder / "testlist" for tree in (builds, sources) if (tree / folder / "testlist").is_file()]
    if not found:
        raise FileNotFoundError(f"there is no {builds / folder}/testlist; tests/strangers/build makes it")
    seen = set()
    for line in found[0].read_text(encoding="utf-8").splitlines():
        words = line.partition("#")[0].split()
        if not words or words[0].startswith("!"):   # what make has built already
            continue
        if (sources / folder / words[0]).is_dir():
            yield from read_list(sources, builds, f"{folder}/{words[0]}")
            continue
        program = read_line(builds, folder, words)
        if program.name not in seen:
            seen.add(program.name)
            yield program


def read_line(builds, folder, words):
    """program [ranks [key=value...]]; with xfail=... it fails with MPICH itself, which is an outcome like any other."""
    name, *rest = words
    ranks = int(rest[0]) if rest and rest[0].isdigit() else DEFAULT_RANKS
    options = [word.partition("=")[::2] for word in rest if "=" in word]
    values = dict(options)
    arguments = [value for key, value in options if key == "arg"]
    file = builds / folder / name
    why_not = "" if file.is_file() else "it was not compiled against this library"
    limit_s = max(DEFAULT_LIMIT_S, int(values.get("timeLimit", 0)))
    return Program(name=" ".join([f"{folder}/{name}", str(ranks), *arguments]), ranks=ranks,
                   command=(f"./{file.name}", *arguments), folder=file.parent, files=(file,),
                   environment=tuple(tuple(value.split("=", 1)) for key, value in options if key == "env"),
                   budget_cpu_s=BUDGET_OF_LIMIT * limit_s, why_not=why_not)


def mpi4py_programs(sources, module):
    if not (module / "mpi4py").is_dir():
        raise FileNotFoundError(f"there is no {module}/mpi4py; tests/strangers/build makes it")
    starter = next(name for name in ("test/runtests.py", "test/main.py") if (sources / name).is_file())
    library = tuple(sorted((module / "mpi4py").glob("*.so")))
    return [Program(name=f"{MPI4PY}/{test.stem} {MPI4PY_RANKS}", ranks=MPI4PY_RANKS,
                    command=("/usr/bin/python3", starter, "--no-builddir", "-v", "-i", f"^{test.stem}$"),
                    folder=sources, files=(test, *library),
                    environment=(("PYTHONPATH", str(module)), ("PYTHONDONTWRITEBYTECODE", "1")))
            for test in sorted((sources / "test").glob("test_*.py"))]
