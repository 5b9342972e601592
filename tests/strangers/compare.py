# SPDX-License-Identifier: Apache-2.0
"""Tells what of a program's outcome is its own, and what of it is different under the preload.

Three native runs say what is its own: the exit status of each rank, and the lines, in which they agree.  Lines that
differ in their numbers alone are one kind; a kind in which native runs disagree is not compared.  Nor are the lines of a
program that a signal ends natively, for in a trace of its calls the preload's are among the others.
"""

import collections
import re

NATIVE_RUNS = 3
NUMBER = re.compile(r"(0x[0-9a-fA-F]+|\d+(\.\d+)?(e[-+]\d+)?) *")     # with what fills up its column
SHOWN = 6       # lines of a difference


def kind(line):
    return NUMBER.sub("#", line)


def why_incomparable(natives):
    """"": it can be compared."""
    if any(outcome.hung for outcome in natives):
        return "it hangs without Headway"
    ignored = disagreed_kinds(natives)
    if any(agreed_statuses(natives)) or any(kind(line) not in ignored for line in natives[0].lines):
        return ""
    return "its runs without Headway agree in nothing"


def agreed_statuses(natives):
    """By rank; None where native runs disagree."""
    return [(statuses[0],) if len(set(statuses)) == 1 else None
            for statuses in zip(*(outcome.statuses for outcome in natives))]


def disagreed_kinds(natives):
    """Returns the kinds of lines in which native runs disagree."""
    counts = [collections.Counter(outcome.lines) for outcome in natives]
    lines = set().union(*counts)
    return {kind(line) for line in lines if len({count[line] for count in counts}) > 1}


def differences(natives, outcome):
    """Sentences; [] if the outcome is that of the native runs."""
    found = ["it hangs"] if outcome.hung else []
    if not outcome.hung:
        for rank, (agreed, status) in enumerate(zip(agreed_statuses(natives), outcome.statuses)):
            if agreed and agreed[0] != status:
                found.append(f"rank {rank} ends with {status} instead of {agreed[0]}")
        if len(outcome.statuses) != len(natives[0].statuses):
            found.append(f"{len(outcome.statuses)} ranks instead of {len(natives[0].statuses)}")
    if any(agreed and isinstance(agreed[0], int) and agreed[0] < 0 for agreed in agreed_statuses(natives)):
        return found + outcome.told[:SHOWN] if found else []
    ignored = disagreed_kinds(natives)
    native, mine = (collections.Counter(line for line in lines if kind(line) not in ignored)
                    for lines in (natives[0].lines, outcome.lines))
    for sign, more in (("-", native - mine), ("+", mine - native)):
        found += [f"{sign} {line}" for line in sorted(more.elements())][:SHOWN]
    return found + outcome.told[:SHOWN] if found else []
