# SPDX-License-Identifier: Apache-2.0
"""Names what tests/bench/apps measures (programs, networks, contenders) and what is left to do, and
makes the table."""

import fcntl
import itertools
import json
import math
import re
import sys
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from statistics import mean, median, pstdev

sys.path.append(str(Path(__file__).resolve().parents[2] / "demo"))
from . import debian  # noqa: E402
from headway_demo import scene as scenes  # noqa: E402
from headway_demo.contender import ALONE, CONTENDERS as OF_DEMO, HEADWAY, SETTINGS, Contender  # noqa: E402

LIBRARIES = ("ompi", "mpich")
NODES = (8, 16)
# One way, as the paper's; 50 us is a local network.
DELAYS_US = (50, 2000, 5000, 10000)
# The first is the buffer of a switch's port, the second that of its port to the trunk.
BUFFERS_BYTES = {"ample": (64 * scenes.KIB, 128 * scenes.KIB), "shallow": (16 * scenes.KIB, 32 * scenes.KIB)}
# Settings of all nodes' sockets: Linux's own, buffers of the size in Table III of the paper, or small messages that are not joined.
SOCKETS = {"linux": {},
           "table3": {"net.core.rmem_max": "3000000", "net.core.wmem_max": "3000000",
                      "net.ipv4.tcp_rmem": "3000000 3000000 3000000", "net.ipv4.tcp_wmem": "3000000 3000000 3000000"},
           "uncorked": {"net.ipv4.tcp_autocorking": "0"}}
SOCKET_TITLES = {"linux": "", "table3": ", sockets as in Table III", "uncorked": ", without autocorking"}
# Something else may use the trunk: another job of the same program, or a TCP connection of which
# nobody has told Headway. The job has half of each cluster's nodes then, and the others are for its
# company; or they idle, to compare with.
NOTHING, IDLE, JOB, FLOOD = "nothing", "idle", "job", "flood"
BESIDE = {NOTHING: "", IDLE: "on half of the nodes", JOB: "on half of the nodes, beside another such job",
          FLOOD: "on half of the nodes, beside a flood of TCP"}
# The emulated processor carries all nodes; so many times faster it keeps up with the links.
FACTORS = {8: 100, 16: 200}
# One rank on each node, as in the paper.
RANKS_PER_NODE = 1
APPS = Path(__file__).resolve().parents[2] / "apps"
SILICON = (APPS / "silicon.pw").read_text()


@dataclass(frozen=True)
class Program:
    path: str           # below build/bin; for MPICH with its suffix
    arguments: tuple = ()
    pauses: bool = False    # and tells its samples, as tests/apps/main.c does
    # Of programs of Debian, below headway_bench/debian.py:
    package: str = ""       # that has it, and
    needs: tuple = ()       # files of these
    environment: tuple = ()     # NAME, value
    files: tuple = ()       # in its folder: name, text
    rehearsed: dict = field(default_factory=dict)   # what is different where it shall open the same and do less
    output: str = ""        # that file is read instead of what it prints
    last: str = ""          # it is ended when its output has this line


def kernel(name, size, iterations):
    return Program("tests/npb_kernel", (name, "--size", str(size), "--iterations", str(iterations), "--pause"), True)


# IS and FT have the sizes and iterations of classes W and S of the NPB; CG is between S and W; MG, LU
# and SP have the edges of S, W and W and fewer iterations.
KERNELS = {"IS": kernel("IS", 1 << 20, 10), "FT": kernel("FT", 64, 6), "CG": kernel("CG", 7040, 3),
           "MG": kernel("MG", 32, 10), "LU": kernel("LU", 32, 10), "SP": kernel("SP", 36, 10)}
