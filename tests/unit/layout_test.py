#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""tests/layout lets userspace/ pass, and refuses what its head forbids."""
import pathlib
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]

# A small tree of the same kind: headwayd, its planner, and models that only the command line asks.
GOOD = {
    "daemon/main.cpp": ["jobs/table.hpp"],
    "jobs/table.hpp": ["plan/planner.hpp"],
    "plan/planner.hpp": ["base/rate.hpp"],
    "plan/planner_algorithms.cpp": ["plan/planner.hpp"],
    "models/matb.hpp": ["base/rate.hpp"],
    "models/matb.cpp": ["models/matb.hpp"],
    "formats/matrix.hpp": ["models/matb.hpp"],
    "cli/main.cpp": ["formats/matrix.hpp", "jobs/table.hpp"],
    "trunk/record.hpp": ["base/rate.hpp"],
    "trunk/etcd/main.cpp": ["trunk/record.hpp"],
    "base/rate.hpp": [],
}
BORDER = "=============== ======= ==========\n"
ROWS = """``base/``       rates   nothing
``plan/``       rates   base
``jobs/``       a       plan
                table
``daemon/``     jobs    jobs
``models/``     papers  base
``formats/``    files   models
``trunk/``      hosts   base
``trunk/etcd/`` etcd    trunk
``cli/``        verbs   jobs,
                        formats
"""
TABLE = BORDER + "folder          what    depends on\n" + BORDER + ROWS + BORDER
WALK = """
A plan
======

1. ``userspace/jobs/table.hpp`` ``plan_all()`` asks.
2. Then ``userspace/plan/planner.hpp`` has
   ``plan_all()`` answer.


"""
PAGE = TABLE + "\n" + WALK


def layout(tree, *options):
    return subprocess.run([ROOT / "tests/layout", "--tree", tree, *options], text=True,
                          capture_output=True, check=False)


