# SPDX-License-Identifier: Apache-2.0
"""Congestion factors once more: sets of links and rational numbers.

No counters, no queue, nothing incremental: every question looks at every link.
Bandwidths in the unit of the input.  ask_*() make up a question and answer it:
(operation, input, result), where an Error as result stands for any error.
"""
from fractions import Fraction

TOLERANCE = Fraction(1, 10 ** 9)


class Error(Exception):
    """There is no answer."""


def equal(a, b):
    return abs(a - b) <= TOLERANCE * max(abs(a), abs(b))


class Pattern:
    def __init__(self, given):
        place = {}
        for node, rack in zip(given["nodes"], given["rack"]):
            place[node] = rack
        self.links = [tuple(link) for link in given["links"]]
        self.rack = place
        self.nic = Fraction(given["nic"])
        self.beta_nic = 1 / self.nic
        backbone = given["backbone"]
        self.beta_rack = Fraction(0) if backbone is None else 1 / Fraction(backbone)

    def only(self, keep):
        """Returns the network with some of the links."""
        other = object.__new__(Pattern)
        other.__dict__.update(self.__dict__, links=[self.links[e] for e in keep])
        return other

    def crosses(self, e):
        a, b = self.links[e]
        return self.rack[a] != self.rack[b]

    def leaving_rack(self, rack):
        return {e for e in self.all() if self.crosses(e) and self.rack[self.links[e][0]] == rack}

    def entering_rack(self, rack):
        return {e for e in self.all() if self.crosses(e) and self.rack[self.links[e][1]] == rack}

    def leaving(self, node):
        return {e for e in self.all() if self.links[e][0] == node}

    def entering(self, node):
        return {e for e in self.all() if self.links[e][1] == node}

    def all(self):
        return range(len(self.links))

    def with_flow(self, e):
        """S, and the receiver's rack, which the link uses as well: [beta, links]."""
        a, b = self.links[e]
        within = not self.crosses(e)
        return [[self.beta_rack, set() if within else self.leaving_rack(self.rack[a])],
                [self.beta_nic, self.leaving(a)],
                [self.beta_nic, self.entering(b)],
                [self.beta_rack, set() if within else self.entering_rack(self.rack[b])]]

    def contra_flow(self, e):
        a, b = self.links[e]
        within = not self.crosses(e)
        return [[self.beta_rack, set() if within else self.entering_rack(self.rack[a])],
                [self.beta_nic, self.entering(a)],
                [self.beta_nic, self.leaving(b)],
                [self.beta_rack, set() if within else self.leaving_rack(self.rack[b])]]


def factor(sets):
    """(2), (4): the paper's three sets."""
    return max(beta * len(links) for beta, links in sets[:3])


def before(a, b):
    """Whether key a is taken before key b: the larger one, beyond rounding."""
    for x, y in zip(a, b):
        if not equal(x, y):
            return x > y
    return False


def algorithm1(p, variant):
    forward = [p.with_flow(e) for e in p.all()]
    reverse = [p.contra_flow(e) for e in p.all()]
    if variant == "fairness_only":
        reverse = [[[beta, set()] for beta, _ in sets] for sets in reverse]
    todo, done = list(p.all()), {}

    def used(links):
        return sum((done[e] for e in links if e in done), Fraction(0))

    def share(e, k):
        worst = Fraction(0)
        for i, (beta, links) in enumerate(forward[e]):
            if beta == 0 or not links:
                continue
            if variant != "feasible" and (i == 3 or not equal(beta * len(links), k)):
                continue
            rest = 1 / beta - used(links)
            if abs(rest) <= TOLERANCE / beta:
                raise Error("nothing is left")
            waiting = len([x for x in links if x not in done])
            worst = max(worst, p.beta_nic, waiting / rest)
        return worst

    while todo:
        keys = {e: (max(factor(forward[e]), factor(reverse[e])), factor(forward[e]),
                    factor(reverse[e])) for e in todo}
        first = todo[0]
        for e in todo:
            if before(keys[e], keys[first]):
                first = e
        _, k, kbar = keys[first]
        beta_ab = None
        if k >= kbar or equal(k, kbar):
            beta_ab = share(first, k)
        else:
            for entry in reverse[first][:3]:
                beta, links = entry
                if not equal(beta * len(links), kbar):
                    continue
                if equal(used(links), 1 / beta):
                    beta_ab = max(p.beta_nic, kbar)
                else:
                    entry[1] = set()
            if beta_ab is not None and variant == "feasible":
                beta_ab = max(beta_ab, share(first, k))
        if beta_ab is not None:
            done[first] = 1 / beta_ab
            todo.remove(first)
    return [done[e] for e in p.all()]