# Dispatches and fetches back 64 KiB between a mean pair of 8 ranks, 220 KiB where the most popular expert is.
KERNELS |= {"MOE": kernel("MOE", 1 << 12, 10)}
# LU sends the smallest messages, and which of them TCP joins hangs on when they come: other cubes, other times.
LU_SIZES = {f"LU-{edge}": kernel("LU", edge, 10) for edge in (20, 22, 24, 26, 28, 30, 34, 36, 38, 40)}
# A program of Debian's FFTW over MPI, for Open MPI only.
FFTW = {"FFTW": kernel("FFTW", 64, 6)}
# The benchmarks themselves, where somebody has built them: make npb NPB=DIRECTORY.
NPB = {f"npb-{name}.{letter}": Program(f"npb/{name}.{letter}") for letter in "SWA" for name in ("is", "ft", "cg", "mg", "lu")}
# Programs of Debian, for Open MPI only: what each is given to do.
DEBIAN = {
    "hpcc": Program("/usr/bin/hpcc", package="hpcc", environment=debian.HPCC_POLLS,
                    files=(("hpccinf.txt", debian.Hpcc(448, 512, 32, (2, 4)).text()),),
                    rehearsed={"files": (("hpccinf.txt", debian.Hpcc(64, 64, 8, (2, 4)).text()),)},
                    output=debian.HPCC_OUTPUT, last=debian.HPCC_LAST),
    "mpi4py-fft": Program("/usr/bin/python3", (str(APPS / "spectrum.py"), "--size", "64", "--iterations", "6", "--pause"), True,
                          package="python3-mpi4py-fft", environment=debian.ONE_THREAD,
                          rehearsed={"arguments": (str(APPS / "spectrum.py"), "--size", "8", "--iterations", "1", "--pause")}),
    "lammps": Program("/usr/bin/lmp", ("-in", str(APPS / "salt.lammps"), "-log", "none", "-var", "steps", "5"), package="lammps",
                      rehearsed={"arguments": ("-in", str(APPS / "salt.lammps"), "-log", "none", "-var", "steps", "1")}),
    "pw": Program("/usr/bin/pw.x", ("-in", "silicon.pw"), package="quantum-espresso quantum-espresso-data",
                  needs=("/usr/share/espresso/pseudo/Si.pz-vbc.UPF",), files=(("silicon.pw", SILICON),),
                  rehearsed={"files": (("silicon.pw", SILICON.replace("electron_maxstep=4", "electron_maxstep=1")),)}),
}
PROGRAMS = KERNELS | LU_SIZES | FFTW | NPB | DEBIAN

# Beside those of the demo: Headway that paces nothing, and with a trunk's rate divided by a number
# set by hand, as the paper did (its Table VI).
BY_HAND = {"headway_n": 1, "headway_2n": 2}
# Headway that knows the messages from rank to rank as well: of programs that send some.
RECORDED = "headway_recorded"
CONTENDERS = {name: OF_DEMO[name] for name in ("stock", "stock_tuned", "rto_min", "rto_delack", "throttle", "pairwise", "fq",
                                               "htb", "dctcp", "bbr")}
CONTENDERS |= {
    "headway_unpaced": Contender("headway_unpaced", "Headway, unpaced", "Headway's algorithms and transport, nothing paced",
                                 HEADWAY, ("helper",)),
    "headway_n": Contender("headway_n", "Headway, B/N", "Headway with divisor = the nodes of a cluster",
                           HEADWAY, ("helper",), "headway"),
    "headway_2n": Contender("headway_2n", "Headway, B/2N", "Headway with divisor = twice the nodes of a cluster",
                            HEADWAY, ("helper",), "headway"),
    RECORDED: Contender(RECORDED, "Headway, recorded", "Headway with a recording of what the program sends point to point",
                        HEADWAY, ("helper",), "headway"),
    "headway_coordinated": Contender("headway_coordinated", "Headway, shares", "Headway with daemons that agree on shares of the trunk",
                                     HEADWAY, ("helper",)),
    "headway_alone": OF_DEMO["headway_alone"],
    "headway": OF_DEMO["headway"],
}

# For forecasts only, on one processor of the machine this was tried on.
BOOT_S = {8: 40, 16: 60}
RUN_S = {8: 20, 16: 45}


