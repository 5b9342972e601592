#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The table in headway-formats(5): each row is what `headway` does with an example of it.

    formats_table_test.py HEADWAY
"""
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
HEADWAY = ""
YES, NO, NONE, REFUSED = "yes", "no", "-", "refused"
OTHER, LOST = "in other words", "loss is told"

TOP = "SwitchName=top Switches=s[0-1]\n"
SLURM = {
    "plain lists": ("SwitchName=s0 Nodes=n[1-2]\nSwitchName=s1 Nodes=n[3-4]\n" + TOP, "n[1-2]"),
    "continued lines": ("SwitchName=s0 Nodes=n1,\\\nn2\nSwitchName=s1 Nodes=n[3-\\\n4]\n" + TOP,
                        "\\\n"),
    "quotes, blanks around =": ('SwitchName = "s0" Nodes = "n1, n2"\nSwitchName=s1 Nodes=m\n' + TOP,
                                '"'),
    "empty items": ("SwitchName=s0 Nodes=n[1-2],,n5,\nSwitchName=s1 Nodes=n[3-4]\n" + TOP, ",,"),
    "growing width": ("SwitchName=s0 Nodes=n[01-128]\nSwitchName=s1 Nodes=m\n" + TOP, "n[01-128]"),
    "several brackets in a name": (
        "SwitchName=s0 Nodes=r[0-1]n[1-2]\nSwitchName=s1 Nodes=m\n" + TOP, "r[0-1]n[1-2]"),
    "a suffix after brackets": (
        "SwitchName=s0 Nodes=n[1-2]-ib\nSwitchName=s1 Nodes=m\n" + TOP, "n[1-2]-ib"),
    "Include": ("Include racks.conf\n" + TOP, "Include"),
    "Level, of scontrol": ("SwitchName=s0 Level=0 LinkSpeed=1 Nodes=n1\n", "Level"),
    "LinkSpeed": ("SwitchName=s0 Nodes=n1 LinkSpeed=7\n", "LinkSpeed=7"),
    "several roots": ("SwitchName=s0 Nodes=n1\nSwitchName=s1 Nodes=n2\n", ""),
    "nodes and switches at one switch": (
        "SwitchName=s0 Nodes=n1 Switches=s1\nSwitchName=s1 Nodes=n2\n", ""),
    "topology/block": ("BlockName=b Nodes=n[1-4]\n", ""),
}
YAML_TREE = "- topology: a\n  tree:\n    switches:\n      - {switch: s, nodes: n1}\n"
YAML = {
    "a tree": YAML_TREE,
    "several trees, one the default": YAML_TREE.replace("a\n", "a\n  cluster_default: true\n", 1)
                                      + YAML_TREE.replace(": a", ": b"),
    "several trees, none the default": YAML_TREE + YAML_TREE.replace(": a", ": b"),
    "flat and block only": "- topology: a\n  flat: true\n",
}


def platform(*inside):
    return ('<?xml version="1.0"?>\n<platform version="4.1"><zone id="z" routing="Floyd">\n'
            + "\n".join(inside) + "\n</zone></platform>\n")


def cluster(more=""):
    return platform('<cluster id="c" prefix="n" suffix="" radical="0-3" speed="1Gf" bw="1Gbps" '
                    f'lat="10us" {more}/>')


def star(link, route='<route src="h{n}" dst="r"><link_ctn id="l{n}"/></route>'):
    return platform('<router id="r"/>', *(f'<host id="h{n}" speed="1Gf"/>' for n in "01"),
                    *(f'<link id="l{n}" bandwidth="1Gbps" latency="1us" {link}/>' for n in "01"),
                    *(route.format(n=n) for n in "01"))


def one_way(n):
    ends = ((f"h{n}", "r", "u"), ("r", f"h{n}", "d"))
    return "".join(f'<link id="{way}{n}" bandwidth="{1 if way == "u" else 2}Gbps" latency="1us"/>'
                   for _, _, way in ends) + "".join(
        f'<route src="{src}" dst="{dst}" symmetrical="NO"><link_ctn id="{way}{n}"/></route>'
        for src, dst, way in ends)


SPLIT = 'sharing_policy="SPLITDUPLEX"'
SIMGRID = {
    "cluster FLAT": (cluster(), "<cluster"),
    "a backbone that cannot limit": (cluster('bb_bw="16Gbps" bb_lat="5us"'), "bb_bw"),
    "a backbone that can limit": (cluster('bb_bw="2Gbps" bb_lat="5us"'), ""),
    "FAT_TREE with one way up": (cluster('topology="FAT_TREE" topo_parameters="2;2,2;1,1;1,1"'),
                                 "FAT_TREE"),
    "FAT_TREE with several ways up": (
        cluster('topology="FAT_TREE" topo_parameters="2;2,2;1,2;1,2"'), ""),
    "TORUS": (cluster('topology="TORUS" topo_parameters="2,2"'), ""),
    "DRAGONFLY": (cluster('topology="DRAGONFLY" topo_parameters="1,1;2,1;2,1;1"'), ""),
    "link SPLITDUPLEX": (star(SPLIT), "SPLITDUPLEX"),
    "routes over several links": (
        platform(*(f'<host id="h{n}" speed="1Gf"/>' for n in "012"),
                 *(f'<link id="l{n}" bandwidth="1Gbps" latency="1us" {SPLIT}/>' for n in "012"),
                 *(f'<route src="h{a}" dst="h{b}"><link_ctn id="l{a}" direction="UP"/>'
                   f'<link_ctn id="l{b}" direction="DOWN"/></route>'
                   for a, b in ("01", "02", "12"))), 'id="l1" direction="DOWN"'),
    "two SHARED links, one a direction": (
        platform('<router id="r"/><host id="h0" speed="1Gf"/><host id="h1" speed="1Gf"/>',
                 one_way(0), one_way(1)), 'symmetrical="NO"'),
    "one SHARED link for both directions": (star(""), ""),
    "link FATPIPE": (star('sharing_policy="FATPIPE"'), ""),
    "link WIFI": (star('sharing_policy="WIFI"'), ""),
    "bandwidth_file": (star(f'{SPLIT} bandwidth_file="x"'), ""),
}
MATRICES = {
    "CSV": ("m.csv", "0,1000\n2000,0\n"),
    "JSON, bytes": ("m.json", '{"bytes": [[0, 1000], [2000, 0]]}'),
    "JSON, flows": ("m.json", '{"ranks": 2, "flows": [{"source": 0, "destination": 1, '
                              '"bytes": 1000, "messages": 2}]}'),
    "sums that overflow": ("m.csv", "0,18446744073709551615\n2000,0\n"),
}
PROGRAMS = {
    "GOAL: send, recv": ("p.goal", "num_ranks 2\nrank 0 {\nl1: send 10b to 1\n}\n"
                                      "rank 1 {\nl1: recv 10b from 0\n}\n"),
    "GOAL: recv from any source": ("p.goal", "num_ranks 2\nrank 0 {\nl1: send 10b to 1\n}\n"
                                             "rank 1 {\nl1: recv 10b from any\n}\n"),
    "SimGrid trace": ("p.trace", "0 init\n1 init\n0 send 1 0 10\n1 recv 0 0 10\n"
                                 "0 finalize\n1 finalize\n"),
}
PROF = "# POINT TO POINT\nE\t0\t1\t1000 bytes\t1 msgs sent\n# OSC\n# COLLECTIVES\n"
CONFIG = """
[[cluster]]
name = "a"
hosts = ["a0"]
prefixes = ["10.1.0.0/16"]
host_rate = "1gbit"
trunk_up_rate = "1gbit"
trunk_down_rate = "2gbit"
trunk_delay = "1ms"
trunk_buffer = "64KiB"
[[cluster]]
name = "b"
hosts = ["b0"]
prefixes = ["10.2.0.0/16"]
host_rate = "1gbit"
trunk_rate = "1gbit"
uplinks = 2
"""
LOSSES = {"rates that differ by direction": "no one multiple", "delays": "delays",
          "buffers": "buffers", "prefixes": "prefixes", "parallel links": "parallel links"}


def table():
    """Returns the rows of the page: {(format, feature): (read, written)}."""
    page = (ROOT / "Documentation/headway-formats.5").read_text()
    rows = re.findall(r"^\.It (.+?) Ta (.+?) Ta (.+?) Ta (.+)$", page, re.M)
    return {(kind, feature): (read, written) for kind, feature, read, written in rows
            if not kind.startswith("Sy ")}


class Table(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "racks.conf").write_text(
            "SwitchName=s0 Nodes=n1\nSwitchName=s1 Nodes=n2\n")
        (self.folder / "headway.toml").write_text(CONFIG)

    def headway(self, *words):
        return subprocess.run([HEADWAY, *words], cwd=self.folder, text=True, capture_output=True,
                              check=False)

    def convert(self, name, to):
        return self.headway("topology", "convert", "--to", to, "--link-speed-unit", "1mbit",
                            "--default-rate", "1gbit", name)

    def is_read(self, done):
        """Says whether the file was read; if not, a line says why and what to do."""
        if done.returncode == 0:
            return YES
        self.assertRegex(done.stderr, r"(?m)^[\w.]+:(\d+:)? .+; .+$")
        return REFUSED

    def topology(self, name, text, to, mark):
        """Returns the row of an example: it may be written as it is, or in other words, which are
        the same network."""
        (self.folder / name).write_text(text)
        written = self.convert(name, to)
        if (read := self.is_read(written)) == REFUSED:
            return REFUSED, NONE
        network = self.convert(name, "json").stdout
        (self.folder / f"again{name}").write_text(written.stdout)
        self.assertEqual(self.convert(f"again{name}", "json").stdout, network, written.stdout)
        return read, YES if mark in written.stdout else OTHER

    def loss(self, feature, to):
        return NONE, LOST if LOSSES[feature] in self.convert("headway.toml", to).stderr else YES

    def traffic(self, files):
        for name, text in files.items():
            (self.folder / name).write_text(text)
        return self.is_read(self.headway("plan", "--config", "headway.toml", "--matrix", *files))

    def program(self, name, text):
        (self.folder / name).write_text(text)
        return self.is_read(self.headway("predict", "--config", "headway.toml", "--program", name))

    def test_each_row_is_what_its_example_shows(self):
        rows = {("topology.conf", feature): self.topology("t.conf", text, "slurm", mark)
                for feature, (text, mark) in SLURM.items()}
        for feature, text in YAML.items():
            (self.folder / "t.yaml").write_text(text)
            rows["topology.yaml", feature] = self.is_read(self.convert("t.yaml", "json")), NO
        rows |= {("SimGrid", feature): self.topology("t.xml", text, "simgrid", mark)
                 for feature, (text, mark) in SIMGRID.items()}
        for kind, to in (("topology.conf", "slurm"), ("SimGrid", "simgrid")):
            rows |= {(kind, feature): self.loss(feature, to) for feature in LOSSES
                     if self.loss(feature, to)[1] == LOST}
        rows |= {("matrix", feature): (self.traffic({name: text}), NO)
                 for feature, (name, text) in MATRICES.items()}
        rows["Open MPI", "monitoring, all ranks"] = self.traffic(
            {"p.0.prof": PROF, "p.1.prof": PROF.replace("0\t1", "1\t0")}), NO
        rows["Open MPI", "monitoring, a rank missing"] = self.traffic({"q.0.prof": PROF}), NO
        rules = self.headway("plan", "--config", "headway.toml", "--operation", "alltoall",
                             "--rules", "rules")
        self.assertEqual(rules.returncode, 0, rules.stderr)
        rows["Open MPI", "rules for all-to-all"] = NO, (
            YES if (self.folder / "rules").read_text() else NO)
        rows |= {("program", feature): (self.program(name, text), NO)
                 for feature, (name, text) in PROGRAMS.items()}
        self.assertEqual(table(), rows)


if __name__ == "__main__":
    HEADWAY = sys.argv.pop(1)
    unittest.main()
