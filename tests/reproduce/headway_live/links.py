# SPDX-License-Identifier: Apache-2.0
"""Zhu et al.: what links get that share hosts and a trunk."""

import random

from headway_reproduce.document import Chapter
from headway_reproduce.plot import Bars, picture

from . import calls
from .network import bandwidth_and_buffer
from .scenes import RACK, hosts_of

SCENE = RACK
BYTES, LEAD_MS, WINDOW_MS = 1 << 16, 15, 30
RANDOM_PATTERNS = 354       # of the paper
DEGREES = (1, 2, 3)
PARTIAL = {"random": len(DEGREES)}      # so many are enough for a page
NODES = SCENE.nodes
FAR = SCENE.nodes_per_cluster       # the first rank of the other cluster


def into_host(count):
    return [[source, 0] for source in range(1, count + 1)]


def out_of_host(count):
    return [[destination, source] for source, destination in into_host(count)]


def over_trunk(there, back=0):
    """Each host has one link out and one in at most, no two hosts have one each way: MPI has one connection for both."""
    return [[i, FAR + i] for i in range(there)] + [[FAR + i, (i + 1) % FAR] for i in range(back)]


def around_host(count_in, count_out):
    """Incoming from some hosts, outgoing to the others."""
    return into_host(count_in) + [[0, count_in + 1 + i] for i in range(count_out)]


def random_pattern(chance, degree):
    """Section 7: each node in turn, `degree` times, with a destination at random, with a probability of a half; a link
    that is there already stays one."""
    links = []
    for _ in range(degree):
        for source in range(NODES):
            destination = chance.choice([node for node in range(NODES) if node != source])
            if chance.random() < 0.5 and [source, destination] not in links:
                links.append([source, destination])
    return links or random_pattern(chance, degree)


SHARES = {"into": [into_host(count) for count in (1, 2, 3, 5, 7)], "out-of": [out_of_host(count) for count in (1, 2, 4, 7)],
          "trunk": [over_trunk(count) for count in range(1, FAR + 1)]}
BOTH_WAYS = {"host": [around_host(*counts) for counts in ((1, 1), (2, 1), (3, 1), (6, 1), (1, 2), (1, 6))],
             "trunk-both": [over_trunk(*counts) for counts in ((1, 1), (2, 1), (4, 1), (4, 4))]}


def degree_of(result):
    return DEGREES[result["pattern"] % len(DEGREES)]


def links_job(name, patterns, lead_ms=LEAD_MS, window_ms=WINDOW_MS):
    return {"name": name, "kind": "links", "hosts": hosts_of(SCENE), "bytes": BYTES, "lead_ms": lead_ms, "window_ms": window_ms,
            "patterns": patterns}


def spec(_repetitions):
    """The random patterns are the same each time."""
    chance = random.Random(1)
    drawn = [random_pattern(chance, DEGREES[i % len(DEGREES)]) for i in range(RANDOM_PATTERNS)]
    jobs = [links_job(name, patterns) for name, patterns in (SHARES | BOTH_WAYS | {"random": drawn}).items()]
    return {"scene": SCENE.facts(), "measure": False, "jobs": jobs}


# The title of each model that `headway-eval` is asked for.
MODELS = {"Algorithm 1": "bandwidth", "fairness only": "bandwidth_fairness_only",
          "bidirectional max-min": "bandwidth_bidirectional_max_min", "feasible": "bandwidth_feasible"}
GOOD_PCT = 10


def bandwidths(document):
    """Mbit/s of payload of a host's link and of the trunk, as `headway measure` found them."""
    def mbps(is_trunk):
        kind = [link for link in document["links"] if link["is_trunk"] == is_trunk]
        return bandwidth_and_buffer(kind)[0] * 8e-6

    return mbps(False), mbps(True)


def predictions(ask, document, patterns):
    """Returns for each pattern the Mbit/s of its links by model; None where the paper's rule has no
    answer."""
    nic, backbone = bandwidths(document)
    answers = ask("congestion", "algorithm1", [
        {"nic": nic, "backbone": backbone, "nodes": list(range(NODES)), "rack": [int(node >= FAR) for node in range(NODES)],
         "links": links} for links in patterns])
    return [answer and {title: answer[name] for title, name in MODELS.items()} for answer in answers]


