#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The tutorial's commands do what it shows.

    tutorial_test.py HEADWAY

Commands below whose prompt something is shown are run, in a folder with the tutorial's
headway.toml, and what they print is compared; "..." stands for any lines.  Of the others,
which need the cluster, verbs and options are looked up.
"""
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
HEADWAY = ""


def blocks(kind):
    """Texts of the tutorial's literal blocks of a kind; "" is what follows "::"."""
    start = r"::\n\n" if kind == "" else rf"^\.\. code-block:: {kind}\n\n"
    text = (ROOT / "Documentation/tutorial.rst").read_text()
    for found in re.finditer(start + r"((?:    .*\n|\n)+)", text, re.M):
        yield re.sub(r"(?m)^    ", "", found.group(1)).strip("\n")


def shown():
    """(command, the text below it) for all that have one."""
    for block in blocks("console"):
        for part in re.split(r"(?m)^\$ ", block)[1:]:
            command, _, output = part.partition("\n")
            yield command, output.strip("\n")


def as_pattern(output):
    parts = re.split(r"(?m)^\.\.\.\n?", output + "\n")
    return re.compile(r"(?:.*\n)*".join(re.escape(part) for part in parts))


class Tutorial(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        config, = blocks("toml")
        (self.folder / "headway.toml").write_text(config + "\n")

    def headway(self, *arguments):
        environment = {"PATH": os.environ["PATH"], "HOME": str(self.folder)}
        return subprocess.run([HEADWAY, *arguments], cwd=self.folder, env=environment, text=True,
                              capture_output=True, check=False)

    def test_what_is_shown(self):
        self.assertGreaterEqual(len(list(shown())), 5)
        for command, output in shown():
            with self.subTest(command=command):
                program, *arguments = shlex.split(command)
                self.assertEqual(program, "headway")
                done = self.headway(*arguments)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertRegex(done.stdout, re.compile(r"\A" + as_pattern(output).pattern + r"\Z"))

    def test_the_picture_is_written(self):
        command = next(command for command, _ in shown() if "--svg" in command)
        self.headway(*shlex.split(command)[1:])
        self.assertIn("<svg", (self.folder / "times.svg").read_text())

    def test_verbs_and_options(self):
        commands = [line[2:] for block in blocks("") for line in block.splitlines()
                    if line[2:].startswith("headway ")]
        self.assertGreaterEqual(len(commands), 4)
        for command in commands:
            _, verb, *arguments = shlex.split(command)
            help_text = self.headway(verb, "--help")
            self.assertEqual(help_text.returncode, 0, command)
            own = arguments[:arguments.index("--")] if "--" in arguments else arguments
            for option in own:
                if option.startswith("--"):
                    self.assertRegex(help_text.stdout, rf"(?m)^  (-\w,)?{option}\b", command)


if __name__ == "__main__":
    HEADWAY = sys.argv.pop(1)
    unittest.main()
