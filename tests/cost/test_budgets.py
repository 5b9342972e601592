# SPDX-License-Identifier: Apache-2.0
"""Tests that what costs too much is noticed, and so is what does not any more: no program is run.
"""
import json
import unittest
from collections import Counter
from pathlib import Path

import budgets

# Callgrind 3.19 wrote this: `work` calls `split`, which is in another file, and returns to it.
PART = """# callgrind format
version: 1
creator: callgrind-3.19.0
desc: I1 cache:
desc: Timerange: Basic block 37 - 51
desc: Trigger: Client Request: jobs/8/close
positions: line
events: Ir
summary: 145

ob=/usr/bin/daemon_cost
fl=/src/work.cpp
fn=headway::work(std::vector<int, std::allocator<int> > const&)
10 20
+2 5
cfi=/src/split.cpp
cfn=headway::(anonymous namespace)::split(int)
calls=3 40
12 100
13 20

fl=/src/split.cpp
fn=headway::(anonymous namespace)::split(int)
40
41 60
fi=/usr/include/c++/12/vector
900 30
fe=/src/split.cpp
* 10

totals: 145
"""


def budget(**others):
    return {"allowed_factor": 1.1, "allowed_more": {"others": 0}, "growth": 4, "limits": {}, "counts": {"jobs/close": {"8": 1000, "1024": 3000}}} | others


def costs(instructions):
    return Counter({"headway::work()": instructions - 5, "malloc": 5})


def judged(in_eight, in_all, **others):
    return budgets.judge({"jobs/close": {8: costs(in_eight), 1024: costs(in_all)}}, budget(**others))


class Reading(unittest.TestCase):
    def test_own_instructions_of_each_function(self):
        name, count, found = budgets.read_part(PART)
        self.assertEqual((name, count), ("jobs/close", 8))
        self.assertEqual(dict(found), {"headway::work(std::vector<int, std::allocator<int> > const&)": 45,
                                       "headway::(anonymous namespace)::split(int)": 100})
        self.assertEqual(budgets.most_expensive(found), ["100 instructions are in headway::split",
                                                         "45 instructions are in headway::work"])

    def test_parts_of_others(self):
        self.assertIsNone(budgets.read_part(PART.replace("Client Request: jobs/8/close", "Program termination")))

    def test_short_names(self):
        for long, short in (("std::map<int, A<b(c)> >::find(int const&)", "std::map::find"),
                            ("bool std::operator<(A<b> const&)", "bool std::operator less"),
                            ("memcpy@@GLIBC_2.14", "memcpy@@GLIBC_2.14")):
            self.assertEqual(budgets.short(long), short)


class Judging(unittest.TestCase):
    def test_as_today(self):
        lines = judged(1099, 2731)
        self.assertEqual([line.is_ok for line in lines], [True] * 3)
        self.assertFalse(any(line.why for line in lines))

    def test_a_budget_that_is_too_low(self):
        lines = judged(1101, 3000)
        self.assertEqual([line.has_failed for line in lines], [True, False, False])
        self.assertEqual(lines[0].text, "jobs/close beside 8: 1101 instructions, budget 1000, ratio 1.10")
        self.assertEqual(lines[0].why, ["1096 instructions are in headway::work", "5 instructions are in malloc"])

    def test_some_instructions_more_are_allowed(self):
        for more, has_failed in (({"others": 0, "jobs": 1}, False), ({"others": 1, "users": 0}, False),
                                 ({"others": 1, "jobs": 0}, True)):
            with self.subTest(more):
                self.assertEqual(judged(1101, 3000, allowed_more=more)[0].has_failed, has_failed)

    def test_less_than_today_is_said(self):
        lines = judged(500, 1900)
        self.assertFalse(any(line.has_failed for line in lines))
        self.assertIn("--update", lines[0].why[0])

    def test_growth(self):
        lines = judged(1000, 4001, counts={"jobs/close": {"8": 1000, "1024": 4001}})
        self.assertEqual([line.has_failed for line in lines], [False, False, True])

    def test_growth_of_its_own(self):
        lines = judged(1000, 4001, counts={"jobs/close": {"8": 1000, "1024": 4001}},
                       limits={"jobs/close": {"growth": 5, "why": "It lists them."}})
        self.assertFalse(any(line.has_failed for line in lines))

    def test_what_another_release_s_libraries_take_is_no_failure(self):
        here = {"allowed_more_here": {"close": 200}}
        self.assertEqual([line.has_failed for line in judged(1300, 3500, **here)][:2], [False, False])
        self.assertEqual([line.has_failed for line in judged(1301, 3501, **here)][:2], [True, True])

    def test_a_limit_in_instructions(self):
        limits = {"jobs/close": {"instructions": 2999}}
        self.assertEqual([line.has_failed for line in judged(1000, 3000, limits=limits)], [False, False, True])

    def test_a_finding_is_expected(self):
        limits = {"jobs/close": {"instructions": 2999, "finding": "finding 1"}}
        lines = judged(1000, 3000, limits=limits)
        self.assertEqual([(line.is_ok, line.todo) for line in lines], [(True, None), (True, None), (False, "finding 1")])
        self.assertFalse(any(line.has_failed for line in lines))

    def test_a_finding_must_not_become_worse(self):
        limits = {"jobs/close": {"instructions": 2999, "finding": "finding 1"}}
        self.assertEqual([line.has_failed for line in judged(1000, 3301, limits=limits)], [False, True, False])

    def test_a_finding_that_is_mended_fails(self):
        limits = {"jobs/close": {"instructions": 3000, "finding": "finding 1"}}
        lines = judged(1000, 3000, limits=limits)
        self.assertEqual([line.has_failed for line in lines], [False, False, True])
        self.assertEqual(lines[2].why[0], "The finding is mended: finding 1")

    def test_what_has_no_budget(self):
        self.assertEqual([line.has_failed for line in judged(1000, 3000, counts={})], [True, True, False])

    def test_what_is_not_measured_any_more(self):
        counts = {"jobs/close": {"8": 1000, "1024": 3000}, "jobs/enter": {"8": 1}}
        self.assertEqual(sum(line.has_failed for line in judged(1000, 3000, counts=counts)), 1)
        self.assertEqual(sum(line.has_failed for line in judged(1000, 3000, limits={"jobs/enter": {}})), 1)


class Budgets(unittest.TestCase):
    def test_whoever_may_grow_says_why(self):
        limits = json.loads((Path(__file__).parent / "budgets.json").read_text())["limits"]
        for name, rule in limits.items():
            with self.subTest(name):
                self.assertTrue(rule.get("why") or rule.get("finding"))


if __name__ == "__main__":
    unittest.main()
