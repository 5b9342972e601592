#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of what the demo measures and counts; no guest is started."""

import argparse
import copy
import json
import re
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import demo_fixture as fixture  # noqa: E402
from demo_fixture import run_of  # noqa: E402
from demo_guest import mpirun, testbed  # noqa: E402
from headway_demo import driver, guest_run, guests, options, plan, result, samples, store  # noqa: E402
from headway_demo.contender import CONTENDERS, SETTINGS, TRANSPORT  # noqa: E402
from headway_demo.progress import Forecast  # noqa: E402
from headway_demo.samples import SizeRun  # noqa: E402
from headway_demo.scene import RACK, SHALLOW, SITES, TEN, bound, floor_ms  # noqa: E402

KIB = 1024


class Bound(unittest.TestCase):
    def test_trunk_sets_it_where_the_cluster_is_oversubscribed(self):
        # 4 x 4 x 65536 bytes x 1538/1448 at 1.25 Gbit/s
        self.assertAlmostEqual(bound(RACK, 64 * KIB)[0], 7.128, places=3)
        self.assertAlmostEqual(bound(SHALLOW, 64 * KIB)[0], 14.256, places=3)
        self.assertEqual({bound(scene, 64 * KIB)[1] for scene in (RACK, SHALLOW, SITES)}, {"trunk"})

    def test_is_proportional_to_the_message(self):
        self.assertAlmostEqual(bound(RACK, 256 * KIB)[0], 16 * bound(RACK, 16 * KIB)[0])

    def test_host_link_sets_it_where_the_trunk_is_wide(self):
        from dataclasses import replace
        wide = replace(RACK, trunk_rate_bps=10**11)
        milliseconds, link = bound(wide, 64 * KIB)
        self.assertEqual(link, "host link")
        self.assertAlmostEqual(milliseconds, 7 * 65536 * 1538 / 1448 * 8 / 1e9 * 1e3)

    def test_floor_adds_acknowledgements_delay_and_a_frame_on_either_link(self):
        # 1538 bytes: 12.304 us at 1 Gbit/s, 9.8432 us at 1.25
        self.assertAlmostEqual(floor_ms(RACK, 16 * KIB), 1.03 * bound(RACK, 16 * KIB)[0]
                               + 0.1 + 0.012304 + 0.0098432)
        self.assertAlmostEqual(floor_ms(SITES, KIB) - floor_ms(SITES, 0), 1.03 * bound(SITES, KIB)[0])
        self.assertLess(floor_ms(TEN, 64 * KIB), floor_ms(RACK, 64 * KIB) / 9)


class Summary(unittest.TestCase):
    def test_median_and_worst_are_over_all_launches(self):
        summary = samples.summary([run_of([10, 50]), run_of([20, 30, 90])], bound_ms=20)
        self.assertEqual(summary["median_ms"], 30)
        self.assertEqual(summary["max_ms"], 90)
        self.assertEqual(summary["bound_ratio"], 1.5)
        self.assertEqual((summary["samples"], summary["mpiruns"]), (5, 2))
        self.assertEqual(summary["samples_ms"], [[10, 50], [20, 30, 90]])
        self.assertAlmostEqual(summary["cv"], 0.7906, places=4)     # 31.62 / 40

    def test_one_sample_does_not_vary(self):
        self.assertEqual(samples.summary([run_of([5])], bound_ms=5)["cv"], 0.0)

    def test_losses_add_up_and_trunk_is_apart_from_ports(self):
        summary = samples.summary(
            [run_of([1], timeouts=1, retransmits=5, drops={"pa0": 2, "trka": 3}),
             run_of([1], timeouts=2, retransmits=1, drops={"pa0": 1, "pb3": 4, "trkb": 5},
                    warmup_timeouts=3, warmup_drops=4)],
            bound_ms=1)
        self.assertEqual((summary["timeouts"], summary["retransmits"]), (3, 6))
        self.assertEqual((summary["port_drops"], summary["trunk_drops"]), (7, 8))
        self.assertEqual(summary["drops"], {"pa0": 3, "pb3": 4, "trka": 3, "trkb": 5})
        self.assertEqual((summary["warmup_timeouts"], summary["warmup_drops"]), (3, 4))

    def test_processor_share_is_weighted_by_time(self):
        summary = samples.summary([run_of([1]), run_of([1])], bound_ms=1)
        self.assertEqual((summary["softirq_share"], summary["busy_share"]), (0.1, 0.2))

    def test_pauses_do_not_dilute_the_processor_share(self):
        event = {"bytes": 1024, "samples_ms": [1.0] * 4, "warmup_ms": [2.0], "timeouts": 0,
                 "retransmits": 0, "drops": {}, "softirq_s": 0.01, "busy_s": 0.02, "elapsed_s": 1.3,
                 "between_ms": 300, "slowest_flow_to_mean": 1.0, "warmup": {"timeouts": 2, "drops": {"pa0": 3}}}
        run = SizeRun.from_event(event)
        self.assertAlmostEqual(run.elapsed_s, 0.1)
        self.assertEqual((run.pauses_ms, run.first_ms), (300, None))
        self.assertEqual((run.warmup_timeouts, run.warmup_drops), (2, 3))


