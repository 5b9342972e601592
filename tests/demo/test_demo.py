#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of the demo's pure parts.  /usr/bin/python3 -m unittest discover tests/demo"""

import copy
import json
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as ElementTree
from html.parser import HTMLParser
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import demo_fixture as fixture  # noqa: E402
from headway_demo import charts, page, result, samples, svg, table, trace, verdict  # noqa: E402
from headway_demo.samples import SizeRun  # noqa: E402
from headway_demo.scene import AMPLE, SHALLOW, bound  # noqa: E402
from headway_demo.schedule import Effort, Schedule  # noqa: E402

import wire_records  # noqa: E402, headway_demo knows where it is
from wire_records import Frame  # noqa: E402

KIB = 1024


def run_of(samples_ms, size=64 * KIB, **counts):
    return SizeRun(size, tuple(samples_ms), (1.0,), counts.get("timeouts", 0),
                   counts.get("retransmits", 0), counts.get("drops", {}),
                   softirq_s=1.0, busy_s=2.0, elapsed_s=10.0)


class Bound(unittest.TestCase):
    def test_trunk_sets_it_in_both_scenes(self):
        # 4 x 4 x 65536 bytes x 1538/1448 at 25 Mbit/s
        self.assertAlmostEqual(bound(AMPLE, 64 * KIB)[0], 356.4, places=1)
        self.assertAlmostEqual(bound(SHALLOW, 64 * KIB)[0], 1425.6, places=1)
        self.assertEqual({bound(scene, 64 * KIB)[1] for scene in (AMPLE, SHALLOW)}, {"trunk"})

    def test_is_proportional_to_the_message(self):
        self.assertAlmostEqual(bound(AMPLE, 256 * KIB)[0], 16 * bound(AMPLE, 16 * KIB)[0])

    def test_host_link_sets_it_where_the_trunk_is_wide(self):
        from dataclasses import replace
        wide = replace(AMPLE, trunk_rate_bps=10**9)
        milliseconds, link = bound(wide, 64 * KIB)
        self.assertEqual(link, "host link")
        self.assertAlmostEqual(milliseconds, 7 * 65536 * 1538 / 1448 * 8 / 20e6 * 1e3)


class Summary(unittest.TestCase):
    def test_median_and_worst_are_over_all_mpiruns(self):
        summary = samples.summary([run_of([10, 50]), run_of([20, 30, 90])], bound_ms=20)
        self.assertEqual(summary["median_ms"], 30)
        self.assertEqual(summary["max_ms"], 90)
        self.assertEqual(summary["bound_ratio"], 1.5)
        self.assertEqual((summary["samples"], summary["mpiruns"]), (5, 2))
        self.assertEqual(summary["samples_ms"], [[10, 50], [20, 30, 90]])

    def test_losses_add_up_and_trunk_is_apart_from_ports(self):
        summary = samples.summary(
            [run_of([1], timeouts=1, retransmits=5, drops={"pa0": 2, "trka": 3}),
             run_of([1], timeouts=2, retransmits=1, drops={"pa0": 1, "pb3": 4, "trkb": 5})],
            bound_ms=1)
        self.assertEqual((summary["timeouts"], summary["retransmits"]), (3, 6))
        self.assertEqual((summary["port_drops"], summary["trunk_drops"]), (7, 8))
        self.assertEqual(summary["drops"], {"pa0": 3, "pb3": 4, "trka": 3, "trkb": 5})

    def test_processor_share_is_weighted_by_time(self):
        summary = samples.summary([run_of([1]), run_of([1])], bound_ms=1)
        self.assertEqual((summary["softirq_share"], summary["busy_share"]), (0.1, 0.2))

    def test_any_loss_makes_a_run_lossy(self):
        self.assertFalse(run_of([1], drops={"pa0": 0}).lossy)
        for counts in ({"timeouts": 1}, {"retransmits": 1}, {"drops": {"trkb": 1}}):
            self.assertTrue(run_of([1], **counts).lossy, counts)


