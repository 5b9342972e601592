# SPDX-License-Identifier: Apache-2.0
"""What tests/bench/scale measures of the processes of large jobs, and what it asks the models."""

import sys
from dataclasses import dataclass
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2] / "demo"))
from headway_demo import scene as scenes  # noqa: E402

# Eight nodes and sixteen.
SCENES = (scenes.RACK, scenes.SHALLOW)
RANKS = (64, 256, 1024)
# One size that Headway carries out by nodes and one that it sends all at once.
SIZES = (1024, 8192)
WAYS = ("stock", "headway")
# mpi-glue/messages.hpp: what a rank of Headway's has under way at most, sends and receives.
WINDOW = 128
TCP_ESTABLISHED = "01"
# As the helper's report names them; the last is of a job that did not run.
NATIVE, LINEAR, NODE_AWARE, NOT_KNOWN = "native", "linear", "node_aware", "not known"


@dataclass(frozen=True)
class Case:
    scene: scenes.Scene
    ranks: int
    bytes: int

    @property
    def ranks_per_node(self):
        return self.ranks // self.scene.nodes

    def nodes(self):
        """By rank, its node, as mpirun --map-by slot places them."""
        names = [f"{cluster}{number}" for cluster in "ab" for number in range(self.scene.nodes_per_cluster)]
        return [name for name in names for _ in range(self.ranks_per_node)]

    def crossing_bytes(self):
        """Over the trunk, each way."""
        return (self.ranks // 2) ** 2 * self.bytes

    def bound_s(self):
        """Data in full frames, alone."""
        return scenes.wire_ms(1, self.crossing_bytes(), self.scene.trunk_rate_bps) / 1e3


def cases():
    return [Case(scene, ranks, size) for scene in SCENES for ranks in RANKS for size in SIZES]


# ---- processes ------------------------------------------------------------------------------

def established(table):
    """Of /proc/net/tcp: (own end, other end) -> inode."""
    found = {}
    for line in table.splitlines()[1:]:
        words = line.split()
        if words[3] == TCP_ESTABLISHED:
            found[words[1], words[2]] = int(words[9])
    return found


def connections(sockets, inodes_of_process):
    """By process, how many connections it has with others of them (and not with the launcher)."""
    owner = {inode: process for process, inodes in inodes_of_process.items() for inode in inodes}
    counts = dict.fromkeys(inodes_of_process, 0)
    for (here, there), inode in sockets.items():
        if inode in owner and sockets.get((there, here)) in owner:
            counts[owner[inode]] += 1
    return counts


def pss_kib(rollup):
    """Of /proc/PID/smaps_rollup: the process's part of what it shares included."""
    for line in rollup.splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1])
    raise ValueError("the kernel does not tell a process's Pss")


def algorithm(report):
    """Of the all-to-all in HEADWAY_REPORT's file."""
    rows = [row for row in report["collectives"] if row["operation"] == "alltoall"]
    names = {row["algorithm"] for row in rows}
    if len(names) != 1:
        raise ValueError(f"an all-to-all by {', '.join(sorted(names)) or 'nothing'}")
    return names.pop()


# ---- models ---------------------------------------------------------------------------------

def as_planned(case, algorithm):
    """(ranks on a node, bytes) for `headway predict`.  By nodes one process of each node
    sends all that its ranks have for another node."""
    if algorithm == NODE_AWARE:
        return 1, case.ranks_per_node ** 2 * case.bytes
    return case.ranks_per_node, case.bytes


def times_s(predicted, way):
    """(at best, at worst) of all messages at once, of headway predict's JSON."""
    name = "fluid, linear, " + ("paced" if way == "headway" else "unpaced")
    point, = predicted["points"]
    model = next(model for model in point["models"] if model["model"] == name)
    return model["low_s"], model["high_s"]


def under_way(case, algorithm):
    """Requests of a rank at once, at most.  None: the MPI library's own algorithm does not tell."""
    if algorithm not in (LINEAR, NODE_AWARE):
        return None
    if algorithm == NODE_AWARE:
        nodes_each = -(-(case.scene.nodes - 1) // case.ranks_per_node)
        return min(WINDOW, 2 * max(nodes_each, case.ranks_per_node))
    return min(WINDOW, 2 * case.ranks)


def row(case, way, algorithm, processes, model_s):
    return {"nodes": case.scene.nodes, "ranks": case.ranks, "bytes": case.bytes, "way": way,
            "algorithm": algorithm, "requests": under_way(case, algorithm), "processes": processes,
            "crossing_bytes": case.crossing_bytes(), "bound_s": case.bound_s(), "model_s": model_s}


# ---- the table ------------------------------------------------------------------------------

HEAD = (f"{'nodes':>5}{'ranks':>6}{'bytes':>6}  {'way':8}{'algorithm':11}{'requests':>9}{'connections':>12}"
        f"{'MiB each':>9}{'trunk MB':>10}{'bound s':>9}  {'model, s':17}{'to bound':>9}")


def shown(value, width, form=""):
    return f"{value:{width}{form}}" if value is not None else f"{'-':>{width}}"


def line(row):
    low, high = row["model_s"]
    span = f"{low:.4g}" if low == high else f"{low:.4g} .. {high:.4g}"
    processes = row["processes"] or {}
    return (f"{row['nodes']:5}{row['ranks']:6}{row['bytes']:6}  {row['way']:8}{row['algorithm']:11}"
            f"{shown(row['requests'], 9)}{shown(processes.get('connections'), 12)}"
            f"{shown(processes.get('pss_mib'), 9, '.1f')}{row['crossing_bytes'] / 1e6:10.1f}"
            f"{row['bound_s']:9.4g}  {span:17}{high / row['bound_s']:9.2f}")


def report(document):
    yield "connections and MiB of each rank: counted in processes (most of any rank; mean); -: not run"
    yield "requests: at most so many at once; model: headway predict's fluid model, at best .. at worst;"
    yield "to bound: of the worst"
    yield HEAD
    yield from map(line, document["rows"])
