# SPDX-License-Identifier: Apache-2.0
"""headway measure with real agents, whose bulks and messages go over this host's loopback: what a document has in it,
no rates, for other programs share the host.  HEADWAY names the program, or it is build/bin/headway.

What is found of known networks, tests/measure/guest.sh checks in virtual time.
"""
import json
import os
import pathlib
import subprocess
import unittest

HEADWAY = os.environ.get("HEADWAY", pathlib.Path(__file__).resolve().parents[2] / "build/bin/headway")


class Agents(unittest.TestCase):
    def measure(self, *options):
        done = subprocess.run([HEADWAY, "measure", "--launch", "env", "--patience", "600", "--max-load", "100", "--json",
                               "--hosts", "x=127.0.0.1", "y=127.0.0.2", "z=127.0.0.3", *options],
                              text=True, capture_output=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        found = json.loads(done.stdout)
        self.assertEqual([host["name"] for host in found["hosts"]], ["x", "y", "z"])
        self.assertEqual(len(found["round_trips"]), 3)
        self.assertGreater(found["bytes_sent"], 0)
        return found

    def test_a_network(self):
        self.measure("--network-only")

    def test_messages(self):
        found = self.measure()["messages"]
        self.assertEqual(len(found["hosts"]), 3)
        self.assertLessEqual({"in", "out"}, {share["direction"] for share in found["shares"]})
        self.assertEqual([all_["hosts"] for all_ in found["all_to_all"]], [2, 3])
        self.assertEqual((len(found["many_to_one"]), len(found["one_to_many"])), (8, 8))
