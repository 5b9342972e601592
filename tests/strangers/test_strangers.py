# SPDX-License-Identifier: Apache-2.0
"""That tests/strangers notices a difference, and takes nothing else for one.  The programs are small scripts, and the
launcher is one, too: no MPI library is there.  A script knows by HEADWAY_SOCKET that it is to be different."""
import argparse
import contextlib
import dataclasses
import importlib.machinery
import importlib.util
import io
import os
import pathlib
import re
import subprocess
import tempfile
import time
import unittest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]


def load(path):
    """A program, as a module."""
    loader = importlib.machinery.SourceFileLoader(f"strangers_{path.name}", str(path))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


run = load(HERE / "run")
fetch = load(HERE / "fetch")
compare, jobs, programs, results = run.compare, run.jobs, run.programs, run.results
debian = fetch.debian
ENDS = jobs.ends

LAUNCHER = """ranks=$1; shift
for rank in $(seq 0 $((ranks - 1))); do PMI_RANK=$rank "$@" & done
wait
"""
HANG = "{ touch hanging; exec sleep 1000; }"     # the limit has come as soon as the file is there
DIFFERENT = '[ -z "$HEADWAY_SOCKET" ] || '


class Library(jobs.Library):
    """Whose launcher is a shell."""

    def __init__(self):
        self.name, self.preload = "ompi", []

    def version(self):
        return "1"

    def words(self, program, folder, variables):
        return ["sh", "-c", LAUNCHER, "sh", str(program.ranks),
                "env", "-C", str(program.folder), *(f"{name}={value}" for name, value in variables.items())]


