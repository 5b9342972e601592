# SPDX-License-Identifier: Apache-2.0
"""Steffenel's contention signatures once more, in rational numbers.

The fit inverts matrices by Gauss and solves the normal equations, which costs
nothing without rounding.  ask_*() as in congestion_reference.
"""
from fractions import Fraction

from congestion_reference import Error


def random_cost(rng):
    return {"alpha": rng.choice([0, 50e-6, 1]), "beta": rng.choice([8e-9, 1e-6, 0.25])}


def ask_exchange_bound(rng):
    n = rng.randint(1, 6)
    w = [[rng.choice([0, 0, 1, 1000, 2.5]) for _ in range(n)] for _ in range(n)]
    cost = random_cost(rng)
    out = [[w[i][j] for j in range(n) if j != i] for i in range(n)]
    into = [[w[i][j] for i in range(n) if j != i] for j in range(n)]
    messages = max(sum(size > 0 for size in sizes) for sizes in out + into)
    most = max(sum(map(Fraction, sizes)) for sizes in out + into)
    return ("exchange_bound", dict(cost, w=w),
            {"time": messages * Fraction(cost["alpha"]) + most * Fraction(cost["beta"])})


def predicted(n, m, cost, gamma, delta, limit):
    message = Fraction(cost["alpha"]) + Fraction(m) * Fraction(cost["beta"]) * gamma
    if limit is not None and m >= limit:
        message += delta
    return (n - 1) * message


def ask_predict(rng):
    cost, m = random_cost(rng), rng.choice([0, 1, 2000, 8000, 1e6])
    given = dict(cost, n=rng.choice([1, 2, 24, 40, 4096]), m=m, M=rng.choice([m, 0, 2001, None]),
                 gamma=rng.choice([1, 1.0195, 4.3628]), delta=rng.choice([0, 8.23e-3]))
    return ("predict", given,
            {"lower_bound": predicted(given["n"], m, cost, 1, 0, None),
             "time": predicted(given["n"], m, cost, Fraction(given["gamma"]),
                               Fraction(given["delta"]), given["M"])})


# --------------------------------------------------------------------------- fit

def solve(a, b):
    """x of a x = b, where b has a column for each system."""
    n = len(a)
    rows = [list(a[i]) + list(b[i]) for i in range(n)]
    for i in range(n):
        pivot = next((r for r in range(i, n) if rows[r][i] != 0), None)
        if pivot is None:
            raise Error("singular")
        rows[i], rows[pivot] = rows[pivot], rows[i]
        rows[i] = [x / rows[i][i] for x in rows[i]]
        for r in range(n):
            if r != i:
                rows[r] = [x - rows[r][i] * y for x, y in zip(rows[r], rows[i])]
    return [row[n:] for row in rows]


def product(a, b):
    return [[sum(x * y for x, y in zip(row, column)) for column in zip(*b)] for row in a]


def fit(given):
    n, limit, alpha = given["n"], given["M"], Fraction(given["alpha"])
    reaches = [limit is not None and m >= limit for m, _ in given["samples"]]
    used = [i for i, large in enumerate(reaches) if large or given["which"] == "all"]
    if not used:
        raise Error("nothing to fit")
    x = [[Fraction(given["samples"][i][0]) * Fraction(given["beta"]), Fraction(int(reaches[i]))]
         for i in used]
    if not any(reaches):
        x = [row[:1] for row in x]
    y = [[Fraction(given["samples"][i][1]) / (n - 1) - alpha] for i in used]
    cov = given["cov"]
    if cov is None:
        cov = [1] * len(given["samples"])
    if not isinstance(cov[0], list):
        cov = [[value if i == j else 0 for j in range(len(cov))] for i, value in enumerate(cov)]
    v = [[Fraction(cov[i][j]) / (n - 1) ** 2 for j in used] for i in used]
    transposed = [list(column) for column in zip(*x)]
    weighted = product(transposed, solve(v, [a + b for a, b in zip(x, y)]))
    normal = [row[:-1] for row in weighted]
    coefficients = [row[0] for row in solve(normal, [row[-1:] for row in weighted])]
    gamma, delta = (coefficients + [Fraction(0)])[:2]
    errors = []
    for m, time in given["samples"]:
        expected = predicted(n, m, given, gamma, delta, limit)
        if expected == 0:
            raise Error("nothing predicted")
        errors.append(100 * (Fraction(time) / expected - 1))
    return {"gamma": gamma, "delta": delta, "error_pct": errors}


def random_covariance(rng, count):
    kind = rng.choice(["none", "list", "matrix"])
    if kind == "none":
        return None
    if kind == "list":
        return [rng.choice([0.25, 1, 3, 1e-6]) for _ in range(count)]
    half = [[rng.randint(-2, 2) for _ in range(count)] for _ in range(count)]
    return [[sum(a * b for a, b in zip(half[i], half[j])) + (2 if i == j else 0)
             for j in range(count)] for i in range(count)]


def ask_fit(rng):
    sizes = rng.sample([128, 1000, 2000, 4096, 8000, 65536, 3e5], rng.randint(1, 7))
    limit = rng.choice([2000, 4096, 0, 1e9, None])
    n = rng.choice([2, 11, 40])
    gamma, delta = rng.choice([1.0195, 4.3628]), rng.choice([0.5, 0.00823, 0.04])
    cost = {"alpha": rng.choice([0, 50e-6]), "beta": 1e-6}
    samples = [[m, float(predicted(n, m, cost, Fraction(gamma), Fraction(delta), limit)) *
                rng.uniform(0.8, 1.3)] for m in sizes]
    given = dict(cost, samples=samples, n=n, M=limit, cov=random_covariance(rng, len(sizes)),
                 which=rng.choice(["all", "all", "large"]))
    try:
        return "fit", given, fit(given)
    except Error as error:
        return "fit", given, error


def ask_two_cluster(rng):
    n1, n2 = rng.randint(1, 30), rng.randint(1, 30)
    given = {"T1": rng.choice([0, 2, 0.125]), "T2": rng.choice([3, 0.1]), "n1": n1, "n2": n2,
             "alpha_w": rng.choice([0, 0.01]), "beta_w": rng.choice([1e-6, 0.5]),
             "m": rng.choice([0, 1, 1e5])}
    few, many = sorted([n1, n2])
    steps = -(-many // few)

    def time(messages):
        return (max(Fraction(given["T1"]), Fraction(given["T2"])) +
                steps * (Fraction(given["alpha_w"]) +
                         Fraction(given["beta_w"]) * Fraction(given["m"]) * messages))

    return "two_cluster", given, {"literal": time(n1 + n2), "packed_min": time(few),
                                  "messages": [2 * many, 2 * n1 * n2]}


ASKS = [ask_exchange_bound, ask_predict, ask_fit, ask_fit, ask_two_cluster]