class WhatIsMeasured(unittest.TestCase):
    def units(self, which, **wanted):
        return [unit for unit in plan.units(which)
                if all(getattr(unit, key) == value for key, value in wanted.items())]

    def test_the_demo_has_two_scenes_four_contenders_and_pauses(self):
        units = plan.units(plan.demo())
        self.assertEqual({unit.scene for unit in units}, {"rack", "shallow"})
        self.assertEqual({unit.contender for unit in units}, {"stock", "rto_min", "htb", "headway"})
        self.assertEqual({case[2] for unit in units for launch in unit.launches for case in launch.cases},
                         {300})

    def test_the_demo_has_the_contenders_that_are_named(self):
        wanted = options.parse(["--contenders", "rto_min_least,htb", "--scenes", "rack"]).plan
        self.assertEqual([unit.contender for unit in plan.units(wanted)], ["rto_min_least", "htb"])

    def test_everything_has_every_contender_at_two_sizes_and_some_at_all(self):
        for scene in ("rack", "shallow"):
            of_scene = self.units(plan.FULL, scene=scene, library="mpich", seed=1)
            self.assertEqual([unit.contender for unit in of_scene], list(CONTENDERS))
            sizes = {unit.contender: {case[0] for launch in unit.launches for case in launch.cases}
                     for unit in of_scene}
            self.assertEqual(sizes["bbr"], {16 * KIB, 64 * KIB})
            self.assertEqual(sizes["headway"], set(plan.SIZES))
        self.assertEqual({unit.contender for unit in self.units(plan.FULL, scene="sites")},
                         set(plan.EVERYWHERE))

    def test_five_launches_over_three_seeds(self):
        launches = [len([launch for launch in unit.launches if launch.cases[0][0] in plan.COMPARED])
                    for unit in self.units(plan.FULL, scene="rack", contender="bbr", library="ompi")]
        self.assertEqual(launches, [2, 2, 1])

    def test_each_setting_of_a_contender_has_as_many(self):
        unit, = self.units(plan.FULL, scene="rack", contender="throttle", library="ompi", seed=1)
        self.assertEqual([launch.setting for launch in unit.launches],
                         ["2 at a time"] * 2 + ["4 at a time"] * 2)

    def test_launches_begin_with_each_size_in_turn(self):
        first = [launch.cases[0][0] for seed in (1, 2, 3)
                 for unit in self.units(plan.FULL, scene="rack", contender="bbr", library="ompi", seed=seed)
                 for launch in unit.launches]
        self.assertEqual(first, [16 * KIB, 64 * KIB] * 2 + [16 * KIB])

    def test_every_setting_is_known_for_both_libraries(self):
        for contender in CONTENDERS.values():
            for setting in contender.settings:
                self.assertEqual(set(SETTINGS[setting]), {"ompi", "mpich"})

    def test_contenders_have_the_transport_that_the_helper_sets(self):
        source = (Path(__file__).resolve().parents[2] / "mpi-glue/library_environment.cpp").read_text()
        names = {name.removeprefix("OMPI_MCA_"): place for place, name in
                 re.findall(r'constexpr const char\* (\w+)_variable = "(\w+)";', source)}
        texts = dict(re.findall(r'constexpr const char\* (\w+) = "(\w+)";', source))
        uses = dict(re.findall(r"set_unless_given\((\w+)_variable, (\w+)\);", source))
        self.assertEqual({name: texts[uses[place]] for name, place in names.items() if place in uses},
                         {**TRANSPORT["ompi"], **TRANSPORT["mpich"]})

    def test_the_name_of_a_result_follows_what_is_measured(self):
        unit, = self.units(plan.demo(), scene="rack", contender="htb")
        other, = [one for one in plan.units(plan.Plan(plan.demo().parts, (3,)))
                  if (one.scene, one.contender) == ("rack", "htb")]
        self.assertNotEqual(unit.key(), other.key())
        again, = self.units(plan.demo(), scene="rack", contender="htb")
        self.assertEqual(unit.key(), again.key())

    def test_options_take_something_away(self):
        found = options.parse(["--full", "--scenes", "sites", "--libraries", "mpich", "--ways", "paused",
                               "--contenders", "stock,bbr", "--launches", "1"]).plan
        unit, = plan.units(found)
        self.assertEqual((unit.scene, unit.contender, unit.library, unit.seed), ("sites", "stock", "mpich", 1))
        self.assertEqual({case[2] for launch in unit.launches for case in launch.cases}, {300})

    def test_other_sizes_make_one_group(self):
        found = options.parse(["--full", "--scenes", "rack", "--contenders", "stock", "--sizes", "2048,4096",
                               "--launches", "2"]).plan
        unit, _ = plan.units(found)     # one for either library, though two parts of the plan have it
        self.assertEqual([[case[0] for case in launch.cases[::2]] for launch in unit.launches],
                         [[2048, 4096], [4096, 2048]])


