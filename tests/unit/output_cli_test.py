#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What every verb of headway does where its output cannot be written, and which verbs need no right
file to talk to the daemon.

    output_cli_test.py HEADWAY
"""
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

from compare_cli_test import report, row

HEADWAY = ""
CONFIG = "".join(
    f'[[cluster]]\nname = "{name}"\nhosts = ["{name}[0-3]"]\nprefixes = ["10.{number}.0.0/16"]\n'
    f'host_rate = "1gbit"\ntrunk_rate = "1.25gbit"\n' for name, number in (("a", 1), ("b", 2)))
# By verb, the words that have it print something; --help where that takes a daemon, or a job.
PRINTS = {
    "doctor": ["127.0.0.1", "--", "true"], "measure": ["--help"],
    "plan": ["--config", "FILE", "--node", "a0"],
    "predict": ["--config", "FILE", "--bytes", "1KiB"],
    "compare": ["REPORT"], "fit": ["--help"], "selftest": ["--help"], "check-config": ["FILE"],
    "topology": ["convert", "FILE"], "run": ["--help"], "record": ["--help"],
    "completion": ["bash"], "status": ["--help"], "top": ["--help"], "job": ["--help"],
    "wait": ["--help"], "off": ["--help"], "on": ["--help"]}
MORE = [["plan", "--config", "FILE", "--node", "a0", "--tc"], ["plan", "--config", "FILE", "--json"],
        ["predict", "--config", "FILE", "--json"], ["topology", "draw", "FILE"],
        ["compare", "--json", "REPORT"], ["completion", "zsh"], ["completion", "fish"], ["--help"],
        ["--version"]]
ASK_THE_DAEMON = (["off"], ["on"], ["status"], ["top", "--once"], ["wait", "--timeout", "0"],
                  ["job", "list"])


class Cli(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        calls = report(row("alltoall", 16384, 2.0, 1.9, calls=10))
        self.files = {"FILE": self.file("headway.toml", CONFIG),
                      "REPORT": self.file("report.json", json.dumps(calls))}

    def file(self, name, text):
        (self.folder / name).write_text(text, encoding="utf-8")
        return str(self.folder / name)

    def run_headway(self, words, stdout=subprocess.PIPE):
        words = [self.files.get(word, word) for word in words]
        return subprocess.run([HEADWAY, *words], stdout=stdout, stderr=subprocess.PIPE, text=True,
                              check=False)


class Output(Cli):
    def test_every_verb_is_here(self):
        said = self.run_headway(["--help"]).stdout
        self.assertEqual(set(PRINTS), set(re.findall(r"^  ([a-z][a-z-]*) {2,}", said, re.MULTILINE)))

    def test_output_that_cannot_be_written_is_told(self):
        for words in [[verb, *rest] for verb, rest in PRINTS.items()] + MORE:
            with self.subTest(words=words):
                self.assertNotEqual(self.run_headway(words).stdout, "", "it prints something")
                with open("/dev/full", "w", encoding="utf-8") as full:
                    done = self.run_headway(words, full)
                self.assertGreater(done.returncode, 0, done.stderr)
                reasons = "No space left on device|stdout took not all of it"
                self.assertRegex(done.stderr, f"headway: cannot write.*: ({reasons})")

    def test_a_reader_that_has_enough_is_no_trouble(self):
        words = ["sh", "-c", '"$1" completion bash | head -n 1', "sh", HEADWAY]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))


class Socket(Cli):
    """Whatever is wrong with the file, the daemon is asked: `off` has to work after a bad edit."""

    def assert_asks(self, config, socket, trouble):
        for words in ASK_THE_DAEMON:
            with self.subTest(words=words):
                done = self.run_headway([*words, "--config", config])
                self.assertEqual(done.returncode, 1, done.stderr)
                asked = f"; the daemon is asked at {re.escape(socket)}\n"
                self.assertRegex(done.stderr, f"^headway: .*{trouble}.*{asked}")
                self.assertIn(f"no headwayd answers at {socket}", done.stderr)

    def test_of_a_file_with_mistakes_its_socket_counts(self):
        socket = str(self.folder / "control.sock")
        config = self.file("bad.toml", f'[daemon]\nsocket = "{socket}"\n'
                           '[[cluster]]\ntrunk_dealy = "50us"\n')
        self.assert_asks(config, socket, "has mistakes, which headway check-config .* names")

    def test_where_none_can_be_read_it_is_the_default_one(self):
        default = "/run/headway/control.sock"
        self.assert_asks(self.file("broken.toml", "[daemon\n"), default, "has mistakes")
        number = self.file("number.toml", "[daemon]\nsocket = 7\n")
        self.assert_asks(number, default, "has mistakes")
        missing = str(self.folder / "nowhere.toml")
        self.assert_asks(missing, default, "nowhere.toml: cannot be opened")


if __name__ == "__main__":
    HEADWAY = sys.argv.pop(1)
    unittest.main()
