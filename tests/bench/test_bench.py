#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The bench's own arithmetic, without a guest."""

import json
import sys
import tempfile
import unittest
import xml.dom.minidom
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from headway_bench import (apps, apps_chart, cases, charts, debian, decisions, feedback, map_chart, patterns, phases,  # noqa: E402
                           results, scale, scene_map, tables, traffic_chart)
from demo_guest import mpirun  # noqa: E402, and of this one, too
import company  # noqa: E402
from wire_records import Frame  # noqa: E402, headway_demo knows where it is


def count(enqueue, dequeue, frames=1000, gap=0, wait=0, interrupt=0):
    """As the guest prints it, each frame alike."""
    def calls(each):
        return {"calls": frames if each else 0, "instructions": frames * each, "most": each}
    return {"packets": frames, "frames": frames, "gap_bytes": 0,
            "data_lines": 12, "enqueue": calls(enqueue),
            "dequeue": calls(dequeue), "gap": calls(gap), "wait": calls(wait),
            "interrupt": calls(interrupt)}


def costs(sums=None):
    """Every cost; a sum for a qdisc by key, or by (key, lanes), else one that meets the targets."""
    sums = {"gap-u32": 50, "gap-flower": 50, **(sums or {})}
    items = []
    for case in [*cases.cost_cases(), *cases.phase_cases(), *cases.class_count_cases()]:
        key = case.contender.key
        total = sums.get((key, case.load.lanes), sums.get(key, 100))
        items.append(results.cost(case, count(40, total - 40, gap=7, wait=8, interrupt=9)))
    return items


def document():
    spacing = [results.spacing({
        "qdisc": case.qdisc, "share": case.lanes[0][1], "frame_bytes": case.lanes[0][0],
        "link_mbit": case.link_mbit, "interrupt_ns": case.interrupt_ns, "faster": case.faster,
        "stats": {"frames": 1200, "gaps": 0, "rate_error": 0, "interval_bytes": 3000,
                  "earliest_bytes": 0, "latest_bytes": 1,
                  "back_to_back_share": 0, "spacing_quantiles_bytes": [2900 + i for i in range(201)]}})
        for case in cases.spacing()]
    drives = [results.drive(case, {"busy": 5000, "frames": 10, "gaps": 990, "gap_wire_bytes": 1000})
              for case in cases.drives()]
    items = costs()
    return {"costs": items, "drives": drives, "spacing": spacing,
            "targets": list(results.targets(items))}


class CasesTest(unittest.TestCase):
    def test_names_are_unique(self):
        names = [case.name for case in [*cases.cost_cases(), *cases.phase_cases(),
                                        *cases.class_count_cases(),
                                        *cases.drives()]]
        self.assertEqual(len(names), len(set(names)))

    def test_classes_share_the_rate(self):
        for lanes in (1, 1000, 10000):
            rates = cases.share_rates(1_000_000_000, lanes)
            self.assertEqual(len(rates), lanes)
            self.assertLessEqual(sum(rates), 1_000_000_000)
            self.assertGreater(sum(rates), 999_900_000)
            self.assertGreater(min(rates), 0)

    def test_no_line_is_longer_than_the_module_takes(self):
        for case in [*cases.cost_cases(), *cases.class_count_cases()]:
            self.assertLess(len(case.script()[-1]), 256)

    def test_filters_replace_the_default_class(self):
        lines = cases.BY_KEY["gap-u32"].lines(cases.Load(1514))
        self.assertNotIn("default", lines[0])
        self.assertIn("u32", lines[-1])


class ResultsTest(unittest.TestCase):
    def test_cost_is_per_frame_and_waiting_apart(self):
        case = next(cases.cost_cases())
        item = results.cost(case, count(40, 60, gap=7))
        self.assertEqual((item["sum"], item["held"], item["gaps_per_frame"]), (100, 7, 1))

    def test_such_costs_meet_every_target(self):
        self.assertTrue(all(item["met"] for item in results.targets(costs())))

    def test_each_target_can_be_missed(self):
        misses = {"gap": (("gap", 1), 141), "gap-u32": ("gap-u32", 51),
                  "gap-flower": ("gap-flower", 76), "phases": ("gap-phases", 121),
                  "gap classes": (("gap", 10000), 141), "timer classes": (("timer", 10000), 141)}
        for name, (key, total) in misses.items():
            with self.subTest(name):
                missed = [item for item in results.targets(costs({key: total})) if not item["met"]]
                self.assertEqual(len(missed), 1)

    def test_a_missing_figure_is_no_success(self):
        items = [item for item in costs() if item["qdisc"] != "tbf"]
        with self.assertRaises(TypeError):
            list(results.targets(items))


class ReportTest(unittest.TestCase):
    def test_tables_show_every_contender_and_target(self):
        text = "\n".join(tables.report(document()))
        for contender in cases.CONTENDERS:
            self.assertIn(contender.title, text)
        self.assertEqual(text.count("met "), len(list(results.targets(costs()))))

    def test_the_picture_is_well_formed(self):
        picture = xml.dom.minidom.parseString(charts.picture(document()))
        shown = [case for case in cases.spacing()
                 if case.lanes[0][0] == 1514 and case.lanes[0][1] in cases.SPACING_SHARES]
        self.assertEqual(len(picture.getElementsByTagName("path")), len(shown))

    def test_errors_are_placed_by_decade(self):
        self.assertEqual(charts.error_place(0), 0)
        self.assertEqual(charts.error_place(-1e9), -1)
        self.assertAlmostEqual(charts.error_place(1000), 0.5)


