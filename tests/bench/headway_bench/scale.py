# SPDX-License-Identifier: Apache-2.0
"""Names what tests/bench/scale measures of the processes of large jobs, and asks the models."""

import sys
from dataclasses import dataclass
from pathlib import Path
from statistics import median

sys.path.append(str(Path(__file__).resolve().parents[2] / "demo"))
from headway_demo import scene as scenes  # noqa: E402

# Eight nodes and sixteen.
SCENES = (scenes.RACK, scenes.SHALLOW)
RANKS = (64, 256, 1024)
# A size that Headway plans as one message between nodes and one that it plans as it is; of the skewed one
# a third of the pairs exchange it, and the others a quarter of it.
ALLTOALL, SKEWED = "alltoall", "alltoallv_skewed"
EXCHANGES = ((ALLTOALL, 1024), (ALLTOALL, 8192), (SKEWED, 8192))
WAYS = ("stock", "headway")
# A guest machine carries these out, at true link speed; "unpaced": by Headway's algorithm.
GUEST_RANKS = 64
GUEST_WAYS = {"stock": {"other": ["stock"]}, "headway_unpaced": {"other": ["unpaced"]},
              "headway": {"other": ["headway"]}}
TCP_ESTABLISHED = "01"
# As the helper's report names them; the last is of a job that did not run.
NATIVE, LINEAR, NOT_KNOWN = "native", "linear", "not known"
MANY_SMALL_BYTES, MANY_SMALL_RANKS = range(256, 2048), 4     # libheadway/able_algorithm.hpp: are_many_small_blocks()


@dataclass(frozen=True)
class Case:
    scene: scenes.Scene
    ranks: int
    bytes: int
    operation: str = ALLTOALL

    @property
    def ranks_per_node(self):
        return self.ranks // self.scene.nodes

    @property
    def name(self):
        return f"{self.operation} {self.bytes}"

    def nodes(self):
        """By rank, its node, as mpirun --map-by slot places them."""
        names = [f"{cluster}{number}" for cluster in "ab" for number in range(self.scene.nodes_per_cluster)]
        return [name for name in names for _ in range(self.ranks_per_node)]

    def crossing_bytes(self):
        """Over the trunk, each way, of an all-to-all of equal blocks."""
        return (self.ranks // 2) ** 2 * self.bytes

    def bound_s(self, crossing_bytes):
        """Data in full frames, alone."""
        return scenes.wire_ms(1, crossing_bytes, self.scene.trunk_rate_bps) / 1e3


def cases(most_processes):
    """The models know no skewed ones, which therefore have to run."""
    return [Case(scene, ranks, size, operation) for scene in SCENES for ranks in RANKS
            for operation, size in EXCHANGES if operation == ALLTOALL or ranks <= most_processes]


def guest_spec(scene, ways, repetitions, warmup):
    """Returns what tests/bench/patterns_guest.py is told of a scene; `ways`: names in GUEST_WAYS.
    """
    own = [case for case in cases(GUEST_RANKS) if case.scene == scene and case.ranks == GUEST_RANKS]
    return {"scene": scene.facts(), "contenders": {way: GUEST_WAYS[way] for way in ways}, "libraries": ["ompi"],
            "patterns": {case.name: (case.operation, case.bytes, case.ranks_per_node) for case in own},
            "repetitions": repetitions, "warmup": warmup}


# ---- processes ------------------------------------------------------------------------------

def established(table):
    """Reads /proc/net/tcp: (own end, other end) -> inode."""
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
    """Reads /proc/PID/smaps_rollup: it includes the process's part of what it shares."""
    for line in rollup.splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1])
    raise ValueError("the kernel does not tell a process's Pss")


def algorithm(report):
    """Reads the row of the all-to-all from HEADWAY_REPORT's file."""
    rows = [row for row in report["collectives"] if row["operation"].startswith("alltoall")]
    names = {row["algorithm"] for row in rows}
    if len(names) != 1:
        raise ValueError(f"an all-to-all by {', '.join(sorted(names)) or 'nothing'}")
    return names.pop()


# ---- models ---------------------------------------------------------------------------------

