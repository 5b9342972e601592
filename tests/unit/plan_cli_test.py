#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""`headway plan` and `headway predict` as a user runs them.

    plan_cli_test.py HEADWAY

The network: two clusters of four, links of 20 Mbit/s, trunks of 25; or four such
clusters, two below each of two switches with trunks of 30 Mbit/s.
"""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
CORPUS = ROOT / "tests/fuzz/corpus"
HEADWAY = ""
EDGE, TRUNK, UPPER, USED = 20e6, 25e6, 30e6, 0.99
WIRE_64K = 69676  # of a message of 64 KiB; see Wire.TcpSegments


def cluster(name, number, parent=None):
    lines = ["[[cluster]]", f'name = "{name}"', f'hosts = ["{name}[0-3]"]',
             f'prefixes = ["10.{number}.0.0/16"]', 'host_rate = "20mbit"', 'trunk_rate = "25mbit"']
    if parent:
        lines.append(f'parent = "{parent}"')
    return "\n".join(lines) + "\n"


def switch(name, rate=None):
    above = f'parent = "core"\nrate = "{rate}"\n' if rate else ""
    return f'[[switch]]\nname = "{name}"\n{above}'


STAR = cluster("a", 1) + cluster("b", 2)
TREE = (switch("core") + switch("left", "30mbit") + switch("right", "30mbit") +
        cluster("a", 1, "left") + cluster("b", 2, "left") +
        cluster("c", 3, "right") + cluster("d", 4, "right"))


class Cli(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.write("star.toml", STAR)
        self.write("tree.toml", TREE)

    def write(self, name, text):
        (self.folder / name).write_text(text)

    def run_headway(self, *args):
        return subprocess.run([HEADWAY, *map(str, args)], cwd=self.folder, text=True,
                              capture_output=True, check=False)

    def ask(self, *args):
        done = self.run_headway(*args, "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stderr, "")
        return json.loads(done.stdout)

    def refused(self, *args):
        """Standard error of a command line that is wrong."""
        done = self.run_headway(*args)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertEqual(done.stdout, "")
        return done.stderr

    @staticmethod
    def rates(answer, node):
        shown = next(n for n in answer["nodes"] if n["node"] == node)
        return {c["cluster"]: c["bytes_per_s"] for c in shown["classes"]}


class Plan(Cli):
    def test_a_line_is_the_same_network_as_its_file(self):
        line = "a[0-3] 20mbit | b[0-3] 20mbit : 25mbit"
        for verb in ("plan", "predict"):
            of_file = self.ask(verb, "--config", "star.toml", "--bytes", "64KiB")
            of_line = self.ask(verb, "--network", line, "--bytes", "64KiB")
            for answer in (of_file, of_line):
                answer.pop("config", None)
                answer.pop("notes", None)       # headwayd needs prefixes
            self.assertEqual(of_line, of_file)
        self.assertIn("--network: ", self.refused("plan", "--network", "a[0-3] 20mbit | b0"))
        self.assertIn("excludes", self.refused("plan", "--network", line, "--config", "star.toml"))

    def test_many_clusters_are_told_in_a_line_that_can_be_read(self):
        many = "".join(cluster(f"leaf{i:02}", i) for i in range(40))
        self.write("many.toml", many)
        done = self.run_headway("plan", "--config", "many.toml", "--node", "leaf000", "--hosts", "leaf[00-37][0-3],leaf38[0-1]")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("all-to-all of 154 hosts: 4 of each of leaf[00-37], 2 of leaf38\n", done.stdout)

    def test_tree_is_limited_by_the_upper_trunk(self):
        """8 x 8 pairs over 30 Mbit/s get less each than 4 x 12 over 25."""
        answer = self.ask("plan", "--config", "tree.toml", "--node", "a0")
        pair = UPPER * USED / 64
        self.assertEqual(answer["pair_bits_per_s"], int(pair))
        self.assertEqual(answer["limiting_link"]["cluster"], "left")
        self.assertEqual(answer["limiting_link"]["senders"], 8)
        self.assertEqual(self.rates(answer, "a0"), {c: int(4 * pair / 8) for c in "abcd"})

    def test_several_links_are_rated_by_the_fullest(self):
        """Of 16 flows of each direction 10 may be on one of four links."""
        four = ("plan", "--config", "star.toml", "--what-if", "uplinks=4", "--what-if",
                "host=1gbit", "--bytes", "64KiB")
        answer = self.ask(*four)
        self.assertEqual(answer["limiting_link"]["bits_per_s"], TRUNK * 16 // 10)
        hashed = answer["limiting_link"]["hashed"]
        self.assertEqual((hashed["links"], hashed["link_bits_per_s"], hashed["flows"], hashed["worst_fill"]),
                         (4, TRUNK, 16, 2.5))
        self.assertTrue(1.5 < hashed["expected_fill"] < 2)
        self.assertEqual(self.rates(answer, "a0")["b"], int(TRUNK * 16 / 10 * USED / 4 / 8))
        self.assertIn("4 links chosen by a hash, 16 flows", answer["notes"][0])
        # a root with eight hosts sends each of four elsewhere two messages
        gather = self.ask(*four, "--operation", "gather", "--root", "b0", "--ranks-per-host", "2")
        self.assertEqual(gather["limiting_link"]["hashed"]["flows"], 8)

    def test_gather_is_limited_by_the_roots_edge(self):
        """7 messages of one size into 20 Mbit/s: each sender a seventh of 0.99."""
        answer = self.ask("plan", "--config", "star.toml", "--operation", "gather", "--bytes",
                          "64KiB", "--root", "b2")
        self.assertEqual((answer["operation"], answer["root"]), ("gather", "b2"))
        self.assertEqual(answer["limiting_link"],
                         {"kind": "edge_in", "cluster": "b", "bits_per_s": EDGE})
        self.assertAlmostEqual(answer["predicted_unpaced"]["low_s"], 7 * WIRE_64K * 8 / EDGE)
        share = USED * EDGE / 7 / 8
        self.assertEqual([n["node"] for n in answer["nodes"]], ["b2", "a0", "b0"])
        self.assertEqual(self.rates(answer, "b2"), {"a": None, "b": None})
        self.assertAlmostEqual(self.rates(answer, "a0")["b"], share, delta=1)
        self.assertAlmostEqual(self.rates(answer, "b0")["b"], share, delta=1)

    def write_measured(self, seconds):
        """An all-to-all of 64 KiB that lost packets and took so long."""
        times = [{"bytes": size, "seconds": took, "half_width_s": 0, "rounds": 1000, "retransmissions": lost}
                 for size, took, lost in ((1024, 0.004, 0), (65536, seconds, 9))]
        document = {"format": "headway-measure", "hosts": [{"name": f"{c}{i}"} for c in "ab" for i in range(4)],
                    "messages": {"least_retransmission_timeout_s": 0.05,
                                 "all_to_all": [{"hosts": 8, "times": times}]}}
        self.write("measured.json", json.dumps(document))
        self.write("known.toml", STAR + '[network]\nmeasured = "measured.json"\n')

    def test_measurements_decide(self):
        """Paced it takes 360 ms.  Time-outs take 50 ms here."""
        for seconds, paced in ((0.37, False), (0.741, True)):
            self.write_measured(seconds)
            answer = self.ask("plan", "--config", "known.toml", "--bytes", "64KiB")
            self.assertEqual(answer["paced"], paced, answer["reason"])
            unpaced = answer["predicted_unpaced"]
            self.assertAlmostEqual(unpaced["measured"].pop("time_s"), seconds + 0.05 * 0.5 / 1001)
            self.assertAlmostEqual(unpaced["measured"].pop("usual_s"), seconds)
            self.assertAlmostEqual(unpaced["measured"].pop("timeout_part"), 0.5 / 1001)
            self.assertEqual(unpaced["measured"], {"was_lossy": True,
                                                   "source": "the all-to-alls measured on 8 hosts"})
            self.assertEqual(answer["decided_by"], "the all-to-alls measured on 8 hosts")
            self.assertIn("by the all-to-alls measured on 8 hosts", answer["reason"])
            self.assertAlmostEqual(unpaced["high_s"] - unpaced["low_s"], unpaced["timeouts"] * 0.05)
        shown = self.run_headway("plan", "--config", "known.toml", "--bytes", "64KiB").stdout
        self.assertIn("741 ms by the all-to-alls measured on 8 hosts", shown)
        self.assertRegex(shown, r"PlogPT B +\d+ ms")
        models = {model["model"]: model["low_s"] for model in answer["models"]}
        self.assertAlmostEqual(models["measured"], 0.741)
        predicted = self.ask("predict", "--config", "known.toml", "--bytes", "64KiB")["points"][0]["models"]
        self.assertEqual(models, {model["model"]: model["low_s"] for model in predicted if model["model"] != "headwayd"})
        what_if = self.ask("plan", "--config", "known.toml", "--bytes", "64KiB", "--what-if", "trunk=30mbit")
        self.assertIsNone(what_if["predicted_unpaced"]["measured"], "another network was not measured")

    def test_operations(self):
        for operation in ("allgather", "gather", "scatter", "bcast", "reduce", "allreduce",
                          "reduce_scatter", "alltoallv"):
            with self.subTest(operation):
                answer = self.ask("plan", "--config", "tree.toml", "--operation", operation,
                                  "--bytes", "64KiB")
                self.assertEqual(answer["operation"], operation)
                if answer["rates_for"] == "ring" or answer["predicted_unpaced"] is None:
                    continue  # another algorithm than the one that is predicted unpaced
                late = answer["predicted_paced"] or answer["predicted_unpaced"]
                self.assertLessEqual(late["high_s"], answer["predicted_unpaced"]["high_s"])

    def test_reasons_say_what_they_were_taken_for(self):
        """A plan for any size is one for 1 GiB, and one of a size tells of that size."""
        for operation, link, does in (("scatter", "edge of a sender", "paced          no: "),
                                      ("gather", "edge of a receiver", "paced          yes: ")):
            common = ("plan", "--config", "star.toml", "--operation", operation, "--node", "a0")
            self.assertIn(f"{does}with messages of 1 GiB, which stand for any size, the {link} in a is busy for ",
                          self.run_headway(*common).stdout)
            answer = self.ask(*common, "--bytes", "16KiB")
            busy = (answer["predicted_paced"] or answer["predicted_unpaced"])["reason"].split(";")[0]
            self.assertTrue(answer["reason"].startswith(busy), (answer["reason"], busy))

    def test_ranges_and_models_are_explained(self):
        shown = self.run_headway("plan", "--config", "star.toml", "--bytes", "64KiB").stdout
        self.assertRegex(shown, r"unpaced        357 ms \.\. 757 ms: .*\n +the range is from no time-out to 2 of 200 ms\n")
        self.assertRegex(shown, r"PlogP B +\d+ ms +as if no link were shared, and so perhaps below the bound\n")
        shown = self.run_headway("predict", "--config", "star.toml", "--bytes", "64KiB").stdout
        self.assertIn("A range is from no time-out to as many as lost packets may cost.\n", shown)
        columns = {line.index(" ms") > 0 and line.index(line[33:].split()[0], 33) for line in shown.splitlines()[1:12]}
        self.assertEqual(len(columns), 1, shown)

    def test_what_pacing_does_not_mend_has_a_next_step(self):
        """Hosts of one cluster share no trunk, but may overrun a receiver's port."""
        one = ("plan", "--network", "a[0-7] 1gbit", "--bytes", "64KiB")
        shown = self.run_headway(*one).stdout
        self.assertIn("paced          no: all hosts are in one cluster", shown)
        self.assertIn("note           all messages at once may lose packets, and nothing is paced against it: the "
                      "algorithm pairwise_ring loses none; where the MPI library does not choose it by itself, "
                      "--rules FILE writes Open MPI's rules\n", shown)
        self.assertNotIn("may lose packets", " ".join(self.ask("plan", "--network", "a[0-1] 1gbit", "--bytes", "64KiB")["notes"]))

    def test_numbers_have_no_exponents(self):
        for verb in ("plan", "predict"):
            shown = self.run_headway(verb, "--config", "star.toml", "--bytes", "1TiB").stdout
            self.assertNotRegex(shown, r"\de[+-]\d")
            self.assertRegex(shown, r"bound +1661 h ")
            self.assertNotRegex(shown, r"(\S+ h) \.\. \1")

    def test_a_broadcasts_times_are_of_the_same_data(self):
        """A ring passes on a part for each rank at a time; unpaced, the root sends all to each host."""
        answer = self.ask("plan", "--config", "star.toml", "--operation", "bcast", "--bytes", "512KiB")
        self.assertEqual(answer["rates_for"], "ring")
        self.assertIn("in parts, one for each rank, planned as 64 KiB a step", " ".join(answer["notes"]))
        step_s = answer["predicted_paced"]["low_s"] / 9.5
        self.assertAlmostEqual(step_s, WIRE_64K * 8 / EDGE, delta=0.02 * step_s)
        self.assertIn("as long as 9.5 steps around a ring of 8 hosts, each ", answer["predicted_paced"]["reason"])
        self.assertLess(answer["predicted_paced"]["high_s"], answer["predicted_unpaced"]["low_s"])
        bound = next(model["low_s"] for model in answer["models"] if model["model"] == "bound")
        self.assertAlmostEqual(bound, 8 * WIRE_64K * 8 / EDGE, delta=0.01 * bound)
        self.assertLess(bound, answer["predicted_paced"]["low_s"])
        # too little for a ring, in one step of which there would be a P-th of it
        self.assertNotEqual(self.ask("plan", "--config", "star.toml", "--operation", "bcast", "--bytes",
                                     "8KiB")["rates_for"], "ring")

    def test_many_small_blocks(self):
        """64 blocks of 1 KiB between two hosts of 8 ranks are planned as one message of 64 KiB."""
        def of(size, ranks):
            return self.ask("plan", "--config", "star.toml", "--node", "a0", "--bytes", size,
                            "--ranks-per-host", ranks)

        small, whole = of("1KiB", 8), of("64KiB", 1)
        self.assertEqual((small["rates_for"], whole["rates_for"]), ("linear", "linear"))
        self.assertIsNotNone(self.rates(small, "a0")["b"])
        self.assertEqual(self.rates(small, "a0"), self.rates(whole, "a0"))
        for key in ("predicted_paced", "predicted_unpaced"):
            self.assertEqual(small[key], whole[key])
        self.assertIn("one message of 64 KiB from each node", " ".join(small["notes"]))
        # of three ranks a host, or smaller blocks, each goes by itself
        for size, ranks in (("1KiB", 3), ("255", 8)):
            self.assertEqual(of(size, ranks)["rates_for"], None)

    def test_matrix_by_slot_and_by_node(self):
        """Ranks 0 -> 2 and 1 -> 3, two on each of a0 and b0: by slot both cross
        the trunk, 2 Mbyte over edges of 20 Mbit/s; by node none leaves its host."""
        self.write("m.csv", "0,0,1000000,0\n0,0,0,1000000\n0,0,0,0\n0,0,0,0\n")
        common = ("plan", "--config", "star.toml", "--matrix", "m.csv", "--hosts", "a0,b0",
                  "--ranks-per-host", "2")
        slot = self.ask(*common)
        self.assertGreater(slot["predicted_unpaced"]["low_s"], 2e6 * 8 / EDGE)
        self.assertLess(slot["predicted_unpaced"]["low_s"], 1.1 * 2e6 * 8 / EDGE)
        node = self.ask(*common, "--map-by", "node")
        self.assertEqual(node["predicted_unpaced"]["reason"], "nothing is sent")
        self.assertIsNone(node["limiting_link"])
        # the order of --hosts counts
        self.write("one.csv", "0,1000000\n0,0\n")
        turned = self.ask("plan", "--config", "star.toml", "--matrix", "one.csv", "--hosts",
                          "b0,a0", "--what-if", "trunk_up@b=5mbit")
        self.assertEqual(turned["limiting_link"]["kind"], "trunk_up")
        self.assertEqual(turned["limiting_link"]["cluster"], "b")
        self.assertAlmostEqual(self.rates(turned, "b0")["a"], USED * 5e6 / 8, delta=1)

    def test_matrix_formats(self):
        for files in ([CORPUS / "matrix_csv/three.csv"], [CORPUS / "matrix_json/sparse.json"],
                      sorted((CORPUS / "open_mpi_monitoring").glob("*.prof"))):
            if not files:
                continue
            done = self.run_headway("plan", "--config", "star.toml", "--json", "--matrix", *files)
            self.assertEqual(json.loads(done.stdout)["operation"], "matrix", done.stderr)

    def test_rules_name_the_best_algorithm(self):
        """At 64 KiB linear ends before pairwise as planned: 8 ranks, 524288 bytes
        from one to all; twice that and other communicators are Open MPI's own."""
        answer = self.ask("plan", "--config", "star.toml", "--bytes", "64KiB", "--rules", "r")
        self.assertEqual(answer["algorithm"], "linear")
        latest = {a["name"]: a["paced"]["high_s"] for a in answer["algorithms"]}
        self.assertEqual(min(latest, key=latest.get), "linear")
        numbers = [line.split("#")[0].split() for line in
                   (self.folder / "r").read_text().splitlines()]
        self.assertEqual(numbers, [["1"], ["3"], ["3"],
                                   ["1"], ["1"], ["0", "0", "0", "0"],
                                   ["8"], ["3"], ["0", "0", "0", "0"],
                                   ["524288", "1", "0", "0"], ["1048576", "0", "0", "0"],
                                   ["9"], ["1"], ["0", "0", "0", "0"]])

    def test_rules_for_all_sizes(self):
        self.assertEqual(self.run_headway("plan", "--config", "star.toml", "--rules",
                                          "r").returncode, 0)
        text = (self.folder / "r").read_text()
        self.assertIn("\n8192 ", text)  # 1 KiB to each of 8
        done = self.run_headway("plan", "--config", "star.toml", "--rules", "no/such/folder")
        self.assertEqual(done.returncode, 1)
        self.assertIn("cannot write no/such/folder", done.stderr)

    def test_tc_is_a_batch(self):
        done = self.run_headway("plan", "--config", "tree.toml", "--node", "d1", "--tc")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout.count("class add"), 4)
        self.assertEqual(done.stdout.count("class change"), 4)

    def test_hosts_without_prefixes_are_planned_but_not_set_up(self):
        self.write("loose.toml", switch("core") + switch("s", "10mbit") +
                   '[[hosts]]\nnames = ["x[0-3]"]\nparent = "core"\nrate = "20mbit"\n'
                   '[[hosts]]\nnames = ["y[0-3]"]\nparent = "s"\nrate = "20mbit"\n')
        answer = self.ask("plan", "--config", "loose.toml")
        self.assertEqual(answer["limiting_link"]["cluster"], "s")
        self.assertIn("needs the prefixes", answer["notes"][0])
        self.assertIn("--tc: the prefixes of", self.refused(
            "plan", "--config", "loose.toml", "--tc", "--node", "x0"))
        self.assertIn("loose.toml:7: hosts: the prefixes",
                      self.refused("check-config", "loose.toml"))

    def test_mistakes_name_the_argument(self):
        self.write("m.csv", "0,1\n1,0\n")
        self.write("bad.csv", "0,x\n1,0\n")
        plan = ("plan", "--config", "star.toml")
        for args, told in (
                (("--operation", "scan"), "--operation: there is no \"scan\"; known here: alltoall, "),
                (("--operation", "gather", "--bytes", "1", "--root", "z"), "--root: host \"z\""),
                (("--operation", "gather", "--bytes", "1", "--root", "a0", "--hosts", "b[0-3]"),
                 "--root: host \"a0\" does not take part"),
                (("--root", "a0"), "--root: alltoall has none"),
                (("--bytes", "0"), "--bytes: 0 is not within"),
                (("--bytes", "many"), "--bytes"),
                (("--matrix", "m.csv", "--bytes", "1"), "--bytes: with --matrix"),
                (("--matrix", "m.csv", "--hosts", "a0"), "--matrix: 2 ranks do not fit on 1 host"),
                (("--matrix", "m.csv", "--operation", "alltoall"), "--matrix"),
                (("--matrix", "m.txt"), "m.txt"),
                (("--matrix", "bad.csv"), "bad.csv:1: "),
                (("--matrix", "m.csv", "m.csv"), "m.csv: it is not the only file"),
                (("--matrix", "m.csv", "--rules", "r"), "--rules: "),
                (("--hosts", "q0"), "--hosts: not in the topology: \"q0\""),
                (("--node", "q0"), "--node: host \"q0\"")):
            with self.subTest(args=args):
                self.assertIn(told, self.refused(*plan, *args))


