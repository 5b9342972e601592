#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Every file of examples/ is right, and what it says of its plan is what the plan is.

    examples_cli_test.py HEADWAY

Rates are worked out here from the links' rates, not by the planner.
"""
import json
import math
import pathlib
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"
HEADWAY = ""
USED = 0.99
GBIT = 1e9


def fullest_of_two(flows, draws):
    """How many of the flows the fuller one of two links has, but in one of a hundred cases."""
    more, q = 0, flows
    allowed = 2 ** flows // (100 * 2 * draws)
    while more + math.comb(flows, q) <= allowed:
        more += math.comb(flows, q)
        q -= 1
    return q


class Example:
    """Bits per second that a node may send towards another cluster."""

    def __init__(self, said, node, towards, bits_per_s, *options):
        self.said, self.node, self.towards, self.bits_per_s, self.options = said, node, towards, bits_per_s, options


# 4 leaves have a trunk in each direction, so that there are 8 draws; 16 hosts of a leaf have a connection to 48 others.
LEAF_FLOWS = 16 * 48
LEAF_FULLEST = fullest_of_two(LEAF_FLOWS, 8)
LEAF_PAIR = USED * 100 * GBIT / LEAF_FULLEST
WIRE_64K = 69676    # of a message of 64 KiB: the frames of 45 full segments and a short one

EXAMPLES_KNOWN = {
    "two-racks.toml": [
        Example("0.99 x 40 / 16 = 2.475 Gbit/s", "n01", "rack2", USED * 40 * GBIT / 16)],
    "leaf-spine.toml": [
        Example("3.692 Gbit/s to each other leaf", "a01", "leaf2", 16 * LEAF_PAIR)],
    "two-sites.toml": [
        Example("0.99 x 10 / 32 = 309.375 Mbit/s", "e001", "west", USED * 10 * GBIT / 32)],
    "three-tiers.toml": [
        Example("154.6875 Mbit/s each", "r11n1", "rack21", 8 * USED * 40 * GBIT / (16 * 16)),
        Example("618.75 Mbit/s each", "r11n1", "rack12", 8 * USED * 40 * GBIT / (8 * 8), "--hosts", "r11n[1-8],r12n[1-8]")],
    "two-cards.toml": [
        Example("12.375 Gbit/s for each host", "n1", "rack2", USED * 100 * GBIT / 8)],
    "cloud.toml": [
        Example("All-to-alls are not paced", "vm02", "cloud", None),
        Example("0.99 x 5 / 11 =\n# 450 Mbit/s", "vm02", "cloud", USED * 5 * GBIT / 11, "--operation", "gather")],
    "one-switch.toml": [
        Example("all-to-alls are not paced", "n02", "switch", None),
        Example("0.99 x 1 / 15 = 66 Mbit/s", "n02", "switch", USED * GBIT / 15, "--operation", "gather")],
}


# Of an all-to-all of all hosts: messages of 64 KiB through the fullest link, and what it carries.
FULLEST_LINK = {
    "two-racks.toml": (16 * 16, 40 * GBIT),
    "two-sites.toml": (32 * 32, 10 * GBIT),
    "three-tiers.toml": (16 * 16, 40 * GBIT),
    "two-cards.toml": (8 * 8, 100 * GBIT),
    "cloud.toml": (11, 5 * GBIT),
    "one-switch.toml": (15, 1 * GBIT),
}


class Examples(unittest.TestCase):
    def headway(self, *arguments):
        """What is printed; nothing may be said on standard error."""
        done = subprocess.run([HEADWAY, *arguments], cwd=EXAMPLES, text=True, capture_output=True, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def test_the_folder_has_what_is_known_here(self):
        self.assertEqual({path.name for path in EXAMPLES.iterdir()}, set(EXAMPLES_KNOWN))

    def test_there_is_no_mistake_and_no_warning(self):
        for name in EXAMPLES_KNOWN:
            with self.subTest(name):
                said = self.headway("check-config", name)
                self.assertRegex(said, rf"\A{name}: no mistakes: .*\n\Z")

    def test_plans_are_what_the_links_give(self):
        for name, examples in EXAMPLES_KNOWN.items():
            for example in examples:
                with self.subTest(name, said=example.said):
                    plan = json.loads(self.headway("plan", "--config", name, "--node", example.node, "--json", *example.options))
                    node, = plan["nodes"]
                    rate, = (each["bytes_per_s"] for each in node["classes"] if each["cluster"] == example.towards)
                    if example.bits_per_s is None:
                        self.assertIsNone(rate)
                    else:
                        self.assertAlmostEqual(rate * 8 / example.bits_per_s, 1, delta=1e-6)

    def test_they_say_so(self):
        for name, examples in EXAMPLES_KNOWN.items():
            for example in examples:
                self.assertIn(example.said, (EXAMPLES / name).read_text())

    def predicted(self, name):
        said = json.loads(self.headway("predict", "--config", name, "--bytes", "64KiB", "--json"))
        point, = said["points"]
        return {model["model"]: model for model in point["models"]}

    def test_the_least_time_is_what_the_fullest_link_needs(self):
        for name, (messages, bits_per_s) in FULLEST_LINK.items():
            with self.subTest(name):
                least_s = messages * WIRE_64K * 8 / bits_per_s
                self.assertAlmostEqual(self.predicted(name)["bound"]["low_s"] / least_s, 1, delta=0.001)

    def test_of_two_uplinks_the_fuller_one_counts(self):
        least_s = LEAF_FLOWS * WIRE_64K * 8 / (200 * GBIT)
        bound = self.predicted("leaf-spine.toml")["bound"]["low_s"] / least_s
        self.assertAlmostEqual(bound, 2 * LEAF_FULLEST / LEAF_FLOWS, delta=0.001)

    def test_where_all_to_alls_are_paced_nobody_waits_for_a_time_out(self):
        for name, examples in EXAMPLES_KNOWN.items():
            with self.subTest(name):
                models = self.predicted(name)
                if examples[0].bits_per_s is None:
                    self.assertNotIn("fluid, linear, paced", models)
                    continue
                self.assertGreater(models["fluid, linear, unpaced"]["high_s"], 0.2)
                self.assertLess(models["headwayd"]["high_s"], 0.2)

    def test_they_are_short(self):
        for name in EXAMPLES_KNOWN:
            lines = (EXAMPLES / name).read_text().splitlines()
            self.assertLessEqual(len(lines), 70)
            self.assertLessEqual(max(map(len, lines)), 100)

    def test_the_card_for_mpi_is_another_one(self):
        plan = json.loads(self.headway("plan", "--config", "two-cards.toml", "--node", "n1", "--json"))
        self.assertEqual(plan["nodes"][0]["interface"], "eth1")


if __name__ == "__main__":
    HEADWAY = str(pathlib.Path(sys.argv.pop(1)).resolve())
    unittest.main()