def time_errors(predicted, measured):
    """Returns the errors of communication times, in per cent of the measured one: a link that gets
    half of what was predicted takes twice the predicted time, an error of -50 %."""
    return [100 * (got / expected - 1) for got, expected in zip(measured, predicted)]


def errors_of(found, ask, document):
    """By model the errors of all links of the random patterns, and by model and degree."""
    results = found.of("random")
    errors = {(title, degree): [] for title in MODELS for degree in DEGREES}
    answered = predictions(ask, document, [result["links"] for result in results])
    for result, predicted in zip(results, answered):
        for title, values in (predicted or {}).items():
            errors[title, degree_of(result)] += time_errors(values, result["mbps"])
    return results, errors


def sum_errors(results, answered, title):
    """Returns for each pattern what all its links got together, in per cent of what a model has for
    them."""
    return [calls.error_pct(sum(result["mbps"]), sum(predicted[title])) for result, predicted in zip(results, answered) if predicted]


def chapter(ask, found, network):
    doc = Chapter("Congestion factors", "Zhu, Lastovetsky, Ali, Riesen: *Communication Models for Resource Constrained "
                  "Hierarchical Ethernet Networks.*")
    nic, backbone = bandwidths(network)
    doc.text(f"""
        Here: {found.scene["title"]}, one process on each host, where the paper has a process for each link.  Each link has messages of
        {BYTES // 1024} KiB under way all the time, into receives that are posted (link_bench); its bandwidth is that of {WINDOW_MS} ms
        after the first {LEAD_MS}, once.  The paper sends messages of 10 MB and more until the mean is known to 2 %.  For the models a
        host's link has {nic:.4g} Mbit/s and the trunk {backbone:.4g}: payload of the rates that `headway measure` found.""")
    shares_part(doc, ask, found, network)
    both_ways_part(doc, ask, found, network)
    random_part(doc, ask, found, network)
    notes(doc)
    return doc


def spread(values):
    """Least to most, in words of a table."""
    low, high = min(values), max(values)
    return f"{low:.0f}" if round(low) == round(high) else f"{low:.0f} to {high:.0f}"


def fairness(values):
    """Jain's index: 1 if all have the same."""
    return sum(values) ** 2 / (len(values) * sum(value * value for value in values))


def shares_part(doc, ask, found, network):
    doc.section("One way: shares", """
        In the paper, 5.1: links that share a host or the trunk share its bandwidth evenly, (5).  Bandwidths in
        Mbit/s; fairness is Jain's index, 1 if all are equal.""")
    titles = {"into": "into a host", "out-of": "out of a host", "trunk": "over the trunk"}
    rows = []
    for name, title in titles.items():
        results = found.of(name)
        for result, predicted in zip(results, predictions(ask, network, [result["links"] for result in results])):
            got = result["mbps"]
            rows.append([title, len(got), spread(predicted["Algorithm 1"]), spread(got), f"{sum(got):.0f}", f"{fairness(got):.3f}",
                         result["timeouts"], result["drops"]])
    doc.table(["links", "how many", "predicted each", "measured each", "sum", "fairness", "time-outs", "frames dropped"], rows)


def directions(name, links):
    """How many links go the first link's way through what they share, and which these are."""
    def is_first(link):
        return link[1] == 0 if name == "host" else link[0] < FAR

    return [i for i, link in enumerate(links) if is_first(link)], [i for i, link in enumerate(links) if not is_first(link)]