class Predict(Cli):
    def models(self, *args):
        answer = self.ask("predict", *args)
        self.assertEqual(len(answer["points"]), 1)
        point = answer["points"][0]
        return {m["model"]: m for m in point["models"]}, point["left_out"]

    def test_program_is_simulated(self):
        """One message of 64 KiB over an edge of 20 Mbit/s, nothing else."""
        self.write("p.goal", "num_ranks 2\nrank 0 {\nl1: send 65536b to 1\n}\n"
                             "rank 1 {\nl1: recv 65536b from 0\n}\n")
        models, left_out = self.models("--config", "star.toml", "--program", "p.goal")
        self.assertAlmostEqual(models["PlogPT, no time-out"]["low_s"], WIRE_64K * 8 / EDGE)
        self.assertEqual(left_out, ["others: only PlogPT knows the order of messages"])
        self.write("p.txt", "0 init\n0 send 1 0 65536\n1 init\n1 recv 0 0 65536\n")
        trace, _ = self.models("--config", "tree.toml", "--program", "p.txt")
        self.assertAlmostEqual(trace["PlogPT, no time-out"]["low_s"], WIRE_64K * 8 / EDGE)

    def test_fitted_parameters_are_used(self):
        """predict reads what fit prints: (5) of the signature."""
        samples = [[m, 10 * (2e-6 * m + (3e-3 if m >= 1000 else 0))]
                   for m in (250, 500, 750, 1000, 2000, 4000)]
        self.write("c.json", json.dumps({"n": 11, "alpha": 0, "beta": 1e-6, "samples": samples}))
        self.write("fit.json", json.dumps(self.ask("fit", "contention", "c.json")))
        models, _ = self.models("--config", "star.toml", "--parameters", "fit.json")
        self.assertAlmostEqual(models["Steffenel"]["low_s"], 7 * (2e-6 * 65536 + 3e-3), places=6)
        _, left_out = self.models("--config", "star.toml", "--operation", "gather",
                                  "--parameters", "fit.json")
        self.assertIn("Steffenel's signature: it is of all-to-alls", left_out)

    def test_measurements_of_the_configuration_are_used(self):
        self.write("measured.json", json.dumps({
            "format": "headway-measure", "hosts": [{"name": "a0"}], "messages": {},
            "models": [{"model": "contention", "n": 2, "alpha": 0, "beta": 1e-6, "gamma": 2, "delta_s": 0,
                        "M_bytes": None}]}))
        self.write("known.toml", STAR + '[network]\nmeasured = "measured.json"\n')
        models, _ = self.models("--config", "known.toml")
        self.assertAlmostEqual(models["Steffenel"]["low_s"], 7 * 2e-6 * 65536)

    def test_matrix(self):
        self.write("m.csv", "0,1000000\n0,0\n")
        models, left_out = self.models("--config", "star.toml", "--matrix", "m.csv", "--hosts",
                                       "a0,b0")
        self.assertEqual(models["bound"]["low_s"], models["fluid, unpaced"]["low_s"])
        self.assertTrue(any(text.startswith("PlogP, PlogPT: ") for text in left_out))

    def test_mistakes_name_the_argument(self):
        self.write("p.goal", "num_ranks 9\n" + "".join(f"rank {r} {{\n}}\n" for r in range(9)))
        self.write("bad.goal", "num_ranks 2\nrank 0 {\nl1: send 1b to 1\n}\nrank 1 {\n}\n")
        self.write("fit.json", "{}")
        predict = ("predict", "--config", "star.toml")
        for args, told in (
                (("--program", "p.goal"), "--program: 9 ranks do not fit on 8 hosts"),
                (("--program", "p.goal", "--bytes", "1"), "--program: --bytes, --over and --svg"),
                (("--program", "bad.goal"), "bad.goal:3: "),
                (("--program", "none.goal"), "none.goal"),
                (("--program", "p.goal", "--hosts", "a[0-2],b0"), "--program"),
                (("--parameters", "fit.json"), "fit.json: "),
                (("--over", "hosts", "--bytes", "1..8"), "--over hosts wants one size")):
            with self.subTest(args=args):
                self.assertIn(told, self.refused(*predict, *args))


