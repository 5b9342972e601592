#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The commands of the first pages exist, and do what is shown.

    tutorial_test.py HEADWAY

Commands below whose prompt something is shown are run, in a folder with the tutorial's
headway.toml, and what they print is compared; "..." stands for any lines.  Of the others,
which need the cluster, and of README.md's and cluster.rst's, verbs, options and make's
targets are looked up; tests/ansible/guest.sh runs them.  The daemon's suite runs what packages.rst
does by hand.
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


def blocks(kind, page="Documentation/tutorial.rst"):
    """Texts of a page's literal blocks of a kind; "" is what follows "::"."""
    start = r"::\n\n" if kind == "" else rf"^\.\. code-block:: {kind}\n\n"
    text = (ROOT / page).read_text()
    for found in re.finditer(start + r"((?:    .*\n|\n)+)", text, re.M):
        yield re.sub(r"(?m)^    ", "", found.group(1)).strip("\n")


def shown():
    """(command, the text below it) for all that have one."""
    for block in blocks("console"):
        for part in re.split(r"(?m)^\$ ", block)[1:]:
            command, _, output = part.partition("\n")
            yield command, output.strip("\n")


def readme_commands():
    """Returns the commands of README.md's indented lines, and those of its text that begin with
    headway."""
    text = (ROOT / "README.md").read_text()
    lines = re.findall(r"(?m)^    (\S.*)", text) + re.findall(r"`(headway \w[^`]*)`", text)
    return [command for line in lines for command in re.sub(r"\s#.*", "", line).split(" && ")]


def prompted(page):
    return [line[2:] for block in blocks("", page) for line in block.splitlines() if line[:2] in ("$ ", "# ")]


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
        commands = prompted("Documentation/tutorial.rst")
        self.assertGreaterEqual(self.look_up(commands), 4)

    def look_up(self, commands):
        """How many of them are ours; each has to be possible."""
        ours = 0
        for command in commands:
            words = [word for word in shlex.split(command) if word != "sudo"]
            check = {"headway": self.look_up_headway, "headway-cluster": self.look_up_cluster,
                     "make": self.look_up_make}.get(os.path.basename(words[0]))
            if check:
                ours += 1
                with self.subTest(command):
                    check(*words[1:])
        return ours

    def look_up_headway(self, verb, *arguments):
        help_text = self.headway(verb, "--help")
        self.assertEqual(help_text.returncode, 0)
        own = arguments[:arguments.index("--")] if "--" in arguments else arguments
        for option in own:
            if option.startswith("-"):
                self.assertRegex(help_text.stdout, rf"(?m)^  (-\w,)?{option}\b")

    def look_up_cluster(self, action, *arguments):
        text = (ROOT / "packaging/cluster/headway-cluster").read_text()
        for word in (action, *(word for word in arguments if word.startswith("-"))):
            self.assertRegex(text, rf'["\'| ]{word}\b')

    def look_up_make(self, *targets):
        for target in targets:
            self.assertRegex((ROOT / "Makefile").read_text(), rf"(?m)^{target}:")

    def test_cluster(self):
        self.assertGreaterEqual(self.look_up(prompted("Documentation/cluster.rst")), 3)

    def test_troubleshooting(self):
        self.assertGreaterEqual(self.look_up(prompted("Documentation/troubleshooting.rst")), 5)

    def test_readme(self):
        self.assertGreaterEqual(self.look_up(readme_commands()), 15)

    def test_what_readme_does_with_a_description(self):
        ran = [command for command in readme_commands()
               if re.search(r"headway (check-config|plan|predict) .*headway\.toml", command)]
        self.assertEqual(len(ran), 3)
        for command in ran:
            done = self.headway(*shlex.split(command)[1:])
            self.assertEqual(done.returncode, 0, command + done.stderr)

    def test_readme_is_short_and_names_what_is_there(self):
        text = (ROOT / "README.md").read_text()
        self.assertLessEqual(len(text.splitlines()), 80)
        self.assertLessEqual(max(map(len, text.splitlines())), 100)
        named = re.findall(r"(?:Documentation|libheadway|tc-plugin)/[\w./-]*\.\w+", text)
        self.assertGreaterEqual(len(named), 15)
        for name in named:
            self.assertTrue((ROOT / name).is_file(), name)


if __name__ == "__main__":
    HEADWAY = sys.argv.pop(1)
    unittest.main()
