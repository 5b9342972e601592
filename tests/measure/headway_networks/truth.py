# SPDX-License-Identifier: Apache-2.0
"""The headway.toml of a network of networks.sh: the true one, and wrong ones that have to be named."""

import re

MANY = 4        # times the buffer that there is


def rows(tree):
    """Words of each line, switches and nodes apart: (name, parent or None, numbers)."""
    found = {"switch": [], "node": []}
    for line in tree.splitlines():
        kind, name, *rest = line.split()
        found[kind].append((name, rest[0] if rest else None, [float(word) for word in rest[1:]]))
    return found["switch"], found["node"]


def address(node):
    """Returns the address as topology.sh gives it."""
    return f"10.{1 if node.startswith('a') else 2}.0.{int(node[1:]) + 1}"


def link(prefix, numbers):
    """Keys of a trunk; a switch has them without the prefix."""
    rate, delay, buffer = numbers
    return [f'{prefix}rate = "{rate:g}mbit"', f'{prefix}delay = "{delay:g}us"', f'{prefix}buffer = "{buffer:.0f}B"']


def toml(tree):
    """A root with hosts of its own and one switch below it is one of two clusters, whose trunks are one cable."""
    switches, nodes = rows(tree)
    at = {name: [node for node in nodes if node[1] == name] for name, _, _ in switches}
    root = switches[0][0]
    trunk = switches[1][2]
    lines = []
    for name, parent, numbers in switches:
        lines += ["[[cluster]]" if at[name] else "[[switch]]", f'name = "{name}"']
        if at[name]:
            rate, buffer = at[name][0][2]
            lines += [f"hosts = {quoted(node for node, _, _ in at[name])}",
                      f"prefixes = {quoted(address(node) + '/32' for node, _, _ in at[name])}",
                      f'host_rate = "{rate:g}mbit"', f'host_buffer = "{buffer:.0f}B"', *link("trunk_", numbers or trunk)]
        elif parent:
            lines += link("", numbers)
        if parent and not at[root]:
            lines.append(f'parent = "{parent}"')
    return "\n".join(lines) + "\n"


def quoted(words):
    return "[" + ", ".join(f'"{word}"' for word in words) + "]"


def changed(tree, name, column, change):
    """Puts another word into the line of a switch or node."""
    lines = []
    for line in tree.splitlines():
        words = line.split()
        if words[1] == name:
            words[column] = change(words[column])
        lines.append(" ".join(words))
    return "\n".join(lines)


def wrong(tree):
    """Returns, by what is wrong, the headway.toml, and what each line has to be that is said of it.
    """
    switches, nodes = rows(tree)
    trunk = switches[-1][0]
    one, other = nodes[0], next(node for node in nodes if node[1] != nodes[0][1])
    exchanged = changed(changed(tree, one[0], 2, lambda _: other[1]), other[0], 2, lambda _: one[1])
    return {"a trunk 20 % too fast": (toml(changed(tree, trunk, 3, lambda rate: f"{1.2 * float(rate):g}")), r"(19|20|21) % too fast$"),
            "a buffer that is not there": (toml(changed(tree, trunk, 5, lambda size: str(MANY * int(size)))),
                                           f"^the buffer before the link .* described with {MANY * switches[-1][2][2]:.0f}"),
            "two hosts exchanged": (toml(exchanged), f"^{one[0]} and {other[0]} are exchanged$")}


def is_named(said, pattern):
    """Something is said, and nothing but that."""
    return bool(said) and all(re.search(pattern, line) for line in said)