class Phases(unittest.TestCase):
    def measured(self, **more):
        entry = {"switch_ns": 50, "first_frame_ns": 900, "spacing_ns": 1000,
                 "expected_spacing_ns": 1001, **more}
        return [{"backend": "gap"}, *({"way": way, **entry} for way in phases.WAYS),
                {"classifier": "resting", "processes": 0, "ns": 200},
                {"classifier": "active", "processes": 64, "ns": 4000}]

    def test_targets(self):
        met = phases.document("6.1", self.measured(), [])["targets"]
        self.assertTrue(all(target["met"] for target in met))
        slow = phases.document("6.1", self.measured(switch_ns=100), [])["targets"]
        self.assertFalse(slow[0]["met"])
        loose = phases.document("6.1", self.measured(spacing_ns=500), [])["targets"]
        self.assertEqual([target["met"] for target in loose], [True] + [False] * 4)

    def test_nothing_is_left_out(self):
        with self.assertRaisesRegex(ValueError, "store"):
            phases.document("6.1", self.measured()[2:], [])
        with self.assertRaisesRegex(ValueError, "classifier"):
            phases.document("6.1", self.measured()[:-2], [])

    def test_report(self):
        host = [{"way": "store", "host_ns": 4},
                {"classifier": "active", "processes": 64, "ns": 252}]
        text = "\n".join(phases.report(phases.document("6.1", self.measured(), host)))
        self.assertRegex(text, r"a store into the slot +50 +1\.0 +900 +1000 +4\n")
        self.assertRegex(text, r"64 active +4000 +20\.0 +252\n")


def job(way, samples_ms, timeouts=0, pattern="gather"):
    return {"library": "ompi", "pattern": pattern, "way": way, "samples_ms": samples_ms,
            "timeouts": timeouts, "retransmits": 0, "drops": {"trka": 2, "pa0": 1}}


SCENE = {"trunk_rate_bps": 10 ** 9}


class PatternsTest(unittest.TestCase):
    def met(self, stock, *jobs):
        said = patterns.spec(SCENE, ["ompi"], ["gather"], 3)
        return [judged["met"] for judged in patterns.document(said, [stock, *jobs])["jobs"][1:]]

    def test_where_stock_has_time_outs_headway_must_have_none(self):
        stock = job("stock", [100, 300, 100], timeouts=1)
        self.assertEqual(self.met(stock, job("headway", [120, 120, 120]),
                                  job("headway", [90, 90, 290], timeouts=1)), [True, False])

    def test_elsewhere_it_must_not_be_slower(self):
        stock = job("stock", [100, 100, 300])
        self.assertEqual(self.met(stock, job("headway", [103, 103, 105]),
                                  job("headway", [104, 104, 90])), [True, False])

    def test_unpaced_runs_are_not_judged(self):
        self.assertEqual(self.met(job("stock", [100]), job("record", [500], timeouts=3),
                                  job("unpaced", [500])), [True, True])

    def test_what_crosses_the_trunk_is_the_bound(self):
        crossing = job("headway", [12.304]) | {"crossing_bytes": 1_448_000}   # 1000 full frames
        self.assertAlmostEqual(patterns.to_bound(crossing, SCENE), 1)
        self.assertIsNone(patterns.to_bound(job("headway", [1]), SCENE))

    def test_the_algorithms_are_those_of_the_operation(self):
        def row(operation, algorithm, paced=True, most=4096):
            return {"operation": operation, "algorithm": algorithm, "paced": paced, "message_bytes_most": most}
        found = {"collectives": [row("alltoallv", "linear"), row("alltoallv", "native", False),
                                 row("bcast", "ring"), row("bcast", "native", most=8)]}
        self.assertEqual(patterns.algorithms(found, "alltoallv_skewed"), ["linear", "native, no rates"])
        self.assertEqual(patterns.algorithms(found, "bcast"), ["ring"])

    def test_every_pattern_is_carried_out_by_the_same_algorithm_unpaced(self):
        for pattern in patterns.PATTERNS:
            paced = patterns.WAYS["headway"].get(pattern, patterns.WAYS["headway"]["other"])
            unpaced = patterns.WAYS["headway_unpaced"].get(pattern, patterns.WAYS["headway_unpaced"]["other"])
            self.assertEqual("headway" in paced, "unpaced" in unpaced, pattern)

    def test_a_library_is_compared_with_itself(self):
        other = job("headway", [300]) | {"library": "mpich"}
        stock = job("stock", [300]) | {"library": "mpich"}
        self.assertEqual(self.met(job("stock", [100]), stock, other), [True, True])

    def test_the_report_has_a_line_for_each_job(self):
        said = patterns.spec(SCENE, ["ompi"], ["gather", "halo"], 3)
        lines = list(patterns.report(patterns.document(said, [
            job("stock", [100], pattern="halo"), job("run", [120], pattern="halo"),
            job("stock", [100]),
            job("headway", [80]) | {"crossing_bytes": 1_448_000, "algorithms": ["linear"]}])))
        self.assertEqual([line.split()[:3] for line in lines[2:]], [
            ["ompi", "gather", "stock"], ["ompi", "gather", "headway"],
            ["ompi", "halo", "stock"], ["ompi", "halo", "run"]])
        self.assertEqual([line.split()[-1] for line in lines[3:]], ["linear", "3", "MISSED"])
        self.assertIn(" 6.502 ", lines[3])


