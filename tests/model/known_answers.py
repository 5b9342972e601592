# SPDX-License-Identifier: Apache-2.0
"""Questions to headway-eval whose answers the papers state or a few lines of
arithmetic give: (model.operation, input, result or an exception).
"""
REFUSED = Exception("refused")


class Told(Exception):
    """Refused with that sentence."""


def rack(nic, links, **more):
    """Nodes of one rack."""
    nodes = sorted({end for link in links for end in link})
    return dict({"nic": nic, "backbone": 10 * nic, "nodes": nodes, "rack": [0] * len(nodes),
                 "links": links}, **more)


def alike(values, factors, fairness_only=None):
    """Every variant says the same, but perhaps the one without contra sets."""
    return {"bandwidth": values, "bandwidth_feasible": values,
            "bandwidth_bidirectional_max_min": values,
            "bandwidth_fairness_only": fairness_only or values, "k_kbar_mul_nic": factors}


def sources(*delays):
    return [{"C": c, "t": 0} for c in delays]


def many_to_one(size, idle, **more):
    """Hosts of 1 ms; rates such that the third arrives last."""
    return dict({"sources": sources(1e-3, 1e-3, 1e-3), "rates": [1e6, 1e6, 2e5], "M": size,
                 "idle": idle, "M1": 3072, "M2": 65536, "C": 0.25, "delta1": 2, "delta2": 3},
                **more)


def two_racks(nodes, racks=(0, 0, 1, 1), links=((0, 2), (1, 3))):
    return {"nic": 10, "backbone": 5, "nodes": nodes, "rack": racks, "links": links}


def simulated(*programs):
    return {"b": [3], "d": [0], "clamp": True, "eps_s": 0, "gap": [[0, 8]], "L": 3, "rto": "none", "programs": programs}


def plogpt_all(**more):
    return dict({"b": [3, 4], "d": [2, 2], "clamp": True, "eps_s": 0.01, "P": 4, "m": 9, "g": 8, "L": 3, "t_rto": 100},
                **more)


TREE = [["a", "r", 8, 2], ["b", "r", 6, 3], ["x", "a", 9, 9], ["y", "b", 9, 9], ["z", "b", 9, 1]]
PAIRS = [["x", "y"], ["x", "z"], ["y", "x"], ["z", "y"]]
FIT = {"samples": [[500, 0.01], [1000, 0.02], [2000, 0.07], [4000, 0.11]], "n": 11, "alpha": 0,
       "beta": 1e-6, "M": 2000}
STAR = rack(940, [[b, "a"] for b in "bcdefghijklm"] + [["a", "b"]])

