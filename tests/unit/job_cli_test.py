#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""`headway job` as a user runs it, against real daemons before
fake kernels (tests/mpi/node_headwayds.cpp).

    job_cli_test.py HEADWAY NODE_HEADWAYDS
"""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

HEADWAY = NODES = ""
PATIENCE_S = 60
ALONE = 773437      # bytes/s of each of four hosts: 0.99 * 25 Mbit/s / 4 / 8
CONFIG = "".join(
    f'[[cluster]]\nname = "{name}"\nhosts = ["{name}[0-3]"]\nprefixes = ["10.{number}.0.0/16"]\n'
    f'host_rate = "20mbit"\ntrunk_rate = "25mbit"\n' for name, number in (("a", 1), ("b", 2)))


class Daemons(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "headway.toml").write_text(CONFIG)
        self.daemons = subprocess.Popen([NODES, self.folder / "headway.toml", self.folder],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(self.end)
        self.assertEqual(self.daemons.stdout.readline(), "ready\n")
        self.socket = str(self.folder / "a0.sock")

    def end(self):
        self.daemons.stdin.close()
        self.assertEqual(self.daemons.wait(PATIENCE_S), 0)
        self.daemons.stdout.close()

    def run_headway(self, *words, status=0):
        done = subprocess.run([HEADWAY, *words, "--socket", self.socket], text=True,
                              capture_output=True, check=False, timeout=PATIENCE_S)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done.stdout if status == 0 else done.stderr

    def json(self, *words):
        return json.loads(self.run_headway(*words, "--json"))


class Jobs(Daemons):
    def test_started_listed_and_ended(self):
        told = self.json("job", "start", "4711", "--hosts", "a[0-3],b[0-3]", "--pattern", "alltoall")
        self.assertTrue(told["paced"])
        self.assertEqual((told["hosts"], told["parts"]), (8, None))
        classes = self.json("status")["classes"]
        self.assertEqual(classes[1]["bytes_per_s"], ALONE)
        self.run_headway("job", "start", "4712", "--hosts", "a1", "--hosts", "b1", "--lasting")
        self.assertEqual(self.json("status")["classes"][1]["bytes_per_s"], ALONE // 2)
        listed = self.run_headway("job", "list").splitlines()
        self.assertEqual([line.split()[0] for line in listed], ["job", "4711", "4712"])
        self.assertIn("50.0 %", listed[1])
        self.assertIn("lasting", listed[2])
        self.run_headway("job", "end", "4712")
        self.run_headway("job", "end", "4711")
        self.assertEqual(self.json("job", "list")["jobs"], [])
        self.assertEqual(self.json("status")["classes"][1]["wanted_bytes_per_s"], None)

    def test_a_matrix_is_a_pattern(self):
        rows = [[0 if i == j else 10000 for j in range(16)] for i in range(16)]
        matrix = self.folder / "traffic.csv"
        matrix.write_text("\n".join(",".join(map(str, row)) for row in rows))
        told = self.json("job", "start", "x", "--hosts", "a[0-3],b[0-3]", "--ranks-per-host", "2",
                         "--pattern", str(matrix))
        self.assertTrue(told["paced"])
        self.assertIn("trunk", told["reason"])

    def test_mistakes_are_told(self):
        self.assertIn("no job \"x\"", self.run_headway("job", "end", "x", status=1))
        self.assertIn("--hosts", self.run_headway("job", "start", "x", "--pattern", "alltoall", status=2))
        self.assertIn("z9", self.run_headway("job", "start", "x", "--hosts", "z9", status=1))
        self.assertIn("nobody-here", self.run_headway("job", "start", "x", "--user", "nobody-here",
                                                      status=2))
        self.assertEqual(self.json("job", "list")["job_count"], 0)


if __name__ == "__main__":
    NODES = str(pathlib.Path(sys.argv.pop(2)).resolve())
    HEADWAY = str(pathlib.Path(sys.argv.pop(1)).resolve())
    unittest.main()
