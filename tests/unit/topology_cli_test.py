#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""`headway topology` as a user runs it; manual_test.py runs the examples.

    topology_cli_test.py HEADWAY
"""
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as ET

ROOT = pathlib.Path(__file__).resolve().parents[2]
CORPUS = ROOT / "tests/fuzz/corpus"
HEADWAY = ""


def headway(*args, cwd=None):
    return subprocess.run([HEADWAY, "topology", *map(str, args)], cwd=cwd, text=True,
                          capture_output=True, check=False)


def literal_displays(page):
    text = (ROOT / "Documentation" / page).read_text()
    return re.findall(r"^\.Bd -literal.*?\n(.*?)^\.Ed", text, re.M | re.S)


class Topology(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def test_toml_manual_examples(self):
        for number, example in enumerate(literal_displays("headway.toml.5")):
            file = self.folder / f"{number}.toml"
            file.write_text(example)
            self.assertEqual(headway("check", file).returncode, 0)

    def test_check_tells_every_mistake(self):
        bad = self.folder / "bad.conf"
        bad.write_text("SwitchName=s Nodes=n[0-\nSwitchName=t\n")
        done = headway("check", "--link-speed-unit", "mbit", bad)
        self.assertEqual(done.returncode, 2)
        self.assertIn("bad.conf:1: Nodes: ", done.stderr)
        self.assertIn("bad.conf:2: SwitchName: ", done.stderr)
        done = headway("check", "--json", "--link-speed-unit", "mbit", bad,
                       CORPUS / "slurm_topology/tree.conf")
        self.assertEqual(done.returncode, 2)
        told = json.loads(done.stdout)
        self.assertEqual({m["line"] for m in told[0]["mistakes"]}, {1, 2})
        self.assertEqual(told[1]["mistakes"], [])
        self.assertEqual((told[1]["hosts"], told[1]["switches"]), (39, 4))

    def test_slurms_files_as_they_are(self):
        """With a byte order mark, in parts, as YAML: each is the same network."""
        (self.folder / "racks.conf").write_text("SwitchName=s0 Nodes=n[01-100]\nSwitchName=s1 Nodes=m[1-3]\n")
        files = {"topology.conf": "\ufeffInclude racks.conf\nSwitchName=top Switches=s[0-1]\n",
                 "topology.yaml": "- topology: t\n  tree:\n    switches:\n      - {switch: top, children: 's[0-1]'}\n"
                                  "      - {switch: s0, nodes: 'n[01-100]'}\n      - {switch: s1, nodes: 'm[1-3]'}\n"}
        written = []
        for name, text in files.items():
            (self.folder / name).write_text(text)
            done = headway("convert", "--default-rate", "1gbit", self.folder / name)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            written.append(done.stdout)
        self.assertEqual(written[0], written[1])
        self.assertIn("n[01-99,100]", written[0])

    def test_what_is_hardly_meant_is_a_warning(self):
        """Other units, or zeros too many; whoever meant them may go on."""
        file = self.folder / "odd.toml"
        file.write_text('[policy]\ntarget_utilisation = 0.001\n' + "".join(
            f'[[cluster]]\nname = "{name}"\nhosts = ["{name}[0-3]"]\nprefixes = ["10.{i}.0.0/16"]\n'
            f'host_rate = "{rate}"\ntrunk_rate = "10mbit"\n{rest}' for i, (name, rate, rest) in enumerate((
                ("a", "1gbit", 'trunk_delay = "50s"\nhost_buffer = "1B"\n'), ("b", "1kbit", "")))))
        network = ['the link of "b0" has 1 kbit/s, less than 1 Mbit/s (and of 3 other links)',
                   'the trunk of "a" delays a packet by 50s, more than a way around the earth',
                   'the link of "a0" has a buffer of 1B, which holds no whole packet (and of 3 other links)',
                   'the link of "a0" has 1 Gbit/s, 100 times as much as the whole trunk of "a" (and of 3 other links)']
        self.assertEqual(json.loads(headway("check", "--json", file).stdout)[0]["warnings"], network)
        policy = ["policy.target_utilisation = 0.001 leaves the most part of every link unused; 0.99 is the default"]
        for verb, told in ((("topology", "check"), network), (("check-config",), network + policy)):
            done = subprocess.run([HEADWAY, *verb, str(file)], text=True, capture_output=True, check=False)
            self.assertEqual((done.returncode, done.stderr), (0, "".join(f"{file}: warning: {line}\n" for line in told)))
            self.assertIn("no mistakes", done.stdout)
        # nothing of the kind in a network of any speed
        self.assertEqual(headway("check", CORPUS / "topology_toml/tree.toml").stderr, "")

    def test_hosts_that_no_job_can_have(self):
        file = self.folder / "big.toml"
        file.write_text("".join(f'[[cluster]]\nname = "{name}"\nhosts = ["{name}[0-16383]"]\nprefixes = ["10.{i}.0.0/16"]\n'
                                'host_rate = "1gbit"\ntrunk_rate = "10gbit"\n' for i, name in enumerate("ab")))
        self.assertIn("there are 32768 hosts, and one job can be planned on 16384 of them at most",
                      headway("check", file).stderr)
        for verb in ("plan", "predict"):
            done = subprocess.run([HEADWAY, verb, "--config", str(file), "--bytes", "1KiB"], text=True,
                                  capture_output=True, check=False)
            self.assertEqual((done.returncode, done.stderr), (2, f"headway {verb}: --hosts: 32768 hosts are too many; "
                                                                 "one job can be planned on 16384 of them at most\n"))

    def test_star_is_accepted_by_headwayd(self):
        done = headway("check", "--json", CORPUS / "topology_toml/star.toml")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(json.loads(done.stdout)[0]["refused_by_headwayd"], [])

    def test_conversions_keep_the_network(self):
        """TOML to SimGrid and back; what is lost is said."""
        source = CORPUS / "topology_toml/tree.toml"
        xml, back = self.folder / "t.xml", self.folder / "t.toml"
        done = headway("convert", source, "--to", "simgrid", "--output", xml)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("buffers cannot be said in a SimGrid platform", done.stderr)
        self.assertEqual(headway("convert", xml, "--output", back).returncode, 0)

        def links(file):
            nodes = json.loads(headway("convert", file, "--json").stdout)["nodes"]
            keys = ("up_bit_per_s", "down_bit_per_s", "delay_ns")
            return {n["name"]: (n["parent"], [n["link"][k] for k in keys] if n["parent"] else [])
                    for n in nodes}
        self.assertEqual(links(source), links(back))
        self.assertEqual(len(links(source)), 23)

    def test_a_cables_delay_is_that_of_both_its_trunks(self):
        """It was written, drawn and converted as that of the first alone, in silence."""
        source = CORPUS / "topology_toml/star.toml"
        written = headway("convert", source).stdout
        self.assertEqual(written.count('trunk_delay = "10ms"'), 2)
        sentence = "east and west have one cable between them: its delay, 10ms, stands at east."
        for to in ("simgrid", "json"):
            self.assertIn("headway topology: " + sentence, headway("convert", source, "--to", to).stderr)
        self.assertIn(sentence, headway("draw", source).stdout)
        # a third cluster is beside them, and nothing of the second is lost
        third = self.folder / "three.toml"
        third.write_text(written + written.split("\n\n")[1].replace("west", "south").replace("w[", "s[")
                         .replace("10.2.", "10.3.").replace("fd00:2", "fd00:3"))
        nodes = json.loads(headway("convert", third, "--json").stdout)["nodes"]
        delays = {n["name"]: n["link"]["delay_ns"] for n in nodes if n["name"] in ("east", "west", "south")}
        self.assertEqual(delays, {"east": 10**7, "west": 10**7, "south": 10**7})

    def test_drawing_shows_what_limits(self):
        """Two clusters: both trunks limit, no host's link does."""
        source = CORPUS / "simgrid_platform/clusters.xml"
        svg = ET.fromstring(headway("draw", source).stdout)
        texts = [t.text for t in svg.iter("{http://www.w3.org/2000/svg}text")]
        classes = [p.get("class") for p in svg.iter("{http://www.w3.org/2000/svg}path")]
        network = json.loads(headway("draw", source, "--json").stdout)
        limiting = [n["name"] for n in network["nodes"]
                    if n["parent"] and n["link"]["up_limits"]]
        # 5 x 4 pairs over 10 Gbit/s leave 500 Mbit/s, 8 over 1 Gbit/s 125.
        self.assertEqual(network["alltoall_pair_bit_per_s"], 125e6)
        self.assertEqual(limiting, ["l-0.org", "l-1.org", "l-2.org", "l-3.org", "l-7.org"])
        self.assertEqual(classes.count("link limiting"), 1)
        self.assertIn("1 Gbit/s, 50us, limits", texts)
        dot = headway("draw", source, "--to", "dot").stdout
        self.assertEqual(dot.count("penwidth=3"), 1)
        self.assertTrue(dot.startswith("graph network {"))

    def test_the_name_of_the_output_decides_its_format(self):
        source = CORPUS / "topology_toml/star.toml"
        for verb, name in (("convert", "n.toml"), ("convert", "n.xml"), ("convert", "n.json"), ("draw", "n.svg"),
                           ("draw", "n.dot")):
            out, to = self.folder / name, {"xml": "simgrid"}.get(name[2:], name[2:])
            with self.subTest(name=name):
                self.assertEqual(headway(verb, source, "--output", out).returncode, 0)
                self.assertEqual(out.read_text(), headway(verb, source, "--to", to).stdout if to != "json"
                                 else headway(verb, source, "--json").stdout)
        for verb, name, known in (("draw", "n.png", "svg, dot"), ("convert", "n.txt", "toml, slurm, simgrid, json"),
                                  ("convert", "n", "toml")):
            done = headway(verb, source, "--output", self.folder / name)
            self.assertEqual((done.returncode, (self.folder / name).exists()), (2, False))
            self.assertIn(f"its name does not tell a format that can be written; say --to {known}", done.stderr)

    def test_a_dash_is_standard_output(self):
        source = CORPUS / "topology_toml/star.toml"
        for verb in ("convert", "draw"):
            self.assertEqual(headway(verb, source, "-o", "-").stdout, headway(verb, source).stdout)

    def test_a_speed_without_a_unit(self):
        done = headway("check", "--link-speed-unit", "1", CORPUS / "slurm_topology/tree.conf")
        self.assertEqual(done.returncode, 2)
        self.assertIn('--link-speed-unit: "1" has no unit', done.stderr)

    def test_refusals(self):
        self.assertEqual(headway("check", self.folder / "none.toml").returncode, 2)
        self.assertIn("--from", headway("check", "/dev/null").stderr)
        self.assertEqual(headway("convert", CORPUS / "topology_toml/tree.toml",
                                 "--to", "slurm").returncode, 1)
        self.assertEqual(headway("convert", CORPUS / "topology_toml/star.toml",
                                 "--output", self.folder / "no/such.toml").returncode, 1)
        self.assertEqual(headway("check", "--link-speed-unit", "x",
                                 CORPUS / "slurm_topology/tree.conf").returncode, 2)


if __name__ == "__main__":
    HEADWAY = str(pathlib.Path(sys.argv.pop(1)).resolve())
    unittest.main()
