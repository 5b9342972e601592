# SPDX-License-Identifier: Apache-2.0
"""tests/check and tests/lib/repeat on tables of their own: what is counted, what is built, what hangs, and
that nothing goes on after Ctrl-C.  Waits end by an event; a limit only ends what hangs."""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import building     # noqa: E402
import processes    # noqa: E402
import suites       # noqa: E402
import debian       # noqa: E402   suites says where it is
from ktap import wait_for       # noqa: E402

CHECK = suites.ROOT / "tests/check"
HANGS_S = 600


class Counting(unittest.TestCase):
    def test_what_a_suite_says_is_counted(self):
        result = suites.count("ok 1 a\nnot ok 2 - b\n# why\nok 3 c # SKIP no root\nnot ok 4 d # TODO known\n"
                              "    not ok 1 of a guest\nokay\n", 1)
        self.assertEqual((result.passed, result.failed, result.skipped, result.expected), (1, 1, 1, 1))
        self.assertEqual(result.failures, ["b"])
        self.assertFalse(result.is_good())

    def test_a_suite_that_breaks_or_tests_nothing_has_failed(self):
        for text, status, why, failure in (("ok 1 a\n", 3, "", "exit status 3"), ("", 0, "", "no test"),
                                           ("ok 1 a\n", -9, "ended, as it did nothing", "ended, as it did nothing")):
            with self.subTest(failure):
                result = suites.count(text, status, why)
                self.assertEqual((result.failed, result.failures), (1, [failure]))

    def test_failures_are_told_with_what_is_said_of_them(self):
        text = "# of a\nok 1 a\n# before b\nnot ok 2 b\n# after b\nok 3 c\n# of d\nnot ok 4 d # TODO known\n"
        self.assertEqual(suites.failures_of(text), ["# before b", "not ok 2 b", "# after b"])
        guest = "    ok 1 a\n    not ok 2 b\n    # got: 3\n    ok 3 c\n    # Totals: fail:1\nnot ok 1 guest\n"
        self.assertEqual(suites.failures_of(guest),
                         ["    not ok 2 b", "    # got: 3", "    # Totals: fail:1", "not ok 1 guest"])
        broken = "ok 1 a\n" + 30 * "starts\n" + "panic\nnot ok 2 guest\n1..2\n"
        self.assertEqual(suites.failures_of(broken),
                         (suites.BEFORE_LINES - 1) * ["starts"] + ["panic", "not ok 2 guest"])
        self.assertEqual(suites.failures_of("broken\n"), ["the end of its log:", "| broken"])


class Hanging(unittest.TestCase):
    """However busy the machine is: by the processor time that a suite gets."""

    def test_who_goes_on_is_left_alone(self):
        watch = suites.Watch(100, 0)
        for minute in range(1, 100):
            self.assertEqual(watch.look(60 * minute, 2 * minute), "")

    def test_who_does_nothing_is_ended(self):
        watch = suites.Watch(100, 0)
        self.assertEqual(watch.look(10, 50), "")
        self.assertEqual(watch.look(10 + suites.IDLE_LIMIT_S, 50.5), "")
        self.assertIn("it did nothing", watch.look(11 + suites.IDLE_LIMIT_S, 50.5))

    def test_who_turns_for_ever_is_ended(self):
        self.assertIn("1000 s of processor time", suites.Watch(100, 0).look(2000, 1001))

    def test_who_waits_and_looks_for_ever_is_ended(self):
        watch = suites.Watch(1000, 0)
        now = 0
        while not (why := watch.look(now, now / 100)):
            now += 100
        self.assertEqual(why, f"ended after {suites.WALL_LIMIT_S} s")