def as_planned(case, algorithm):
    """(ranks on a node, bytes) for `headway predict`: of many small blocks all that the ranks of a node have for
    another node counts as one message."""
    is_small = case.bytes in MANY_SMALL_BYTES and case.ranks_per_node >= MANY_SMALL_RANKS
    if algorithm == LINEAR and is_small:
        return 1, case.ranks_per_node ** 2 * case.bytes
    return case.ranks_per_node, case.bytes


def times_s(predicted, way):
    """(at best, at worst) of all messages at once, of headway predict's JSON."""
    name = "fluid, linear, " + ("paced" if way == "headway" else "unpaced")
    point, = predicted["points"]
    model = next(model for model in point["models"] if model["model"] == name)
    return model["low_s"], model["high_s"]


def row(case, way, algorithm, processes, model_s):
    """`processes`, `model_s`: None of a job that did not run, or that the models do not know."""
    crossing_bytes = (processes or {}).get("crossing_bytes") or case.crossing_bytes()
    return {"nodes": case.scene.nodes, "ranks": case.ranks, "bytes": case.bytes, "operation": case.operation,
            "way": way, "algorithm": algorithm, "processes": processes, "crossing_bytes": crossing_bytes,
            "bound_s": case.bound_s(crossing_bytes), "model_s": model_s}


def guest_row(scene, job):
    """Reads an event of patterns_guest.py."""
    bound_ms = scenes.wire_ms(1, job["crossing_bytes"], scene.trunk_rate_bps)
    return {"nodes": scene.nodes, "exchange": job["pattern"], "way": job["way"],
            "samples_ms": job["samples_ms"], "bound_ms": bound_ms, "timeouts": job["timeouts"],
            "drops": sum(job["drops"].values())}


# ---- the table ------------------------------------------------------------------------------

HEAD = (f"{'nodes':>5}{'ranks':>6}  {'exchange':22}{'way':8}{'algorithm':11}{'requests':>9}{'connections':>12}"
        f"{'MiB each':>9}{'trunk MB':>10}{'bound s':>9}  {'model, s':17}{'to bound':>9}")
GUEST_HEAD = (f"{'nodes':>5}  {'exchange':22}{'way':8}{'bound ms':>9}{'median ms':>10}{'worst ms':>9}{'to bound':>9}"
              f"{'RTOs':>6}{'drops':>7}")


def shown(value, width, form=""):
    return f"{value:{width}{form}}" if value is not None else f"{'-':>{width}}"


def model_of(row):
    """The model's times, and how many times the bound the worst is."""
    if row["model_s"] is None:
        return f"{'-':17}{'-':>9}"
    low, high = row["model_s"]
    span = f"{low:.4g}" if low == high else f"{low:.4g} .. {high:.4g}"
    return f"{span:17}{high / row['bound_s']:9.2f}"


def line(row):
    processes = row["processes"] or {}
    return (f"{row['nodes']:5}{row['ranks']:6}  {row['operation'] + ' ' + str(row['bytes']):22}"
            f"{row['way']:8}{row['algorithm']:11}"
            f"{shown(processes.get('requests'), 9)}{shown(processes.get('connections'), 12)}"
            f"{shown(processes.get('pss_mib'), 9, '.1f')}{row['crossing_bytes'] / 1e6:10.1f}"
            f"{row['bound_s']:9.4g}  {model_of(row)}")


def guest_line(row):
    middle = median(row["samples_ms"])
    return (f"{row['nodes']:5}  {row['exchange']:22}{row['way']:8}{row['bound_ms']:9.2f}{middle:10.2f}"
            f"{max(row['samples_ms']):9.2f}{middle / row['bound_ms']:9.2f}{row['timeouts']:6}{row['drops']:7}")


def report(document):
    if document["rows"]:
        yield from counted_report(document)
    if document["guest"]:
        yield f"{GUEST_RANKS} ranks with Open MPI in a guest machine, at true link speed"
        yield GUEST_HEAD
        yield from map(guest_line, document["guest"])


def counted_report(document):
    yield "requests, connections and MiB of each rank: counted in processes (most of any rank; mean); -: not run,"
    yield "and requests of the MPI library's own algorithms are not seen"
    yield "model: headway predict's fluid model, at best .. at worst; to bound: of the worst"
    yield HEAD
    yield from map(line, document["rows"])
    yield ""