class Guests(unittest.TestCase):
    def test_every_unit_is_in_one_share_and_a_share_has_one_scene_and_seed(self):
        units = plan.units(plan.FULL)
        found = guests.shares(units, 2)
        self.assertEqual(sorted(unit.key() for share in found for unit in share.units),
                         sorted(unit.key() for unit in units))
        for share in found:
            self.assertEqual(len({(unit.scene, unit.seed) for unit in share.units}), 1)

    def test_nothing_left_needs_no_guest(self):
        self.assertEqual(guests.shares([], 2), [])

    def test_a_short_demo_keeps_both_processors_busy(self):
        found = guests.shares(plan.units(plan.demo()), 2)
        self.assertGreaterEqual(len(found), 2)
        self.assertLess(found[0].seconds(), 0.7 * sum(share.seconds() for share in found))

    def test_a_guest_that_failed_is_told_by_its_own_words_not_by_its_kernels_log(self):
        with tempfile.TemporaryDirectory() as name:
            log = Path(name) / "guest.log"
            log.write_text("Traceback\nRuntimeError: no trunk\nvm-run: the script returned 1\n"
                           + "".join(f"| [    1.{i:06}] a line\n" for i in range(150)))
            self.assertEqual(guest_run.tail(log, 2), "RuntimeError: no trunk\nvm-run: the script returned 1\n")

    def test_forecast_ends_at_zero(self):
        forecast = Forecast({"one": 100.0, "two": 40.0}, jobs=2)
        self.assertEqual(forecast.seconds_to_go(), 100.0)
        forecast.done("one", 30.0)
        self.assertEqual(forecast.seconds_to_go(), 70.0)
        forecast.ended("one")
        forecast.ended("two")
        self.assertEqual(forecast.seconds_to_go(), 0.0)


class InTheGuest(unittest.TestCase):
    def test_what_is_set_by_hand_is_the_trunk_divided_by_nodes_and_the_rest_of_the_link(self):
        rates = {key: int(value) * 8 for key, value in testbed.static_rates(RACK.facts()).items()}
        self.assertEqual(rates, {"DEMO_STATIC_REMOTE_BYTES_PER_S": 312_500_000,
                                 "DEMO_STATIC_OWN_BYTES_PER_S": 687_500_000,
                                 "DEMO_STATIC_PAIR_BYTES_PER_S": 78_125_000})

    def test_every_contender_can_be_set_up_and_torn_down(self):
        scripts = "".join(path.read_text()
                          for path in (Path(__file__).parent / "contenders").glob("*.sh"))
        for contender in CONTENDERS.values():
            for what in ("up", "down"):
                self.assertIn(f"\ncontender_{contender.set_up_by}_{what}() {{", scripts)

    def test_cases_become_sizes_of_the_bench(self):
        words = mpirun.collective_bench("bench", [(1024, 3), (2048, 2, 300)], warmup=1)
        self.assertEqual(words[words.index("--sizes") + 1], "1024:3,2048:2:300")


class Kept(unittest.TestCase):
    EVENT = {"bytes": 16384, "samples_ms": [2.0, 3.0], "warmup_ms": [5.0], "timeouts": 1, "retransmits": 2,
             "drops": {"pa0": 3}, "softirq_s": 0.0, "busy_s": 0.0, "elapsed_s": 1.0, "between_ms": 300,
             "first_ms": 5.0, "slowest_flow_to_mean": 0.9, "warmup": {"timeouts": 0, "drops": {}}}

    def test_a_result_is_read_as_it_was_kept_and_forgotten_when_asked(self):
        unit = plan.units(plan.demo())[0]
        with tempfile.TemporaryDirectory() as name:
            kept = store.Store(Path(name) / "units")
            self.assertFalse(kept.has(unit))
            partial = store.Partial()
            partial.launches.append({"setting": "library", "sizes": [self.EVENT]})
            kept.keep(unit, partial.result())
            self.assertTrue(kept.has(unit))
            found = result.Collected(RACK)
            store.collect(found, unit, kept.read(unit))
            run = found.document()["messages"][0]["runs"][0]
            self.assertEqual((run["median_ms"], run["first_ms"], run["timeouts"]), (2.5, 5.0, 1))
            kept.clear()
            self.assertFalse(kept.has(unit))

    def test_results_of_another_kernel_are_others(self):
        folders = {driver.kept_results(argparse.Namespace(out=Path("demo"), kernel_release=release)).folder
                   for release in ("6.1.0-56-amd64", "7.3.4+deb13-amd64")}
        self.assertEqual(len(folders), 2)

    def test_a_kernel_that_there_is_not_is_refused_with_those_that_there_are(self):
        with self.assertRaisesRegex(SystemExit, "--kernel: .*unknown kernel '9.9'; known: stable newest 6.1"):
            driver.main(["--kernel", "9.9"])


