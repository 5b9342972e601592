# SPDX-License-Identifier: Apache-2.0
"""Reads callgrind's output and budgets.json for tests/cost/run."""
import re
from collections import Counter

# A line's number, and the instructions of that line.
COST = re.compile(r"[0-9+*-]")
# counted.hpp has callgrind write this: OTHERS/COUNT/REQUEST.
REGION = re.compile(r"desc: Trigger: Client Request: (\w+)/(\d+)/(\w+)$")


def read_part(text):
    """One part of callgrind's output: (OTHERS/REQUEST, COUNT, instructions by function), or
    None if it is none of ours."""
    region, costs, function, is_call = None, Counter(), None, False
    for line in text.splitlines():
        if COST.match(line):
            if not is_call:  # else the called function's, which has lines of its own
                costs[function] += sum(map(int, line.split()[1:2]))  # no number is 0
            is_call = False
        elif line.startswith("fn="):
            function = line[3:]
        elif line.startswith("calls="):
            is_call = True
        elif found := REGION.match(line):
            region = found
    if region is None:
        return None
    others, count, request = region.groups()
    return f"{others}/{request}", int(count), costs


def short(function):
    """Shortens a name: templates' arguments and parameters would fill lines."""
    name, depth = "", 0
    for letter in function.replace("(anonymous namespace)::", "").replace("operator<", "operator less"):
        depth += letter in "<("
        if depth == 0:
            name += letter
        depth -= letter in ">)"
    return name.strip()


def most_expensive(costs, number=3):
    """Sentences about the functions in which most instructions are."""
    by_name = Counter()
    for function, cost in costs.items():
        by_name[short(function)] += cost
    return [f"{cost} instructions are in {name}" for name, cost in by_name.most_common(number)]


class Line:
    """One line of TAP; `todo` is the finding because of which it is expected to fail."""

    def __init__(self, is_ok, text, todo=None, why=()):
        self.is_ok, self.text, self.todo, self.why = is_ok, text, todo, list(why)

    @property
    def has_failed(self):
        return not self.is_ok and self.todo is None


def judge_budget(name, count, instructions, budgets, costs=()):
    """Whether a request costs what it cost when the budgets were written."""
    today = budgets["counts"].get(name, {}).get(str(count))
    place = f"{name} beside {count}"
    if today is None:
        return Line(False, f"{place}: {instructions} instructions, and it has no budget",
                    why=["tests/cost/run --update writes one"])
    factor = instructions / today
    text = f"{place}: {instructions} instructions, budget {today}, ratio {factor:.2f}"
    others, request = name.split("/")
    more = budgets["allowed_more"]
    allowed = more.get(others, more["others"]) + budgets.get("allowed_more_here", {}).get(request, 0)
    if instructions > today * budgets["allowed_factor"] + allowed:
        return Line(False, text, why=most_expensive(costs))
    why = []
    if factor < 1 / budgets["allowed_factor"]:
        why = ["It costs less than its budget: lower that by tests/cost/run --update."]
    return Line(True, text, why=why)


def limit_of(name, by_count, budgets):
    """The most that it may cost beside most others, and that in words."""
    counts = sorted(by_count)
    rule = budgets["limits"].get(name, {})
    if "instructions" in rule:
        return rule["instructions"], f"limit {rule['instructions']}"
    factor = rule.get("growth", budgets["growth"])
    return factor * by_count[counts[-2]], f"limit {factor} times that beside {counts[-2]}"


def judge_limit(name, by_count, budgets):
    """Whether a request costs little enough beside most others, of which a finding may say
    that it does not."""
    most = max(by_count)
    instructions = by_count[most]
    limit, words = limit_of(name, by_count, budgets)
    finding = budgets["limits"].get(name, {}).get("finding")
    text = f"{name} grows: {instructions} instructions beside {most}, {words}"
    if instructions > limit:
        return Line(False, f"{text}, exceeded {instructions / limit:.1f}-fold", todo=finding)
    if finding is not None:
        return Line(False, text, why=[f"The finding is mended: {finding}",
                                      "Lower the budget by tests/cost/run --update, and delete the finding in budgets.json."])
    return Line(True, text)


def judge(measured, budgets):
    """All lines about `measured`: instructions by function, by count, by name."""
    lines = []
    for name in sorted(measured):
        by_count = {count: sum(costs.values()) for count, costs in measured[name].items()}
        for count in sorted(by_count):
            lines.append(judge_budget(name, count, by_count[count], budgets, measured[name][count]))
        lines.append(judge_limit(name, by_count, budgets))
    for name in sorted(set(budgets["counts"]) | set(budgets["limits"])):
        if name not in measured:
            lines.append(Line(False, f"{name} is in budgets.json, and was not measured"))
    return lines