class Jobs(unittest.TestCase):
    """Programs that are run for real."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.helper = self.folder / "libheadway-ompi.so"
        self.helper.touch()
        self.addCleanup(setattr, jobs, "HELPER", jobs.HELPER)
        self.addCleanup(setattr, jobs, "ends", jobs.ends)
        jobs.HELPER, jobs.ends = self.folder, self.ends
        self.library = Library()
        # a preload that is none would be told of by the loader
        self.library.words = lambda program, folder, variables: Library.words(
            self.library, program, folder, {**variables, "LD_PRELOAD": ""})

    def ends(self, job, *_):
        while job.launcher.poll() is None:
            if (self.folder / "hanging").exists():
                return False
            time.sleep(0.01)
        return True

    def program(self, script, ranks=2, name="coll/one 2"):
        file = self.folder / "one"
        file.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        file.chmod(0o755)
        return programs.Program(name=name, ranks=ranks, command=("./one",), folder=self.folder, files=(file,))

    def comparison(self, known=()):
        results.digest.cache_clear()
        return run.Comparison(self.library, results.Results(self.folder / "kept", self.library.version()), dict(known))

    def judge(self, script, known=(), **keywords):
        return self.comparison(known).judge(self.program(script, **keywords), "linear")

    def test_the_same_is_equal(self):
        verdict = self.judge("echo $PMI_RANK; exit $PMI_RANK")
        self.assertEqual((verdict.what, verdict.why), (run.EQUAL, []))

    def test_another_line_is_a_difference(self):
        verdict = self.judge(f"echo same; {DIFFERENT}echo 'wrong data'")
        self.assertEqual(verdict.what, run.DIFFERENT)
        self.assertEqual(verdict.why, ["+ wrong data", "+ wrong data"])

    def test_a_missing_line_is_a_difference(self):
        verdict = self.judge('[ -n "$HEADWAY_SOCKET" ] || echo "No Errors"')
        self.assertEqual(verdict.why, ["- No Errors", "- No Errors"])

    def test_another_number_is_a_difference(self):
        verdict = self.judge(f"n=1; {DIFFERENT}n=2; echo $n errors >&2")
        self.assertEqual(verdict.why, ["- 1 errors"] * 2 + ["+ 2 errors"] * 2)

    def test_another_status_of_one_rank_is_a_difference(self):
        verdict = self.judge(f"{DIFFERENT}exit $PMI_RANK; exit 0")
        self.assertEqual(verdict.why, ["rank 1 ends with 1 instead of 0"])

    def test_a_signal_is_a_difference(self):
        verdict = self.judge(f"{DIFFERENT}kill -SEGV $$")
        self.assertEqual(verdict.why, [f"rank {rank} ends with -11 instead of 0" for rank in (0, 1)])

    def test_what_is_written_of_a_native_crash_is_not_compared(self):
        self.assertEqual(self.judge(f"{DIFFERENT}echo 'in the preload'; kill -SEGV $$").what, run.EQUAL)
        self.assertEqual(self.judge(f"{DIFFERENT}exit 0; kill -SEGV $$").what, run.DIFFERENT)

    def test_what_hangs_under_the_preload_alone_is_a_difference_and_ends(self):
        verdict = self.judge(f"{DIFFERENT}{HANG}")
        self.assertEqual((verdict.what, verdict.why), (run.DIFFERENT, ["it hangs"]))

    def test_what_a_hanging_job_has_started_ends_too(self):
        self.judge(f'{DIFFERENT}setsid sh -c "echo \\$\\$ >child; {HANG}"', ranks=1)
        child = (self.folder / "child").read_text(encoding="utf-8").strip()
        # a process that has ended, and that nobody has waited for, has no words left
        words = pathlib.Path(f"/proc/{child}/cmdline")
        self.assertEqual(words.read_bytes() if words.exists() else b"", b"")

    def test_what_hangs_without_headway_is_run_once_and_not_compared(self):
        comparison, program = self.comparison(), self.program(f"echo x >>runs; {HANG}", ranks=1)
        self.assertEqual(comparison.judge(program, "linear").why, ["it hangs without Headway"])
        self.assertEqual((self.folder / "runs").read_text(encoding="utf-8"), "x\n")

    def test_native_runs_that_disagree_are_compared_by_what_they_agree_on(self):
        chance = "read n <n || n=0; echo $((n + 1)) >n; echo took $n s; exit $n"
        self.assertEqual(self.judge(chance, ranks=1).why, ["its runs without Headway agree in nothing"])
        self.assertEqual(self.judge(f"echo begins; {chance}", ranks=1).what, run.EQUAL)
        verdict = self.judge(f"echo begins; {DIFFERENT}echo 'wrong data'; {chance}", ranks=1)
        self.assertEqual(verdict.why, ["+ wrong data"])

    def test_what_fills_up_a_number_s_column_is_no_difference(self):
        """As that of a process's number in UCX's warnings."""
        numbered = "read n <n || n=10002; echo $((n - 1)) >n; echo begins; printf '[vm:%-6s:0] warns\\n' $n"
        self.assertEqual(self.judge(numbered, ranks=1).what, run.EQUAL)

    def test_a_launcher_that_stays_when_all_ranks_have_ended_is_not_waited_for(self):
        self.addCleanup(setattr, jobs, "LOOK_S", jobs.LOOK_S)
        jobs.LOOK_S, jobs.ends = 0.01, ENDS
        words = self.library.words
        self.library.words = lambda *arguments: [f"{word}exec sleep 1000" if word == LAUNCHER else word
                                                 for word in words(*arguments)]
        self.assertEqual(self.judge("echo $PMI_RANK").what, run.EQUAL)

    def test_the_helper_s_own_lines_are_not_the_program_s(self):
        said = f"{DIFFERENT}echo 'headway: pacing' >&2"
        self.assertEqual(self.judge(said).what, run.EQUAL)
        verdict = self.judge(f"{said}; {DIFFERENT}exit 1")
        self.assertEqual(verdict.why[-1], "headway: pacing", "but it may say why something is different")

    def test_what_is_known_is_told_as_such_and_for_its_library_alone(self):
        script = f"{DIFFERENT}exit 1"
        known = {("coll/one 2", "linear", "ompi"): "because"}
        verdict = self.judge(script, known)
        self.assertEqual((verdict.what, verdict.tap(1)[0]), (run.KNOWN, "not ok 1 - coll/one 2 linear # TODO because"))
        self.assertEqual(self.judge(script, {("coll/one 2", "linear", "mpich"): "because"}).what, run.DIFFERENT)
        equal = self.judge("exit 0", known)
        self.assertEqual((equal.what, equal.why), (run.EQUAL, ["known.toml has a difference that there is not"]))

    def test_what_was_not_compiled_is_said_to_be_so(self):
        program = dataclasses.replace(self.program("exit 0"), why_not="it was not compiled against this library")
        verdict = self.comparison().judge(program, "linear")
        self.assertEqual(verdict.tap(3), ["ok 3 - coll/one 2 linear # SKIP it was not compiled against this library"])

    def test_nothing_runs_again_until_its_inputs_change(self):
        script = f"echo x >>runs; {DIFFERENT}echo paced"
        runs = self.folder / "runs"

        def count(script):
            self.judge(script, ranks=1)
            return len(runs.read_text(encoding="utf-8").splitlines())
        self.assertEqual(count(script), 4)
        self.assertEqual(count(script), 4)
        self.helper.write_text("another helper", encoding="utf-8")
        self.assertEqual(count(script), 5, "the native runs are the same")
        self.assertEqual(count(script + "\n:"), 9, "another program")

    def test_a_difference_fails_the_run_unless_it_is_known(self):
        program = self.program(f"{DIFFERENT}exit 1")
        known = {("coll/one 2", mode, "ompi"): "because" for mode in ("linear", "ring")}
        for known, is_good in (({}, False), (known, True)):
            with contextlib.redirect_stdout(io.StringIO()):
                self.assertEqual(run.run_all(self.comparison(known), [program]), is_good)

    def test_the_table_counts_what_has_run_and_lists_differences(self):
        other = self.program(f"{DIFFERENT}exit 1", name="coll/two 2")
        comparison = self.comparison()
        comparison.judge(other, "linear")
        lines = run.table([comparison], ["coll"], lambda suite, library: [other])
        row = next(line.split() for line in lines if line.startswith("coll"))
        self.assertEqual(row, ["coll", "ompi", "linear", "1", "0", "1", "0", "0", "0", "0"])
        self.assertIn("coll/two 2, ompi, linear: different", lines)


class Started:
    """A job none of whose ranks has ended."""

    def __init__(self, launcher):
        self.launcher = launcher

    def _of_ranks(self, _kind):
        return {}


class Hangs(unittest.TestCase):
    """Tests which jobs are ended."""

    def ends(self, script, budget_cpu_s=0):
        """Whether it is waited for."""
        for module, name, value in ((jobs, "LOOK_S", 0.01), (jobs.suites, "CPU_LIMIT_LEAST_S", 0.01)):
            self.addCleanup(setattr, module, name, getattr(module, name))
            setattr(module, name, value)
        launcher = subprocess.Popen(["sh", "-c", script], env={**os.environ, jobs.MARK: self.id()})
        try:
            return jobs.ends(Started(launcher), 1, self.id(), budget_cpu_s)
        finally:
            jobs.processes.end(self.id(), jobs.MARK)
            launcher.wait()

    def test_what_uses_too_much_processor_time(self):
        self.assertFalse(self.ends("while :; do :; done"))

    def test_what_does_nothing(self):
        self.addCleanup(setattr, jobs.suites, "IDLE_LIMIT_S", jobs.suites.IDLE_LIMIT_S)
        jobs.suites.IDLE_LIMIT_S = 0
        self.assertFalse(self.ends("exec sleep 1000"))

    def test_nothing_else(self):
        self.assertTrue(self.ends("exec sleep 0.1", 1000))


class Lists(unittest.TestCase):
    """The testlists of test/mpi."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.sources, self.builds = (pathlib.Path(folder.name) / name for name in ("sources", "builds"))
        lists = {"sources/errors/testlist.in": ["coll", "absent"],
                 "builds/errors/testlist": ["# first", "coll", "", "#absent"],
                 "sources/errors/coll/testlist": ["bad 4 arg=-n arg=3 env=A=b=c timeLimit=600", "bad 4 arg=-n arg=3",
                                                  "gone", "ticket 2 xfail=ticket1", "!sub:thing"]}
        for file, lines in lists.items():
            path = pathlib.Path(folder.name) / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("\n".join(lines), encoding="utf-8")
        (self.builds / "errors/coll").mkdir()
        for name in ("bad", "ticket"):
            (self.builds / "errors/coll" / name).touch()

    def test_lists_of_folders_and_what_their_lines_say(self):
        found = {program.name: program for program in programs.read_list(self.sources, self.builds, "errors")}
        self.assertEqual(list(found), ["errors/coll/bad 4 -n 3", "errors/coll/gone 2", "errors/coll/ticket 2"])
        bad = found["errors/coll/bad 4 -n 3"]
        self.assertEqual((bad.ranks, bad.command, bad.environment, bad.budget_cpu_s, bad.why_not, bad.suite),
                         (4, ("./bad", "-n", "3"), (("A", "b=c"),), 30, "", "errors"))
        self.assertEqual(found["errors/coll/gone 2"].why_not, "it was not compiled against this library")
        self.assertEqual(found["errors/coll/ticket 2"].why_not, "")

    def test_a_piece_that_is_none(self):
        for text in ("", "1", "/", "0/2", "3/2", "one/2", "1/2/3"):
            with self.subTest(text=text), self.assertRaises(argparse.ArgumentTypeError):
                run.piece_of(text)
        with self.assertRaises(argparse.ArgumentTypeError):
            run.regex_of("(")

    def test_pieces_are_all_programs_once(self):
        found = list(programs.read_list(self.sources, self.builds, "errors"))
        pieces = [run.choose(found, run.piece_of(f"{piece}/2"), re.compile("")) for piece in (1, 2)]
        self.assertEqual(sorted(program.name for piece in pieces for program in piece),
                         sorted(program.name for program in found))
        self.assertEqual([program.name for program in run.choose(found, (1, 1), re.compile("gone"))], ["errors/coll/gone 2"])

    def test_every_known_difference_is_in_a_mode_that_runs(self):
        for program, mode, library in run.read_known():
            self.assertIn(mode, run.modes_of(program.split("/")[0]), program)
            self.assertIn(library, run.LIBRARIES, program)


