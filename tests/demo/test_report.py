#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of what the demo tells: sentences, table, pictures, report."""

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
from headway_demo import charts, felt, page, prediction, svg, table, trace  # noqa: E402
from headway_demo.contender import CONTENDERS  # noqa: E402
from headway_demo.scene import RACK, SHALLOW  # noqa: E402

import wire_records  # noqa: E402, headway_demo knows where it is
from wire_records import Frame  # noqa: E402

KIB = 1024


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
        frames = wire_records.parse(fixture.records(1.0, 0.1, 1.0, RACK.trunk_rate_bps))
        bins = trace.utilisation(frames, RACK.trunk_rate_bps, 1.0, 1.09, 0.001)
        self.assertEqual(set(bins), {1.0})

    def test_window_holds_the_call_and_a_margin(self):
        made = fixture.trunk_trace(RACK, "headway", 0.97)
        bins = made["directions"]["a to b"]["utilisation"]
        self.assertEqual(len(bins), round((8 + 2 * made["margin_ms"]) / made["bin_ms"]))
        self.assertEqual((bins[0], bins[-1]), (0.0, 0.0))
        self.assertAlmostEqual(bins[len(bins) // 2], 0.97, delta=0.1)

    def test_a_long_call_has_no_more_bins_than_a_picture_shows(self):
        made = fixture.trunk_trace(RACK, "stock", 0.5, call_s=0.8)
        self.assertLessEqual(len(made["directions"]["a to b"]["utilisation"]), trace.BINS + 1)

    def test_a_call_is_read_from_what_the_bench_says(self):
        case = {"starts_s": [3.0], "first_through_ms": [6], "samples_ms": [8]}
        self.assertEqual(trace.call_of(case), trace.Call(3.0, 6, 8))

    def test_every_microsecond_of_a_call_is_in_one_part(self):
        # 1000 bytes at 8 Mbit/s hold the wire for 1 ms, 100 for 0.1 ms
        frames = [Frame(500_000, 1000, 0x0800),     # before the call
                  Frame(2_000_000, 100, 0x0800),    # an acknowledgement before the first data
                  Frame(3_000_000, 1000, 0x0800), Frame(4_000_000, 100, 0x0800),
                  Frame(4_500_000, 1000, 0x0800), Frame(20_000_000, 1000, 0x0800)]
        parts = trace.parts_us(trace.Call(0.001, 5.0, 6.0), frames, 8e6)
        self.assertEqual(parts, {"before": 2000.0, "data": 2000.0, "acknowledgements": 100.0,
                                 "idle": 400.0, "after": 1500.0})
        self.assertIsNone(trace.parts_us(trace.Call(0.1, 5.0, 6.0), frames, 8e6))


class Felt(unittest.TestCase):
    MESSAGE = {"bytes": 16384, "pauses_ms": 300, "bound_ms": 1.78, "bound_limit": "trunk", "floor_ms": 2.0}
    OWN = {"name": "headway", "library": "ompi", "median_ms": 2.1, "max_ms": 2.2, "samples": 20, "timeouts": 0,
           "retransmits": 0, "port_drops": 0, "trunk_drops": 0, "samples_ms": [[2.1] * 20]}
    STOCK = OWN | {"name": "stock", "median_ms": 8.4, "max_ms": 262.5, "timeouts": 6, "retransmits": 9,
                   "port_drops": 40, "trunk_drops": 1, "samples_ms": [[8.4] * 14 + [262.5] * 6]}

    def test_a_sentence_for_each_compares_with_headway(self):
        self.assertEqual(felt.sentences(self.MESSAGE | {"runs": [self.STOCK, self.OWN]}), [
            "With Headway and Open MPI an exchange took 2.1 ms, 1.05 times the least it can take,"
            " and the worst 2.2 ms: nothing was lost.",
            "With stock and Open MPI an exchange took 8.4 ms, 4.00 times Headway's 2.1 ms, and the worst"
            " 262 ms (125 times that): 6 of 20 calls waited 200 ms or more for a retransmission,"
            " 6 time-outs and 41 dropped frames in 20 calls."])

    def test_without_headway_it_compares_with_the_floor(self):
        sentence, = felt.sentences(self.MESSAGE | {"runs": [self.STOCK]})
        self.assertIn("4.20 times the least possible 2 ms", sentence)

    def test_slow_calls_without_a_retransmission_did_not_wait_for_one(self):
        sentence, = felt.sentences(self.MESSAGE | {"runs": [self.STOCK | {"retransmits": 0}]})
        self.assertNotIn("waited", sentence)


class Table(unittest.TestCase):
    def test_columns_line_up_and_say_how_time_runs(self):
        text = table.text(fixture.document(RACK))
        block = text.split("\n\n")[1].splitlines()[1:]
        end = block[0].index("worst ms") + len("worst ms")
        for line in block[1:1 + len(CONTENDERS)]:
            self.assertTrue(line[end - 1].isdigit() and line[end] == " ", line)
        self.assertIn("all time constants are real", text)
        self.assertIn("3.2 : 1", text)
        self.assertIn(f"processor {RACK.factor} times faster", text)
        self.assertNotIn("WARNING", text)

    def test_a_busy_processor_is_told(self):
        document = fixture.document(RACK)
        document["scenes"][0]["messages"][0]["runs"][0]["softirq_share"] = 0.42
        self.assertIn("WARNING: stock, Open MPI: 42 % of the processor's time", table.text(document))


class Predicted(unittest.TestCase):
    def setUp(self):
        self.part = fixture.document(RACK, names=("stock", "htb", "headway"), ways=(0,))["scenes"][0]

    def test_only_what_is_predicted_stands_beside_it(self):
        rows = prediction.rows(self.part)
        self.assertEqual([name for name, _ in rows], ["stock", "headway"] * len(fixture.SIZES))
        run = self.part["messages"][0]["runs"][-1]
        floor = self.part["messages"][0]["floor_ms"]
        self.assertEqual(rows[1][1], ("Headway", "Open MPI", "16 KiB", "in a row", f"{floor:.3f}", f"{run['median_ms']:.3f}",
                                      f"{run['max_ms']:.3f}", f"{run['median_ms'] / floor:.3f}"))
        self.assertEqual(rows[0][1][4], f"{floor * 0.95:.3f} to {floor * 0.95 + 400:.0f}")

    def test_the_terminal_and_the_page_have_it(self):
        self.assertIn("predicted by headway plan, and measured", "\n".join(table.scene_lines(self.part)))
        self.assertIn("Predicted and measured", "".join(page.scene_section(self.part, [])))
        del self.part["messages"][0]["predicted_ms"], self.part["messages"][1]["predicted_ms"]
        self.assertNotIn("Predicted", "".join(page.scene_section(self.part, [])))

    def test_the_picture_has_a_scale_of_powers_of_ten(self):
        axis = charts.LogAxis(100, 400, 0.5, 300)
        self.assertEqual([axis.x(10.0 ** power) for power in (-1, 0, 3)], [100, 175, 400])
        root = ElementTree.fromstring(charts.predictions(list(prediction.pairs(self.part))))
        self.assertEqual(len(root.findall("{*}rect")), 2 * len(fixture.SIZES))


class Drawing(unittest.TestCase):
    def test_ticks_are_round_and_reach_the_end(self):
        self.assertEqual(svg.ticks(532), [0, 100, 200, 300, 400, 500, 600])
        self.assertEqual(svg.ticks(0.9), [0, 0.2, 0.4, 0.6000000000000001, 0.8, 1.0])
        for most in (1, 7, 99.9, 100, 101, 4321):
            self.assertGreaterEqual(svg.ticks(most)[-1], most)

    def test_losses_are_plain_numbers(self):
        self.assertEqual([charts.per_call(value) for value in (0, 0.17, 9.6, 99.6, 1234)],
                         ["0", "0.17", "9.6", "100", "1234"])

    def test_names_are_escaped(self):
        self.assertEqual(svg.text(1, 2, "<a&b>"), '<text x="1" y="2">&lt;a&amp;b&gt;</text>')
        self.assertIn("&quot;", svg.drawing(1, 1, [], 'say "x"'))

    def test_pictures_are_well_formed(self):
        document = fixture.document(RACK, SHALLOW)
        pictures = [charts.trunk(fixture.trunk_trace(RACK, name, 0.8)) for name in ("stock", "headway")]
        for part in document["scenes"]:
            pictures.append(charts.network(part))
            for message in part["messages"]:
                pictures += [charts.times(message), charts.losses(message)]
        for picture in pictures:
            ElementTree.fromstring(picture)

    def test_the_trunk_s_picture_stands_by_itself_and_has_one_scale(self):
        traces = [fixture.trunk_trace(RACK, "headway", 0.9), fixture.trunk_trace(RACK, "stock", 0.9, call_s=0.8)]
        root = ElementTree.fromstring(page.trunk_picture(traces))
        style, = [node.text for node in root.iter() if node.tag.endswith("style")]
        self.assertIn("--own:", style)
        self.assertIn("svg .area", style)
        calls = [float(node.get("width")) for node in root.iter() if node.get("class") == "call"]
        self.assertAlmostEqual(calls[0] / calls[1], 100, delta=1)  # stock first; 800 and 8 ms
        self.assertIsNone(page.trunk_picture(traces[:1]))
        self.assertIsNone(page.trunk_picture([]))

    def test_times_show_every_sample_and_the_bound(self):
        message = fixture.document(RACK)["scenes"][0]["messages"][1]
        root = ElementTree.fromstring(charts.times(message))
        dots = [node for node in root.iter() if node.get("class", "").startswith("sample")]
        self.assertEqual(len(dots), sum(run["samples"] for run in message["runs"]))
        bound_line, = [node for node in root.iter() if node.get("class") == "bound"]
        bars = [node for node in root.iter() if node.get("class", "").startswith("bar")]
        scale = float(bars[0].get("width")) / message["runs"][0]["median_ms"]
        self.assertAlmostEqual(float(bound_line.get("x1")) - float(bars[0].get("x")),
                               message["floor_ms"] * scale, delta=0.1)


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
            self.write_folder(folder, fixture.document(RACK, SHALLOW), {
                f"trace-{who}.json": fixture.trunk_trace(RACK, who, 0.9) for who in ("stock", "headway")})
            done = self.report(folder)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            text = (folder / "report.html").read_text()
            self.assertTrue((folder / "trunk.svg").is_file())
        parser = Balanced()
        parser.feed(text)
        self.assertEqual((parser.open, parser.links), ([], []))
        for word in ("8 + 8 nodes", "dctcp", "real time constants", "7.13", "Targets", "first rank through"):
            self.assertIn(word, text)

    def test_a_first_scene_with_three_contenders_is_enough(self):
        document = fixture.document(RACK, names=("stock", "rto_min", "headway"))
        text = page.page(document, {})
        self.assertNotIn("dctcp on every node", text)
        self.assertNotIn("The trunk during", text)

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
