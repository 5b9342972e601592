#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The bench's own arithmetic, without a guest."""

import sys
import unittest
import xml.dom.minidom
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from headway_bench import cases, charts, decisions, feedback, patterns, phases, results, scale, tables  # noqa: E402


def count(enqueue, dequeue, frames=1000, gap=0, wait=0, interrupt=0):
    """Makes a result as the guest prints it, each frame alike."""
    def calls(each):
        return {"calls": frames if each else 0, "instructions": frames * each, "most": each}
    return {"packets": frames, "frames": frames, "gap_bytes": 0,
            "data_lines": 12, "enqueue": calls(enqueue),
            "dequeue": calls(dequeue), "gap": calls(gap), "wait": calls(wait),
            "interrupt": calls(interrupt)}


def costs(sums=None):
    """Every cost; a sum for a qdisc by key, or by (key, lanes), else one that meets the targets."""
    sums = {"gap-u32": 50, "gap-flower": 50, "gap-whole": 9, "timer-whole": 9, "bpf": 30, **(sums or {})}
    items = []
    for case in [*cases.cost_cases(), *cases.phase_cases(), *cases.class_count_cases()]:
        key = case.contender.key
        total = sums.get((key, case.load.lanes), sums.get(key, 100))
        items.append(results.cost(case, count(min(40, total), max(total - 40, 0), gap=7, wait=8, interrupt=9)))
    return items


def document():
    spacing = [results.spacing({
        "qdisc": case.qdisc, "share": case.lanes[0][1], "frame_bytes": case.lanes[0][0],
        "link_mbit": case.link_mbit, "interrupt_ns": case.interrupt_ns, "faster": case.faster,
        "stats": {"frames": 1200, "gaps": 0, "rate_error": 0, "interval_bytes": 3000,
                  "earliest_bytes": 0, "latest_bytes": 1,
                  "back_to_back_share": 0, "spacing_quantiles_bytes": [2900 + i for i in range(201)]}})
        for case in cases.spacing(with_bpf=True)]
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
                  "bpf whole": (("bpf", 1), 31), "bpf classes": (("bpf", 100), 40),
                  "gap whole": ("gap-whole", 21), "timer whole": ("timer-whole", 21),
                  "gap classes": (("gap", 10000), 201), "timer classes": (("timer", 10000), 201)}
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

    def test_kernels_without_bpf_qdiscs_have_all_else(self):
        whole = document()
        whole["costs"] = [item for item in whole["costs"] if item["qdisc"] != "bpf"]
        whole["spacing"] = [item for item in whole["spacing"] if item["qdisc"] != "bpf"]
        whole["targets"] = list(results.targets(whole["costs"]))
        self.assertNotIn("bpf,", "\n".join(tables.report(whole)))
        xml.dom.minidom.parseString(charts.picture(whole))

    def test_the_picture_is_well_formed(self):
        picture = xml.dom.minidom.parseString(charts.picture(document()))
        shown = [case for case in cases.spacing(with_bpf=True)
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

    def test_many_small_blocks_are_planned_as_one_message_between_nodes(self):
        self.assertEqual(scale.as_planned(self.case, scale.LINEAR), (1, 64 * 1024))
        self.assertEqual(scale.as_planned(self.case, scale.NATIVE), (8, 1024))

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
        """Judges (time-outs, ms of each call), without feedback and with it: whether it is met."""
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


if __name__ == "__main__":
    unittest.main()