class ScaleTest(unittest.TestCase):
    case = scale.Case(scale.SCENES[0], 64, 1024)

    def test_ranks_fill_nodes_one_after_the_other(self):
        self.assertEqual(self.case.nodes()[7:9], ["a0", "a1"])
        self.assertEqual((len(self.case.nodes()), self.case.nodes()[-1]), (64, "b3"))

    def test_half_of_the_ranks_send_to_the_other_half_over_the_trunk(self):
        self.assertEqual(self.case.crossing_bytes(), 32 * 32 * 1024)
        self.assertAlmostEqual(self.case.bound_s(1024 * 1024), 1024 * 1024 * 1538 / 1448 * 8 / 1.25e9)

    def test_connections_are_those_among_the_ranks(self):
        def entry(here, there, inode, state="01"):
            return f"0: {here} {there} {state} 0:0 0:0 0 0 0 {inode} 1"
        table = "\n".join(["sl local_address", entry("A:1", "A:2", 11), entry("A:2", "A:1", 12),
                           entry("A:3", "A:1", 13, "08"), entry("A:4", "A:9", 14), entry("A:9", "A:4", 15)])
        sockets = scale.established(table)
        self.assertEqual(sockets, {("A:1", "A:2"): 11, ("A:2", "A:1"): 12, ("A:4", "A:9"): 14,
                                   ("A:9", "A:4"): 15})
        # 15 is the launcher's
        self.assertEqual(scale.connections(sockets, {1: {11, 14}, 2: {12}, 3: set()}), {1: 1, 2: 1, 3: 0})

    def test_memory_is_the_proportional_part(self):
        self.assertEqual(scale.pss_kib("Rss: 900 kB\nPss:   512 kB\nPss_Dirty: 3 kB\n"), 512)
        with self.assertRaises(ValueError):
            scale.pss_kib("Rss: 900 kB\n")

    def test_by_nodes_one_process_sends_all_of_a_node(self):
        self.assertEqual(scale.as_planned(self.case, scale.NODE_AWARE), (1, 64 * 1024))
        self.assertEqual(scale.as_planned(self.case, scale.LINEAR), (8, 1024))

    def test_skewed_exchanges_are_only_those_that_run(self):
        skewed = [case.ranks for case in scale.cases(256) if case.operation == scale.SKEWED]
        self.assertEqual(skewed, [64, 256, 64, 256])

    def test_a_guest_is_told_of_its_scene_s_jobs(self):
        spec = scale.guest_spec(scale.SCENES[1], ["stock", "headway"], 5, 2)
        self.assertEqual(list(spec["contenders"]), ["stock", "headway"])
        self.assertEqual(spec["scene"]["nodes"], 16)
        self.assertEqual(spec["patterns"], {"alltoall 1024": ("alltoall", 1024, 4), "alltoall 8192": ("alltoall", 8192, 4),
                                            "alltoallv_skewed 8192": ("alltoallv_skewed", 8192, 4)})

    def test_the_algorithm_is_one(self):
        def found(*names):
            return {"collectives": [{"operation": "alltoallv", "algorithm": name} for name in names]
                    + [{"operation": "bcast", "algorithm": "ring"}]}
        self.assertEqual(scale.algorithm(found("linear", "linear")), "linear")
        for names in ((), ("linear", "native")):
            with self.assertRaises(ValueError):
                scale.algorithm(found(*names))

    def test_times_are_those_of_the_way(self):
        models = [{"model": f"fluid, linear, {way}", "low_s": low, "high_s": high}
                  for way, low, high in (("unpaced", 1, 3), ("paced", 2, 2))]
        predicted = {"points": [{"models": [{"model": "bound", "low_s": 9, "high_s": 9}, *models]}]}
        self.assertEqual(scale.times_s(predicted, "stock"), (1, 3))
        self.assertEqual(scale.times_s(predicted, "headway"), (2, 2))

    def test_the_report_tells_what_did_not_run(self):
        counted = {"connections": 63, "pss_mib": 7.25, "requests": 126, "crossing_bytes": 500_000}
        ran = scale.row(self.case, "headway", scale.LINEAR, counted, None)
        not_run = scale.row(self.case, "stock", scale.NOT_KNOWN, None, (0.01, 0.3))
        job = {"pattern": "alltoall 1024", "way": "headway", "samples_ms": [8, 9, 8.5], "timeouts": 0,
               "crossing_bytes": 1024 * 1024, "drops": {"a": 1, "b": 2}}
        lines = [line.split() for line in
                 scale.report({"rows": [ran, not_run], "guest": [scale.guest_row(scale.SCENES[0], job)]})]
        self.assertEqual(lines[4][2:9], ["alltoall", "1024", "headway", "linear", "126", "63", "7.2"])
        self.assertEqual(lines[4][9:], ["0.5", f"{self.case.bound_s(500_000):.4g}", "-", "-"])
        self.assertEqual(lines[5][4:10], ["stock", "not", "known", "-", "-", "-"])
        self.assertEqual(lines[5][-1], f"{0.3 / self.case.bound_s(1024 * 1024):.2f}")
        self.assertEqual(lines[-1][3:], ["headway", "7.13", "8.50", "9.00", "1.19", "0", "3"])

    def test_the_report_of_a_guest_alone_has_no_table_of_processes(self):
        job = {"pattern": "alltoall 1024", "way": "headway", "samples_ms": [8], "timeouts": 0,
               "crossing_bytes": 1024, "drops": {}}
        lines = list(scale.report({"rows": [], "guest": [scale.guest_row(scale.SCENES[0], job)]}))
        self.assertEqual(len(lines), 3)
        self.assertIn("guest machine", lines[0])


class FeedbackVerdict(unittest.TestCase):
    def judged(self, file, without, with_it):
        """Of (time-outs, ms of each call), without feedback and with it: whether it is met."""
        jobs = [{"file": file, "way": way, "timeouts": timeouts, "samples_ms": samples, "retransmits": 0,
                 "drops": {}, "factor": 1.1 if way == "with" else None}
                for way, (timeouts, samples) in (("without", without), ("with", with_it))]
        self.found = feedback.document(feedback.spec({}, "mpich", 3), jobs)
        return self.found["jobs"][1]["met"]

    def test_where_the_file_promises_too_much_it_must_save_time_outs_and_time(self):
        for file in ("too large buffers", "too fast a trunk"):
            self.assertTrue(self.judged(file, (5, [100, 300]), (1, [120, 120])))
            self.assertFalse(self.judged(file, (5, [100, 300]), (5, [120, 120])))
            self.assertFalse(self.judged(file, (5, [100, 300]), (0, [210, 210])))

    def test_elsewhere_it_must_not_be_slower(self):
        self.assertTrue(self.judged("as it is", (3, [100]), (0, [105])))
        self.assertFalse(self.judged("as it is", (3, [100]), (0, [106])))
        self.assertFalse(self.judged("too fast a trunk", (0, [100]), (0, [106])))

    def test_the_report_has_a_line_for_each_job(self):
        self.judged("as it is", (0, [100]), (0, [106]))
        lines = list(feedback.report(self.found))
        self.assertEqual(len(lines), 4)
        self.assertTrue(lines[3].endswith("1.1  MISSED"), lines[3])
        self.assertNotIn("met", lines[2])