KNOWN = [
    # Zhu 5.2: two in and one out of 940 get 470 each; 12 and one get 940/12.
    ("congestion.algorithm1", rack(940, [["b", "a"], ["c", "a"], ["a", "d"]]),
     alike([470] * 3, [[2, 1], [2, 1], [1, 2]], [470, 470, 940])),
    ("congestion.algorithm1", STAR,
     alike([940 / 12] * 13, [[12, 1]] * 12 + [[1, 12]], [940 / 12] * 12 + [940])),
    ("congestion.algorithm1", rack(940, []), alike([], [])),
    # 11 links on a backbone for ten
    ("congestion.algorithm1",
     {"nic": 940, "backbone": 9400, "nodes": list(range(22)), "rack": [0] * 11 + [1] * 11,
      "links": [[i, 11 + i] for i in range(11)]}, alike([9400 / 11] * 11, [[1.1, 0]] * 11)),
    # no backbone to speak of; racks by name
    ("congestion.algorithm1",
     {"nic": 5, "backbone": None, "nodes": ["p", "q"], "rack": ["x", "y"], "links": [["p", "q"]]},
     alike([5], [[1, 0]])),
    # nodes by name, by number, by position; two processes on a node; racks by name or number
    *(("congestion.algorithm1", question, alike([2.5, 2.5], [[4, 0], [4, 0]])) for question in (
        two_racks(list("pqrs"), list("xxyy"), (("p", "r"), ("q", "s"))), two_racks(list("pqrs")), two_racks([0, 1, 2, 3]),
        two_racks([7, 8, 9, 10], (3, 3, 5, 5), ((7, 9), (8, 10))), two_racks([5, 5, 6, 7]))),
    ("congestion.algorithm1", two_racks([5, 5, 6, 7], [0, 1, 1, 1]), Told("rack[1]: puts a node into two racks")),
    ("congestion.algorithm1", two_racks(["p", "q"], [0, 1], [["p", "z"]]), Told("links[0][1]: is not in nodes")),
    ("congestion.algorithm1", two_racks([0, 1], [0, 1], [[0, 2]]),
     Told("links[0][1]: must be a whole number from 0 to 1")),
    # a message within a node uses its NIC both ways
    ("congestion.algorithm1", rack(10, [["a", "a"], ["a", "b"]]),
     alike([5, 5], [[2, 2], [2, 1]])),
    ("congestion.algorithm1", rack(10, [["a", "b"]], nodes=["a"], rack=[0]), REFUSED),
    ("congestion.algorithm1", rack(10, [["a", "b"]], rack=[0]), REFUSED),
    ("congestion.algorithm1", rack(0, [["a", "b"]]), REFUSED),
    ("congestion.closed", {"n_in": 2, "n_out": 20, "bandwidth": 9400, "link": 940},
     {"fairness_in": 940, "asymmetric": 470}),
    ("congestion.closed", {"n_in": 0, "n_out": 0, "bandwidth": 9400, "link": 940},
     {"fairness_in": 940, "asymmetric": 940}),
    ("congestion.closed", {"n_in": -1, "n_out": 0, "bandwidth": 9400, "link": 940}, REFUSED),
    # one of two in ends; the others have 940 then
    ("congestion.times",
     rack(940, [["b", "a"], ["c", "a"], ["a", "d"]], megabits=[235, 470, 470]),
     {"static_s": [0.5, 1, 1], "dynamic_s": [0.5, 0.75, 0.75]}),
    ("congestion.times", rack(940, [["b", "a"]], megabits=[]), Told("megabits: must be an array of 1")),
    ("congestion.times", rack(940, [["b", "a"]], megabits=[-1]), REFUSED),

    ("manytoone.p2p", {"src": {"C": 1e-3, "t": 1e-6}, "dst": {"C": 2e-3, "t": 0}, "rate": 1e6,
                       "M": 1000}, {"time": 5e-3}),
    ("manytoone.multi_p2p", {"pairs": [], "M": 1}, Told("pairs: must be an array of 1 to 1000000")),
    # up to S bytes are buffered
    *(("manytoone.one_to_many", {"root": {"C": 0.01, "t": 1e-6}, "dests": sources(1e-3, 2e-3), "rates": [1e6, 1e6],
                                 "M": 1000, "S": buffered}, {"time": time_s})
      for buffered, time_s in ((1000, 0.015), (999, 0.017))),
    ("manytoone.many_to_one", many_to_one(1000, True),
     {"time": 14e-3, "bracket": 4e-3, "t_idle": 3e-3}),
    ("manytoone.many_to_one", many_to_one(1000, False),
     {"time": 8e-3, "bracket": 4e-3, "t_idle": 3e-3}),
    ("manytoone.many_to_one", many_to_one(65536, True),
     {"time": 0.25, "bracket": 3e-3 + 65536e-6, "t_idle": 65536e-6 * 4 - 1e-3}),
    ("manytoone.many_to_one", many_to_one(1e5, True),
     {"time": 3 * 0.103, "bracket": 0.103, "t_idle": 0.399}),
    # the least delay is message 0, though it arrives last: nobody waits
    ("manytoone.many_to_one",
     many_to_one(1000, True, sources=sources(2e-3, 1e-3), rates=[1e6, 1e4]),
     {"time": 2 * 0.103, "bracket": 0.103, "t_idle": 0}),

    # Steffenel, Gigabit Ethernet
    ("contention.predict", {"n": 40, "m": 100000, "M": 8000, "alpha": 50e-6, "beta": 8e-9,
                            "gamma": 4.3628, "delta": 4.93e-3},
     {"lower_bound": 0.03315, "time": 0.33033936}),
    ("contention.predict", {"n": 0, "m": 1, "M": None, "alpha": 0, "beta": 1, "gamma": 1,
                            "delta": 0}, REFUSED),
    # what a process keeps is no message; three messages, 700 bytes
    ("contention.exchange_bound",
     {"w": [[99999, 10, 20, 300], [0, 0, 0, 400], [5, 0, 0, 0], [0, 0, 0, 0]], "alpha": 1,
      "beta": 0.01}, {"time": 10}),
    ("contention.exchange_bound", {"w": [[0, 1], [1]], "alpha": 1, "beta": 1}, REFUSED),
    # y = 1, 2, 7, 11 ms over x = 0.5, 1, 2, 4 ms: gamma 2, delta 3 ms
    ("contention.fit", dict(FIT, cov=None, which="all"),
     {"gamma": 2, "delta": 3e-3, "error_pct": [0] * 4}),
    ("contention.fit", dict(FIT, cov=[1, 2, 3, 4], which="large"),
     {"gamma": 2, "delta": 3e-3, "error_pct": [0] * 4}),
    ("contention.fit", FIT, {"gamma": 2, "delta": 3e-3, "error_pct": [0] * 4}),
    ("contention.fit", dict(FIT, cov=[1, 2, 3], which="all"), Told("cov: must be an array of 4")),
    ("contention.fit", dict(FIT, cov=None, which="some"), Told('which: must be one of "all", "large"')),
    ("contention.fit", dict(FIT, cov=[[1, 0, 0, 0]] * 4, which="all"), REFUSED),
    ("contention.fit", dict(FIT, samples=[], cov=None, which="all"), REFUSED),
    ("contention.two_cluster", {"T1": 2, "T2": 3, "n1": 10, "n2": 25, "alpha_w": 0.01,
                                "beta_w": 1e-6, "m": 1000},
     {"literal": 3.135, "packed_min": 3.06, "messages": [50, 500]}),

    # Takano: Table I, and LU's grid, where 8 of 32 cross
    ("matb.table1", {"benchmark": "CG", "N": 32, "B": 1e10}, {"senders": 16, "matb": 6.25e8}),
    ("matb.table1", {"benchmark": "LU", "N": 32, "B": 1e10}, {"senders": 32, "matb": 3.125e8}),
    ("matb.npb_pattern", {"benchmark": "LU", "N": 32, "B": 1e10}, {"senders": 8, "matb": 1.25e9}),
    ("matb.npb_pattern", {"benchmark": "BT", "N": 32, "B": 1e10}, {"senders": 16, "matb": 6.25e8}),
    ("matb.npb_pattern", {"benchmark": "CG", "N": 32, "B": 1e10}, {"senders": 16, "matb": 6.25e8}),
    ("matb.npb_pattern", {"benchmark": "BT", "N": 16, "B": 1e10}, Told("N: BT needs a square of ranks, not 32")),
    ("matb.npb_pattern", {"benchmark": "EP", "N": 16, "B": 1e10},
     Told("benchmark: must be one of BT, CG, FT, IS, LU, MG, SP")),
    ("matb.alltoall_clusters", {"sizes": [32, 32], "uplink": [1e10, 1e10]},
     {"matb": [3.125e8, 3.125e8]}),
    ("matb.alltoall_clusters", {"sizes": [4], "uplink": [10]}, {"matb": [None]}),
    ("matb.alltoall_clusters", {"sizes": [], "uplink": []}, {"matb": []}),
    ("matb.alltoall_clusters", {"sizes": [4, 4], "uplink": [10]}, REFUSED),
    ("matb.tree", {"edges": TREE, "pairs": PAIRS, "links": "trunk"},
     {"links": [["down", "a", 1, 2], ["down", "b", 1, 3], ["up", "a", 1, 8], ["up", "b", 1, 6]],
      "node": {"x": 3, "y": 2, "z": None}, "pair": [3, 3, 2, None]}),
    ("matb.tree", {"edges": TREE, "pairs": [["x", "x"]], "links": "all"},
     {"links": [], "node": {"x": None}, "pair": [None]}),
    ("matb.tree", {"edges": TREE, "pairs": [], "links": "all"},
     {"links": [], "node": {}, "pair": []}),
    # numbers are names, too, and sorted as numbers
    ("matb.tree", {"edges": [[10, "r", 4, 4], [9, "r", 6, 6]], "pairs": [[10, 9], [9, 10]],
                   "links": "trunk+up"},
     {"links": [["up", 9, 1, 6], ["up", 10, 1, 4]], "node": {"9": 6, "10": 4}, "pair": [4, 6]}),
    ("matb.tree", {"edges": TREE, "pairs": [["x", "q"]], "links": "all"}, Told("pairs[0][1]: is not in edges")),
    ("matb.tree", {"edges": TREE + [["x", "b", 1, 1]], "pairs": [], "links": "all"}, Told('edges: "x" has two parents')),
    ("matb.tree", {"edges": TREE, "pairs": [], "links": "some"}, Told('links: must be one of "trunk", "trunk+up", "all"')),
    ("matb.tree", {"edges": [["a", "b", 1, 1], ["b", "a", 1, 1]], "pairs": [], "links": "all"},
     REFUSED),
    # Takano, Figure 3: half of 1 Gbit/s leaves a gap as long as the packet
    ("matb.pacing", {"link_rate": 1e9, "rate": 5e8, "packet": 1500},
     {"gap_bytes": 1500, "interval_s": 24e-6}),
    ("matb.pacing", {"link_rate": 1e9, "rate": 5e9, "packet": 1500}, Told("rate: is more than the link has")),

    # no distance with a delay of 0
    ("plogpt.ps", {"b": [2, 4], "d": [1, 0], "h": 1, "h2": 2, "eps_s": None},
     {"distance": None, "exact": True, "ps": True}),
    # 4 flows to 2 and 3 of b(2) = 100, taken as 6
    ("plogpt.rates", {"b": [3, 100], "clamp": True, "flows": [[0, 2], [0, 3], [1, 2], [1, 3]]},
     {"height": [2] * 4, "rate": [1.5] * 4}),
    ("plogpt.alltoall", plogpt_all(),
     {"n_rto": 1, "plogp_a": 33, "plogp_b": 27, "plogpt_a": 41, "plogpt_b": 135, "rto_heights": [1]}),
    # a message to oneself is finished when it is entered
    ("plogpt.simulate", simulated([["isend", 0, 1], ["wait", 0], ["irecv", 0, 1]]),
     {"finish": [[0, None, 0]], "leave": [[0, 0, 0]], "makespan": 0}),
    ("plogpt.gap", {"b1": 3, "g": 8, "t_start": 0}, Told("profile: is missing")),
    ("plogpt.gap", {"b1": 3, "g": 8, "t_start": 0, "profile": [], "x": 1}, Told("x: unknown key")),
    ("plogpt.gap", {"b1": None, "g": 8, "t_start": 0, "profile": []}, Told("b1: must be a positive number")),
    ("plogpt.gap", {"b1": 3, "g": 8, "t_start": 0, "profile": [[0, 2], [6]]}, Told("profile[1]: must be an array of 2")),
    ("plogpt.rates", {"b": [3], "clamp": 1, "flows": []}, Told("clamp: must be true or false")),
    ("plogpt.rates", {"b": [3], "clamp": True, "flows": [[0, 5]]}, Told("flow 0: 0 -> 5 in a tree of 2 leaves")),
    ("plogpt.alltoall", plogpt_all(P=6), Told("P: must be a power of two")),
    ("plogpt.alltoall", plogpt_all(P=8), Told("P: the tree has fewer leaves")),
    ("plogpt.simulate_alltoall", plogpt_all(algorithm="b", rto="sometimes", eps_t=1e-3),
     Told('rto: "sometimes" is none of none, chrono, random:SEED, all')),
    ("plogpt.simulate", simulated([], [["irecv", 0, 1]]), Told("rank 1 op 0: the irecv from 0 has no isend")),
    ("plogpt.simulate", simulated([["irecv", 1, 1], ["wait", 0], ["isend", 1, 1]],
                                  [["irecv", 0, 1], ["wait", 0], ["isend", 0, 1]]), Told("rank 0 op 1: waits for ever")),
    ("plogpt.simulate", simulated([["send", 1, 1]]),
     Told('programs[0][0][0]: must be one of "irecv", "isend", "wait"')),
    ("plogpt.simulate", simulated([["wait", 0, 1]]), Told("programs[0][0]: must be an array of 2")),
    ("plogpt.simulate", simulated([["isend", 0]]), Told("programs[0][0]: must be an array of 3")),
]