class Document(unittest.TestCase):
    def test_holds_what_the_schema_asks_for(self):
        document = json.loads(json.dumps(fixture.document(RACK, SHALLOW, libraries=("ompi", "mpich"))))
        self.assertEqual(result.complaints(document), [])
        self.assertEqual((document["format"], document["time_constants"]), (1, "real"))
        self.assertEqual([part["nodes"] for part in document["scenes"]], [8, 16])
        self.assertEqual([part["factor"] for part in document["scenes"]], [100, 200])
        self.assertEqual([(message["bytes"], message["pauses_ms"])
                          for message in document["scenes"][0]["messages"]],
                         [(16384, 0), (16384, 300), (65536, 0), (65536, 300)])
        run = document["scenes"][1]["messages"][0]["runs"][0]
        self.assertEqual((run["name"], run["library"]), ("stock", "ompi"))
        for key in result.RUN_KEYS:
            self.assertIn(key, run)

    def test_the_setting_with_the_lower_median_counts_and_others_are_told(self):
        found = fixture.collected(RACK, names=("throttle",), ways=(0,))
        before = found.document()["messages"][0]["runs"][0]
        found.add("throttle", "ompi", "4 at a time", run_of([99999.0], 16 * KIB, timeouts=7))
        after = found.document()["messages"][0]["runs"][0]
        self.assertEqual((after["transport"], after["max_ms"]), ("2 at a time", before["max_ms"]))
        self.assertEqual(after["other_transports_median_ms"], {"4 at a time": 99999.0})
        found.add("throttle", "ompi", "4 at a time", run_of([0.1] * 5, 16 * KIB))
        self.assertEqual(found.document()["messages"][0]["runs"][0]["transport"], "4 at a time")

    def test_first_calls_count_for_both_ways_of_their_own_size_only(self):
        found = result.Collected(RACK)
        found.add("headway", "ompi", "helper", run_of([2.0], 16 * KIB, first_ms=7.0))
        found.add("headway", "ompi", "helper", run_of([2.0], 16 * KIB, first_ms=9.0))
        found.add("headway", "ompi", "helper", run_of([2.0], 16 * KIB, pauses_ms=300))
        found.add("headway", "ompi", "helper", run_of([2.0], 64 * KIB))
        self.assertEqual([(message["bytes"], message["pauses_ms"], message["runs"][0]["first_ms"])
                          for message in found.document()["messages"]],
                         [(16384, 0, 9.0), (16384, 300, 9.0), (65536, 0, None)])

    def test_complaints_name_the_place(self):
        good = fixture.document(RACK)

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
        self.assertEqual(broken(lambda d: at(d).pop("first_ms")),
                         [f"{where}.first_ms: missing or of a wrong type"])
        self.assertEqual(broken(lambda d: at(d).update(name="cubic")),
                         [f"{where}.name: unknown contender 'cubic'"])
        self.assertEqual(broken(lambda d: at(d).update(library="lam")),
                         [f"{where}.library: unknown MPI library 'lam'"])
        self.assertEqual(broken(lambda d: at(d).update(max_ms=0.5)), [f"{where}: max_ms below median_ms"])
        self.assertEqual(broken(lambda d: at(d).update(port_drops=-1)), [f"{where}.port_drops: negative"])
        self.assertEqual(broken(lambda d: at(d).update(samples=True)),
                         [f"{where}.samples: missing or of a wrong type"])
        self.assertEqual(broken(lambda d: at(d, run[:4]).pop("floor_ms")),
                         ["scenes[0].messages[1].floor_ms: missing or of a wrong type"])
        self.assertEqual(broken(lambda d: d.pop("scenes")), ["scenes: a list is missing"])
        self.assertEqual(broken(lambda d: d.update(scenes=[])), ["scenes: empty"])


if __name__ == "__main__":
    unittest.main()