class DecisionsTest(unittest.TestCase):
    @staticmethod
    def events(**took):
        decision = {"event": "decision", "operation": "gather", "bytes": 1024, "paced": False, "reason": "because"}
        jobs = [{"event": "job", "operation": "gather", "bytes": 1024, "way": way, "timeouts": 0, "drops": 0,
                 "samples_ms": [took.get(way, 10.0)] * 3} for way in decisions.WAYS]
        return [{"event": "start", "what": "headway measure"}, decision, *jobs]

    def judged(self, **took):
        found = decisions.document(decisions.spec({}, 3), self.events(**took))
        self.assertEqual(len(list(decisions.report(found))), 3)
        return found["decisions"][0]

    def test_as_fast_as_the_best_is_met(self):
        made = self.judged(measured=10.1)
        self.assertTrue(made["met"])
        self.assertAlmostEqual(made["ratio"], 1.01)

    def test_slower_than_any_other_way_is_missed(self):
        made = self.judged(measured=10.0, unpaced=9.0)
        self.assertEqual((made["met"], made["best"]), (False, "unpaced"))

    def test_slower_than_the_true_file_is_missed(self):
        self.assertFalse(self.judged(measured=10.3)["met"])

    def test_what_is_incomplete_is_not_judged(self):
        self.assertEqual(decisions.document(decisions.spec({}, 3), self.events()[:-1])["decisions"], [])