class WhichRunIsNext(unittest.TestCase):
    EFFORT = Effort(trials=2, runs_clean=3, runs_lossy=5)

    def play(self, transports, sizes, outcome, effort=EFFORT):
        """Run a schedule to its end; outcome(transport, size) is a SizeRun."""
        schedule, played = Schedule(transports, sizes, effort), []
        while (step := schedule.next()) is not None:
            transport, wanted = step
            played.append((transport, tuple(wanted)))
            schedule.add(transport, [outcome(transport, size) for size in wanted])
            self.assertLess(len(played), 100)
        return schedule, played

    def test_trials_take_turns_then_the_better_goes_on(self):
        schedule, played = self.play(
            ["default", "send_only"], [1],
            lambda transport, size: run_of([9 if transport == "default" else 5], 1, timeouts=1))
        self.assertEqual([transport for transport, _ in played],
                         ["default", "send_only"] * 2 + ["send_only"] * 3)
        self.assertEqual(schedule.better(1), "send_only")

    def test_each_size_has_its_own_better_setting(self):
        def outcome(transport, size):
            return run_of([1 if (transport == "default") == (size == 1) else 2], size, timeouts=1)
        schedule, _ = self.play(["default", "send_only"], [1, 2], outcome)
        self.assertEqual((schedule.better(1), schedule.better(2)), ("default", "send_only"))
        self.assertEqual(len(schedule.runs["default", 1]), 5)
        self.assertEqual(len(schedule.runs["send_only", 2]), 5)
        self.assertEqual(len(schedule.runs["send_only", 1]), 2)

    def test_loss_free_needs_fewer_and_lossy_sizes_go_on_alone(self):
        schedule, played = self.play(
            ["helper"], [1, 2], lambda transport, size: run_of([1], size, timeouts=size - 1))
        self.assertEqual(len(schedule.runs["helper", 1]), 3)
        self.assertEqual(len(schedule.runs["helper", 2]), 5)
        self.assertEqual(played[-1], ("helper", (2,)))

    def test_one_setting_needs_no_trials(self):
        _, played = self.play(["helper"], [1], lambda transport, size: run_of([1], size))
        self.assertEqual(len(played), 3)

    def test_forecast_ends_at_zero(self):
        schedule, played = self.play(["default", "send_only"], [1],
                                     lambda transport, size: run_of([1], size, timeouts=1))
        self.assertEqual(Schedule(["default", "send_only"], [1], self.EFFORT).most_left(), len(played))
        self.assertEqual(schedule.most_left(), 0)


class Trace(unittest.TestCase):
    def test_records_are_what_simwire_writes(self):
        data = bytes.fromhex("00e1f50500000000" "02060000" "0800" "0000")
        self.assertEqual(wire_records.parse(data), [Frame(100_000_000, 1538, 0x0800)])
        with self.assertRaises(ValueError):
            wire_records.parse(data[:-1])

    def test_a_frame_counts_where_it_held_the_wire(self):
        # 1000 bytes at 8 Mbit/s hold the wire for 1 ms; from 0.5 ms on
        bins = trace.utilisation([Frame(500_000, 1000, 0x0800)], 8e6, 0.0, 0.003, 0.001)
        self.assertEqual(bins, [0.5, 0.5, 0.0])

    def test_frames_outside_the_window_do_not_count(self):
        frames = [Frame(-9_500_000, 10000, 0x0800), Frame(2_500_000, 1000, 0x0800),
                  Frame(5_000_000_000, 1000, 0x0800)]
        bins = trace.utilisation(frames, 8e6, 0.0, 0.003, 0.001)
        self.assertEqual(bins, [0.5, 0.0, 0.5])

    def test_full_wire_is_one_and_never_more(self):
        frames = wire_records.parse(fixture.records(1.0, 1.0, 1.0, AMPLE.trunk_rate_bps))
        bins = trace.utilisation(frames, AMPLE.trunk_rate_bps, 1.0, 1.9, 0.01)
        self.assertEqual(set(bins), {1.0})

    def test_window_holds_all_calls_and_a_margin(self):
        made = fixture.trunk_trace(AMPLE, "headway", 0.97)
        self.assertEqual([call["start_ms"] for call in made["calls"]], [20.0, 450.0, 880.0])
        bins = made["directions"]["a to b"]
        self.assertEqual(len(bins), round((880 + 400 + 20) / 5))
        self.assertEqual((bins[0], bins[-1]), (0.0, 0.0))
        self.assertAlmostEqual(bins[40], 0.97, delta=0.13)