class Processes(unittest.TestCase):
    def test_one_that_starts_program_after_program_is_found(self):
        """Between two of them it has no environment."""
        with tempfile.TemporaryDirectory() as folder:
            last = pathlib.Path(folder) / "last"
            again = f"[[ $I != 300 ]] || {{ >{last}; exit; }}; I=$((I + 1)) exec bash -c \"$0\" \"$0\""
            process = subprocess.Popen(["bash", "-c", again, again], env={**os.environ, processes.MARK: "test", "I": "0"})
            while processes.of("test"):
                pass
            self.assertTrue(last.exists(), f"missed before it ended; its status: {process.poll()}, None: it runs")
            process.wait(HANGS_S)

    def test_one_whose_shell_is_importing_its_environment_is_found(self):
        """For that time bash has a NUL where the = was: the name and the value are words of their own."""
        environments = {os.getpid(): b"A=1\0HW_RUN\0test\0B=2\0"}
        with unittest.mock.patch.object(processes, "_environment", lambda pid: environments.get(pid, b"")):
            self.assertEqual(processes.of("test"), [os.getpid()])
            self.assertEqual(processes.of("tes"), [])


class MpiCases(unittest.TestCase):
    """tests/mpi/mpi_job.py divides the cases of both MPI libraries between make check and make check-mpi."""

    def test_what_is_left_of_mpich_is_tested_with_open_mpi(self):
        left = 0
        for file in [*(suites.ROOT / "tests/mpi").glob("test_*.py"), suites.ROOT / "tests/apps/test_kernels.py"]:
            if "mpi_job" not in file.read_text():
                continue
            listed = {option: subprocess.run([sys.executable, file, option], capture_output=True, text=True, check=True)
                      .stdout.split() for option in ("--list", "--list-longer")}
            in_check, longer = set(listed["--list"]), set(listed["--list-longer"])
            self.assertTrue(in_check, file)
            self.assertFalse(in_check & longer, file)
            for case in longer:
                name, test = case.split(".")
                twins = {f"{name.replace('Mpich', other)}.{test}" for other in ("OpenMpi", "")}
                if "Mpich" in name and not twins & longer:
                    left += 1
                    self.assertTrue(twins & in_check, case)
        self.assertGreater(left, 100)


class Table(unittest.TestCase):
    def rows(self, **keys):
        lines = "".join(f"{key} = {json.dumps(value)}\n" for key, value in {"cpu_s": 1, **keys}.items())
        return suites.read_table(f"[suite.a]\n{lines}", ["6.1", "6.1-rt"], ["old", "new"])

    def test_a_command_with_a_kernel_is_a_suite_for_each(self):
        rows = self.rows(command="run {kernel} {cores}", needs=["kernel:{kernel}", "q_gap"])
        self.assertEqual([(row.name, row.needs) for row in rows],
                         [("a.6.1", ("kernel:6.1", "q_gap")), ("a.6.1-rt", ("kernel:6.1-rt", "q_gap"))])
        self.assertEqual(rows[1].words(), ["run", "6.1-rt", str(suites.CORES)])
        self.assertEqual(suites.choose(rows, ["a"]), rows)
        self.assertEqual(suites.choose(rows, ["a.6.1"]), rows[:1])

    def test_so_is_one_with_a_release(self):
        self.assertEqual([row.words() for row in self.rows(command="run {release}")], [["run", "old"], ["run", "new"]])

    def test_what_is_wrong_is_named_by_its_row(self):
        for keys in ({}, {"command": "true", "nosuch": 1}):
            with self.assertRaisesRegex(ValueError, r"\[a\]: "):
                self.rows(**keys)

    def test_what_each_release_runs_is_not_run_once_more(self):
        rows = [suites.Suite(part, "true", 1, part=part) for part in ("check", "systems", *suites.OF_RELEASES)]
        self.assertEqual([row.part for row in suites.choose(rows, [], suites.ALL)], ["check", "systems"])
        commands = [row.command for row in suites.table() if row.part == "systems"]
        for release in debian.releases():
            for part in suites.OF_RELEASES:
                self.assertIn(f"tests/systems/check {release} check-{part}", commands)