class AppsTest(unittest.TestCase):
    near = apps.Network(8, 50, "ample", "linux")
    far = apps.Network(8, 10000, "shallow", "table3")

    @staticmethod
    def run_of(seconds, timeouts=0):
        return {"samples_ms": [seconds * 500, seconds * 500], "warmup_ms": [20], "timeouts": timeouts, "retransmits": 3,
                "drops": {"trka": 2, "pa0": 1}}

    def cell(self, contender="stock", setting="library", program="IS", network=None):
        return apps.Cell(network or self.near, "ompi", contender, setting, program)

    def test_every_cell_is_one_of_its_own(self):
        found = list(apps.cells([self.near, self.far], apps.LIBRARIES, apps.CONTENDERS, apps.PROGRAMS, apps.BESIDE))
        self.assertEqual(len(found), len(set(found)))
        self.assertEqual([apps.Cell.of(json.loads(json.dumps(cell.facts()))) for cell in found], found)

    def test_two_that_measure_keep_the_runs_of_both(self):
        with tempfile.TemporaryDirectory() as folder:
            one, other = (apps.Kept(Path(folder) / "bench/apps.json") for _ in range(2))
            self.assertEqual(one.load().runs, {})
            one.add(self.cell(), self.run_of(1))
            other.add(self.cell(network=self.far), self.run_of(2))
            one.add(self.cell(), self.run_of(3))
            self.assertEqual(other.load().runs, {self.cell(): [self.run_of(1), self.run_of(3)],
                                                 self.cell(network=self.far): [self.run_of(2)]})

    def test_only_what_is_missing_is_measured(self):
        results = apps.Results()
        cells = [self.cell(), self.cell(program="FT"), self.cell(network=self.far)]
        results.add(cells[0], self.run_of(1))
        spec = apps.guest_spec(self.near, cells, results, 2)
        self.assertEqual([(job["cell"]["program"], job["runs"]) for job in spec["jobs"]], [("IS", 1), ("FT", 2)])
        results.add(cells[0], self.run_of(1))
        self.assertEqual(len(apps.guest_spec(self.near, cells, results, 2)["jobs"]), 1)

    def test_a_forecast_counts_guests_rehearsals_and_what_a_run_took(self):
        results = apps.Results()
        cells = [self.cell(), self.cell(network=self.far)]
        self.assertEqual(apps.forecast_s(cells, results, 3), 2 * (apps.BOOT_S[8] + 4 * apps.RUN_S[8]))
        for _ in range(3):
            results.add(cells[0], self.run_of(1) | {"host_s": 7})
        self.assertEqual(apps.forecast_s(cells, results, 3), apps.BOOT_S[8] + 4 * 7)

    def test_the_network_is_what_it_is_called(self):
        scene = self.far.scene()
        self.assertEqual((scene.trunk_delay_us, scene.port_buffer_bytes, scene.nodes), (10000, 16384, 8))
        self.assertEqual(apps.guest_spec(self.far, [], apps.Results(), 1)["socket_bytes"], 3000000)
        self.assertIsNone(apps.guest_spec(self.near, [], apps.Results(), 1)["socket_bytes"])

    def test_rates_set_by_hand_are_parts_of_the_trunk(self):
        divisors = [apps.job(self.cell(name, "helper"), 1)["divisor"] for name in ("headway", "headway_n", "headway_2n")]
        self.assertEqual(divisors, [None, 4, 8])

    def test_of_several_settings_the_best_counts(self):
        results = apps.Results()
        results.add(self.cell(), self.run_of(4))
        for setting, seconds in (("2 at a time", 3), ("4 at a time", 2)):
            for more in (0, 1, 8):
                results.add(self.cell("throttle", setting), self.run_of(seconds + more, timeouts=1))
        (network, library, program, _, found), = apps.tables(results)
        self.assertEqual((network, library, program, list(found)), (self.near, "ompi", "IS", ["stock", "throttle"]))
        self.assertEqual((found["throttle"]["setting"], found["throttle"]["median_s"]), ("4 at a time", 3))
        self.assertEqual((found["throttle"]["timeouts"], found["throttle"]["drops"]), (3, 9))
        self.assertAlmostEqual(found["throttle"]["cv"], 0.712, places=3)
        row = list(apps.report(results))[-1]
        self.assertRegex(row, r"^IS +library's throttle +4 at a time +3 +3\.0000 +10\.0000 +0\.712 +0\.750 +0\.0200 +3 +9 +9$")

    def test_the_picture_has_a_bar_for_each_contender_beside_stock(self):
        results = apps.Results()
        results.add(self.cell("headway", "helper", network=self.far), self.run_of(1))
        for contender, setting in (("stock", "library"), ("headway", "helper"), ("fq", "as Headway")):
            results.add(self.cell(contender, setting), self.run_of(2, timeouts=contender == "fq"))
        picture = xml.dom.minidom.parseString(apps_chart.picture(results))
        self.assertEqual(len(picture.getElementsByTagName("rect")), 3)
        self.assertIn("2.00 s, 1 time-outs, 3 drops", picture.toxml())

    def test_the_picture_leaves_out_what_only_stock_has_run(self):
        results = apps.Results()
        results.add(self.cell(), self.run_of(2))
        self.assertNotIn("<rect", apps_chart.picture(results))

    def test_what_was_kept_before_there_was_company_had_none(self):
        facts = self.cell().facts()
        del facts["beside"]
        self.assertEqual(apps.Cell.of(facts), self.cell())

    def test_a_job_and_its_company_are_told_apart_from_a_job_alone(self):
        results = apps.Results()
        results.add(self.cell(), self.run_of(1))
        for beside, more in ((apps.JOB, {"beside_samples_ms": [1000, 500]}), (apps.FLOOD, {"beside_mbps": 321.4})):
            results.add(replace(self.cell(), beside=beside), self.run_of(2) | more)
            results.add(replace(self.cell("headway", "helper"), beside=beside), self.run_of(1) | more)
        text = "\n".join(apps.report(results))
        self.assertEqual([beside for _, _, _, beside, _ in apps.tables(results)], [apps.NOTHING, apps.JOB, apps.FLOOD])
        self.assertRegex(text, r"ompi, on half of the nodes, beside another such job\n.*job\nIS +stock .* 1\.5000 s\nIS +Headway .* 0\.500 .* 1\.5000 s\n")
        self.assertRegex(text, r"IS +Headway .* 0\.500 .* 321 Mbit/s$")
        self.assertEqual(apps.job(replace(self.cell(), beside=apps.FLOOD), 1)["beside"], apps.FLOOD)

    def test_only_runs_with_their_traffic_count_where_it_is_asked_for(self):
        results = apps.Results()
        results.add(self.cell(), self.run_of(1))
        self.assertEqual([len(apps.guest_spec(self.near, [self.cell()], results, 1, traffic)["jobs"]) for traffic in (False, True)],
                         [0, 1])
        results.add(self.cell(), self.run_of(1) | {"traffic": {}})
        self.assertEqual(apps.guest_spec(self.near, [self.cell()], results, 1, True)["jobs"], [])

    def test_frames_are_in_the_bin_that_they_begin_in(self):
        frames = [Frame(int(ms * 1e6), size, 0x800) for ms, size in ((99.9, 1), (100, 2), (101.9, 4), (102.0001, 8), (104, 16))]
        self.assertEqual(apps.bytes_in_bins(frames, 0.1, 0.104, 2), [6, 8])
        self.assertEqual(apps.bytes_in_bins(frames, 0.1, 0.1031, 2), [6, 8])

    def test_traffic_is_drawn_where_stock_and_headway_were_recorded(self):
        results = apps.Results()
        def traffic(count):
            return {"traffic": {"bin_ms": 1, "bytes": {way: [1000] * count for way in traffic_chart.WAYS}}}
        results.add(self.cell(), self.run_of(1) | traffic(40))
        self.assertNotIn("<path", traffic_chart.picture(results))
        results.add(self.cell("headway", "helper"), self.run_of(1) | traffic(10))
        picture = xml.dom.minidom.parseString(traffic_chart.picture(results))
        self.assertEqual(len(picture.getElementsByTagName("path")), 4)
        self.assertIn("Headway: 1.000 s, 0 time-outs, 3 drops, bins of 1 ms", picture.toxml())
        lengths = [path.getAttribute("d").count("L") for path in picture.getElementsByTagName("path")]
        self.assertEqual(lengths, [81, 81, 21, 21])

    def test_what_npb_prints(self):
        text = " Time in seconds =             {:12.2f}\n Verification    =             {}\n"
        self.assertEqual(apps.run_ms(apps.npb_result(text.format(0.6, "SUCCESSFUL"))), 600)
        with self.assertRaisesRegex(ValueError, "not verified"):
            apps.npb_result(text.format(0.6, "UNSUCCESSFUL"))

    HPCC = """Begin of MPIRandomAccess section.
Real time used = 1.5 seconds
0.000078097 Billion(10^9) Updates    per second [GUP/s]
Found 15 errors in 32768 locations (passed).
End of MPIRandomAccess section.
Begin of MPIRandomAccess_LCG section.
Real time used = 0.5 seconds
0.000234291 Billion(10^9) Updates    per second [GUP/s]
Found 0 errors in 32768 locations (passed).
End of MPIRandomAccess_LCG section.
Begin of PTRANS section.
WALL  1000  1000  32  32   2   4     0.02 PASSED    0.400  0.00
WALL  1000  1000  32  32   2   4     0.04 PASSED    0.200  0.00
WALL   100   100  32  32   2   4     0.00 PASSED    0.001  0.00
End of PTRANS section.
Begin of MPIFFT section.
Vector size:                 1024
max(|x-x0|): 9.550e-16
Gflop/s:     0.256
End of MPIFFT section.
Begin of LatencyBandwidth section.
"""

    def test_what_hpcc_writes_until_it_is_ended(self):
        found = apps.result("hpcc", self.HPCC)
        self.assertEqual([round(one, 6) for one in found["samples_ms"]], [40, 1500, 500, 0.2])
        self.assertEqual([(name, one["rate"], one["unit"]) for name, one in found["figures"].items()], [
            ("PTRANS", 0.2, "GB/s"), ("MPIRandomAccess", 0.000078097, "GUP/s"), ("MPIRandomAccess_LCG", 0.000234291, "GUP/s"),
            ("MPIFFT", 0.256, "Gflop/s")])

    def test_a_test_of_hpcc_that_fails_is_found_out(self):
        for right, wrong in (("(passed)", "(failed)"), ("PASSED    0.200", "FAILED    0.200"), ("e-16", "e-06"),
                             ("End of MPIFFT", "Begin of StarFFT"), ("Real time used = 0.5 seconds\n", "")):
            with self.subTest(wrong=wrong), self.assertRaisesRegex(ValueError, "hpcc"):
                apps.result("hpcc", self.HPCC.replace(right, wrong))

    def test_the_lines_of_hpcc_s_input_are_where_it_reads_them(self):
        lines = debian.Hpcc(448, 512, 32, (2, 4)).text().split("\n")
        self.assertEqual([lines[number - 1].split()[0] for number in (5, 6, 7, 8, 11, 12, 13, 31, 33, 34, 35)],
                         ["1", "448", "1", "32", "2", "4", "16.0", "8", "1", "512", "0"])

    LAMMPS = """   Step          Temp          TotEng
       0 3 -8.0690129
       2 2.99 {energy}
Loop time of 0.25 on 8 procs for 1 steps with 1728 atoms
Pair    | 0.00019323 | 0.00030621 | 0.0004989  |   0.0 |  0.14
Kspace  | 0.1        | 0.125      | 0.15       |   0.3 | 92.71
Comm    | 0.010534   | 0.013858   | 0.015658   |   2.4 | 11.25
"""

    def test_what_lammps_prints(self):
        found = apps.result("lammps", self.LAMMPS.format(energy=debian.SALT_ENERGY[2]))
        self.assertEqual((found["samples_ms"], found["figures"]["Kspace"]), ([250], {"seconds": 0.125}))
        with self.assertRaisesRegex(ValueError, "the energy is -8.07 instead of -8.069"):
            apps.result("lammps", self.LAMMPS.format(energy=-8.07))

    PW = """     number of electrons       =        32.00
     total energy              =     -62.43188660 Ry
     total energy              =     -62.44930487 Ry
     total energy              =     -62.45109875 Ry
!    total energy              =     -62.45121995 Ry
     The total energy is the sum of the following terms:
     electrons    :      0.02s CPU   1m 0.39s WALL (       1 calls)
     h_psi        :      0.01s CPU      0.16s WALL (      12 calls)
     h_psi:calbec :      0.00s CPU      0.05s WALL (      12 calls)
"""

    def test_what_quantum_espresso_prints(self):
        found = apps.result("pw", self.PW)
        self.assertEqual((found["samples_ms"], found["figures"]), ([60390], {"h_psi": {"seconds": 0.16}}))
        for wrong in (self.PW.replace("-62.45121995", "-62.46"), self.PW.replace("!    total", "!    Total"), ""):
            with self.assertRaisesRegex(ValueError, "pw.x: the energy is"):
                apps.result("pw", wrong)

    def test_what_programs_tell_of_their_parts_has_a_table(self):
        results = apps.Results()
        for contender, seconds in (("stock", 3), ("headway", 1)):
            for parts in (1, 3):
                figures = {"PTRANS": {"seconds": 1, "rate": parts / seconds, "unit": "GB/s"}, "Comm": {"seconds": parts * seconds}}
                results.add(self.cell(contender, program="hpcc"), self.run_of(seconds) | {"figures": figures})
        text = "\n".join(apps.report(results))
        self.assertRegex(text, r"hpcc, 4 \+ 4 nodes.*: medians\ncontender +PTRANS +Comm\nstock +0\.6667 GB/s +6 s\nHeadway +2 GB/s +2 s$")

    def test_headway_s_choice_is_that_of_the_largest_messages(self):
        def row(operation, algorithm, paced, most, where="MPI_COMM_WORLD, 11 ranks"):
            return {"operation": operation, "algorithm": algorithm, "paced": paced, "message_bytes_most": most,
                    "communicator": where}
        found = apps.choices({"collectives": [row("alltoallv", "native", False, 4), row("alltoallv", "linear", True, 4096),
                                              row("alltoallv", "native", False, 65536, "MPI_COMM_SELF, 1 ranks"),
                                              row("allreduce", "native", False, 8, "2 ranks")]})
        self.assertEqual([(choice["operation"], choice["algorithm"], choice["paced"]) for choice in found],
                         [("alltoallv", "linear", True), ("allreduce", "native", False)])


