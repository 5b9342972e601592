#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""headway compare: reports of the MPI helper put together, judged, kept and drawn.

    compare_cli_test.py HEADWAY
"""
import json
import os
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as ET

HEADWAY = ""


def row(operation, size, median_ms, predicted_ms, calls=10, paced=True):
    """Writes the report of calls that all took the same time, the least of 32 classes in a power of
    two."""
    ns = round(median_ms * 1e6)
    shift = max(ns.bit_length() - 6, 0)
    return {"communicator": "MPI_COMM_WORLD, 8 ranks", "operation": operation, "message_bytes_most": size,
            "algorithm": "linear", "paced": paced, "reason": "", "calls": calls, "bytes": calls * size,
            "duration": {"min_ns": ns, "median_ns": ns, "max_ns": ns,
                         "classes": [[(shift << 6) + (ns >> shift), calls]]},
            "predicted_s": None if predicted_ms is None else predicted_ms / 1e3, "ratio": None}


def report(*rows):
    node = {"node": "a0", "tcp_timeouts": 2, "tcp_retransmitted_segments": 5,
            "own_connections": {"count": 7, "retransmitted_segments": 5, "timeouts": None}}
    return {"collectives": list(rows), "nodes": [node], "daemon_wait_ns": 1000}


class Compare(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="headway-compare-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name):
        return os.path.join(self.folder, name)

    def written(self, name, content):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(content if isinstance(content, str) else json.dumps(content))
        return self.path(name)

    def compare(self, *words, status=0):
        done = subprocess.run([HEADWAY, "compare", *words], text=True, capture_output=True, check=False)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done

    def test_verdict(self):
        one = self.written("one.json", report(row("alltoall", 16384, 2.0, 1.9), row("gather", 65536, 9.0, 3.0),
                                              row("alltoallv", 4096, 1.0, None)))
        told = self.compare(one).stdout.splitlines()
        self.assertIn("predicted ms", told[0])
        self.assertEqual(told[-1], "1 of 2 kinds of calls that were predicted took within 10 % of it; furthest off: "
                         "gather, MPI_COMM_WORLD, 8 ranks, linear, paced, up to 65536 bytes: 3.00 times")

    def test_too_fast_is_off_as_well(self):
        one = self.written("one.json", report(row("alltoall", 16384, 2.0, 1.0), row("gather", 65536, 1.0, 3.0)))
        self.assertIn("furthest off: gather", self.compare(one).stdout)

    def test_nothing_predicted(self):
        one = self.written("one.json", report(row("alltoallv", 4096, 1.0, None)))
        self.assertIn("nothing was predicted", self.compare(one).stdout)

    def test_runs_add_up_and_are_kept(self):
        first = self.written("first.json", report(row("alltoall", 16384, 2.0, 1.9, calls=10)))
        second = self.written("second.json", report(row("alltoall", 16384, 4.0, 2.1, calls=30)))
        kept = self.path("kept.json")
        self.compare("--keep", kept, first)
        self.compare("--keep", kept, second)
        with open(kept, encoding="utf-8") as file:
            found = json.load(file)
        self.assertEqual(found, json.loads(self.compare("--json", kept).stdout))
        only, = found["collectives"]
        self.assertEqual(only["calls"], 40)
        self.assertAlmostEqual(only["predicted_s"], 0.0021)
        self.assertEqual((only["duration"]["min_ns"], only["duration"]["max_ns"]), (2_000_000, 4_000_000))
        self.assertAlmostEqual(only["duration"]["median_ns"], 4e6, delta=0.03 * 4e6)
        self.assertEqual(found["nodes"][0]["tcp_timeouts"], 4)
        self.assertEqual(sorted(os.listdir(self.folder)), ["first.json", "kept.json", "second.json"])

    def test_a_run_is_added_once(self):
        """A report that is kept twice would count double."""
        first = self.written("first.json", report(row("alltoall", 16384, 2.0, 1.9)) | {"runs": [2**64 - 1]})
        second = self.written("second.json", report(row("alltoall", 16384, 2.0, 1.9)) | {"runs": [7]})
        kept = self.path("kept.json")
        for words in ((first,), (second,)):
            self.compare("--keep", kept, *words)
        with open(kept, encoding="utf-8") as file:
            before = file.read()
        self.assertEqual(json.loads(before)["runs"], [2**64 - 1, 7])
        for words in (("--keep", kept, first), ("--keep", self.path("new.json"), second, second)):
            self.assertIn(f"{words[-1]}: its run has been added already, and would count twice; nothing is kept",
                          self.compare(*words, status=2).stderr)
        with open(kept, encoding="utf-8") as file:
            self.assertEqual(file.read(), before)
        self.assertFalse(os.path.exists(self.path("new.json")))

    def test_two_reports_are_compared(self):
        """Of a run without pacing and one with, whose calls have another algorithm as well."""
        stock = self.written("stock.json", report(row("alltoall", 16384, 8.0, None, paced=False),
                                                  row("gather", 1024, 1.0, None, paced=False)))
        paced = self.written("paced.json", report(row("alltoall", 16384, 2.0, 1.9), row("bcast", 64, 3.0, None)))
        told = self.compare(stock, paced).stdout.splitlines()
        self.assertEqual(told[0], f"first: {stock}; second: {paced}")
        rows = [line.split(maxsplit=3) for line in told[2:]]
        self.assertEqual(rows, [
            ["8", "2", "0.25", "alltoall, MPI_COMM_WORLD, 8 ranks, up to 16384 bytes"],
            ["-", "3", "-", "bcast, MPI_COMM_WORLD, 8 ranks, up to 64 bytes"],
            ["1", "-", "-", "gather, MPI_COMM_WORLD, 8 ranks, up to 1024 bytes"]])
        found = json.loads(self.compare("--json", stock, paced).stdout)
        self.assertEqual([one["ratio"] for one in found], [0.25, None, None])
        self.assertEqual((found[0]["first"]["median_s"], found[2]["second"]), (0.008, None))
        same = self.compare(stock, stock).stdout.splitlines()
        self.assertEqual([line.split()[2] for line in same[2:]], ["1.00", "1.00"])

    def test_three_are_not(self):
        one = self.written("one.json", report())
        self.assertIn("--keep FILE adds up", self.compare(one, one, one, status=2).stderr)

    def test_picture(self):
        sizes = (4096, 16384, 65536)
        one = self.written("one.json", report(*(row("alltoall", size, size / 8e3, size / 9e3) for size in sizes)))
        self.compare("--svg", self.path("chart.svg"), one)
        text = "".join(ET.parse(self.path("chart.svg")).getroot().itertext())
        for words in ("predicted and measured", "linear, paced: measured", "linear, paced: predicted"):
            self.assertIn(words, text)

    def test_nothing_predicted_is_no_picture(self):
        one = self.written("one.json", report(row("alltoallv", 4096, 1.0, None)))
        self.assertIn("nothing to draw", self.compare("--svg", self.path("chart.svg"), one, status=1).stderr)
        self.assertFalse(os.path.exists(self.path("chart.svg")))

    def test_what_is_no_report(self):
        for content in ("", "[]", "{}", '{"collectives": [3], "nodes": [], "daemon_wait_ns": 0}', "x" * 1000):
            with self.subTest(content=content):
                wrong = self.written("wrong.json", content)
                kept = self.written("kept.json", report())
                told = self.compare("--keep", kept, wrong, status=2)
                self.assertIn("wrong.json: no report of a job", told.stderr)
                with open(kept, encoding="utf-8") as file:
                    self.assertEqual(json.load(file), report())
        self.assertIn("cannot be opened", self.compare(self.path("nowhere.json"), status=2).stderr)

    def test_files_that_cannot_be_written(self):
        one = self.written("one.json", report(row("alltoall", 16384, 2.0, 1.9)))
        for option in ("--keep", "--svg"):
            self.compare(option, self.path("nowhere/file"), one, status=1)


if __name__ == "__main__":
    HEADWAY = sys.argv.pop(1)
    unittest.main()
