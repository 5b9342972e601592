#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What headway doctor answers on this machine, whatever that is: 127.0.0.1 is the node itself.

    doctor_cli_test.py HEADWAY
"""
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

HEADWAY = ""
ROOT = pathlib.Path(__file__).resolve().parents[2]
SELF = "127.0.0.1 is this node itself"
CANNOT_TELL = 3


class Doctor(unittest.TestCase):
    def doctor(self, *words):
        return subprocess.run([HEADWAY, "doctor", *words], capture_output=True, text=True, check=False)

    def test_the_first_line_is_one_verdict(self):
        done = self.doctor("127.0.0.1", "--", "true")
        self.assertEqual(done.returncode, CANNOT_TELL, done.stderr)
        first, to_do, *rest = done.stdout.splitlines()
        self.assertEqual(first, f"verdict: Headway cannot tell yet: {SELF}.")
        self.assertEqual(to_do, "   Name hosts that this node sends to.")
        self.assertEqual([line for line in rest if "verdict" in line or "Nothing that costs" in line], [])

    def test_counters_since_the_start_are_told_with_their_share_and_since_when(self):
        self.assertRegex(self.doctor("127.0.0.1", "--", "true").stdout,
                         r"(?m)^since the node's start \d+ (minutes|hours|days) ago: \d+ segments sent, "
                         r"\d+ time-outs \([\d.e+]+ in a million\)$")

    def test_a_host_that_is_unknown_is_a_mistake(self):
        done = self.doctor("no.such.host.invalid", "--", "true")
        self.assertEqual(done.returncode, 2)
        self.assertRegex(done.stdout, "^verdict: Headway cannot tell yet: the way to no.such.host.invalid ")
        self.assertIn("no.such.host.invalid cannot be looked at", done.stderr)

    def test_json_has_the_verdict_and_nothing_of_the_command(self):
        done = self.doctor("--json", "127.0.0.1", "--", "echo", "-n", "said")
        self.assertEqual(json.loads(done.stdout)["verdict"],
                         {"answer": "cannot tell yet", "why": SELF, "to_do": "Name hosts that this node sends to."})
        self.assertEqual(done.stderr, "said")

    def test_the_manual_page_names_each_cause_and_no_other(self):
        page = (ROOT / "Documentation/headway.1").read_text().split("names each by a word:\n", 1)[1].split(".El\n", 1)[0]
        source = (ROOT / "userspace/doctor/cause.cpp").read_text()
        causes = re.findall(r'\{Cause::\w+, "([a-z-]+)"\}', source)
        self.assertGreater(len(causes), 40)
        self.assertEqual(re.findall(r"^\.It Cm (.*)$", page, flags=re.M), causes)

    def test_each_cause_is_found_somewhere(self):
        judges = "".join(path.read_text() for path in (ROOT / "userspace/doctor").glob("judge_*.cpp"))
        listed = re.findall(r"\{Cause::(\w+), ", (ROOT / "userspace/doctor/cause.cpp").read_text())
        self.assertEqual(set(re.findall(r"Cause::(\w+)", judges)), set(listed))

    def test_json_names_the_cause(self):
        found = json.loads(self.doctor("--json", "127.0.0.1", "--", "true").stdout)["findings"]
        self.assertIn("own-address", [finding["cause"] for finding in found])

    def test_it_looks_while_a_command_runs(self):
        with tempfile.TemporaryDirectory() as folder:
            ran = pathlib.Path(folder, "ran")
            done = self.doctor("127.0.0.1", "--", "sh", "-c", f"touch {ran}; exit 7")
            self.assertTrue(ran.exists())
        self.assertIn("sh has ended with status 7", done.stderr)
        self.assertEqual(done.returncode, CANNOT_TELL)

    def test_a_command_that_there_is_not(self):
        done = self.doctor("127.0.0.1", "--", "/no/such/program")
        self.assertEqual((done.returncode, done.stdout), (127, ""))
        self.assertIn("headway doctor: /no/such/program: No such file", done.stderr)


if __name__ == "__main__":
    HEADWAY = sys.argv.pop(1)
    unittest.main()
