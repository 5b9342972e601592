#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Tests what tests/bench/map computes and draws, without a guest."""

import json
import sys
import unittest
import xml.dom.minidom
from pathlib import Path
from types import SimpleNamespace

sys.path.insert(0, str(Path(__file__).resolve().parent))
from headway_bench import map_chart, scene_map  # noqa: E402
import map_guest  # noqa: E402


class MapTest(unittest.TestCase):
    near = scene_map.Network(8, 50, 4096)
    deep = scene_map.Network(8, 50, 64 << 10)

    def cell(self, contender="stock", setting=None, network=None, size=4096, operation="alltoall"):
        return scene_map.Cell(network or self.near, operation, size, contender,
                              setting or scene_map.ALL_SETTINGS[contender][0])

    @staticmethod
    def run_of(*samples_ms, first_ms=9, timeouts=0, drops=0, paced=None):
        run = {"samples_ms": list(samples_ms), "warmup_ms": [first_ms], "timeouts": timeouts, "retransmits": 3,
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

    def test_a_guest_can_start_its_jobs(self):
        """The map is told all of a program that jobs of tests/bench/apps are told."""
        wanted = scene_map.cells([(8, 50)], (4096,), ("gather",), ("headway",), ["first"])
        job, = json.loads(json.dumps(scene_map.guest_spec(wanted, 5)))["networks"][0]["jobs"]
        testbed = SimpleNamespace(build=Path("/build"), helper=lambda: "helper", sleep=lambda library: "sleep",
                                  mpirun_words=lambda library, ranks: ["mpi-job", library, str(ranks)])
        jobs = map_guest.Calls(testbed)
        for program, sizes in ((job["program"], "gather:1024:5,"), (jobs.rehearsed_program(job), "gather:1024:1")):
            words = jobs._command(job, program, {})
            self.assertEqual(words[:3], ["mpi-job", "ompi", "1"])
            self.assertIn("/build/bin/tests/collective_bench", words)
            self.assertTrue(words[-1].startswith(sizes), words)

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

    def test_headway_without_root_stands_beside_headway(self):
        results = self.results(near={"headway": 10}, deep={"headway": 10, "stock": 12})
        results.add(self.cell("headway_alone", network=self.near), self.run_of(12, drops=2, first_ms=27))
        results.add(self.cell("headway_alone", network=self.deep), self.run_of(10.5))
        said = [line.strip() for line in scene_map.report(results)]
        self.assertIn("Headway without root, in 2 scenes: it lost frames or met time-outs in 1 in which Headway did not", said)
        for line in ("MISSED: its median is at most 1.06 x that of Headway in 1 of 2 scenes; 90% are wanted",
                     "met: its median is at most 1.25 x that of Headway in 2 of 2 scenes; 100% are wanted",
                     "met: its worst call is at most 1.2 x that of Headway in 2 of 2 scenes; 90% are wanted",
                     "met: its median is at most 1.03 x that of stock in 1 of 1 scenes; 100% are wanted",
                     "MISSED: its first call takes at most 2 x its median and 2 ms in 1 of 2 scenes; 100% are wanted"):
            self.assertIn(line, said)
        self.assertFalse(any("2-tick" in line for line in said), said)
        self.assertTrue(said[said.index(line) + 1].startswith("1.200  4 + 4 nodes"), said)

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