class Building(unittest.TestCase):
    def steps(self, *needs):
        return building.steps(needs)

    def test_nothing_is_built_for_who_needs_nothing(self):
        self.assertEqual(self.steps(), [])

    def test_just_what_is_needed_is_built(self):
        (packages,), (kernels, programs) = self.steps("kernel:6.1", "packages:p.txt", "q_gap", "kernel:6.12", "q_gap")
        self.assertEqual(packages, [["tests/lib/install-packages", "p.txt"]])
        self.assertEqual(kernels, [["make", "modules", "KERNELS=6.1 6.12"]])
        configured, build = programs
        self.assertEqual(configured, ["make", "configured"])
        self.assertEqual(build[-2:], ["--target", "q_gap"])

    def test_lanes_run_side_by_side_and_each_in_its_order(self):
        """Each of the first two waits for a file that the other makes."""
        folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        meet = f"touch {folder}/$0; until [ -e {folder}/$1 ]; do sleep 0.01; done"
        building.run_beside([[["sh", "-c", meet, "a", "b"], ["mkdir", folder / "c"]],
                             [["sh", "-c", meet, "b", "a"]], []])
        self.assertTrue((folder / "c").is_dir())

    def test_a_lane_that_fails_ends_the_others(self):
        with self.assertRaisesRegex(building.BuildFailed, "^false failed"):
            building.run_beside([[["sleep", "3600"]], [["false"], ["sleep", "3600"]]])
        self.assertEqual(processes.of(building.mark(os.getpid())), [])

    def test_each_command_of_the_table_is_there(self):
        for suite in suites.table():
            with self.subTest(suite.name):
                word = suite.words()[0]
                self.assertTrue((suites.ROOT / word).exists() if "/" in word else shutil.which(word))