class Told(Cli):
    """Nothing is assumed in silence."""

    def test_changes_of_the_network_are_told(self):
        for verb in ("plan", "predict"):
            words = [verb, "--config", "star.toml", "--bytes", "64KiB"]
            changed = [*words, "--what-if", "trunk=50mbit", "host=30mbit"]
            self.assertRegex(self.run_headway(*changed).stdout, "(?m)^what if +trunk=50mbit, host=30mbit$")
            self.assertEqual(self.ask(*changed)["what_if"], ["trunk=50mbit", "host=30mbit"])
            self.assertNotIn("what if", self.run_headway(*words).stdout)
            self.assertNotIn("what_if", self.ask(*words))

    def test_hosts_without_a_rank_of_the_matrix_are_told(self):
        self.write("two.csv", "0,5\n7,0\n")
        for words, used in ((["--map-by", "slot"], "a0 to a1; 6 of 8"), (["--ranks-per-host", "2"], "a0; 7 of 8"),
                            (["--ranks-per-host", "2", "--map-by", "node"], "a0 to a1; 6 of 8")):
            done = self.run_headway("plan", "--config", "star.toml", "--matrix", "two.csv", *words)
            self.assertEqual((done.returncode, done.stderr),
                             (0, f"headway plan: the matrix's 2 ranks run on {used} hosts are idle\n"))

    def test_an_operation_by_its_name_in_mpi(self):
        for name in ("Alltoall", "MPI_Alltoall"):
            self.assertEqual(self.ask("plan", "--config", "star.toml", "--operation", name)["operation"], "alltoall")
        self.assertEqual(self.refused("plan", "--config", "star.toml", "--operation", "alltoal"),
                         'headway plan: --operation: there is no "alltoal"; did you mean alltoall?\n')

    def test_without_a_network_it_is_told_how_to_get_one(self):
        for verb in ("plan", "predict"):
            self.assertEqual(self.refused(verb, "--config", "no.toml"),
                             f"headway {verb}: no.toml: there is no such file; name one by --config, say the network "
                             "by --network, or write one: headway measure --hosts LIST --write headway.toml\n")