class Verdicts(unittest.TestCase):
    def judged(self, scene, **changes):
        document = fixture.document(scene)
        message = document["scenes"][0]["messages"][-1]
        own = next(run for run in message["runs"] if run["name"] == "headway")
        own.update(changes)
        return {line["target"].split(" (")[0]: line
                for line in verdict.judge_message(scene.name, message)}

    def test_a_good_run_meets_everything(self):
        self.assertTrue(all(line["met"] for line in fixture.document(AMPLE)["verdicts"]))
        self.assertEqual(len(fixture.document(AMPLE)["verdicts"]), 3 * 5)

    def test_one_rto_or_one_drop_misses(self):
        self.assertFalse(self.judged(AMPLE, timeouts=1)["RTOs"]["met"])
        self.assertFalse(self.judged(AMPLE, port_drops=1)["drops"]["met"])
        self.assertFalse(self.judged(AMPLE, trunk_drops=1)["drops"]["met"])

    def test_limits_of_the_scenes(self):
        ample = fixture.document(AMPLE)["scenes"][0]["messages"]
        limits = [next(line["limit"] for line in verdict.judge_message("ample", message)
                       if line["target"] == "median / bound") for message in ample]
        self.assertEqual(limits, [1.18, 1.10, 1.10])
        shallow = self.judged(SHALLOW)
        self.assertEqual({key: line["limit"] for key, line in shallow.items()},
                         {"RTOs": 0, "drops": 0, "median / bound": 1.09,
                          "median / best contender's median": 0.90,
                          "worst / best contender's worst": 0.85, "median / stock's median": 0.70})

    def test_worst_must_be_strictly_below_in_the_first_scene(self):
        message = fixture.document(AMPLE)["scenes"][0]["messages"][0]
        best = min(run["max_ms"] for run in message["runs"] if run["name"] != "headway")
        own = next(run for run in message["runs"] if run["name"] == "headway")
        own["max_ms"] = best
        line = next(line for line in verdict.judge_message("ample", message) if "worst" in line["target"])
        self.assertFalse(line["met"])

    def test_sentence_says_by_how_much(self):
        line = self.judged(AMPLE, median_ms=1.21 * bound(AMPLE, 256 * KIB)[0])["median / bound"]
        self.assertEqual(verdict.sentence({"scene": "ample", "bytes": 262144, **line}),
                         "MISSED ample, 256 KiB: median / bound 1.21 (at most 1.1), by 10.0 %")

    def test_without_headway_there_is_nothing_to_judge(self):
        self.assertEqual(fixture.document(AMPLE, names=("stock", "fq"))["verdicts"], [])


class Document(unittest.TestCase):
    def test_holds_what_the_schema_asks_for(self):
        document = json.loads(json.dumps(fixture.document(AMPLE, SHALLOW)))
        self.assertEqual(result.complaints(document), [])
        self.assertEqual([part["nodes"] for part in document["scenes"]], [8, 16])
        self.assertEqual([message["bytes"] for message in document["scenes"][0]["messages"]],
                         [16384, 65536, 262144])
        run = document["scenes"][1]["messages"][0]["runs"][0]
        self.assertEqual(run["name"], "stock")
        for key in result.RUN_KEYS:
            self.assertIn(key, run)

    def test_other_transport_is_told_but_not_counted(self):
        found = fixture.collected(AMPLE, names=("stock",))
        chosen = fixture.CONTENDERS["stock"].transports[-1]
        before = found.document()["messages"][0]["runs"][0]
        found.add("stock", "default", run_of([99999.0], 16 * KIB, timeouts=7))
        after = found.document()["messages"][0]["runs"][0]
        self.assertEqual(after["transport"], chosen)
        self.assertEqual(after["max_ms"], before["max_ms"])
        self.assertEqual(after["other_transports_median_ms"], {"default": 99999.0})

    def test_complaints_name_the_place(self):
        good = fixture.document(AMPLE)

        def broken(change):
            document = copy.deepcopy(good)
            change(document)
            return result.complaints(document)

        run = ("scenes", 0, "messages", 1, "runs", 2)

        def at(document, path=run):
            for key in path:
                document = document[key]
            return document

        where = "scenes[0].messages[1].runs[2]"
        self.assertEqual(broken(lambda d: at(d).pop("timeouts")),
                         [f"{where}.timeouts: missing or of a wrong type"])
        self.assertEqual(broken(lambda d: at(d).update(median_ms="12")),
                         [f"{where}.median_ms: missing or of a wrong type"])
        self.assertEqual(broken(lambda d: at(d).update(name="cubic")),
                         [f"{where}.name: unknown contender 'cubic'"])
        self.assertEqual(broken(lambda d: at(d).update(max_ms=0.5)), [f"{where}: max_ms below median_ms"])
        self.assertEqual(broken(lambda d: at(d).update(port_drops=-1)), [f"{where}.port_drops: negative"])
        self.assertEqual(broken(lambda d: at(d).update(samples=True)),
                         [f"{where}.samples: missing or of a wrong type"])
        self.assertEqual(broken(lambda d: d.pop("scenes")), ["scenes: a list is missing"])
        self.assertEqual(broken(lambda d: d.update(scenes=[])), ["scenes: empty"])


class Table(unittest.TestCase):
    def test_columns_line_up_and_say_how_time_runs(self):
        text = table.text(fixture.document(AMPLE))
        block = text.split("\n\n")[1].splitlines()[1:]
        self.assertEqual(len(block), 1 + len(fixture.CONTENDERS))
        end = block[0].index("worst ms") + len("worst ms")
        for line in block[1:]:
            self.assertTrue(line[end - 1].isdigit() and line[end] == " ", line)
        self.assertIn("Time constants are undilated", text)
        self.assertIn("3.2 : 1", text)


