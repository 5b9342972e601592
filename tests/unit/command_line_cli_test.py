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


class Sizes(unittest.TestCase):
    def test_lists_and_ranges(self):
        network = ["--network", "a[0-3] 1gbit | b[0-3] 1gbit : 1gbit"]
        sizes = lambda *words: re.findall(r"(\w+) per pair of ranks", headway("predict", *network, "--bytes", *words).stdout)
        self.assertEqual(sizes("64KiB,1K"), ["1KiB", "64KiB"])
        self.assertEqual(sizes("1KiB..4KiB,9"), ["9B", "1KiB", "2KiB", "4KiB"])
        for verb, size, said in (("predict", "1KiB..", "1KiB.. has no end; write both, such as 1KiB..1MiB"),
                                 ("plan", "1,2", "a plan is of one size; headway predict takes 1,2"),
                                 ("plan", "1..2", "a plan is of one size; headway predict takes 1..2")):
            done = headway(verb, *network, "--bytes", size)
            self.assertEqual((done.returncode, done.stderr), (BAD_COMMAND_LINE, f"headway {verb}: --bytes: {said}\n"))

    def test_a_bare_number_is_bytes(self):
        done = headway("measure", "--hosts", "x=127.0.0.1", "y=127.0.0.2", "--max-bytes", "5", "--launch", "false {host}")
        self.assertNotIn("has no unit", done.stderr)

    def test_seconds_may_have_their_unit(self):
        nowhere = ["--socket", "/nowhere/control.sock"]
        self.assertRegex(headway("wait", *nowhere, "--timeout", "0s").stderr, "^headway wait: not ready after 0 s: ")
        for verb, option in (("wait", "--timeout"), ("top", "--interval"), ("doctor", "--seconds"), ("measure", "--patience")):
            self.assertIn(f'{option}: "2min" is no number from ', headway(verb, option, "2min").stderr)
            self.assertIn(f'{option}: "s" is no number from ', headway(verb, option, "s").stderr)
        self.assertIn("from 0.1 to 3600", headway("top", "--interval", "0.05s").stderr)

    def test_a_misspelt_change(self):
        done = headway("plan", "--network", "a[0-3] 1gbit", "--what-if", "trank=4gbit")
        self.assertEqual(done.stderr, 'headway plan: --what-if: "trank" cannot be changed; did you mean trunk?\n')


class Daemons(unittest.TestCase):
    """Beside the program, and with the same statuses and words for a wrong command line."""

    def test_refusals(self):
        for name in ("headwayd", "headway-etcd"):
            program = str(pathlib.Path(HEADWAY).resolve().parent / name)
            if not os.path.exists(program):
                self.skipTest(f"{name} is not built")
            done = subprocess.run([program, "--verbsoe"], capture_output=True, text=True, check=False)
            self.assertEqual((done.returncode, done.stdout), (BAD_COMMAND_LINE, ""))
            self.assertRegex(done.stderr, f"^{name}: there is no option --verbsoe; ")
            said = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout
            self.assertRegex(said, f"^{name} [0-9]")


class Config(unittest.TestCase):
    def test_it_may_be_named_by_a_variable_or_a_letter(self):
        with tempfile.TemporaryDirectory() as folder:
            missing = str(pathlib.Path(folder, "nowhere.toml"))
            for done in (headway("plan", HEADWAY_CONFIG=missing), headway("plan", "-c", missing)):
                self.assertEqual(done.returncode, BAD_COMMAND_LINE)
                self.assertIn(f"{missing}: there is no such file", done.stderr)


class FilesOfOthers(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def write(self, name, content):
        (self.folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
        return str(self.folder / name)

    def test_what_is_no_text_is_one_mistake(self):
        """By every reader; each told a mistake of every line."""
        network = ["--network", "a[0-3] 1gbit | b[0-3] 1gbit : 1gbit"]
        for name, *words in (("m.csv", "plan", *network, "--matrix"), ("m.json", "plan", *network, "--matrix"),
                             ("p.goal", "predict", *network, "--program"), ("f.json", "predict", *network, "--parameters"),
                             ("t.toml", "topology", "check"), ("t.conf", "topology", "check"), ("t.xml", "topology", "check"),
                             ("t.yaml", "topology", "check"), ("h.toml", "check-config"), ("r.json", "compare"),
                             ("s.csv", "fit", "contention"), ("n.toml", "plan", "--config")):
            file = self.write(name, b"\n\x89PNG\r\n\x1a\nxx\n\x00\n\x01\n")
            done = headway(*words, file)
            with self.subTest(words=words):
                self.assertEqual((done.returncode, done.stdout, done.stderr.count("\n")), (BAD_COMMAND_LINE, "", 1))
                self.assertIn(f"{file}:3: it is no text: it has a byte 0x1a; name a text file", done.stderr)

    def test_the_same_advice_is_given_once(self):
        done = headway("check-config", self.write("h.toml", '[[cluster]]\nname = "a"\nhosts = ["a[0-3]", "a[0-3]"]\n'
                       'prefixes = ["10.1.0.0/16"]\nhost_rate = "1gbit"\ntrunk_rate = "1gbit"\n'))
        self.assertEqual((done.stderr.count("is described twice"), done.stderr.count("a network is one tree")), (4, 1))

    def test_fit_tells_what_is_wrong_with_the_file_first(self):
        for content, said in (("", "it is empty"), ("bytes,seconds\n", "it has columns and no measurement"),
                              ("1,2\n3,4\n", 'column "1" is unknown; the first line names the columns'),
                              ("\ufeffbytes,seconds\n9,1\n", "CSV has measurements only; say --processes, --alpha, --beta, too"),
                              ("{", "it begins as JSON and is none")):
            file = self.write("x.csv", content)
            done = headway("fit", "contention", file)
            self.assertEqual((done.returncode, done.stdout), (BAD_COMMAND_LINE, ""))
            self.assertRegex(done.stderr, f"^headway fit: {re.escape(file)}:(1:)? {re.escape(said)}")

    def test_fit_prints_numbers_with_units_for_people(self):
        rows = "".join(f"{1000 << i},{0.000137 * (1 << i) + 0.001}\n" for i in range(6))
        done = headway("fit", "contention", self.write("x.csv", "bytes,seconds\n" + rows), "--processes", "8",
                       "--alpha", "1e-5", "--beta", "1e-9")
        self.assertRegex(done.stdout, "(?m)^beta, s per byte +1e-09$")
        self.assertRegex(done.stdout, "(?m)^gamma +19.57$")
        self.assertRegex(done.stdout, "(?m)^error_pct +0( 0)+$")
        self.assertNotRegex(done.stdout, r"[1-9]\d{6}")
        done = headway("fit", "contention", self.write("y.csv", "bytes,seconds\n1000,0.1\n"), "--processes", "8",
                       "--alpha", "1e-5", "--beta", "1e-9")
        self.assertRegex(done.stdout, "(?m)^gamma +14276$")
        self.assertIn("note: nobody can rely on a fit of 1 sample; measure at least 4 sizes", done.stdout)


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