class Recorded(Cli):
    def test_what_was_recorded_is_planned_and_predicted(self):
        """As its phases together are."""
        def flow(source, destination, count):
            return {"source": source, "destination": destination, "bytes": count, "messages": 1}
        phases = [{"phase": 0, "operation": "point_to_point", "flows": [flow(0, 4, 9000), flow(1, 5, 100)]},
                  {"phase": 1, "operation": "alltoall", "flows": [flow(0, 4, 1000)]}]
        hosts = [f"{name}{number}" for name in "ab" for number in range(4)]
        self.write("job.json", json.dumps({"headway_recording": 1, "ranks": 8, "hosts": hosts, "phases": phases}))
        together = [{**flow(0, 4, 10000), "messages": 2}, flow(1, 5, 100)]
        self.write("sum.json", json.dumps({"ranks": 8, "flows": together}))
        for verb in ("plan", "predict"):
            asked = [self.ask(verb, "--config", "star.toml", "--matrix", file) for file in ("job.json", "sum.json")]
            self.assertEqual(asked[0], asked[1])
        self.write("job.json", '{"headway_recording": 1}')
        self.assertIn("job.json", self.refused("plan", "--config", "star.toml", "--matrix", "job.json"))


if __name__ == "__main__":
    HEADWAY = str(pathlib.Path(sys.argv.pop(1)).resolve())
    unittest.main()
