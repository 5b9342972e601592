#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What headway makes of words: of all its verbs and options the right ones, and of wrong ones what
was meant.

    command_line_cli_test.py HEADWAY
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

HEADWAY = ""
BAD_COMMAND_LINE = 2


def headway(*words, **variables):
    return subprocess.run([HEADWAY, *words], capture_output=True, text=True, check=False,
                          env={**os.environ, **variables})


def verbs_below(*verb):
    """All verbs that --help names, each as its words: ("job", "start")."""
    said = headway(*verb, "--help").stdout.partition("--help")[2]
    found = [(*verb, name) for name in re.findall(r"^  ([a-z][a-z-]*) {2,}", said, re.MULTILINE)]
    return found + [below for one in found if len(one) == 1 for below in verbs_below(*one)]


def options_of(verb):
    return re.findall(r"^  (?:-\w,)?(--[a-z-]+)", headway(*verb, "--help").stdout, re.MULTILINE)


class CommandLine(unittest.TestCase):
    def assert_refused(self, said, *words):
        done = headway(*words)
        self.assertEqual((done.returncode, done.stdout), (BAD_COMMAND_LINE, ""))
        self.assertEqual(done.stderr, said + "\n")

    def test_a_misspelt_verb(self):
        self.assertGreaterEqual(len(verbs_below()), 24)
        for verb in verbs_below():
            *above, name = verb
            with self.subTest(verb=verb):
                self.assert_refused(f'{" ".join(["headway", *above])}: there is no verb "{name}x"; '
                                    f"did you mean {name}?", *above, name + "x")

    def test_a_beginning_of_one_verb_only(self):
        self.assert_refused('headway: there is no verb "se"; did you mean selftest?', "se")
        self.assertRegex(headway("qqqqqq").stderr, '^headway: there is no verb "qqqqqq"; known here: doctor, ')
        self.assertRegex(headway("job").stderr, "^headway job: a verb is missing; known here: start, end, list;")

    def test_a_misspelt_option(self):
        for verb in verbs_below():
            for option in options_of(verb):
                wrong = option[:4] + "x" + option[4:]
                with self.subTest(verb=verb, option=option):
                    self.assert_refused(f"headway {' '.join(verb)}: there is no option {wrong}; "
                                        f"did you mean {option}?", *verb, wrong)

    def test_a_misspelt_value(self):
        self.assert_refused('headway topology draw: --to: there is no "svgg"; did you mean svg?',
                            "topology", "draw", "x", "--to", "svgg")
        self.assertIn('SHELL: there is no "powershell"; known here: bash, zsh, fish;',
                      headway("completion", "powershell").stderr)
        self.assert_refused('headway fit: MODEL: there is no "contenton"; did you mean contention?',
                            "fit", "contenton", "x")
        self.assertIn('--seconds: "0" is no number from 1 to 3600', headway("doctor", "--seconds", "0").stderr)

    def test_words_without_a_place(self):
        self.assert_refused('headway plan: "a" is not expected here; see headway plan --help', "plan", "a", "b")

    def test_what_others_call_it(self):
        for words, meant in (("show", "headway status"), ("jobs", "headway job list"), ("list", "headway job list"),
                             ("get", "headway status"), ("enable", "headway on"), ("disable", "headway off"),
                             ("reload", "systemctl reload headwayd"), ("check", "headway check-config FILE"),
                             ("validate", "headway check-config FILE"), ("job stop", "headway job end"),
                             ("topology import", "headway topology convert")):
            with self.subTest(words=words):
                self.assertTrue(headway(*words.split(), "17").stderr.endswith(f"; did you mean {meant}?\n"))

    def test_help(self):
        for verb in verbs_below():
            with self.subTest(verb=verb):
                self.assertEqual(headway("help", *verb).stdout, headway(*verb, "--help").stdout)
        self.assertEqual(headway("help").stdout, headway("--help").stdout)
        headings = re.findall(r"^([A-Z][^:\n]*):$", headway("--help").stdout, re.MULTILINE)
        self.assertEqual(len(headings), 6, "options, and five groups of verbs")

    def test_version(self):
        for words in ("-V", "version", "--version"):
            self.assertRegex(headway(words).stdout, r"^headway [\d.]+\n$")

    def test_without_a_word_and_without_a_daemon_it_helps(self):
        done = headway()
        self.assertEqual((done.returncode, done.stdout), (0, headway("--help").stdout))


class Config(unittest.TestCase):
    def test_it_may_be_named_by_a_variable_or_a_letter(self):
        with tempfile.TemporaryDirectory() as folder:
            missing = str(pathlib.Path(folder, "nowhere.toml"))
            for done in (headway("plan", HEADWAY_CONFIG=missing), headway("plan", "-c", missing)):
                self.assertEqual(done.returncode, BAD_COMMAND_LINE)
                self.assertIn(f"{missing}: there is no such file", done.stderr)


class Selftest(unittest.TestCase):
    def test_who_is_not_root_is_told_so(self):
        who = {"user": "nobody", "extra_groups": []} if os.geteuid() == 0 else {}
        done = subprocess.run([HEADWAY, "selftest", "lo"], capture_output=True, text=True, check=False, **who)
        self.assertEqual((done.returncode, done.stdout), (BAD_COMMAND_LINE, ""))
        self.assertTrue(done.stderr.endswith("Operation not permitted; run it as root\n"), done.stderr)


class CommandOfOthers(unittest.TestCase):
    """headway run and headway record, with some library as that which is preloaded."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        library = next(pathlib.Path("/lib").glob("*-linux-gnu*/libc.so.6"))
        pathlib.Path(folder.name, "libheadway-mpi.so").symlink_to(library)
        self.library = ["--library-dir", folder.name]
        self.own = [*self.library, "--no-user"]
        self.folder = folder.name

    def test_its_options_are_its_own(self):
        for dashes in ([], ["--"]):
            done = headway("run", *self.own, *dashes, "echo", "--no-user", "-j", "--", "run")
            self.assertEqual((done.stdout, done.stderr), ("--no-user -j -- run\n", ""))

    def test_a_result_that_would_be_lost_is_told_before_the_job(self):
        for words in (["run", *self.own, "--report"], ["record", *self.library, "--output"]):
            for file, why in (("nowhere/x.json", "/nowhere: No such file or directory"), ("folder.json", "it is a folder")):
                pathlib.Path(self.folder, "folder.json").mkdir(exist_ok=True)
                done = headway(*words, f"{self.folder}/{file}", "echo", "has run")
                with self.subTest(words=words, file=file):
                    self.assertEqual((done.returncode, done.stdout), (BAD_COMMAND_LINE, ""))
                    self.assertRegex(done.stderr, f"^headway: {words[-1]} .*: cannot be written: .*{why}")
            done = headway(*words, f"{self.folder}/x.json", "echo", "has run")
            self.assertEqual(done.stdout, "has run\n")

    def test_before_it_they_are_ours(self):
        done = headway("run", *self.own, "--reprot", "x.json", "echo")
        self.assertIn("there is no option --reprot; did you mean --report?", done.stderr)


if __name__ == "__main__":
    HEADWAY = sys.argv.pop(1)
    unittest.main()
