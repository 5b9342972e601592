#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""headway(1) says what is true: its examples are run, its options are all there.

    manual_test.py HEADWAY
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as ET

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "Documentation/headway.1"
CORPUS = ROOT / "tests/fuzz/corpus"
VERBS = ("doctor", "measure", "plan", "predict", "run", "record", "selftest", "compare", "fit", "status", "wait", "off", "on", "check-config",
         "top", "job start", "job end", "job list", "topology check", "topology draw", "topology convert", "completion")
HEADWAY = ""


def page_text():
    return PAGE.read_text().replace("\\&", "").replace("\\e", "\\")


def displays():
    """Each as the lines it shows."""
    return [d.splitlines() for d in
            re.findall(r"^\.Bd -literal.*?\n(.*?)^\.Ed", page_text(), re.M | re.S)]


def commands():
    """Returns the examples that are shown without their output."""
    return [line[4:].strip('"').strip() for line in page_text().splitlines()
            if line.startswith(".Dl headway ")]


def flat(text):
    return " ".join(text.split())


class Manual(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "bin").mkdir()
        (self.folder / "bin/headway").symlink_to(HEADWAY)
        tc = self.folder / "bin/tc"  # shows what it would have been told
        tc.write_text("#!/bin/sh\n[ \"$*\" = '-batch -' ] && cat\n")
        tc.chmod(0o755)
        self.write_files()

    def write_files(self):
        """Writes the files that the examples name: the demo's two clusters, and measurements."""
        def write(name, text):
            (self.folder / name).write_text(text)
        write("headway.toml", "".join(
            f'[[cluster]]\nname = "{name}"\nhosts = ["{name}[0-3]"]\n'
            f'prefixes = ["10.{number}.0.0/16"]\nhost_rate = "20mbit"\ntrunk_rate = "25mbit"\n'
            for name, number in (("a", 1), ("b", 2))))
        write("topology.conf", (CORPUS / "slurm_topology/tree.conf").read_text())
        write("ring.goal", (CORPUS / "goal_schedule/ring.goal").read_text())
        write("traffic.csv", "\n".join(",".join("0" if i == j else "10000" for j in range(16))
                                       for i in range(16)))
        samples = [[m, 23 * (60e-6 + 4 * 84e-9 * m + (5e-3 if m >= 8192 else 0))]
                   for m in (1024 << k for k in range(8))]
        write("times.csv", "bytes,seconds\n" + "".join(f"{m},{t}\n" for m, t in samples))
        write("signature.json", json.dumps({"n": 24, "alpha": 60e-6, "beta": 84e-9,
                                            "samples": samples}))

    def run_shell(self, command):
        path = f"{self.folder / 'bin'}:{os.environ['PATH']}"
        done = subprocess.run(["/bin/bash", "-o", "pipefail", "-c", command], cwd=self.folder,
                              env={**os.environ, "PATH": path}, text=True, capture_output=True,
                              check=False)
        self.assertEqual(done.returncode, 0, f"{command}\n{done.stdout}{done.stderr}")
        self.assertEqual(done.stderr, "", command)
        return done.stdout

    def test_shown_output_comes_out(self):
        shown = [d for d in displays() if any(line.startswith("$ ") for line in d)]
        self.assertGreaterEqual(len(shown), 4)
        for display in shown:
            with self.subTest(display[0]):
                out = "".join(line + "\n" + self.run_shell(line[2:])
                              for line in display if line.startswith("$ "))
                self.assertEqual(flat("\n".join(display)), flat(out))
        ET.parse(self.folder / "tree.svg")

    def test_commands_run(self):
        """In the order of the page: one writes what a later one reads."""
        self.assertGreaterEqual(len(commands()), 8)
        for command in commands():
            with self.subTest(command):
                if "| TC_LIB_DIR" in command:
                    command = command.replace("headway plan", "headway plan --config headway.toml")
                    self.assertEqual(self.run_shell(command).count("class change"), 2)
                    continue
                self.run_shell(command)
        ET.parse(self.folder / "times.svg")
        self.assertTrue((self.folder / "alltoall.rules").read_text().endswith("segment\n"))

    def test_exit_statuses_are_those_of_the_program(self):
        text = page_text()
        table = text[text.index(".Sh EXIT STATUS"):text.index(".Sh EXAMPLES")]
        source = (ROOT / "userspace/base/exit_status.hpp").read_text()
        self.assertEqual(re.findall(r"^\.It (\d+)$", table, re.M), re.findall(r"= (\d+),", source))

    def test_options_are_those_of_the_program(self):
        text = page_text()
        synopsis = text[text.index(".Sh SYNOPSIS"):text.index(".Sh DESCRIPTION")]
        for verb in VERBS:
            with self.subTest(verb):
                helped = self.run_shell(f"headway {verb} --help")
                offered = set(re.findall(r"(--[a-z][a-z-]*)", re.sub(
                    r"^[^-]*$", "", helped, flags=re.M))) - {"--help", "--json"}
                offered = {o for o in offered if re.search(rf"^\s+(-\w,)?{o}\b", helped, re.M)}
                part = synopsis[synopsis.index(f".Cm {verb}\n"):]
                part = part[:part.index("\n.Nm") if "\n.Nm" in part else None]
                if "input option" in part:
                    offered -= {"--from", "--link-speed-unit", "--default-rate"}
                named = {"-" + o for o in re.findall(r"Fl (-[a-z-]+)", part)} - {"--json"}
                self.assertEqual(offered, named)
                for option in offered:
                    self.assertRegex(text, rf"(?m)^\.It Fl {option[1:]}\b|"
                                           rf"\.Fl {option[1:]}\b|Fl {option[1:]}\b")


if __name__ == "__main__":
    HEADWAY = str(pathlib.Path(sys.argv.pop(1)).resolve())
    unittest.main()