class Layout(unittest.TestCase):
    def answer(self, *options, page=PAGE, **changed):
        """Returns what the check says of GOOD with other includes of some files:
        base__rate_hpp=["..."]."""
        files = dict(GOOD) | {name.replace("__", "/").replace("_hpp", ".hpp").replace("_cpp", ".cpp"): value
                              for name, value in changed.items()}
        with tempfile.TemporaryDirectory() as folder:
            for name, includes in files.items():
                file = pathlib.Path(folder, "userspace", name)
                file.parent.mkdir(parents=True, exist_ok=True)
                lines = "" if name.endswith("short.hpp") else "    only_called();\n" + 22 * "\n"
                file.write_text("// A comment\nvoid plan_all();\n" + lines
                                + "".join(f'#include "{one}"\n' for one in includes))
            text = pathlib.Path(folder, "Documentation/architecture.rst")
            text.parent.mkdir()
            text.write_text(page)
            return layout(folder, *options)

    def refused(self, sentence, **changed):
        answer = self.answer(**changed)
        self.assertEqual(answer.returncode, 1, answer.stderr)
        self.assertIn(sentence, answer.stdout)

    def test_the_real_tree(self):
        answer = layout(ROOT)
        self.assertEqual((answer.returncode, answer.stdout, answer.stderr), (0, "", ""))

    def test_a_good_tree(self):
        answer = self.answer()
        self.assertEqual((answer.returncode, answer.stdout), (0, ""))

    def test_two_folders_that_include_each_other(self):
        self.refused("folders in a circle: base/rate.hpp includes plan/planner.hpp; plan/planner.hpp "
                     "includes base/rate.hpp", base__rate_hpp=["plan/planner.hpp"])

    def test_a_circle_of_three(self):
        self.refused("folders in a circle", base__rate_hpp=["jobs/table.hpp"])

    def test_a_circle_that_headwayd_does_not_reach(self):
        self.refused("folders in a circle", models__matb_cpp=["models/matb.hpp", "formats/matrix.hpp"])

    def test_a_model_in_headwayd(self):
        self.refused("headwayd is made of models/matb.hpp, through plan/planner_algorithms.cpp",
                     plan__planner_algorithms_cpp=["plan/planner.hpp", "models/matb.hpp"])

    def test_a_format_by_a_source_of_a_header(self):
        self.refused("headwayd is made of formats/matrix.hpp, through jobs/table.cpp",
                     jobs__table_cpp=["formats/matrix.hpp", "jobs/table.hpp"])

    def test_a_program_below_another_folder(self):
        self.refused("trunk/record.hpp includes trunk/etcd/watch.hpp, which belongs to a program",
                     trunk__record_hpp=["trunk/etcd/watch.hpp"], trunk__etcd__watch_hpp=[])

    def test_the_daemon_in_the_command_line(self):
        self.refused("cli/main.cpp includes daemon/loop.hpp, which belongs to a program",
                     cli__main_cpp=["daemon/loop.hpp"], daemon__loop_hpp=[])

    def test_a_folder_that_the_page_does_not_name(self):
        self.refused("has no row of the folder new/", new__one_hpp=[])

    def test_a_row_of_a_folder_that_is_not_there(self):
        self.refused("has a row of old/, which is not there",
                     page=TABLE + "\n" + BORDER + "``old/``        gone    base\n" + BORDER)

    def test_a_row_that_the_includes_contradict(self):
        self.refused("says that jobs/ depends on plan; it includes base, plan",
                     jobs__table_hpp=["plan/planner.hpp", "base/rate.hpp"])
        self.refused("says that formats/ depends on models; it includes nothing", formats__matrix_hpp=[])

    def test_a_file_that_is_not_there(self):
        self.refused("names userspace/plan/other.cpp, which is not there",
                     page=PAGE + "``userspace/plan/other.cpp``")

    def test_a_step_whose_names_are_not_there(self):
        for names, told in (
                ("``plan_all()``", "A plan: step 2 names no file and function"),
                ("``userspace/plan/planner.hpp``", "A plan: step 2 names no file and function"),
                ("``userspace/plan/planner.hpp`` ``plan_one()``",
                 "step 2 names plan_one(), which is not defined in userspace/plan/planner.hpp"),
                ("``userspace/plan/planner.hpp`` ``Planner::plan_all()``", "names Planner::plan_all(), which"),
                ("``userspace/plan/other.hpp`` ``plan_all()``", "names userspace/plan/other.hpp, which")):
            self.refused(told, page=TABLE + WALK.replace("``userspace/plan/planner.hpp`` has\n   ``plan_all()``",
                                                         names))

    def test_a_step_that_names_who_only_calls(self):
        walk = WALK.replace("jobs/table.hpp", "models/matb.cpp").replace("``plan_all()`` asks", "``only_called()``")
        self.refused("names only_called(), which is not defined in userspace/models/matb.cpp", page=TABLE + walk)

    def test_a_walk_that_crosses_the_service_too_often(self):
        step = "``userspace/daemon/control_service.cpp`` ``plan_all()``\n"
        walk = "\nA phase\n=======\n\n" + "".join(f"{i}. {step}" for i in (1, 2, 3)) + "\n\n"
        self.refused("A phase: crosses the daemon's service 3 times", page=TABLE + walk,
                     daemon__control_service_cpp=[])
        self.assertEqual(self.answer(page=TABLE + walk.replace("3. " + step, ""),
                                     daemon__control_service_cpp=[]).stdout, "")

    def test_a_page_without_walks(self):
        self.refused("has no walk", page=TABLE)

    def test_a_source_that_only_its_name_is_left_of(self):
        self.refused("userspace/plan/planner.hpp names study/fit.hpp, which is not there",
                     plan__planner_hpp=["base/rate.hpp", "study/fit.hpp"])
        self.refused("Documentation/architecture.rst names plan/gone.cpp, which is not there",
                     page=PAGE + "as plan/gone.cpp says")

    def test_a_short_file(self):
        self.refused("plan/short.hpp has 2 lines: put them where they belong", plan__short_hpp=[])
        self.assertEqual(self.answer(plan__short_hpp=[], plan__short_cpp=["plan/short.hpp"]).stdout, "",
                         "the header of a longer source")
        self.assertEqual(self.answer(base__exit_status_hpp=[]).stdout.count("has a reason for"), 1)

    def test_reach(self):
        answer = self.answer("--reach", "headwayd")
        self.assertRegex(answer.stdout, r"(?m)^ +52 +6  plan/\n")
        self.assertRegex(answer.stdout, r"(?m)^ +129 +14  altogether$", answer.stdout)
        with_verb = self.answer("--reach", "headway", cli__main_cpp=["cli/command.hpp"], cli__command_hpp=[],
                                cli__fit_command_cpp=["cli/command.hpp"])
        self.assertRegex(with_verb.stdout, r"(?m)^ +77 +8  cli/\n")
        self.assertRegex(self.answer("--reach", "headway-etcd").stdout, r"(?m)^ +77 +8  altogether$")


if __name__ == "__main__":
    unittest.main(verbosity=2)