def bidirectional_max_min(p):
    """All grow alike until something is full on their way, or on the way back."""
    sets = [p.with_flow(e) for e in p.all()]
    both = [p.with_flow(e) + p.contra_flow(e) for e in p.all()]
    bandwidth = [Fraction(0)] * len(p.links)
    growing = set(p.all())
    while growing:
        level = bandwidth[min(growing)]
        step = p.nic - level
        for e in growing:
            for beta, links in sets[e]:
                if beta and links:
                    rest = 1 / beta - sum(bandwidth[x] for x in links)
                    step = min(step, rest / len(links & growing))
        for e in growing:
            bandwidth[e] += step

        def full(beta, links):
            return (beta and links and
                    1 / beta - sum(bandwidth[x] for x in links) <= TOLERANCE / beta)

        growing = {e for e in growing
                   if not equal(bandwidth[e], p.nic) and not any(full(*s) for s in both[e])}
    return bandwidth


def dynamic_times(p, megabits):
    rest = {e: Fraction(m) for e, m in enumerate(megabits)}
    now, end = Fraction(0), {}
    while rest:
        links = sorted(rest)
        rates = dict(zip(links, algorithm1(p.only(links), "paper")))
        step = min(rest[e] / rates[e] for e in links)
        now += step
        for e in links:
            rest[e] -= step * rates[e]
            if rest[e] <= TOLERANCE ** 2 * Fraction(megabits[e]):
                del rest[e]
                end[e] = now
    return [end[e] for e in p.all()]


# --------------------------------------------------------------------- questions

def random_pattern(rng, most_links):
    count = rng.randint(1, 9)
    racks = rng.randint(1, 4 if rng.random() < 0.3 else 2)
    nodes = rng.choice([list(range(count)), [f"n{i}" for i in range(count)],
                        rng.sample(range(100, 200), count)])
    nic = rng.choice([940, 1000, 1, 0.1, 3.7])
    backbone = rng.choice([10, 1, 2, 3, 1.5, 2.5, None])
    hot = rng.choice(nodes)
    links = []
    for _ in range(rng.randint(0, most_links)):
        link = [rng.choice(nodes), rng.choice(nodes)]
        if rng.random() < 0.2:
            link[rng.randrange(2)] = hot
        if link[0] != link[1] or rng.random() < 0.1:
            links.append(link)
    return {"nic": nic, "backbone": backbone and nic * backbone, "nodes": nodes,
            "rack": [rng.randrange(racks) for _ in nodes], "links": links}


def answer_algorithm1(given):
    p = Pattern(given)
    return {"bandwidth": algorithm1(p, "paper"),
            "bandwidth_feasible": algorithm1(p, "feasible"),
            "bandwidth_fairness_only": algorithm1(p, "fairness_only"),
            "bandwidth_bidirectional_max_min": bidirectional_max_min(p),
            "k_kbar_mul_nic": [[factor(p.with_flow(e)) * p.nic, factor(p.contra_flow(e)) * p.nic]
                               for e in p.all()]}


def answer_times(given):
    p = Pattern(given)
    static = [Fraction(m) / rate for m, rate in zip(given["megabits"], algorithm1(p, "paper"))]
    return {"static_s": static, "dynamic_s": dynamic_times(p, given["megabits"])}


def answered(answer, given):
    try:
        return answer(given)
    except Error as error:
        return error


def ask_algorithm1(rng):
    given = random_pattern(rng, rng.choice([6, 24, 40]))
    return "algorithm1", given, answered(answer_algorithm1, given)


def ask_times(rng):
    given = random_pattern(rng, 10)
    given["megabits"] = [rng.choice([0, 80, 80, 100, 33.5, 1e4]) for _ in given["links"]]
    return "times", given, answered(answer_times, given)


def ask_closed(rng):
    given = {"n_in": rng.choice([0, 1, 2, 10, 12, 40]), "n_out": rng.choice([0, 1, 3, 11, 500]),
             "bandwidth": rng.choice([940, 9400, 0.3, None]), "link": rng.choice([940, 7, None])}

    def share(count):
        limits = [Fraction(given["link"])] if given["link"] is not None else []
        if count and given["bandwidth"] is not None:
            limits.append(Fraction(given["bandwidth"]) / count)
        return min(limits, default=None)

    return "closed", given, {"fairness_in": share(given["n_in"]),
                             "asymmetric": share(max(given["n_in"], given["n_out"]))}


ASKS = [ask_algorithm1, ask_algorithm1, ask_times, ask_closed]
