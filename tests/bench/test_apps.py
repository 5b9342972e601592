#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Tests what tests/bench/apps computes and draws, without a guest."""

import json
import sys
import tempfile
import unittest
import xml.dom.minidom
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from headway_bench import apps, apps_chart, debian, traffic_chart  # noqa: E402
from demo_guest import mpirun  # noqa: E402, and of this one, too
import company  # noqa: E402
from wire_records import Frame  # noqa: E402, headway_demo knows where it is


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
        self.assertEqual(apps.guest_spec(self.far, [], apps.Results(), 1)["sysctls"]["net.ipv4.tcp_wmem"], "3000000 3000000 3000000")
        self.assertEqual(apps.guest_spec(self.near, [], apps.Results(), 1)["sysctls"], {})

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
    """Stands for mpirun.run, which asks a job's company this, with programs that pause as the
    kernels do."""

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


if __name__ == "__main__":
    unittest.main()