class Drawing(unittest.TestCase):
    def test_ticks_are_round_and_reach_the_end(self):
        self.assertEqual(svg.ticks(532), [0, 100, 200, 300, 400, 500, 600])
        self.assertEqual(svg.ticks(0.9), [0, 0.2, 0.4, 0.6000000000000001, 0.8, 1.0])
        for most in (1, 7, 99.9, 100, 101, 4321):
            self.assertGreaterEqual(svg.ticks(most)[-1], most)

    def test_names_are_escaped(self):
        self.assertEqual(svg.text(1, 2, "<a&b>"), '<text x="1" y="2">&lt;a&amp;b&gt;</text>')
        self.assertIn("&quot;", svg.drawing(1, 1, [], 'say "x"'))

    def test_pictures_are_well_formed(self):
        document = fixture.document(AMPLE, SHALLOW)
        traces = [fixture.trunk_trace(AMPLE, name, 0.8) for name in ("stock", "headway")]
        pictures = [charts.trunk(traces)]
        for part in document["scenes"]:
            pictures.append(charts.network(part))
            for message in part["messages"]:
                pictures += [charts.times(message), charts.losses(message)]
        for picture in pictures:
            ElementTree.fromstring(picture)

    def test_times_show_every_sample_and_the_bound(self):
        message = fixture.document(AMPLE)["scenes"][0]["messages"][1]
        root = ElementTree.fromstring(charts.times(message))
        dots = [node for node in root.iter() if node.get("class", "").startswith("sample")]
        self.assertEqual(len(dots), sum(run["samples"] for run in message["runs"]))
        bound_line, = [node for node in root.iter() if node.get("class") == "bound"]
        bars = [node for node in root.iter() if node.get("class", "").startswith("bar")]
        scale = float(bars[0].get("width")) / message["runs"][0]["median_ms"]
        self.assertAlmostEqual(float(bound_line.get("x1")) - float(bars[0].get("x")),
                               message["bound_ms"] * scale, delta=0.1)


class Balanced(HTMLParser):
    """Every element that is opened is closed, in order."""

    VOID = {"meta", "br", "line", "rect", "circle", "path"}

    def __init__(self):
        super().__init__()
        self.open, self.links = [], []

    def handle_starttag(self, tag, attrs):
        self.links += [value for key, value in attrs if key in ("src", "href")]
        if tag not in self.VOID or (tag in ("rect", "circle") and not self.get_starttag_text().endswith("/>")):
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.links += [value for key, value in attrs if key in ("src", "href")]

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            raise AssertionError(f"</{tag}> closes nothing at {self.getpos()}")


class Report(unittest.TestCase):
    def write_folder(self, folder, document, traces):
        document["scenes"][0]["traces"] = list(traces)
        (folder / "demo.json").write_text(json.dumps(document))
        for name, content in traces.items():
            (folder / name).write_text(json.dumps(content))

    def report(self, folder):
        program = Path(__file__).resolve().with_name("report")
        return subprocess.run([program, folder], capture_output=True, text=True, check=False)

    def test_is_one_balanced_file_without_links(self):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            self.write_folder(folder, fixture.document(AMPLE, SHALLOW), {
                f"trace-{who}.json": fixture.trunk_trace(AMPLE, who, 0.9) for who in ("stock", "headway")})
            done = self.report(folder)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            text = (folder / "report.html").read_text()
        parser = Balanced()
        parser.feed(text)
        self.assertEqual((parser.open, parser.links), ([], []))
        for word in ("8 + 8 nodes", "dctcp", "not dilated", "356.4", "Targets"):
            self.assertIn(word, text)

    def test_a_first_scene_with_three_contenders_is_enough(self):
        document = fixture.document(AMPLE, names=("stock", "rto_min", "headway"))
        text = page.page(document, {})
        self.assertNotIn("dctcp on every node", text)
        self.assertNotIn("The trunk over time", text)

    def test_bad_input_is_refused_with_a_reason(self):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            self.assertIn("make demo makes it", self.report(folder).stderr)
            (folder / "demo.json").write_text("{")
            self.assertIn("not JSON", self.report(folder).stderr)
            (folder / "demo.json").write_text('{"scenes": [{"nodes": 8}]}')
            done = self.report(folder)
            self.assertEqual(done.returncode, 1)
            self.assertIn("scenes[0].messages: missing", done.stderr)


if __name__ == "__main__":
    unittest.main()
