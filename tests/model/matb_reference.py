# SPDX-License-Identifier: Apache-2.0
"""MATB once more: paths and sets of senders, grids as coordinates.

ask_*() as in congestion_reference.
"""
import math
from fractions import Fraction
from itertools import product

from congestion_reference import Error

BENCHMARKS = ["BT", "SP", "CG", "LU", "MG", "FT", "IS"]


def divided(bandwidth, senders):
    return None if bandwidth is None or senders == 0 else Fraction(bandwidth) / senders


def ask_table1(rng):
    name, N, B = rng.choice(BENCHMARKS), rng.choice([1, 2, 8, 18, 32, 1000]), rng.choice([1e10, 7])
    if name in ("BT", "SP"):
        senders = 2 * math.sqrt(2 * N)
        return ("table1", {"benchmark": name, "N": N, "B": B},
                {"senders": senders, "matb": B / senders})
    senders = Fraction(N, 2) if name == "CG" else N
    return ("table1", {"benchmark": name, "N": N, "B": B},
            {"senders": senders, "matb": divided(B, senders)})


# ------------------------------------------------------------------------- grids

def torus_2d(P):
    q = math.isqrt(P)
    if q * q != P:
        raise Error("not a square")
    for x, y in product(range(q), repeat=2):
        for dx, dy in ((1, 0), (-1, 0), (0, 1), (0, -1), (1, -1), (-1, 1)):
            yield x * q + y, (x + dx) % q * q + (y + dy) % q


