#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Tests what is computed for Documentation/reproduction-live.md, from measurements that are made
up; no guest runs.

HEADWAY names the program (build/bin/headway).
"""

import argparse
import contextlib
import importlib.machinery
import importlib.util
import io
import json
import os
import re
import sys
import tempfile
import unittest
import unittest.mock
import xml.dom.minidom
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from headway_live import alltoalls, calls, kept, links, manytoone, page, signature, steady  # noqa: E402
from headway_reproduce.eval import Ask  # noqa: E402



def program(path):
    """As a module, though its name has no ending."""
    loader = importlib.machinery.SourceFileLoader(path.name, str(path))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(path.name, loader))
    loader.exec_module(module)
    return module


live = program(Path(__file__).resolve().parent / "live")
ROOT = Path(__file__).resolve().parents[2]
ASK = Ask(os.environ.get("HEADWAY", ROOT / "build" / "bin" / "headway"))
KIB = 1024
HOST = {"C": 1e-6, "t": 2e-11}
RATE = 1.2e8                # bytes/s of a path
RANDOM = 18                 # patterns that were measured before the time was over
PORT_BYTES, TRUNK_BYTES = 34000, 67500


def measured_document():
    """As `headway measure` writes it, of two clusters; nothing but what is read."""
    def link(is_trunk, direction, bps, buffer_bytes):
        return {"is_trunk": is_trunk, "direction": direction, "bps": bps, "buffer_bytes": buffer_bytes}

    def pair(source, destination, latency_s):
        return {"from": source, "to": destination, "L_s": latency_s, "gap": [[0, 0], [1000, 10e-6], [9000, 80e-6]]}

    ports = [link(False, direction, 1e9, PORT_BYTES if direction == "down" else None) for _ in range(8) for direction in ("up", "down")]
    return {"links": ports + [link(True, direction, 1.25e9, TRUNK_BYTES) for direction in ("up", "down")],
            "messages": {"pairs": [pair("a0", "a1", 2e-6), pair("b0", "b1", 4e-6), pair("b0", "a0", 103e-6)],
                         "hosts": [HOST] * 8, "least_retransmission_timeout_s": 0.204},
            "models": [{"model": "contention"},
                       {"model": "manytoone", "sources": [HOST] * 7, "rates": [RATE] * 7, "M1_bytes": 4096, "M2_bytes": 65536,
                        "C_s": 0.2, "delta1": 2, "delta2": 3}]}


def result(job, size, samples, drops=0):
    return {"event": "result", "job": job, "bytes": size, "samples_ms": samples, "timeouts": len(calls.timed_out(samples)),
            "loss_probes": 7, "retransmits": 8, "drops": drops}


def gathers():
    """Linear up to 8 KiB, escalated at 12 KiB to 48 KiB, linear above."""
    for size in manytoone.SIZES:
        linear = 0.1 + 7 * size / RATE * 1e3
        yield result("gather", size, [linear, linear, linear + (204 if 12 * KIB <= size <= 48 * KIB else 0)])
        yield result("scatter", size, [linear, linear])


def exchanges():
    """Exactly of a signature: gamma 3 above alpha and beta of a straight line."""
    for size in signature.SIZES:
        yield result("one-way", size, [0.01 + size * 1e-5] * 3)
        for hosts in (signature.FITTED, *signature.OTHERS):
            yield result(f"all-to-all-{hosts}", size, [(hosts - 1) * (0.01 + 3 * size * 1e-5)] * 3)


def papers_alltoalls():
    for size in alltoalls.SIZES:
        for processes in alltoalls.PROCESSES:
            yield result(f"A-{processes}", size, [1.0, 2.0])
            yield result(f"B-{processes}", size, [1.0, 205.0 if size >= 24 * KIB else 2.0])


def links_events(spec):
    """Every link gets exactly what Algorithm 1 says, but for the first one of each pattern, which gets half."""
    for job in spec["jobs"]:
        answers = links.predictions(ASK, measured_document(), job["patterns"][:RANDOM])
        for number, (pattern, predicted) in enumerate(zip(job["patterns"], answers)):
            mbps = predicted["Algorithm 1"]
            yield {"event": "result", "job": job["name"], "pattern": number, "links": pattern, "mbps": [mbps[0] / 2, *mbps[1:]], "timeouts": 0, "drops": 1,
                   "longest_gap_ms": [3] * len(pattern)}


def all_events(repetitions=2):
    """Returns the results of all experiments, and their specs."""
    document = {"event": "measured", "document": measured_document()}
    specs = {name: module.spec(repetitions) for name, module in page.EXPERIMENTS.items()}
    events = {"network": [document], "many-to-one": [document, *gathers()], "signature": exchanges(), "all-to-alls": papers_alltoalls(),
              "links": links_events(specs["links"]), "steady": links_events(specs["steady"])}
    return {name: (specs[name], list(its)) for name, its in events.items()}


def all_results():
    """As if all had been measured but most of the random patterns."""
    results = kept.Results()
    for name, (spec, events) in all_events().items():
        for event in events:
            results.add((name, spec, False), event)
    return kept.Results(json.loads(json.dumps(results.document())))


class Calls(unittest.TestCase):
    def test_levels_are_groups(self):
        self.assertEqual(calls.levels([210, 8.2, 204, 8, 214, 50]), [(8, 8.2, 2), (50, 50, 1), (204, 214, 3)])
        self.assertEqual(calls.levels([]), [])

    def test_excesses_are_over_the_shortest_of_the_size(self):
        self.assertEqual(calls.excesses([20, 20.1, 23.9, 24, 228]), [4, 208])
        self.assertEqual(calls.timed_out([20, 149, 150, 228]), [150, 228])

    def test_histogram_counts_everything_once(self):
        self.assertEqual(calls.histogram([0, 9.9, 10, 35], 10), [2, 1, 0, 1])

    def test_straight_line(self):
        start, slope = calls.straight_line([(0, 1), (1, 3), (2, 5)])
        self.assertAlmostEqual(start, 1)
        self.assertAlmostEqual(slope, 2)
        self.assertAlmostEqual(calls.straight_line([(0, 0), (1, 3), (2, 0)])[1], 0)

    def test_errors(self):
        self.assertAlmostEqual(calls.error_pct(3, 2), 50)
        self.assertEqual([calls.signed(value) for value in (-0.4, 0.4, 12.6, -3)], ["0", "0", "+13", "-3"])
        self.assertEqual(calls.within([-10, 10, 11, -12], 10), 0.5)

    def test_summary(self):
        found = calls.summary(result("gather", 8, [1, 2, 204], drops=3))
        self.assertEqual([found[name] for name in ("calls", "median", "mean", "most", "escalated", "timed_out", "drops", "probes")],
                         [3, 2, 69, 204, 1, 1, 3, 7])


class ManyToOne(unittest.TestCase):
    def test_region_is_that_of_single_calls(self):
        sums = [calls.summary(one) for one in gathers() if one["job"] == "gather"]
        self.assertEqual(manytoone.region(sums), (8 * KIB, 12 * KIB, 48 * KIB, 60 * KIB))
        self.assertIsNone(manytoone.region(sums[:5]))

    def test_a_size_of_which_every_gather_waits_is_seen(self):
        """By the scatters of the same size, not by the shortest gather."""
        events = [result("gather", 512, [12, 12]), result("scatter", 512, [0.5, 0.7]), result("gather", 1024, [1, 6]),
                  result("scatter", 1024, [1, 1])]
        found = kept.Found(manytoone.spec(2), events)
        self.assertEqual(manytoone.unhindered(found), {512: 0.6, 1024: 1})
        self.assertEqual(manytoone.all_waits(found), [11.4, 11.4, 5])
        self.assertEqual(calls.summary(events[0], 0.6)["escalated"], 2)

    def test_fit_is_of_means(self):
        """One call of three is escalated, so that medians know of none."""
        sums = [calls.summary(one) for one in gathers() if one["job"] == "gather"]
        fit = manytoone.fitted(ASK, manytoone.measured_model(measured_document()), sums)
        self.assertEqual((fit["M1_bytes"], fit["M2_bytes"]), (8 * KIB, 48 * KIB))
        self.assertAlmostEqual(fit["C_s"], 0.070, 2)

    def test_predictions_by_the_model(self):
        model = manytoone.measured_model(measured_document())
        found = manytoone.predictions(ASK, model, [1024, 8192])
        bracket = 7 * (HOST["C"] + HOST["t"] * 1024) + 1024 / RATE
        self.assertAlmostEqual(found[1024][1], bracket * 1e3)
        self.assertAlmostEqual(found[1024][0], 2 * bracket * 1e3)
        self.assertEqual(found[8192][0], 200)

    def test_scatter_waits_for_receivers_above_the_eager_limit(self):
        found = manytoone.scatter_predictions(ASK, measured_document(), [65536, 65537])
        self.assertGreater(found[65537], 3 * found[65536])


class Signature(unittest.TestCase):
    def test_recovers_what_it_was_made_of(self):
        found = all_results().found("signature")
        alpha, beta = signature.one_way(found)
        self.assertAlmostEqual(alpha, 1e-5)
        self.assertAlmostEqual(beta, 1e-8)
        fit = signature.signature_of(ASK, found, signature.FITTED)
        self.assertAlmostEqual(fit["gamma"], 3, 3)
        for hosts in signature.OTHERS:
            predicted = signature.predictions(ASK, found, fit, hosts)
            for one in signature.exchanges(found, hosts):
                self.assertAlmostEqual(calls.error_pct(one["mean"], predicted[one["bytes"]][0]), 0, 1)

    def test_adapted_knows_where_frames_are_lost_and_counts_alpha_once(self):
        """Made of alpha + (n - 1) (2 beta m), and 7 ms for each other host from 32 KiB on."""
        def time_ms(hosts, size):
            return 0.01 + (hosts - 1) * (2 * size * 1e-5 + (7 if size >= 32 * KIB else 0))

        events = [result("one-way", size, [0.01 + size * 1e-5]) for size in signature.SIZES]
        events += [result(f"all-to-all-{hosts}", size, [time_ms(hosts, size)] * 2, drops=int(size >= 32 * KIB))
                   for size in signature.SIZES for hosts in (signature.FITTED, 16)]
        found = kept.Found(signature.spec(2), events)
        fit = signature.signature_of(ASK, found, signature.FITTED, adapted=True)
        self.assertEqual(fit["M_bytes"], 32 * KIB)
        self.assertAlmostEqual(fit["gamma"], 2, 3)
        self.assertAlmostEqual(fit["delta_s"], 7e-3, 5)
        predicted = signature.predictions(ASK, found, fit, 16, adapted=True)
        for size in signature.SIZES:
            self.assertAlmostEqual(predicted[size][0], time_ms(16, size), 2)


class AllToAlls(unittest.TestCase):
    def test_tree_of_the_measured_network(self):
        tree = alltoalls.tree_of(measured_document(), 8)
        port, trunk = 1e9 / 8 * 1448 / 1538, 1.25e9 / 8 * 1448 / 1538
        for got, expected in zip(tree["b"], (port, 2 * port, trunk)):
            self.assertAlmostEqual(got, expected, 3)
        self.assertAlmostEqual(tree["d"][0], PORT_BYTES * 8 / 1e9)
        self.assertAlmostEqual(tree["d"][2], TRUNK_BYTES * 8 / 1.25e9)
        self.assertEqual(len(alltoalls.tree_of(measured_document(), 4)["b"]), 2)

    def test_latency_is_the_mean_over_partners(self):
        self.assertAlmostEqual(alltoalls.latency_of(measured_document(), 8), (3 * 3e-6 + 4 * 103e-6) / 7)
        self.assertAlmostEqual(alltoalls.latency_of(measured_document(), 4), (3e-6 + 2 * 103e-6) / 3)

    def test_gap_is_on_the_line(self):
        for size, gap in ((500, 5e-6), (5000, 45e-6), (17000, 150e-6)):
            self.assertAlmostEqual(alltoalls.gap_of(measured_document(), size), gap)

    def test_where_steps_begin(self):
        results = [one for one in papers_alltoalls() if one["job"] == "B-8"]
        self.assertEqual(alltoalls.first_timed_out(results), 24 * KIB)
        self.assertIsNone(alltoalls.first_timed_out(results[:3]))

    def test_errors_up_to_the_first_loss(self):
        predicted = alltoalls.Predicted(ASK, measured_document(), 8)
        sums = [calls.summary(result("A-8", size, [predicted.closed[size]["plogpt_a"] * 1e3 * factor], drops=size // (9 * KIB)))
                for size, factor in ((1 * KIB, 1.1), (8 * KIB, 0.95), (12 * KIB, 5))]
        errors, largest = alltoalls.lossless_errors(sums, predicted, "A")
        self.assertEqual([round(error, 6) for error in errors], [10, -5])
        self.assertEqual(largest, 8 * KIB)

    def test_a_time_out_only_beyond_the_buffer(self):
        predicted = alltoalls.Predicted(ASK, measured_document(), 8)
        buffer = PORT_BYTES * 1448 / 1538       # (8): what is in the port's buffer while the switch is crossed
        for size in alltoalls.SIZES:
            self.assertEqual(predicted.closed[size]["n_rto"], int(size > buffer), size)
            low, high = predicted.simulated[size]
            self.assertEqual(high - low > 200, size > buffer)
            self.assertAlmostEqual(predicted.lossless_ms(size, "B"), low, 6)
            self.assertEqual(predicted.lossless_ms(size, "A"), predicted.closed[size]["plogpt_a"] * 1e3)


class Links(unittest.TestCase):
    def test_patterns(self):
        self.assertEqual(links.into_host(3), [[1, 0], [2, 0], [3, 0]])
        self.assertEqual(links.out_of_host(2), [[0, 1], [0, 2]])
        self.assertEqual(links.around_host(2, 1), [[1, 0], [2, 0], [0, 3]])
        self.assertEqual(links.over_trunk(2, 1), [[0, 4], [1, 5], [4, 1]])
        self.assertEqual(links.directions("host", links.around_host(2, 1)), ([0, 1], [2]))
        self.assertEqual(links.directions("trunk-both", links.over_trunk(2, 1)), ([0, 1], [2]))

    def test_random_patterns_are_links_and_the_same_each_time(self):
        spec = links.spec(1)
        drawn = [pattern for job in spec["jobs"] if job["name"] == "random" for pattern in job["patterns"]]
        self.assertEqual(len(drawn), links.RANDOM_PATTERNS)
        self.assertEqual(spec, links.spec(1))
        for pattern in drawn:
            self.assertTrue(pattern)
            self.assertEqual(len({tuple(link) for link in pattern}), len(pattern))
            self.assertTrue(all(source != destination for source, destination in pattern))
        sizes = [sum(map(len, drawn[at::3])) / len(drawn[at::3]) for at in range(3)]
        self.assertLess(3, sizes[0])
        self.assertLess(sizes[0] + 2, sizes[1])
        self.assertLess(sizes[1] + 2, sizes[2])

    def test_asymmetric_property_is_predicted(self):
        (predicted,) = links.predictions(ASK, measured_document(), [links.around_host(2, 1)])
        nic = 1000 * 1448 / 1538
        for title, last in (("Algorithm 1", nic / 2), ("fairness only", nic)):
            for got, expected in zip(predicted[title], (nic / 2, nic / 2, last)):
                self.assertAlmostEqual(got, expected, 3)

    def test_errors_of_random_patterns(self):
        found = all_results().found("links")
        results, errors = links.errors_of(found, ASK, measured_document())
        self.assertEqual(len(results), RANDOM)
        every = [error for degree in links.DEGREES for error in errors["Algorithm 1", degree]]
        self.assertEqual(sum(abs(error + 50) < 0.1 for error in every), len(results))
        self.assertEqual(sum(abs(error) < 0.1 for error in every), len(every) - len(results))
        self.assertEqual(len(errors["Algorithm 1", 1]), sum(len(one["links"]) for one in results[0::3]))

    def test_a_pattern_has_its_degree_whichever_is_missing(self):
        found = all_results().found("links")
        there = kept.Found(found.spec, [event for event in found.events if event["job"] != "random" or event["pattern"] % 3])
        results, errors = links.errors_of(there, ASK, measured_document())
        self.assertEqual(errors["Algorithm 1", 1], [])
        self.assertEqual(len(errors["Algorithm 1", 3]), sum(len(one["links"]) for one in results[1::2]))

    def test_how_many_are_there_is_told(self):
        spec = links.spec(1)
        events = [{"event": "result", "job": "random", "pattern": number} for number in range(links.RANDOM_PATTERNS)]
        self.assertEqual(links.how_many(kept.Found(spec, events)), "354 patterns")
        self.assertIn("353 of 354 patterns", links.how_many(kept.Found(spec, events[1:])))

    def test_sums_of_patterns(self):
        results = [{"mbps": [50, 55]}, {"mbps": [10, 10]}]
        self.assertEqual(links.sum_errors(results, [{"x": [50, 50]}, {"x": [10, 30]}], "x"), [calls.error_pct(105, 100), -50])
        self.assertEqual(links.sum_errors(results, [None, {"x": [20, 20]}], "x"), [-50])
        self.assertEqual(links.count_within([-10, 10.1, 3]), "2 of 3")
        self.assertEqual(links.sums_row([-10, 10.4, 3]), ["2 of 3", "7.8"])

    def test_bins(self):
        self.assertEqual(links.binned([-150, -5, 0, 5, 250], -20, 20, 10), (-20, 10, [1, 1, 2, 1]))
        self.assertAlmostEqual(links.fairness([1, 1, 1, 1]), 1)
        self.assertAlmostEqual(links.fairness([1, 0, 0, 0]), 0.25)


class Kept(unittest.TestCase):
    def test_nothing_is_left_of_what_is_there(self):
        results = all_results()
        for name, (spec, _) in all_events().items():
            missing = kept.left(spec, results.events(name, spec))
            if name == "links":
                self.assertEqual(kept.count(missing), links.RANDOM_PATTERNS - RANDOM)
            else:
                self.assertTrue(kept.is_nothing(missing), name)

    def test_all_is_left_of_nothing(self):
        for name, (spec, events) in all_events().items():
            missing = kept.left(spec, kept.Results().events(name, spec))
            self.assertEqual(kept.count(missing), kept.count(spec))
            self.assertEqual([kept.settings(job) for job in missing["jobs"]], [kept.settings(job) for job in spec["jobs"]])

    def test_two_sittings_have_the_patterns_of_one(self):
        spec = links.spec(1)
        first = [event for event in links_events(spec) if event["job"] != "random" or event["pattern"] in (0, 2, 5)]
        missing = kept.left(spec, first)
        job, = missing["jobs"]
        self.assertEqual(job["numbers"][:4], [1, 3, 4, 6])
        whole = spec["jobs"][-1]["patterns"]
        self.assertEqual(job["patterns"], [whole[number] for number in job["numbers"]])
        self.assertEqual(len(job["numbers"]), links.RANDOM_PATTERNS - 3)
        # and again, of what this sitting has measured
        after = kept.left(missing, [{"event": "result", "job": "random", "pattern": 3, "links": whole[3]}])
        self.assertEqual(after["jobs"][0]["numbers"][:4], [1, 4, 6, 7])

    def test_other_settings_are_measured_again(self):
        results = all_results()
        spec = links.spec(1)
        other = spec | {"jobs": [job | {"window_ms": 31} if job["name"] == "random" else job for job in spec["jobs"]]}
        self.assertEqual([job["name"] for job in kept.left(other, results.events("links", other))["jobs"]], ["random"])
        scene = spec | {"scene": spec["scene"] | {"trunk_delay_us": 1}}
        self.assertEqual(results.events("links", scene), [])
        drawn = spec | {"jobs": [job | {"patterns": job["patterns"][1:]} for job in spec["jobs"]]}
        self.assertEqual([event for event in results.events("links", drawn) if event["job"] == "random"], [])

    def test_more_calls_are_measured_again_and_fewer_are_enough(self):
        results = all_results()
        for repetitions, missing in ((1, 0), (50, len(manytoone.SIZES))):
            spec = manytoone.spec(repetitions)
            left = kept.left(spec, results.events("many-to-one", spec))
            self.assertEqual(len(left["jobs"][0]["sizes"]) if left["jobs"] else 0, missing)
            self.assertFalse(left["measure"])

    def test_measured_anew_the_old_ones_are_forgotten(self):
        results = all_results()
        spec = links.spec(1)
        event = results.found("links").of("random")[4]
        results.add(("links", spec, True), event)
        self.assertEqual(results.found("links").events, [event])
        self.assertTrue(results.found("steady").events)

    def test_results_are_in_the_order_of_the_spec(self):
        found = all_results().found("links")
        turned = kept.Found(found.spec, found.events[::-1])
        self.assertEqual(turned.of("random"), found.of("random"))
        self.assertTrue(turned.complete("into"))
        self.assertFalse(turned.complete("random"))

    def test_less_is_forecast_of_less(self):
        spec = links.spec(1)
        missing = kept.left(spec, list(links_events(spec)))
        self.assertLess(kept.forecast_s([missing]), kept.forecast_s([spec]))
        self.assertEqual(kept.forecast_s([kept.left(steady.spec(1), list(links_events(steady.spec(1))))]), 0)

    def test_what_is_kept_is_read_again(self):
        with tempfile.TemporaryDirectory() as folder:
            store = kept.kept_in(Path(folder) / "live.json")
            spec = steady.spec(1)
            for event in links_events(spec):
                store.add(("steady", spec, False), event)
            self.assertTrue(store.load().found("steady").complete("steady"))
            self.assertIsNone(store.load().found("links"))


class FakeGuest:
    """Measures some items of what it is told, and fails."""

    told = []

    def __init__(self, spec, *_):
        self.told.append(spec)

    def events(self):
        spec = self.told[-1]
        job = spec["jobs"][0]
        yield {"event": "start", "job": job["name"]}
        for number, pattern in list(zip(job["numbers"], job["patterns"]))[:2]:
            yield {"event": "result", "job": job["name"], "pattern": number, "links": pattern, "mbps": [1], "timeouts": 0}
        raise live.guest_run.GuestError("a guest that failed")

    def stop(self):
        pass


class Sittings(unittest.TestCase):
    def sitting(self, minutes=None, again=False):
        """Runs the experiment "steady" until its guest fails, and returns what it said."""
        arguments = argparse.Namespace(experiments=["steady"], again=again, minutes=minutes, repetitions=1)
        said = io.StringIO()
        with contextlib.redirect_stderr(said):
            try:
                live.Sitting(["steady"], arguments).measure_all()
            except live.guest_run.GuestError:
                pass
        return said.getvalue()

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        for name, value in (("KEPT", kept.kept_in(Path(folder.name) / "live.json")), ("OUT", Path(folder.name))):
            self.enterContext(unittest.mock.patch.object(live, name, value))
        self.enterContext(unittest.mock.patch.object(live.guest_run, "Guest", FakeGuest))
        FakeGuest.told = []

    def test_the_next_one_goes_on(self):
        self.assertIn("6 of 6 measurements are missing, about", self.sitting())
        said = self.sitting()
        self.assertIn("4 of 6 measurements are missing", said)
        self.assertIn("steady: steady 2: 2 links", said)
        self.assertEqual([spec["jobs"][0]["numbers"] for spec in FakeGuest.told], [[0, 1, 2, 3, 4, 5], [2, 3, 4, 5]])
        self.sitting()
        self.assertIn("0 of 6 measurements are missing, about 0 minutes", self.sitting())
        self.assertEqual(len(FakeGuest.told), 3)
        self.assertTrue(live.KEPT.load().found("steady").complete("steady"))

    def test_the_time_is_over(self):
        with unittest.mock.patch.object(live.time, "monotonic", side_effect=range(0, 1000, 11)):
            with self.assertRaises(live.TimeIsOver):
                self.sitting(minutes=1)
        self.assertEqual(len(live.KEPT.load().found("steady").of("steady")), 1)

    def test_anew(self):
        self.sitting()
        self.sitting()
        self.sitting(again=True)
        self.assertEqual([one["pattern"] for one in live.KEPT.load().found("steady").of("steady")], [0, 1])


class Page(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.missing = page.write(ASK, all_results(), Path(cls.folder.name))
        cls.text = (Path(cls.folder.name) / page.NAME).read_text()

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_has_a_chapter_for_each_experiment(self):
        self.assertEqual(self.text.count("\n## "), len(page.EXPERIMENTS))
        self.assertEqual(self.missing, {})
        self.assertIn(f"{RANDOM} of 354 patterns", self.text)

    def test_tables_are_whole(self):
        for block in re.findall(r"(?:^\|.*\n)+", self.text, re.MULTILINE):
            self.assertEqual(len({line.count("|") for line in block.splitlines()}), 1, block)

    def test_figures_of_the_tables(self):
        self.assertIn("| 12 KiB | 0.817 | 68.8 | 0.817 | 205 | 1 of 3 | 1 | 7 | 0 |", self.text)
        self.assertIn("| none escalated up to 8 KiB, some at 12 KiB |", self.text)
        self.assertIn("| some escalated at 48 KiB, none from 60 KiB on |", self.text)
        self.assertIn("| the trunk | 1250 | 1250.0 | 65536 | 67500 (2 of 2 found) |", self.text)
        self.assertIn("B has its first call of 150 ms and more at 24 KiB.", self.text)

    def test_pictures_are_drawings_the_page_shows(self):
        plots = sorted((Path(self.folder.name) / "reproduction").iterdir())
        self.assertEqual(len(plots), 5)
        for plot in plots:
            self.assertTrue(plot.name.startswith("live-"))
            self.assertIn(f"(reproduction/{plot.name})", self.text)
            xml.dom.minidom.parse(str(plot))

    def test_what_is_not_measured_is_not_there(self):
        """Nor what is measured in part, but for the random patterns."""
        whole = all_results().experiments
        cut = {name: known | {"events": known["events"][:-1]} for name, known in whole.items()}
        for experiments, there in (({}, 0), (whole | {"steady": cut["steady"]}, len(page.EXPERIMENTS) - 1), (cut | {"network": whole["network"]}, 2),
                                   (whole | {"network": {**whole["network"], "events": []}}, 0)):
            with tempfile.TemporaryDirectory() as folder:
                missing = page.write(ASK, kept.Results(experiments), Path(folder))
                self.assertEqual((Path(folder) / page.NAME).read_text().count("\n## "), there)
                self.assertEqual(len(missing), len(page.EXPERIMENTS) - there)
        self.assertIn("all-to-alls", missing)

    def test_what_is_wanted(self):
        self.assertEqual(page.wanted(None), list(page.EXPERIMENTS))
        self.assertEqual(page.wanted(["links"]), ["network", "links"])


if __name__ == "__main__":
    unittest.main()