@dataclass(frozen=True)
class Network:
    nodes: int
    delay_us: int
    buffers: str
    sockets: str

    def scene(self):
        """The demo's two sites, with this delay and these buffers."""
        port_bytes, trunk_bytes = BUFFERS_BYTES[self.buffers]
        return replace(scenes.SITES, name=self.name, nodes_per_cluster=self.nodes // 2, trunk_delay_us=self.delay_us,
                       port_buffer_bytes=port_bytes, trunk_buffer_bytes=trunk_bytes, factor=FACTORS[self.nodes])

    @property
    def name(self):
        return f"{self.nodes}-{self.delay_us}us-{self.buffers}-{self.sockets}"

    @property
    def title(self):
        return (f"{self.nodes // 2} + {self.nodes // 2} nodes, {self.delay_us / 1000:g} ms one way, {self.buffers} buffers"
                f"{SOCKET_TITLES[self.sockets]}")


@dataclass(frozen=True)
class Cell:
    """A cell is measured once or several times: a program's runs by one contender's one setting."""

    network: Network
    library: str
    contender: str
    setting: str
    program: str
    beside: str = NOTHING

    def facts(self):
        return asdict(self)

    @classmethod
    def of(cls, facts):
        return cls(Network(**facts["network"]), *(facts[name] for name in ("library", "contender", "setting", "program")),
                   facts.get("beside", NOTHING))


def cells(networks, libraries, contenders, programs, beside=(NOTHING,)):
    """In the order in which they are measured: what a guest need not be set up anew for lies together."""
    for network in networks:
        for name in contenders:
            for library in libraries:
                for setting in CONTENDERS[name].settings:
                    for program, company in itertools.product(programs, beside):
                        yield Cell(network, library, name, setting, program, company)


class Results:
    """All runs that have been measured; `document` is what apps.json holds."""

    cell_type = Cell

    def __init__(self, document=None):
        self.runs = {self.cell_type.of(entry["cell"]): entry["runs"] for entry in (document or {"cells": []})["cells"]}

    def document(self):
        return {"cells": [{"cell": cell.facts(), "runs": runs} for cell, runs in self.runs.items()]}

    def add(self, cell, run):
        self.runs.setdefault(cell, []).append(run)

    def missing(self, cell, repetitions, traffic=False):
        """How many runs; `traffic`: only those count whose traffic has been recorded."""
        return max(repetitions - sum("traffic" in run or not traffic for run in self.runs.get(cell, [])), 0)

    def run_s(self, nodes):
        """Returns how long a run takes of the host's time, by experience if there is any."""
        took = [run["host_s"] for cell, runs in self.runs.items() if cell.network.nodes == nodes
                for run in runs if "host_s" in run]
        return median(took) if took else RUN_S[nodes]