class CompanyTest(unittest.TestCase):
    """What mpirun.run asks of a job's company, with programs that pause as the kernels do."""

    PROGRAM = ["/bin/sh", "-c", """echo '{"pause":"before"}'; read answer; echo '{"pause":"after"}'; read answer
                                   echo '{"samples_ms":[3],"verified":true}'; exit """]

    def setUp(self):
        self.steps = steps = []

        class Snapshot:
            @staticmethod
            def since(_):
                return {"timeouts": 0}

        class Steps:
            def __getattr__(self, name):
                return lambda: steps.append(name) or ({"told": 1} if name == "over" else Snapshot)

        self.noted = Steps()

    def words(self, status=0):
        return [*self.PROGRAM[:2], self.PROGRAM[2] + str(status)]

    def test_counters_are_read_when_company_is_ready_and_before_it_begins(self):
        with tempfile.TemporaryFile("w") as log:
            result, = mpirun.run(self.words(), self.noted, log, None, self.noted)
        self.assertEqual(self.steps, ["before", "ready", "before", "go", "over", "after", "end"])
        self.assertEqual((result["told"], result["samples_ms"]), (1, [3]))

    def test_a_second_job_tells_its_times(self):
        with tempfile.TemporaryFile("w") as log:
            second = company.SecondJob(self.words(), None, log)
            result, = mpirun.run(self.words(), self.noted, log, None, second)
        self.assertEqual((result["beside_samples_ms"], result["beside_verified"]), ([3], True))

    def test_a_second_job_that_fails_is_told(self):
        for words in (["/bin/false"], self.words(7)):
            with self.subTest(words=words), tempfile.TemporaryFile("w") as log, self.assertRaises(mpirun.MpirunError):
                second = company.SecondJob(words, None, log)
                try:
                    mpirun.run(self.words(), self.noted, log, None, second)
                finally:
                    second.job.stdout.close()

    def test_each_half_has_nodes_of_both_clusters(self):
        class Testbed:
            nodes = ["a0", "a1", "b0", "b1"]
            pids = {"a0": 1, "a1": 2, "b0": 3, "b1": 4}

        with tempfile.TemporaryDirectory() as folder:
            first, second = company.halves(Testbed, Path(folder))
            self.assertEqual((first.nodes, first.pids, second.nodes), (["a0", "b0"], [1, 3], ["a1", "b1"]))
            state = Path(second.environment()["MPI_JOB_STATE"])
            self.assertEqual((state / "nodes").read_text(), "a1\nb1\n")
            self.assertEqual((state / "b1.pid").readlink(), Path("/tmp/headway-topology/b1.pid"))