class Runs(unittest.TestCase):
    """Tests suites that are scripts."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.rows = []

    def add(self, name, script, **keys):
        path = self.folder / name
        path.write_text(f"#!/bin/bash\n{script}\n")
        path.chmod(0o755)
        keys = {"command": str(path), "cpu_s": 1, **keys}
        self.rows.append(f"[suite.{name}]\n" + "".join(f"{key} = {json.dumps(value)}\n" for key, value in keys.items()))

    def command(self, *words, program=CHECK):
        (self.folder / "table").write_text("build_cpu_s = 1\n" + "\n".join(self.rows))
        return [str(program), "--table", str(self.folder / "table"), *words]

    def check(self, *words):
        return subprocess.run(self.command("--out", str(self.folder / "out"), *words), text=True, capture_output=True,
                              timeout=HANGS_S, check=False)

    def test_results_are_told_and_kept(self):
        self.add("good", "echo ok 1 a; echo ok 2 b")
        self.add("bad", "echo not ok 1 a; echo '# because'")
        done = self.check("--built")
        self.assertEqual((done.returncode, done.stdout.splitlines()[-1]), (1, "2 passed, 1 failed, 0 skipped"))
        self.assertIn("# because", done.stdout)
        times = json.loads((self.folder / "out/times.json").read_text())
        self.assertEqual((times["good"]["passed"], times["bad"]["failures"]), (2, ["a"]))
        self.assertLessEqual({"wall_s", "cpu_s", "budget_cpu_s"}, set(times["good"]))

    def test_who_needs_half_as_much_again_is_told(self):
        self.add("dear", "echo ok 1 a; for ((i = 0; i < 100000; i++)); do :; done", cpu_s=0.01)
        done = self.check("--built")
        self.assertEqual(done.returncode, 0)
        self.assertRegex(done.stdout, "dear took . s of processor time; its budget in tests/suites.toml is 0.01\n")

    def test_names_that_are_not_there(self):
        self.add("good", "echo ok 1 a")
        for words, told in ((["nosuch"], "no suite 'nosuch'; there are: good"), (["--part", "nosuch"], "no part 'nosuch'")):
            done = self.check(*words)
            self.assertEqual(done.returncode, 2)
            self.assertIn(told, done.stderr)

    def test_no_more_at_once_than_there_are_processors(self):
        """Each leaves its name while it runs; one that takes all finds no other."""
        self.add("alone", f"ls {self.folder}/in >{self.folder}/seen; echo ok 1 a", cores=0)
        script = f"touch {self.folder}/in/$$; ls {self.folder}/in | wc -l >>{self.folder}/counts; sleep 0.1; rm {self.folder}/in/$$; echo ok 1 a"
        for number in range(2 * suites.CORES + 1):
            self.add(f"one{number}", script)
        (self.folder / "in").mkdir()
        self.assertEqual(self.check("--built").returncode, 0)
        self.assertEqual((self.folder / "seen").read_text(), "")
        self.assertLessEqual(max(map(int, (self.folder / "counts").read_text().split())), suites.CORES)

    def test_a_build_that_fails_is_a_failure(self):
        self.add("good", "echo ok 1 a", needs=["packages:/nowhere/packages.txt"])
        done = self.check()
        self.assertEqual((done.returncode, done.stdout.splitlines()[-1]), (1, "0 passed, 1 failed, 0 skipped"))
        self.assertIn("install-packages /nowhere/packages.txt failed", done.stderr)

    def test_a_long_run_goes_on_where_it_was_interrupted(self):
        log = self.folder / "log"
        # the second ends the first run, once the first suite has ended
        end = (f"[[ -e {self.folder}/again ]] || {{ until grep -q one {self.folder}/out/times.json; do sleep 0.01; done; "
               "kill $PPID; exec tail -f /dev/null; };")
        for name, part in (("one", "check"), ("two", "long"), ("three", "longer")):
            self.add(name, f"echo {name} >>{log}; {end if name == 'two' else ''} echo ok 1 a", part=part)
        first = self.check("--part", "all")
        self.assertEqual(first.returncode, -signal.SIGTERM)
        (self.folder / "again").touch()
        second = self.check("--part", "all")
        self.assertEqual((second.returncode, second.stdout.splitlines()[-1]), (0, "3 passed, 0 failed, 0 skipped"))
        self.assertEqual(sorted(set(log.read_text().split())), ["one", "three", "two"])
        self.assertEqual((log.read_text().count("one"), log.read_text().count("two")), (1, 2))

    def test_what_cannot_be_built_for_a_long_run_is_told_and_the_rest_runs(self):
        """The next sitting tries it again, and nothing else."""
        packages = self.folder / "packages.txt"
        self.add("one", "echo ok 1 a", needs=[f"packages:{packages}"])
        self.add("two", f"echo run >>{self.folder}/log; echo ok 1 a")
        done = self.check("--part", "all")
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stdout, "one +could not run")
        self.assertRegex(done.stdout, "two +passed")
        packages.touch()
        again = self.check("--part", "all")
        self.assertEqual((again.returncode, again.stdout.splitlines()[-1]), (0, "2 passed, 0 failed, 0 skipped"))
        self.assertEqual((self.folder / "log").read_text(), "run\n")

    def repeated(self, runs, *words):
        command = self.command("--out", str(self.folder / "repeated"), str(runs), *words, program=CHECK.parent / "lib/repeat")
        return subprocess.run(command, text=True, capture_output=True, timeout=HANGS_S, check=False)

    def test_repeated_runs_tell_what_fails_how_often(self):
        """The second run of the suite fails, beside a busy process."""
        self.add("second", f"echo run >>{self.folder}/log; [[ $(wc -l <{self.folder}/log) != 2 ]] || echo -n 'not '; echo ok 1 - it")
        self.add("good", "echo ok 1 a")
        done = self.repeated(3, "--load", "1", "--nice", "1")
        self.assertEqual(done.returncode, 1)
        self.assertIn("run 2: 1 passed, 1 failed", done.stdout)
        self.assertEqual(done.stdout.splitlines()[-1], "1 of 3 runs: second: it")
        again = self.repeated(4)
        self.assertIn("3 of 4 runs are there", again.stdout)
        self.assertEqual((self.folder / "log").read_text().count("run"), 4)

    def test_repeated_runs_of_a_suite_that_is_not_there_are_refused(self):
        self.add("good", "echo ok 1 a")
        done = self.repeated(1, "nosuch")
        self.assertEqual(done.returncode, 2)
        self.assertIn("no suite 'nosuch'", done.stderr)

    def test_repeated_runs_go_on_where_they_were_interrupted(self):
        """The second run of the suite ends the program that repeats it: the parent of its parent."""
        self.add("one", f"echo run >>{self.folder}/log; [[ $(wc -l <{self.folder}/log) != 2 ]] || "
                        "{ kill $(ps -o ppid= $PPID); exec tail -f /dev/null; }; echo ok 1 a")
        self.assertNotEqual(self.repeated(3).returncode, 0)
        done = self.repeated(3)
        self.assertIn("1 of 3 runs are there", done.stdout)
        self.assertEqual((done.returncode, done.stdout.splitlines()[-1]), (0, "no failure in 3 runs"))
        self.assertEqual((self.folder / "log").read_text().count("run"), 4)

    def interrupted(self, number, name):
        # two suites at once: one with a child, one with a child that has left its session
        self.add("child", "sleep 3600 & echo ok 1 begun; touch $0.begun; wait")
        self.add("gone", "setsid sleep 3600 & echo ok 1 begun; touch $0.begun; exec tail -f /dev/null")
        runner = subprocess.Popen(self.command("--built", "--out", str(self.folder / "out")), text=True, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, start_new_session=True)
        begun = ["child"] + ["gone"] * (suites.CORES > 1)
        wait_for(lambda: all((self.folder / f"{one}.begun").exists() for one in begun), "the start of the suites")
        marks = [f"{runner.pid}-{one}" for one in begun]
        self.assertTrue(all(processes.of(mark) for mark in marks))
        os.killpg(runner.pid, number)       # as a terminal's Ctrl-C does
        _, told = runner.communicate(timeout=HANGS_S)
        self.assertEqual(runner.returncode, -number)
        self.assertEqual([processes.of(mark) for mark in marks], [[]] * len(marks))
        self.assertIn(f"ended by {name}", told)

    def test_ctrl_c_ends_everything(self):
        self.interrupted(signal.SIGINT, "SIGINT")

    def test_so_does_sigterm(self):
        self.interrupted(signal.SIGTERM, "SIGTERM")

    def test_ctrl_c_ends_a_build(self):
        """Whose make here is a script."""
        self.add("make", "sleep 3600 & touch $0.begun; wait", needs=["kernel:6.1"])
        runner = subprocess.Popen(self.command("--out", str(self.folder / "out")), text=True, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, start_new_session=True,
                                  env={**os.environ, "PATH": f"{self.folder}:{os.environ['PATH']}"})
        wait_for((self.folder / "make.begun").exists, "the start of the build")
        mark = building.mark(runner.pid)
        self.assertTrue(processes.of(mark))
        os.killpg(runner.pid, signal.SIGINT)
        runner.communicate(timeout=HANGS_S)
        self.assertEqual((runner.returncode, processes.of(mark)), (-signal.SIGINT, []))

    def test_what_a_suite_leaves_running_ends_with_it(self):
        self.add("leaves", f"setsid sleep 3600 & echo $! >{self.folder}/pid; echo ok 1 a")
        self.assertEqual(self.check("--built").returncode, 0)
        arguments = pathlib.Path("/proc", (self.folder / "pid").read_text().strip(), "cmdline")
        self.assertFalse(arguments.exists() and arguments.read_bytes(), "it runs")


if __name__ == "__main__":
    unittest.main()