class Daemon(unittest.TestCase):
    """Which algorithm is named."""

    def test_the_algorithm_of_the_mode_and_no_other(self):
        with tempfile.TemporaryDirectory() as folder, jobs.Daemon(f"{folder}/socket", jobs.MODES["ring"]) as daemon:
            ask = lambda operation, able: daemon._algorithm_for({"operation": operation, "algorithms": [able]}, None)
            self.assertEqual((ask("bcast", "ring"), ask("alltoall", "linear")), ("ring", None))
            self.assertEqual(daemon.taken, {"ring": 1})


class Sources(unittest.TestCase):
    """Tests what an archive may lack."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.addCleanup(setattr, fetch, "FOLDER", fetch.FOLDER)
        self.addCleanup(setattr, fetch, "Apt", fetch.Apt)
        fetch.FOLDER = pathlib.Path(folder.name)

    def test_what_is_missing_is_told_and_the_rest_is_fetched(self):
        class Apt:
            def __init__(self, _):
                pass

            def update(self):
                pass

            def unpack(self, packages, tree):
                pass

            def unpack_source(self, name, folder):
                if name == "mpi4py":
                    raise debian.Unknown("apt-get failed for bookworm:\nIgn\nE: Failed to fetch it")
                folder.mkdir()
        fetch.Apt = Apt
        self.assertEqual(fetch.fetch(["mpi4py", "mpich"]),
                         ["the source of mpi4py is not to be had: E: Failed to fetch it"])
        self.assertTrue((fetch.FOLDER / "mpich-src").is_dir())
        fetch.Apt = None
        self.assertEqual(fetch.fetch(["mpich"]), [], "what is there is left alone")


if __name__ == "__main__":
    unittest.main()