def both_ways_part(doc, ask, found, network):
    doc.section("Both ways: the asymmetric property", """
        In the paper, 5.2: with n links in and m out, all of them get the share of the larger number, (6).  Bandwidths in
        Mbit/s.""")
    rows = []
    for name, title in (("host", "a host: in, out"), ("trunk-both", "the trunk: there, back")):
        results = found.of(name)
        for result, predicted in zip(results, predictions(ask, network, [result["links"] for result in results])):
            there, back = directions(name, result["links"])
            cells = [spread([values[i] for i in way]) for values in (predicted["Algorithm 1"], predicted["fairness only"], result["mbps"])
                     for way in (there, back)]
            rows.append([title, f"{len(there)}, {len(back)}", *(f"{a}; {b}" for a, b in zip(cells[::2], cells[1::2])),
                         f"{sum(result['mbps']):.0f}", result["timeouts"]])
    doc.table(["shared", "links", "Algorithm 1", "fairness only", "measured", "sum", "time-outs"], rows)


def random_part(doc, ask, found, network):
    results, errors = errors_of(found, ask, network)
    links = sum(len(result["links"]) for result in results)
    doc.section("Random patterns", """
        In the paper, section 7: 354 random patterns on up to 30 hosts; 83.2 %, 77.3 % and 72.1 % of the links were predicted within 10 %
        for d = 1, 2, 3, and 66.8 %, 58.0 % and 68.8 % without the asymmetric property.""")
    doc.text(f"""
        Here: {how_many(found)} with {links} links, drawn in the same way on {NODES} hosts; in the course of them
        {sum(result["timeouts"] for result in results)} time-outs and {sum(result["drops"] for result in results)} dropped frames.
        The error is measured bandwidth / predicted - 1.""")
    measured = [degree for degree in DEGREES if errors["Algorithm 1", degree]]
    answered = predictions(ask, network, [result["links"] for result in results])
    doc.table(["model", *(f"within {GOOD_PCT} %, d = {degree}" for degree in measured), "all", "mean of absolute errors, %", "worst, %",
               f"patterns whose sum is within {GOOD_PCT} %", "mean of absolute errors of sums, %"],
              [model_row(title, errors, measured) + sums_row(sum_errors(results, answered, title)) for title in MODELS])
    every = [error for degree in measured for error in errors["Algorithm 1", degree]]
    fair = [error for degree in measured for error in errors["fairness only", degree]]
    doc.plot("live-links", "Errors over links of random patterns", picture("Errors over links of random patterns", [
        Bars(f"{title}: error of the time, {len(of)} links", "%", *binned(of))
        for title, of in (("Algorithm 1", every), ("fairness only", fair))]))


def how_many(found):
    """In words, of the random patterns."""
    there, all_of_them = len(found.of("random")), len(found.jobs["random"]["patterns"])
    return f"{there} patterns" if found.complete("random") else f"{there} of {all_of_them} patterns (`make reproduce-live` goes on with the others)"


def sums_row(errors):
    return [count_within(errors), f"{sum(map(abs, errors)) / len(errors):.1f}"]


def count_within(errors):
    return f"{sum(abs(error) <= GOOD_PCT for error in errors)} of {len(errors)}"


def notes(doc):
    doc.section("What differs, and what is known of why", """
        Out of a host links share evenly.  Into a host and over the trunk they share a switch's buffer that drops what is too
        much, and of two links one may have nearly everything while the other waits for a timer.  Hence most links of random
        patterns are not predicted within 10 %, by whichever model, while what all links of a pattern get together is, of two
        patterns in three.""")
    doc.text("""
        The asymmetric property is not seen here: with two links in and one out, the one that goes out has nearly all of its
        bandwidth.  So it is no property of TCP or of full-duplex links by themselves.  The paper does not say where in its
        cards or its kernel it comes from.""")


def model_row(title, errors, degrees):
    every = [error for degree in degrees for error in errors[title, degree]]
    return [title, *(f"{100 * calls.within(errors[title, degree], GOOD_PCT):.1f} %" for degree in degrees),
            f"{100 * calls.within(every, GOOD_PCT):.1f} %", f"{sum(map(abs, every)) / len(every):.1f}", calls.signed(max(every, key=abs))]


def binned(errors, least=-100, most=100, width=10):
    """For Bars: bins from `least` to `most`, the outer ones with all that is beyond."""
    counts = [0] * ((most - least) // width)
    for error in errors:
        counts[min(max(int((error - least) // width), 0), len(counts) - 1)] += 1
    return least, width, counts