def rows_and_columns(P):
    if P & (P - 1):
        raise Error("not a power of two")
    rows = 2 ** ((P.bit_length() - 1) // 2)
    return rows, P // rows


def open_2d(P):
    rows, columns = rows_and_columns(P)
    for r, c in product(range(rows), range(columns)):
        for r2, c2 in ((r + 1, c), (r - 1, c), (r, c + 1), (r, c - 1)):
            if 0 <= r2 < rows and 0 <= c2 < columns:
                yield r * columns + c, r2 * columns + c2


def conjugate_gradient(P):
    """As in the benchmark: twice as many columns as rows are pairs of ranks."""
    rows, columns = rows_and_columns(P)
    for rank in range(P):
        if columns == rows:
            yield rank, rank % rows * rows + rank // rows
        else:
            yield rank, 2 * (rank // 2 % rows * rows + rank // 2 // rows) + rank % 2
        row, column, width = rank // columns, rank % columns, columns
        while width > 1:
            first = column // width * width
            yield rank, row * columns + first + (column - first + width // 2) % width
            width //= 2


def torus_3d(P):
    if P & (P - 1):
        raise Error("not a power of two")
    bits = P.bit_length() - 1
    extents = sorted(2 ** (bits // 3 + (1 if i < bits % 3 else 0)) for i in range(3))
    place = {at: i for i, at in enumerate(product(*map(range, extents)))}
    for at, rank in place.items():
        for axis, step in product(range(3), (1, -1)):
            other = list(at)
            other[axis] = (other[axis] + step) % extents[axis]
            yield rank, place[tuple(other)]


def everybody(P):
    return product(range(P), repeat=2)


GRIDS = {"BT": torus_2d, "SP": torus_2d, "CG": conjugate_gradient, "LU": open_2d, "MG": torus_3d,
         "FT": everybody, "IS": everybody}


def ask_npb_pattern(rng):
    name, B = rng.choice(BENCHMARKS), rng.choice([1e10, 7])
    N = rng.choice([2, 8, 18, 32, 50, 5]) if name in ("BT", "SP") else rng.choice(
        [1, 2, 4, 8, 16, 32, 64, 128, 6])
    given = {"benchmark": name, "N": N, "B": B}
    try:
        senders = len({a for a, b in GRIDS[name](2 * N) if a < N <= b})
    except Error as error:
        return "npb_pattern", given, error
    return "npb_pattern", given, {"senders": senders, "matb": divided(B, senders)}


# ------------------------------------------------------------------------- trees

def tree_answer(edges, pairs, links):
    up = {child: parent for child, parent, _, _ in edges}
    capacity = {}
    for child, _, upwards, downwards in edges:
        capacity["up", child], capacity["down", child] = upwards, downwards
    parents = set(up.values())

    def climb(node):
        chain = [node]
        while chain[-1] in up:
            chain.append(up[chain[-1]])
        return chain

    def counted(way, child):
        if child in parents:
            return True
        return links == "all" or (links == "trunk+up" and way == "up")

    def path(source, destination):
        from_source, to_root = climb(source), climb(destination)
        common = set(from_source) & set(to_root)
        return ([("up", n) for n in from_source if n not in common] +
                [("down", n) for n in to_root if n not in common])

    crossed = {}
    for source, destination in pairs:
        for link in path(source, destination):
            if counted(*link):
                crossed.setdefault(link, set()).add(source)
    share = {link: divided(capacity[link], len(senders)) for link, senders in crossed.items()}

    def least(values):
        return min((v for v in values if v is not None), default=None)

    pair = [least(share[link] for link in path(*ends) if link in share) for ends in pairs]
    node = {ends[0]: least(v for other, v in zip(pairs, pair) if other[0] == ends[0])
            for ends in pairs}
    return {"links": [[way, child, len(crossed[way, child]), share[way, child]]
                      for way, child in sorted(crossed)], "node": node, "pair": pair}


def random_tree(rng):
    nodes, edges = ["root"], []
    for i in range(rng.randint(1, 14)):
        child = f"{rng.choice('abz')}{i}"
        edges.append([child, rng.choice(nodes)] +
                     [rng.choice([1, 10, 10, 2.5, None]) for _ in range(2)])
        nodes.append(child)
    rng.shuffle(edges)
    return nodes, edges


def ask_tree(rng):
    nodes, edges = random_tree(rng)
    parents = {edge[1] for edge in edges}
    hosts = [n for n in nodes if n not in parents] if rng.random() < 0.8 else nodes
    pairs = [[rng.choice(hosts), rng.choice(hosts)] for _ in range(rng.randint(0, 20))]
    links = rng.choice(["trunk", "trunk+up", "all"])
    return ("tree", {"edges": edges, "pairs": pairs, "links": links},
            tree_answer(edges, pairs, links))


def ask_alltoall_clusters(rng):
    sizes = [rng.choice([0, 1, 1, 2, 3, 5]) for _ in range(rng.randint(0, 5))]
    uplink = [rng.choice([1, 10, 4.5, None]) for _ in sizes]
    edges = [[f"c{c}", "core", uplink[c], uplink[c]] for c in range(len(sizes))]
    edges += [[f"h{c}.{i}", f"c{c}", None, None] for c, size in enumerate(sizes)
              for i in range(size)]
    hosts = [edge[0] for edge in edges if edge[0][0] == "h"]
    pairs = [[a, b] for a in hosts for b in hosts if a != b]
    node = tree_answer(edges, pairs, "trunk")["node"]
    return ("alltoall_clusters", {"sizes": sizes, "uplink": uplink},
            {"matb": [node.get(f"h{c}.0") for c in range(len(sizes))]})


def ask_pacing(rng):
    link = rng.choice([1e9, 1e10])
    given = {"link_rate": link, "rate": link * rng.choice([1, 0.5, 0.03]),
             "packet": rng.choice([1500, 9000, 64])}
    rate, packet = Fraction(given["rate"]), Fraction(given["packet"])
    return "pacing", given, {"gap_bytes": packet * (Fraction(link) / rate - 1),
                             "interval_s": packet * 8 / rate}


ASKS = [ask_table1, ask_npb_pattern, ask_tree, ask_tree, ask_alltoall_clusters, ask_pacing]
