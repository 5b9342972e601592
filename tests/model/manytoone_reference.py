# SPDX-License-Identifier: Apache-2.0
"""Lastovetsky's heterogeneous hosts once more, in rational numbers.

ask_*() as in congestion_reference.
"""
from fractions import Fraction


def delay(node, size):
    return Fraction(node["C"]) + Fraction(node["t"]) * Fraction(size)


def transfer(size, rate):
    return Fraction(0) if rate is None else Fraction(size) / Fraction(rate)


def p2p(src, dst, rate, size):
    return delay(src, size) + delay(dst, size) + transfer(size, rate)


def random_node(rng):
    return {"C": rng.choice([0, 1e-4, 1e-4, 0.002, 0.5]), "t": rng.choice([0, 1e-9, 2e-7, 1e-6])}


def random_rate(rng):
    return rng.choice([1e5, 1e6, 1.25e8, 3e4, None])


def random_size(rng):
    return rng.choice([0, 1, 1000, 3072, 3073, 20000, 65536, 65537, 1e6, 0.5])


def ask_p2p(rng):
    given = {"src": random_node(rng), "dst": random_node(rng), "rate": random_rate(rng),
             "M": random_size(rng)}
    return "p2p", given, {"time": p2p(given["src"], given["dst"], given["rate"], given["M"])}


def ask_multi_p2p(rng):
    pairs = [[random_node(rng), random_node(rng), random_rate(rng)]
             for _ in range(rng.randint(1, 6))]
    size = random_size(rng)
    return ("multi_p2p", {"pairs": pairs, "M": size},
            {"time": max(p2p(*pair, size) for pair in pairs)})


def ask_one_to_many(rng):
    count, size = rng.randint(1, 6), random_size(rng)
    root, dests = random_node(rng), [random_node(rng) for _ in range(count)]
    rates = [random_rate(rng) for _ in range(count)]
    limit = rng.choice([size, 0, 2999, 1e5, None])
    each = [delay(node, size) + transfer(size, rate) for node, rate in zip(dests, rates)]
    total = max(each) if limit is None or size <= limit else sum(each)
    return ("one_to_many", {"root": root, "dests": dests, "rates": rates, "M": size, "S": limit},
            {"time": Fraction(root["C"]) + Fraction(root["t"]) * count * Fraction(size) + total})


def ask_many_to_one(rng):
    count, size = rng.randint(1, 7), random_size(rng)
    sources = [random_node(rng) for _ in range(count)]
    rates = [random_rate(rng) for _ in range(count)]
    small = rng.choice([3072, 3072, 0, 1e4, None])
    large = None if small is None else rng.choice([small, max(small, 65536), None])
    given = {"sources": sources, "rates": rates, "M": size, "idle": rng.random() < 0.5,
             "M1": small, "M2": large, "C": rng.choice([0, 0.25]),
             "delta1": rng.choice([1, 1.3]), "delta2": rng.choice([1, 0.7])}
    order = sorted(range(count), key=lambda i: delay(sources[i], size))
    messages = [(delay(sources[i], size) + transfer(size, rates[i]), delay(sources[i], size))
                for i in order]
    bracket = messages[0][0] + sum(service for _, service in messages[1:])
    idle, free = Fraction(0), messages[0][0]
    for arrival, _, service in sorted((m[0], place, m[1])
                                      for place, m in enumerate(messages[1:])):
        if arrival > free:
            idle += arrival - free
            free = arrival
        free += service
    if small is None or size <= small:
        time = Fraction(given["delta1"]) * (bracket + (idle if given["idle"] else 0))
    elif large is None or size <= large:
        time = Fraction(given["C"])
    else:
        time = Fraction(given["delta2"]) * bracket
    return "many_to_one", given, {"time": time, "bracket": bracket, "t_idle": idle}


ASKS = [ask_p2p, ask_multi_p2p, ask_one_to_many, ask_many_to_one, ask_many_to_one]
