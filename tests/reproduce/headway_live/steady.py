# SPDX-License-Identifier: Apache-2.0
"""Zhu et al., once more: the same shares over a time that is long beside TCP's timers."""

from headway_reproduce.document import Chapter

from . import links
from .links import SCENE, around_host, fairness, into_host, over_trunk, predictions, spread

LEAD_MS, WINDOW_MS = 250, 400
PATTERNS = {"into a host, 2": into_host(2), "a host, 2 in, 1 out": around_host(2, 1), "over the trunk, 2": over_trunk(2),
            "into a host, 3": into_host(3), "over the trunk, 4": over_trunk(4), "a host, 3 in, 1 out": around_host(3, 1)}


def spec(_repetitions):
    job = links.links_job("steady", list(PATTERNS.values()), LEAD_MS, WINDOW_MS)
    return {"scene": SCENE.facts(), "measure": False, "jobs": [job]}


def chapter(ask, found, network):
    doc = Chapter("Congestion factors over a longer time", f"""
        Some of the patterns above, over {WINDOW_MS} ms after the first {LEAD_MS}.  Bandwidths in Mbit/s, of each link
        in the order of the pattern.""")
    results = found.of("steady")
    rows = []
    answered = predictions(ask, network, [result["links"] for result in results])
    for title, result, predicted in zip(PATTERNS, results, answered):
        got = result["mbps"]
        rows.append([title, spread(predicted["Algorithm 1"]), spread(predicted["fairness only"]),
                     ", ".join(f"{value:.0f}" for value in got), f"{sum(got):.0f}", f"{fairness(got):.3f}",
                     f"{max(result['longest_gap_ms']):.0f}", result["timeouts"], result["drops"]])
    doc.table(["links", "Algorithm 1", "fairness only", "measured", "sum", "fairness", "longest time without a message, ms", "time-outs",
               "frames dropped"], rows)
    doc.text("""
        What the links of a pattern get together is what the models say, where all go one way.  Who gets how much of a port that
        drops is uneven over such a time, too.  With links both ways the one that goes out keeps nearly all of its bandwidth;
        those that come in have less together than without it, by a fifth or more.  Why was not traced.""")
    return doc