class Kept:
    """The file with all runs, which several processes may add to: each measures other networks."""

    def __init__(self, file, results_type=Results):
        self.file, self.results_type = Path(file), results_type

    def load(self):
        return self.results_type(json.loads(self.file.read_text()) if self.file.exists() else None)

    def add(self, cell, run):
        self.add_all([(cell, run)])

    def add_all(self, measured):
        """`measured`: cells, each with a run."""
        self.file.parent.mkdir(parents=True, exist_ok=True)
        with open(self.file.with_suffix(".lock"), "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            results = self.load()
            for cell, run in measured:
                results.add(cell, run)
            written = self.file.with_suffix(".new")
            written.write_text(json.dumps(results.document(), indent=1) + "\n")
            written.rename(self.file)


def rehearsal(cell):
    """A guest runs this once before it counts, so that the files of later runs have been opened."""
    return cell.library, CONTENDERS[cell.contender].kind == HEADWAY, PROGRAMS[cell.program].path, cell.beside


def forecast_s(wanted, results, repetitions, traffic=False):
    """Forecasts all runs that are missing, with a guest for each network that has some, and its
    rehearsals."""
    missing = {cell: results.missing(cell, repetitions, traffic) for cell in wanted}
    networks = {cell.network for cell in wanted if missing[cell]}
    rehearsals = {(cell.network, rehearsal(cell)) for cell in wanted if missing[cell]}
    return (sum(BOOT_S[network.nodes] for network in networks)
            + sum(results.run_s(network.nodes) for network, _ in rehearsals)
            + sum(runs * results.run_s(cell.network.nodes) for cell, runs in missing.items()))


def job(cell, runs, traffic=False):
    """Returns the job as a guest is told of it; `traffic`: the trunk's is recorded."""
    contender = CONTENDERS[cell.contender]
    divisor = BY_HAND.get(cell.contender)
    return {"cell": cell.facts(), "runs": runs, "library": cell.library, "setup": contender.set_up_by,
            "divisor": divisor * cell.network.nodes // 2 if divisor else None,
            "words": list(SETTINGS[cell.setting][cell.library]), "helper": contender.kind == HEADWAY,
            "alone": contender.settings == ALONE, "recorded": cell.contender == RECORDED, "rehearsal": rehearsal(cell), "program": asdict(PROGRAMS[cell.program]),
            "beside": cell.beside, "traffic_bin_ms": traffic_bin_ms(cell.network) if traffic else None}


def guest_spec(network, wanted, results, repetitions, traffic=False):
    """For one guest: the network and the jobs that are missing."""
    jobs = [job(cell, results.missing(cell, repetitions, traffic), traffic) for cell in wanted if cell.network == network]
    return {"scene": network.scene().facts(), "sysctls": SOCKETS[network.sockets],
            "ranks_per_node": RANKS_PER_NODE, "jobs": [job for job in jobs if job["runs"]]}


def traffic_bin_ms(network):
    """As in the paper's Figures 7 to 10, finer where a program takes a tenth of the time."""
    return 10 if network.delay_us >= 5000 else 1


def bytes_in_bins(frames, start_s, end_s, bin_ms):
    """Returns the bytes that begin in each bin of [start_s, end_s); `frames` as wire_records has
    them."""
    bins = [0] * math.ceil((end_s - start_s) * 1e3 / bin_ms)
    for frame in frames:
        if start_s <= frame.start_s < end_s:
            bins[int((frame.start_s - start_s) * 1e3 / bin_ms)] += frame.wire_bytes
    return bins


def npb_result(text):
    """Reads a benchmark of the NPB as if it were one of our kernels: one sample, nothing before it.
    """
    if not re.search(r"^ *Verification *= *SUCCESSFUL", text, re.MULTILINE):
        raise ValueError("not verified:\n" + text[-1000:])
    seconds = re.search(r"^ *Time in seconds *= *([0-9.]+)", text, re.MULTILINE)
    return {"samples_ms": [float(seconds.group(1)) * 1e3], "warmup_ms": [], "verified": True}


def result(program, text):
    """Reads the result of any program that does not pause."""
    return RESULTS.get(program, npb_result)(text)


RESULTS = {"hpcc": debian.hpcc_result, "lammps": debian.lammps_result, "pw": debian.pw_result}


def choices(report):
    """How Headway carried the operations out: of HEADWAY_REPORT, of each the call with the largest messages.
    What a process does alone is the kernels' check."""
    largest = {}
    for row in report["collectives"]:
        if re.search(r"\b1 ranks$", row["communicator"]):
            continue
        kept = largest.get(row["operation"])
        if not kept or row["message_bytes_most"] > kept["message_bytes_most"]:
            largest[row["operation"]] = row
    return [{name: row[name] for name in ("operation", "algorithm", "paced", "message_bytes_most")}
            for row in largest.values()]


def run_ms(run):
    return sum(run["samples_ms"])


def summary(runs):
    """Returns a cell's median time over its runs, their spread, and what was lost in all of them.
    """
    times = [run_ms(run) for run in runs]
    return {"runs": len(runs), "median_s": median(times) / 1e3, "worst_s": max(times) / 1e3,
            "cv": pstdev(times) / mean(times), "first_s": median(sum(run["warmup_ms"]) for run in runs) / 1e3,
            "timeouts": sum(run["timeouts"] for run in runs), "retransmits": sum(run["retransmits"] for run in runs),
            "drops": sum(sum(run["drops"].values()) for run in runs), "company": company(runs), "figures": figures(runs)}


def figures(runs):
    """Returns what a program tells of its parts: name -> (median, unit); rates where it tells them.
    """
    def of(run, name):
        one = run["figures"][name]
        return one["rate"] if "rate" in one else one["seconds"]
    return {name: (median(of(run, name) for run in runs), one.get("unit", "s"))
            for name, one in runs[0].get("figures", {}).items()}


def company(runs):
    """Returns the results of whoever used the trunk as well: the medians of a job's seconds and of
    a flood's Mbit/s."""
    if "beside_samples_ms" in runs[0]:
        return f"{median(sum(run['beside_samples_ms']) for run in runs) / 1e3:.4f} s"
    if "beside_mbps" in runs[0]:
        return f"{median(run['beside_mbps'] for run in runs):.0f} Mbit/s"
    return ""


def best_settings(results, network, library, program, beside=NOTHING):
    """contender -> summary; of several settings the one with the lowest median counts."""
    found = {}
    for cell, runs in results.runs.items():
        if (cell.network, cell.library, cell.program, cell.beside) == (network, library, program, beside) and runs:
            one = summary(runs) | {"setting": cell.setting}
            if cell.contender not in found or one["median_s"] < found[cell.contender]["median_s"]:
                found[cell.contender] = one
    return {name: found[name] for name in CONTENDERS if name in found}


def tables(results):
    """(network, library, program, what is beside it, contender -> summary) of all that was measured."""
    seen = dict.fromkeys((cell.network, cell.library, cell.program, cell.beside) for cell in results.runs)
    for network, library, program, beside in sorted(seen, key=lambda key: (
            key[0].nodes, key[0].delay_us, key[0].buffers, key[0].sockets, key[1], list(BESIDE).index(key[3]),
            list(PROGRAMS).index(key[2]))):
        yield network, library, program, beside, best_settings(results, network, library, program, beside)


def title(network, library, beside):
    return ", ".join(filter(None, (network.title, library, BESIDE[beside])))


def report(results):
    yield "seconds of all iterations but the first; time-outs, retransmitted segments and drops in all runs"
    heading = None
    for network, library, program, beside, found in tables(results):
        if title(network, library, beside) != heading:
            heading = title(network, library, beside)
            yield f"\n{heading}"
            yield (f"{'program':12}{'contender':20}{'setting':17}{'runs':>5}{'median':>9}{'worst':>9}{'cv':>7}{'to stock':>10}"
                   f"{'first':>8}{'RTOs':>6}{'retrans':>9}{'drops':>7}" + (f"{beside:>12}" if beside != NOTHING else ""))
        for name, one in found.items():
            ratio = f"{one['median_s'] / found['stock']['median_s']:10.3f}" if "stock" in found else f"{'-':>10}"
            yield (f"{program:12}{CONTENDERS[name].title:20}{one['setting']:17}{one['runs']:5}{one['median_s']:9.4f}"
                   f"{one['worst_s']:9.4f}{one['cv']:7.3f}{ratio}{one['first_s']:8.4f}{one['timeouts']:6}"
                   f"{one['retransmits']:9}{one['drops']:7}" + (f"{one['company']:>12}" if one["company"] else ""))
    yield from report_of_figures(results)


def report_of_figures(results):
    """Reads what programs of Debian tell of their parts."""
    heading = None
    for network, library, program, beside, found in tables(results):
        names = next((list(one["figures"]) for one in found.values() if one["figures"]), None)
        if not names:
            continue
        if (title(network, library, beside), program) != heading:
            heading = title(network, library, beside), program
            yield f"\n{program}, {title(network, library, beside)}: medians"
            yield f"{'contender':20}" + "".join(f"{name:>22}" for name in names)
        for name, one in found.items():
            yield f"{CONTENDERS[name].title:20}" + "".join(f"{f'{value:.4g} {unit}':>22}" for value, unit in one["figures"].values())
