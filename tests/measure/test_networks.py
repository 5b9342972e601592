#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Tests what tests/measure/networks computes."""

import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from types import SimpleNamespace

TESTS = Path(__file__).resolve().parents[1]
sys.path += [str(TESTS / folder) for folder in ("measure", "demo", "reproduce", "bench")]
from headway_networks import jobs, judged, report, store, truth  # noqa: E402

STAR = """\
switch A
switch B A 1250 50 32768
node a0 A 1000 65536
node a1 A 1000 65536
node b0 B 1000 65536
node b1 B 1000 65536"""
DEEPER = """\
switch R
switch A R 2000 50 65536
switch C R 1200 30 49152
node a0 A 1000 65536
node a1 A 1000 65536
node b0 C 1000 32768
node b1 C 1000 32768"""


def document(mbit=1250, delay_us=50, buffer=32768 // 1514 * 1514 + 2 * 1514):
    def link(hosts, direction, is_trunk, bps):
        return {"hosts": hosts, "direction": direction, "is_trunk": is_trunk, "exact": True, "bps": bps * 1e6,
                "delay_s": delay_us * 1e-6 if is_trunk else 0, "buffer_bytes": buffer if is_trunk and direction == "up" else None}

    return {"links": [link(["b0", "b1"], way, True, mbit) for way in ("up", "down")]
            + [link([host], way, False, 1000) for host in ("a0", "a1", "b0", "b1") for way in ("up", "down")]}


class TrueFile(unittest.TestCase):
    def test_two_clusters_have_one_cable(self):
        text = truth.toml(STAR)
        self.assertEqual(text.count("[[cluster]]"), 2)
        self.assertEqual(text.count('trunk_rate = "1250mbit"'), 2)
        self.assertNotIn("parent", text)
        self.assertIn('prefixes = ["10.2.0.1/32", "10.2.0.2/32"]', text)

    def test_a_deeper_tree_has_switches_and_parents(self):
        text = truth.toml(DEEPER)
        self.assertEqual((text.count("[[switch]]"), text.count("[[cluster]]"), text.count('parent = "R"')), (1, 2, 2))
        self.assertIn('trunk_delay = "30us"', text)
        self.assertIn('host_buffer = "32768B"', text)

    def test_each_wrong_file_differs_in_that(self):
        right = truth.toml(DEEPER)
        lines = {what: set(text.splitlines()) - set(right.splitlines()) for what, (text, _) in truth.wrong(DEEPER).items()}
        self.assertEqual(lines["a trunk 20 % too fast"], {'trunk_rate = "1440mbit"'})
        self.assertEqual(lines["a buffer that is not there"], {'trunk_buffer = "196608B"'})
        self.assertIn('hosts = ["a1", "b0"]', lines["two hosts exchanged"])

    def test_nothing_else_may_be_said(self):
        _, pattern = truth.wrong(STAR)["two hosts exchanged"]
        self.assertTrue(truth.is_named(["a0 and b0 are exchanged"], pattern))
        self.assertFalse(truth.is_named(["a0 and b0 are exchanged", "something else"], pattern))
        self.assertFalse(truth.is_named([], pattern))


class Links(unittest.TestCase):
    def links_of(self, **found):
        return judged.links({"tree": STAR, "document": document(**found)})

    def test_what_is_there_beside_what_was_found(self):
        links, is_exact = self.links_of(mbit=1200, delay_us=55)
        trunk = next(link for link in links if link["is_trunk"] and link["direction"] == "up")
        self.assertTrue(is_exact)
        self.assertAlmostEqual(judged.off_pct(trunk["mbit"]), -4)
        self.assertAlmostEqual(judged.off_pct(trunk["delay_us"]), 10)
        self.assertEqual(trunk["buffer"], (34822, 34822))
        self.assertEqual(len(links), 10)

    def test_a_tree_without_a_link_is_not_exact(self):
        found = document()
        found["links"] = [link for link in found["links"] if link["hosts"] != ["a1"]]
        self.assertFalse(judged.links({"tree": STAR, "document": found})[1])

    def test_a_buffer_may_be_off_by_a_frame_or_a_tenth(self):
        self.assertTrue(report.buffer_is_right((10000, 11514)))
        self.assertFalse(report.buffer_is_right((10000, 11515)))
        self.assertTrue(report.buffer_is_right((100000, 90000)))
        self.assertFalse(report.buffer_is_right((100000, 89999)))


class Traffic(unittest.TestCase):
    def test_the_neighbours_in_a_halo(self):
        for grid, is_periodic, count, first in (((4, 2), True, 32, [1, 1, 2, 6]), ((8,), True, 16, [1, 7]),
                                                ((2, 2, 2), True, 48, [1, 1, 2, 2, 4, 4]), ((4, 2), False, 20, [1, 2])):
            messages = judged.halo_messages(grid, is_periodic, 10)
            self.assertEqual(len(messages), count)
            self.assertEqual(sorted(to for rank, to, _ in messages if rank == 0), first)

    def test_rates_grow_until_a_limit_is_met(self):
        # two over a trunk of 6, one of them into a host of 2, where another one goes
        self.assertEqual(judged.max_min(3, [(6, [0, 1]), (2, [1, 2]), (10, [0]), (10, [2])]), [5, 1, 1])

    def test_links_are_those_of_the_measurement(self):
        pattern = [[0, 2], [1, 2], [3, 0]]
        limits = judged.link_limits(document(), ["a0", "a1", "b0", "b1"], pattern)
        trunk = [of for capacity, of in limits if round(capacity / judged.PAYLOAD) == 1250]
        self.assertEqual(trunk, [[2], [0, 1]])
        self.assertEqual([round(rate / judged.PAYLOAD) for rate in judged.max_min(3, limits)], [500, 500, 1000])

    def test_a_host_has_a_rate_towards_a_cluster(self):
        plan = {"nodes": [
            {"node": "a0", "cluster": "a", "classes": [{"cluster": "a", "bytes_per_s": None}, {"cluster": "b", "bytes_per_s": 125e5}]},
            {"node": "b0", "cluster": "b", "classes": []}, {"node": "b1", "cluster": "b", "classes": []}]}
        (limit, of), = judged.class_limits(plan, ["a0", "b0", "b1"], [[0, 1], [0, 2], [1, 0]])
        self.assertEqual(of, [0, 1])
        self.assertAlmostEqual(limit, 100 * judged.PAYLOAD)


class Times(unittest.TestCase):
    PREDICTION = {"low_s": 0.001, "high_s": 0.2, "timeouts": 0, "measured": None}

    def test_a_mean_beside_what_was_predicted(self):
        result = {"bytes": 1024, "samples_ms": [1.0, 1.2], "timeouts": 0, "drops": 0}
        row = judged.compared(result, self.PREDICTION)
        self.assertAlmostEqual(row["error_pct"], 10)
        self.assertFalse(row["waits"] or row["may_wait"] or row["lost"])
        known = self.PREDICTION | {"measured": {"time_s": 0.0022, "usual_s": 0.0022, "timeout_part": 0, "was_lossy": True}}
        self.assertAlmostEqual(judged.compared(result, known)["error_pct"], -50)
        self.assertTrue(judged.compared(result, known)["may_wait"])

    def test_what_is_usual_is_beside_the_calls_that_do_not_wait(self):
        row = judged.compared({"bytes": 1024, "samples_ms": [1.0, 200.0, 1.2, 22.0], "timeouts": 0, "drops": 0}, self.PREDICTION)
        self.assertAlmostEqual(row["usual_error_pct"], 10)
        self.assertEqual((row["late"], row["calls"], row["waits"]), (2, 4, True))

    def test_where_all_calls_wait_nothing_is_said_of_others(self):
        row = judged.compared({"bytes": 1024, "samples_ms": [207.0, 208.0], "timeouts": 0, "drops": 3}, self.PREDICTION)
        self.assertEqual((row["late"], row["median_ms"]), (2, None))
        self.assertNotIn("usual_error_pct", row)
        self.assertEqual(report.of_usual(row), ["-", "-"])

    def test_a_part_is_right_if_so_few_calls_can_be_of_it(self):
        def is_right(predicted, late, calls):
            return judged.is_part_right({"predicted_part": predicted, "late": late, "calls": calls})

        self.assertTrue(is_right(0.25, 1, 10))
        self.assertFalse(is_right(0.25, 9, 10))
        self.assertTrue(is_right(0, 0, 10) and is_right(1, 10, 10))
        self.assertFalse(is_right(0, 4, 10))
        least, most = judged.interval(5, 10)
        self.assertAlmostEqual(least, 0.2366, places=3)    # as printed in textbooks
        self.assertAlmostEqual(most, 0.7634, places=3)

    def test_errors_of_lost_frames_stand_beside_those_of_another_job(self):
        def row(lost, error, **more):
            return {"lost": lost, "error_pct": error, "usual_error_pct": error, **more}

        rows = [row(False, 1, again_error_pct=0), row(True, -30, again_error_pct=8), row(True, 40, again_error_pct=-6)]
        one = SimpleNamespace(name="deep", compared={("at once", "alltoall"): rows, ("paced", "alltoall"): [row(False, 2)]})
        lines, missed = report.medians_table([one])
        said = {line.split("  ")[0]: line.split()[-1] for line in lines[3:-1]}
        self.assertEqual(said["without a time-out: alltoall, at once"], "30.0")
        self.assertEqual(said["lost nothing: alltoall, at once"], "1.0")
        self.assertEqual(said["lost frames: alltoall, at once"], "35.0")
        self.assertEqual(said["lost frames, by another job: alltoall, at once"], "7.0")
        self.assertEqual(said["without a time-out: all all-to-alls"], "16.0", "1, 2, 30 and 40")
        self.assertNotIn("lost frames: alltoall, paced", said, "no row of what there is not")
        self.assertEqual(len(missed), 2, "what the loss of frames costs is part of what is asked, not asked twice")

    def test_a_call_that_waited_tells_where_the_step_is(self):
        rows = [judged.compared({"bytes": size, "samples_ms": [ms], "timeouts": 0, "drops": 0}, self.PREDICTION)
                for size, ms in ((1, 1), (2, 204), (4, 210))]
        self.assertEqual(judged.first(rows, lambda row: row["waits"]), 2)
        self.assertIsNone(judged.first(rows, lambda row: row["may_wait"]))

    def test_rows_without_a_time_out_are_left_out_but_count(self):
        def row(part, late):
            return {"bytes": 1024, "calls": 10, "predicted_part": part, "late": late, "waits": late > 0, "may_wait": True}

        one = SimpleNamespace(name="deep", compared={
            ("at once", "gather"): [row(0, 0)], ("at once", "halo"): [row(0, 5)], ("alone", "halo"): [row(0.06, 9)],
            ("at once", "alltoall"): [row(0.5, 5)], ("paced", "alltoall"): [row(0.5, 5)]})
        lines, missed = report.steps_table([one])
        self.assertEqual([line.split()[-1] for line in lines[3:-2]], ["1"] * 3, "halos of both and the all-to-all")
        self.assertEqual(lines[-2].split(), ["all", "2", "as", "expected", "of", "4", "2", "4"])
        self.assertEqual(len(missed), 2, "both halos wait, and none is expected to")

    def test_a_time_out_is_expected_where_one_of_the_calls_is_likely_to_wait(self):
        parts = [{"bytes": size, "calls": 10, "predicted_part": part} for size, part in ((1, 0), (2, 0.06), (3, 0.07))]
        self.assertEqual(judged.first(parts, judged.is_expected_to_wait), 3)


class Jobs(unittest.TestCase):
    def test_patterns_of_networks_differ_and_stay(self):
        self.assertEqual(jobs.patterns("deep"), jobs.patterns("deep"))
        self.assertNotEqual(jobs.patterns("deep"), jobs.patterns("shallow"))
        self.assertEqual(len(jobs.patterns("deep")), jobs.PATTERNS)

    def test_paced_jobs_come_with_their_files(self):
        said = jobs.spec("deep", {"tree": STAR, "document": {}, "config": "c"}, 3)
        self.assertEqual({job["config"] for job in said["jobs"] if job["config"]} - set(said["files"]), set())
        self.assertEqual(said["jobs"][0]["hosts"], ["a0", "a1", "b0", "b1"])
        self.assertIn(["neighbor_alltoall:65536", 3], said["jobs"][0]["sizes"])

    def test_a_table_is_as_wide_as_its_cells(self):
        border, head, _, row, _ = report.rst(["a", "bb"], [["long", 1]])
        self.assertEqual(border, "====  ==")
        self.assertEqual((head, row), ("a     bb", "long   1"))
        self.assertTrue(re.fullmatch("[= ]+", border))

    def test_the_program_starts(self):
        done = subprocess.run([TESTS / "measure/networks", "--help"], capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_what_was_measured_is_found_again(self):
        spec = {"scene": "shallow", "jobs": [{"name": "paced"}, {"name": "true"}]}
        events = [{"event": "start"}, {"event": "result", "job": "paced", "bytes": 1}, {"event": "result", "job": "true", "bytes": 2}]
        with tempfile.TemporaryDirectory() as folder:
            kept = store.kept_in(Path(folder) / "measure.json")
            self.assertIsNone(kept.load().found("shallow-jobs"))
            kept.add("shallow-jobs", {"spec": spec, "events": events})
            found = kept.load().found("shallow-jobs")
        self.assertEqual((list(found.jobs), found.of("true")), (["paced", "true"], events[2:]))


if __name__ == "__main__":
    unittest.main()
