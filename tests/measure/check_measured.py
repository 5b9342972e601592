#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Compares what headway measure found with the network that there is.

    check_measured.py TREE DOCUMENT.json

TREE is what tests/measure/tree.sh built.  Capacities may be off by 2 %, delays by 5 %,
buffers by 10 % or one frame; the tree is exact.  Prints what is wrong; fails if anything is.
"""
import json
import sys
from collections import Counter

FRAME = 1514
RING_FRAMES = 2  # of a port's wire, beside its queue


def true_links(lines):
    """The hosts, each one's links to the root, and by the hosts below a link: (Mbit/s, delay in us, buffer)."""
    parent, rows, nodes = {}, {}, []
    for line in lines:
        words = line.split()
        if words[0] == "switch":
            parent[words[1]] = words[2] if len(words) > 2 else None
            if len(words) > 2:
                rows[words[1]] = (float(words[3]), float(words[4]), int(words[5]))
        else:
            nodes.append(words[1])
            parent[words[1]] = words[2]
            rows[words[1]] = (float(words[3]), None, int(words[4]))
    below, to_root = {name: set() for name in rows}, {}
    for node in nodes:
        name, to_root[node] = node, []
        while name in rows:
            below[name].add(node)
            to_root[node].append(name)
            name = parent[name]
    rates = {node: {(name, rows[name][0]) for name in names} for node, names in to_root.items()}
    return nodes, rates, {frozenset(below[name]): row for name, row in rows.items()}


def side(hosts, all_hosts):
    """A link divides hosts alike whichever side is named."""
    return min(sorted(hosts), sorted(set(all_hosts) - set(hosts)))


def holds(buffer):
    """Whole frames of the queue, and those of the ring."""
    return buffer // FRAME * FRAME + RING_FRAMES * FRAME


def buffer_is_right(pair):
    truth, found = pair
    return abs(found - truth) <= max(0.1 * truth, FRAME)


def off(value, truth):
    return abs(value / truth - 1)


def missing_buffers(links):
    """Every trunk's is known in one direction at least, and those of four ports."""
    known = [link for link in links if link["buffer_exact"]]
    trunks = {tuple(link["hosts"]) for link in links if link["is_trunk"]}
    missing = trunks - {tuple(link["hosts"]) for link in known if link["is_trunk"]}
    ports = sum(not link["is_trunk"] for link in known)
    return [f"no buffer before the trunk of {hosts}" for hosts in missing] + (
        [f"the buffers of {ports} ports only"] if ports < 4 else [])


def is_binary(to_root):
    """Whether the hosts of every switch can be halved again and again; only then there are heights."""
    at_switch = Counter(frozenset(link for link in links if link[0] != node) for node, links in to_root.items())
    return all(hosts & (hosts - 1) == 0 for hosts in (*at_switch.values(), len(to_root)))


def wrong_heights(heights, nodes, to_root):
    """b(h) is what its pairs get, if they share the narrowest link of them alike; of both ways at once the same.

    d(h) is checked with the buffers that it is made of.
    """
    wrong = []
    for h, height in enumerate(heights, 1):
        load = {}
        for pair in height["pairs"]:
            here, there = (to_root[nodes[host]] for host in pair)
            for link in here ^ there:
                load[link] = load.get(link, 0) + 1
        truth = len(height["pairs"]) * min(rate * 1e6 / 8 / pairs for (_, rate), pairs in load.items())
        print(f"# b({h}): {height['one_way_bytes_per_s']:.0f}, both ways {height['both_ways_bytes_per_s']:.0f} of {truth:.0f},"
              f" d({h}): {height['buffer_delay_s']}")
        wrong += [f"height {h}, {way}: {height[way]} bytes/s instead of {truth}"
                  for way in ("one_way_bytes_per_s", "both_ways_bytes_per_s") if off(height[way], truth) > 0.02]
        if not height["buffer_delay_s"]:
            wrong.append(f"height {h} has no d")
    wanted = len(nodes).bit_length() - 1 if is_binary(to_root) else 0
    return wrong + ([] if len(heights) == wanted else [f"{len(heights)} heights of {len(nodes)} hosts"])


def wrong_shares(messages, host_mbit):
    """Flows of one host get no more than its link carries, and it is told who got how much.

    It may be much less: a time-out of 200 ms is one of the rounds.  Flows end one after the other, so that
    what each had until its own end may add up to more.
    """
    if not messages:
        return []
    most = 1.02 * host_mbit * 1e6 / 8 * 1448 / 1538
    of_host = [share for share in messages["shares"] if share["direction"] != "trunk"]
    both = messages["two_in_one_out"]
    return [f"{share['direction']}, {share['flows']} flows: {share}, where a host has {most} bytes/s"
            for share in of_host if not 0 < share["least_bytes_per_s"] <= share["most_bytes_per_s"] < most
            or not 0 < share["total_bytes_per_s"] < most] + [
        f"two in, one out: {both}" for _ in range(not 0 < both["in_bytes_per_s"] < most or not 0 < both["out_bytes_per_s"] < most)
    ] + ([] if any(share["direction"] == "trunk" for share in messages["shares"]) else ["no trunk was shared"])


def main(tree_file, document_file):
    with open(tree_file, encoding="utf-8") as file:
        nodes, to_root, truth = true_links(file.read().splitlines())
    with open(document_file, encoding="utf-8") as file:
        found = json.load(file)
    wrong = []
    host_mbit = max(row[0] for row in truth.values() if row[1] is None)
    true_by_side = {tuple(side(hosts, nodes)): row for hosts, row in truth.items()}
    found_sides = {tuple(side(link["hosts"], nodes)) for link in found["links"]}
    for missing in set(true_by_side) - found_sides:
        wrong.append(f"the link of {missing} was not found")
    for surplus in found_sides - set(true_by_side):
        wrong.append(f"there is no link of {surplus}")
    for link in found["links"]:
        row = true_by_side.get(tuple(side(link["hosts"], nodes)))
        if row is None:
            continue
        mbit, delay_us, buffer = row
        name = f"{link['direction']} {','.join(link['hosts'])}"
        print(f"# {name}: {link['bps'] / 1e6:.1f} of {mbit} Mbit/s{'' if link['exact'] else ' at least'}, "
              f"delay {link['delay_s']}, buffer {link['buffer_bytes']} of {buffer} {link['buffer_exact']}")
        if off(link["bps"] / 1e6, mbit) > 0.02 or not link["exact"]:
            wrong.append(f"{name}: {link['bps'] / 1e6} Mbit/s, exact: {link['exact']}, instead of {mbit}")
        if delay_us and off(link["delay_s"] * 1e6, delay_us) > 0.05:
            wrong.append(f"{name}: {link['delay_s'] * 1e6} us instead of {delay_us}")
        is_measured = link["buffer_bytes"] is not None
        if is_measured and not buffer_is_right((holds(buffer), link["buffer_bytes"])):
            wrong.append(f"{name}: a buffer of {link['buffer_bytes']} bytes instead of {holds(buffer)}")
    wrong += missing_buffers(found["links"])
    wrong += wrong_heights(found["heights"], nodes, to_root)
    wrong += wrong_shares(found["messages"], host_mbit)
    for one in found["remarks"]:
        print("# " + one)
    for one in wrong:
        print(one)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
