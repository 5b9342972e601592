#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Documentation/reproduction.md is what headway says, and its key numbers are the papers'.

HEADWAY names the program (build/bin/headway).
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
import xml.dom.minidom
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from headway_reproduce import document, plot, report  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
HEADWAY = os.environ.get("HEADWAY", ROOT / "build" / "bin" / "headway")


def files_of(folder):
    """The document and its plots, by name; those of reproduction-live.md are beside them."""
    found = [folder / "reproduction.md",
             *(path for path in sorted((folder / "reproduction").iterdir()) if not path.name.startswith("live-"))]
    return {path.name: path.read_bytes() for path in found}


class Reproduction(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.files, again = cls.written(), cls.written()
        cls.is_repeatable = cls.files == again
        cls.text = cls.files["reproduction.md"].decode()
        cls.rows = [[cell.strip() for cell in line.strip("| ").split(" | ")]
                    for line in cls.text.splitlines() if line.startswith("| ")]

    @staticmethod
    def written():
        with tempfile.TemporaryDirectory() as folder:
            report.write(HEADWAY, Path(folder))
            return files_of(Path(folder))

    def row(self, begin):
        """The cells after the first of the one row that begins so."""
        found = [row[1:] for row in self.rows if row[0].startswith(begin)]
        self.assertEqual(len(found), 1, begin)
        return found[0]

    def ours(self, begin):
        return float(self.row(begin)[1])

    def section(self, title):
        return self.text.partition(f"### {title}\n")[2].partition("\n### ")[0]

    def test_repeats_to_the_byte(self):
        self.assertTrue(self.is_repeatable)

    def test_committed_files_are_up_to_date(self):
        committed = files_of(ROOT / "Documentation")
        self.assertEqual(sorted(committed), sorted(self.files))
        for name, content in self.files.items():
            self.assertEqual(content.decode(), committed[name].decode(),
                             f"{name}: make reproduce, look at the difference, commit it")

    def test_questions_can_be_asked_as_they_are(self):
        blocks = re.findall(r"```json\n(.*?)```", self.text, re.DOTALL)
        self.assertGreaterEqual(len(blocks), 18)
        done = subprocess.run([Path(HEADWAY).with_name("headway-eval")], input="".join(blocks), text=True,
                              capture_output=True, check=False)
        answers = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual(len(answers), "".join(blocks).count("\n"))
        self.assertEqual([answer for answer in answers if "result" not in answer], [])
        self.assertIn(26.0, [answer["result"].get("makespan") for answer in answers])

    def test_plots_are_drawings_the_document_shows(self):
        plots = [name for name in self.files if name.endswith(".svg")]
        self.assertEqual(len(plots), 5)
        for name in plots:
            drawing = xml.dom.minidom.parseString(self.files[name])
            shapes = drawing.getElementsByTagName("path") + drawing.getElementsByTagName("rect")
            self.assertGreater(len(shapes), 1, name)
            self.assertIn(f"(reproduction/{name})", self.text)

    # Nomura, III-E: 24 bytes at b(2)/2 = 2; + L; + 8 at b(1) and + L.
    def test_plogpt_sample(self):
        self.assertEqual(self.ours("O[i,1].f_noRTO"), 24 / 2)
        self.assertEqual(self.ours("O[i,3].l"), 24 / 2 + 3)
        self.assertEqual(self.ours("O[3,5].l"), 24 / 2 + 3 + 8 + 3)

    # Table II: 251 us of 580.2 Mbit/s; 455 us of 576.0, to which height 4 is clamped.
    def test_plogpt_rto_steps(self):
        self.assertEqual(self.ours("N_RTO of 1 MB, P = 4"), 1)
        self.assertEqual(self.ours("N_RTO of 1 MB, P = 32"), 2)
        first, second = int(251e-6 * 580.2e6 / 8) + 1, int(455 * 576 / 8) + 1
        self.assertEqual((first, second), (18204, 32761))
        self.assertEqual(self.ours("first size with an RTO, P = 4"), first)
        self.assertEqual(self.ours("first size with an RTO, P = 32"), first)
        self.assertEqual(self.ours("first size with two, P = 32"), second)
        self.assertEqual([self.row(f"P_S({h},{h + 1})")[1] for h in range(1, 5)],
                         ["yes", "no", "no", "yes"])

    # (26) (27) at both numbers of processes, and (20).
    def test_plogpt_orders_a_and_b(self):
        for begin in ("(20)", "(26) (27)"):
            found = [row for row in self.rows if row[0].startswith(begin)]
            self.assertEqual([row[2] for row in found], ["41", "41"])
        # 64 kB, P = 4: 3 g + 3 L by (18), where g = 10 us + m / b(1)
        gap_ms = 0.01 + 64000 / (580.2e6 / 8) * 1e3
        found = [row for row in self.rows if row[0] == "64 kB"]
        self.assertAlmostEqual(float(found[0][1]), 3 * gap_ms + 3 * 0.05, 4)

    # Zhu, 5.1 and 5.2
    def test_congestion_examples(self):
        self.assertEqual(self.ours("2 in, 1 out: the outgoing link"), 470)
        self.assertEqual(self.ours("2 in, 1 out: an incoming link"), 470)
        self.assertAlmostEqual(self.ours("12 in, 1 out"), 940 * 13 / 12, 2)
        self.assertEqual(self.ours("B, links: 10; Algorithm 1"), 940)
        self.assertAlmostEqual(self.ours("B, links: 12; Algorithm 1"), 9400 / 12, 3)
        self.assertEqual(self.ours("k of a1-b1, optical"), 2)

    def test_congestion_variants(self):
        section = self.section("Random patterns")
        self.assertIn("| patterns | 354 | 360 |", section)
        for name in ("feasible", "bidirectional max-min"):   # they never over-subscribe
            self.assertIn(f"| {name} | 0 of 360 |", section)

    # Steffenel, 6.1 to 6.3
    def test_signatures(self):
        for begin, value in (("Fast Ethernet: gamma", 1.0195), ("Fast Ethernet: delta", 8.23),
                             ("Gigabit Ethernet: gamma", 4.3628), ("Gigabit Ethernet: delta", 4.93),
                             ("Myrinet: gamma", 2.49754)):
            self.assertAlmostEqual(self.ours(begin), value, 5)

    # Takano, Tables I and VI; the grid of LU is 8 x 8, of which one row of 8 borders.
    def test_matb(self):
        table, grids = self.section("Table I"), self.section("From the process grids")
        for name, mbps in (("BT", 625), ("SP", 625), ("CG", 625), ("LU", 312.5), ("MG", 312.5),
                           ("FT", 312.5), ("IS", 312.5)):
            self.assertIn(f"| {name} | {mbps:g} | {mbps:g} | none |", table)
        self.assertIn("| LU | 32 | 8 | 312.5 | 1250 | no |", grids)
        self.assertAlmostEqual(self.ours("largest B/2N / B/N"), 348.27 / 98.88, 4)
        self.assertAlmostEqual(self.ours("least B/2N / B/N"), 170.88 / 99.42, 4)
        self.assertEqual(self.ours("gap, bytes"), 1500)
        self.assertEqual(self.ours("interval, us"), 24)

    # Nothing else differs: whole bytes, and roundings of Takano's text.
    def test_differences_are_known(self):
        differing = [row[0] for row in self.rows if len(row) == 4 and row[3].endswith("%")
                     and re.match(r"[+-][0-9.e-]+ %$", row[3])]
        self.assertEqual([name.partition(",")[0] for name in differing],
                         ["first size with an RTO"] * 2 + ["first size with two",
                          "largest B/2N / B/N", "least B/2N / B/N", "gain of B/N at 10 ms",
                          "of a single cluster (429.68 Mop/s"])


class Parts(unittest.TestCase):
    def test_differences(self):
        for paper, ours, words in ((12, 12, "none"), (12, 12 * (1 + 1e-12), "none"),
                                   (200, 201, "+0.5 %"), (0, 0.5, "0.5"), (True, True, "none"),
                                   ("x", 1, "-")):
            self.assertEqual(document.difference(paper, ours), words)

    def test_axes(self):
        axis = plot.Axis(1, 1000, 0, 300, True)
        self.assertEqual(axis.ticks, [1, 10, 100, 1000])
        self.assertAlmostEqual(axis(100), 200)
        axis = plot.Axis(3, 9.5, 0, 100, False)
        self.assertEqual((axis(0), axis.ticks[-1]), (0, 10))


if __name__ == "__main__":
    unittest.main()