class MapTest(unittest.TestCase):
    near = scene_map.Network(8, 50, 4096)
    deep = scene_map.Network(8, 50, 64 << 10)

    def cell(self, contender="stock", setting=None, network=None, size=4096, operation="alltoall"):
        return scene_map.Cell(network or self.near, operation, size, contender,
                              setting or scene_map.MAP_SETTINGS[contender][0])

    @staticmethod
    def run_of(*samples_ms, timeouts=0, drops=0, paced=None):
        run = {"samples_ms": list(samples_ms), "warmup_ms": [9], "timeouts": timeouts, "retransmits": 3,
               "drops": {"trka": drops, "pa0": 0}}
        if paced is not None:
            predicted = {"high_s": 0.001}
            run["plan"] = {"paced": paced, "reason": "because", "predicted_unpaced": predicted,
                           "predicted_paced": predicted if paced else None}
        return run

    def results(self, **scenes):
        """By network: ms of each contender."""
        found = scene_map.Results()
        for name, took in scenes.items():
            for contender, ms in took.items():
                found.add(self.cell(contender, network=getattr(self, name)),
                          self.run_of(ms, paced=True if contender == "headway" else None))
        return found

    def scenes(self, **scenes):
        return scene_map.all_scenes(self.results(**scenes))

    @staticmethod
    def whole_grid():
        return scene_map.cells(scene_map.PLACES, scene_map.BUFFERS_BYTES, scene_map.SIZES_BYTES, scene_map.MAP_SETTINGS)

    def test_the_grid_has_240_scenes_each_measured_once_by_each_setting(self):
        found = self.whole_grid()
        self.assertEqual(len({cell.scene for cell in found}), 240)
        self.assertEqual((len(found), len(set(found))), (240 * 8, 240 * 8))
        self.assertEqual([scene_map.Cell.of(json.loads(json.dumps(cell.facts()))) for cell in found], found)

    def test_an_interrupted_sweep_has_all_contenders(self):
        found = self.whole_grid()
        self.assertEqual({cell.contender for cell in found[:50]}, set(scene_map.MAP_SETTINGS))
        first, largest, other = found[:192 * 5], found[192 * 5:1200], found[1200:]
        self.assertEqual(len({cell.scene for cell in first}), 192)
        self.assertEqual({(cell.operation, cell.bytes) for cell in largest}, {("alltoall", 64 << 10), ("gather", 256 << 10)})
        self.assertEqual({cell.setting for cell in first}, {"library", "as Headway", "helper"})
        self.assertEqual({cell.setting for cell in other}, {"library"})

    def test_a_guest_has_the_networks_that_differ_in_their_buffers(self):
        wanted = scene_map.cells([(8, 50), (16, 50)], (4096, 16384), ("gather",), ("stock", "headway"), ["first"])
        results = scene_map.Results()
        results.add(wanted[0], self.run_of(1))
        first, second = scene_map.guests(wanted, results)
        self.assertEqual((len(first), len(second)), (15, 16))
        spec = scene_map.guest_spec(first, 5)
        self.assertEqual([network["port_buffer_bytes"] for network in spec["networks"]], [4096, 16384])
        stock, headway = spec["networks"][0]["jobs"]
        self.assertEqual((len(stock["cells"]), len(headway["cells"]), stock["helper"], headway["helper"]), (3, 4, False, True))
        self.assertEqual(stock["program"]["arguments"][-1], "gather:4096:5,gather:16384:5,gather:65536:5")

    def test_the_trunk_has_twice_the_buffer_of_a_port(self):
        scene = self.near.scene()
        self.assertEqual((scene.port_buffer_bytes, scene.trunk_buffer_bytes, scene.trunk_rate_bps), (4096, 8192, 10 ** 9))
        self.assertEqual(scene_map.Network(16, 50, 4096).scene().trunk_rate_bps, 2 * 10 ** 9)

    def test_of_large_exchanges_fewer_calls_are_sampled(self):
        large = scene_map.Network(16, 50, 4096)
        self.assertEqual(scene_map.sampled_calls(self.cell(network=large, size=64 << 10), 5), scene_map.FEWEST_CALLS)
        self.assertEqual(scene_map.sampled_calls(self.cell(network=large, size=64 << 10), 2), 2)
        self.assertEqual(scene_map.sampled_calls(self.cell(), 5), 5)

    def test_a_forecast_is_by_what_measurements_like_it_took(self):
        wanted = scene_map.cells([(8, 50)], (4096, 16384), ("gather",), ("stock",), ["first"])
        results = scene_map.Results()
        self.assertEqual(scene_map.forecast_s(wanted, results), scene_map.BOOT_S[8] + 8 * scene_map.CELL_S[8])
        for cell in wanted[:4]:
            results.add(cell, self.run_of(1) | {"host_s": 7})
        self.assertEqual(scene_map.forecast_s(wanted, results), scene_map.BOOT_S[8] + 4 * 7)
        for cell in wanted[4:]:
            results.add(cell, self.run_of(1))
        self.assertEqual(scene_map.forecast_s(wanted, results), 0)

    def test_what_is_kept_of_a_size(self):
        rows = [{"operation": "gather", "message_bytes_most": most, "algorithm": name, "paced": True, "reason": "", "calls": 6, "more": 1}
                for most, name in ((4096, "linear"), (8192, "native"))]
        result = {"operation": "gather", "bytes": 4096, "samples_ms": [1], "warmup_ms": [2], "timeouts": 0, "retransmits": 1,
                  "slowest_flow_to_mean": 1, "drops": {"a": 0, "b": 2}, "starts_s": [1]}
        run = scene_map.run_of(result, {"collectives": rows})
        self.assertEqual(run["carried_out"], [{"algorithm": "linear", "paced": True, "reason": "", "calls": 6}])
        self.assertEqual(run["drops"], {"b": 2})
        self.assertNotIn("carried_out", scene_map.run_of(result))

    def test_the_mean_counts_and_of_a_rival_the_better_setting(self):
        results = self.results(near={"stock": 10, "fq": 9, "htb": 9, "headway": 3})
        results.add(self.cell("rto_min"), self.run_of(1, 1, 1, 7))
        results.add(self.cell("rto_min", "library"), self.run_of(2, 2, 2, 2, timeouts=4, drops=5))
        one, = scene_map.all_scenes(results)
        found = one.found["rto_min"]
        self.assertEqual((found["mean_ms"], found["setting"], found["timeouts"], found["drops"]), (2, "library", 4, 5))
        self.assertTrue(one.complete)
        self.assertEqual((one.best_rival, one.to_best, one.to_stock), ("rto_min", 1.5, 0.3))

    def test_a_scene_that_lacks_a_contender_is_not_judged(self):
        results = self.results(near={"stock": 10, "headway": 3})
        self.assertFalse(scene_map.all_scenes(results)[0].complete)
        self.assertIn("0 scenes are complete, 1 in part", "\n".join(scene_map.report(results)))

    def test_a_burst_is_that_of_the_fullest_port(self):
        def burst(network, operation, size):
            return scene_map.Scene(network, operation, size, {}).burst_to_buffer

        self.assertEqual(burst(self.near, "alltoall", 4096), 8)                             # 16 messages over the trunk
        self.assertEqual(burst(self.near, "gather", 4096), 7)                               # 7 to the root
        self.assertEqual(burst(scene_map.Network(16, 50, 4096), "alltoall", 4096), 32)      # 64 over the trunk

    def test_conclusions(self):
        others = {"stock": 20, "rto_min": 12, "fq": 10, "htb": 15}
        near, deep = self.scenes(near=others | {"headway": 5}, deep=others | {"headway": 10.4, "rto_min": 9.6})
        said = scene_map.conclusions([near, deep])
        self.assertEqual((said["scenes"], said["shallow"], said["as_good"], said["faster"], said["paced"]), (2, 1, 1, 1, 2))
        self.assertEqual(said["single_rival"], "fq")
        self.assertAlmostEqual(said["to_single_rival"], (0.5 * 1.04) ** 0.5)
        self.assertAlmostEqual(said["to_single_rival_shallow"], 0.5)
        self.assertAlmostEqual(said["to_stock"], (0.25 * 0.52) ** 0.5)
        self.assertEqual((said["worst"]["headway"], said["worst"]["fq"]), (deep, near))
        self.assertEqual((said["slower"], said["lossy"]), ([deep], []))

    def test_as_good_is_up_to_three_per_cent_more(self):
        others = {"stock": 20, "rto_min": 20, "fq": 10, "htb": 20}
        near, deep = self.scenes(near=others | {"headway": 10.3}, deep=others | {"headway": 10.4})
        said = scene_map.conclusions([near, deep])
        self.assertEqual((said["as_good"], said["faster"], said["slower"]), (1, 0, [deep]))

    def test_what_headway_loses_is_told_and_the_slowest_first(self):
        others = {"stock": 20, "rto_min": 20, "fq": 10, "htb": 20}
        results = self.results(near=others, deep=others)
        results.add(self.cell("headway"), self.run_of(12, drops=2, paced=False))
        results.add(self.cell("headway", network=self.deep), self.run_of(14, timeouts=1, paced=True))
        lines = list(scene_map.report(results))
        self.assertTrue(any(line.startswith("Headway lost frames or met time-outs: 2") for line in lines))
        slower = lines[next(number for number, line in enumerate(lines) if "worst first" in line):]
        self.assertTrue(slower[0].endswith(": 2 scenes"))
        self.assertRegex(slower[1], r"^ +1\.400  4 \+ 4 nodes, 0\.05 ms one way, 64 KiB a port, alltoall of 4 KiB: 14\.000 ms "
                                    r"\(1 time-outs")
        self.assertRegex(slower[2], r"^ +1\.200 .* not paced: because$")

    def test_the_table_has_every_scene_below_its_network(self):
        lines = list(scene_map.report(self.results(near={"stock": 20, "rto_min": 20, "fq": 10, "htb": 20, "headway": 5},
                                                   deep={"stock": 20})))
        rows = [line for line in lines if line.startswith("alltoall ")]
        self.assertEqual(len(rows), 2)
        self.assertRegex(rows[0], r" 0\.250 +0\.500 fq +paced +1\.000 +1\.000$")
        self.assertEqual(sum("a port" in line and line.startswith("\n4 + 4") for line in lines), 2)

    def test_of_what_is_not_paced_no_paced_time_is_predicted(self):
        results = self.results(near={"stock": 20, "rto_min": 20, "fq": 10, "htb": 20})
        results.add(self.cell("headway"), self.run_of(20, paced=False))
        row = next(line for line in scene_map.report(results) if line.startswith("alltoall "))
        self.assertRegex(row, r" 1\.000 +2\.000 fq +unpaced +1\.000 +-$")

    def test_sizes_of_a_network_are_taken_together(self):
        results = self.results(near={"stock": 20, "rto_min": 20, "fq": 10, "htb": 20, "headway": 5})
        for contender, ms in (("stock", 20), ("rto_min", 20), ("fq", 20), ("htb", 20), ("headway", 40)):
            results.add(self.cell(contender, size=8192), self.run_of(ms, paced=False if contender == "headway" else None))
        complete = scene_map.all_scenes(results)
        self.assertEqual([(network, operation, len(found)) for network, operation, found in scene_map.groups(complete)],
                         [(self.near, "alltoall", 2)])
        self.assertRegex(list(scene_map.group_table(complete))[-1], r"alltoall +2 +0\.707 +1\.000 +2\.000 +1 +1$")

    def test_colours_are_by_the_ratio(self):
        self.assertEqual([map_chart.colour_of(ratio) for ratio in (0.05, 0.96, 0.98, 1.03, 1.04, 9)], [0, 3, 4, 4, 5, 7])

    def test_the_picture_has_a_figure_for_each_complete_scene_and_each_ratio(self):
        results = self.results(near={"stock": 20, "rto_min": 20, "fq": 10, "htb": 20, "headway": 5}, deep={"stock": 20})
        picture = xml.dom.minidom.parseString(map_chart.picture(results))
        kinds = [element.getAttribute("class") for element in picture.getElementsByTagName("rect")]
        self.assertEqual(kinds.count("missing"), 480 - 2)
        self.assertEqual(len(kinds), 480 + len(map_chart.COLOURS))
        self.assertEqual(len(picture.getElementsByTagName("circle")), 2)
        self.assertIn("Headway 5.000 ms, stock 20.000 ms, fq 10.000 ms; all at once 8.00 times", picture.toxml())


if __name__ == "__main__":
    unittest.main()
