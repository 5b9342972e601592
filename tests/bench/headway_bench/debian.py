# SPDX-License-Identifier: Apache-2.0
"""Programs as Debian ships them: what each is told to do, and what it prints.

hpcc writes a file, which is read whether it is complete or not: its last tests send more than an
emulated processor can carry, so it is ended where they begin.
"""

import math
import re
from dataclasses import dataclass

# hpcc asks MPI_Test before each update of RandomAccess, which is not to be taken for waiting
# (tests/mpi/yield_sleep.c).
HPCC_POLLS = (("YIELD_SLEEP_POLLS", "5000"),)
# mpi4py asks for threads, with which Open MPI uses an instruction that guests' processors lack (-cx16 of vm-run).
ONE_THREAD = (("MPI4PY_RC_THREADS", "false"),)
HPCC_OUTPUT = "hpccoutf.txt"
# By its source 2 000 000 bytes between all pairs and around eleven rings, some 6 GB; HPL comes after it.
HPCC_LAST = "Begin of LatencyBandwidth section."
# hpcc itself judges no error of MPIFFT.
FFT_TOLERANCE = 1e-12
# With one rank: of an atom of tests/apps/salt.lammps after so many steps, the first one included, and of
# tests/apps/silicon.pw (Ry).  A job may differ by so much of it.
SALT_ENERGY = {2: -8.069028672, 6: -8.069115153}
SILICON_ENERGY = {1: -62.41630403, 4: -62.45121995}
ENERGY_TOLERANCE = 1e-6


def failed(what, text):
    raise ValueError(f"{what}:\n{text[-1000:]}")


def same_energy(program, energy, expected, text):
    """Not so if one of them is no number."""
    if not abs(energy / expected - 1) <= ENERGY_TOLERANCE:
        failed(f"{program}: the energy is {energy} instead of {expected}", text)


@dataclass(frozen=True)
class Hpcc:
    """The values in hpccinf.txt that differ between runs.  The table of RandomAccess is the largest
    power of two that is not larger than the matrix of so many unknowns, the vector of MPIFFT an
    eighth of that."""

    unknowns: int
    ptrans: int         # rows of another matrix that is transposed
    block: int
    grid: tuple         # processes: rows, columns

    def text(self):
        lines = ["", "", "", "6 output", "1 problem of HPL", self.unknowns, "1 block", self.block, "0 row by row", "1 grid",
                 self.grid[0], self.grid[1], "16.0 threshold", "1", "2 factorization", "1", "4", "1", "2", "1", "1", "1", "1",
                 "1", "1", "2 swapping", "64", "0", "0", "1", "8", "", "1 more matrix of PTRANS", self.ptrans,
                 "0 more blocks of PTRANS", self.block]
        return "".join(f"{line}\n" for line in lines)


def section(text, name):
    """Returns what hpcc wrote of a test, None if it did not end."""
    found = re.search(rf"^Begin of {name} section\.$(.*?)^End of {name} section\.$", text, re.MULTILINE | re.DOTALL)
    return found and found.group(1)


def number(text, pattern):
    found = re.search(pattern, text, re.MULTILINE) or failed(f"hpcc did not write '{pattern}'", text)
    return float(found.group(1))


def hpcc_result(text):
    """The time of all tests that communicate, as hpcc tells it, and what each says of itself.  ValueError if one failed."""
    figures = {name: of_test(section(text, name) or failed(f"hpcc: no {name}", text)) for name, of_test in HPCC_TESTS.items()}
    return {"samples_ms": [1e3 * one["seconds"] for one in figures.values()], "warmup_ms": [], "verified": True,
            "figures": figures}


def random_access(text):
    """It may lose 1 % of the updates, and tells how many."""
    if not re.search(r"^Found \d+ errors in \d+ locations \(passed\)\.$", text, re.MULTILINE):
        failed("hpcc: RandomAccess did not pass", text)
    return {"seconds": number(text, r"^Real time used = ([\d.]+) seconds$"),
            "rate": number(text, r"^([\d.]+) Billion\(10\^9\) Updates    per second \[GUP/s\]$"), "unit": "GUP/s"}


def ptrans(text):
    """The larger matrix is transposed several times, and the worst rate so far is written.  Its time by its rate, as
    times are rounded to 10 ms."""
    rows = re.findall(r"^WALL +(\d+) +(\d+) +\d+ +\d+ +\d+ +\d+ +[\d.]+ (\w+) +([\d.]+) +[\d.]+$", text, re.MULTILINE)
    if not rows or any(passed != "PASSED" for _, _, passed, _ in rows):
        failed("hpcc: PTRANS did not pass", text)
    largest = max(int(m) * int(n) for m, n, _, _ in rows)
    rate = min(float(rate) for m, n, _, rate in rows if int(m) * int(n) == largest)
    return {"seconds": 8 * largest / rate / 1e9, "rate": rate, "unit": "GB/s"}


def mpi_fft(text):
    """Its time by its rate, which has more digits: 5 n log2 n operations."""
    if number(text, r"^max\(\|x-x0\|\): +([\d.e+-]+)$") > FFT_TOLERANCE:
        failed("hpcc: MPIFFT is wrong", text)
    size, rate = number(text, r"^Vector size: +(\d+)$"), number(text, r"^Gflop/s: +([\d.]+)$")
    return {"seconds": 5 * size * math.log2(size) / rate / 1e9, "rate": rate, "unit": "Gflop/s"}


HPCC_TESTS = {"PTRANS": ptrans, "MPIRandomAccess": random_access, "MPIRandomAccess_LCG": random_access, "MPIFFT": mpi_fft}


def lammps_result(text):
    """The loop of the last run, what of it is communication, and an energy that has to be that of one rank alone."""
    told = re.findall(r"^ +(\d+) +[-\d.]+ +([-\d.]+) *$", text, re.MULTILINE) or [(0, math.nan)]
    steps, energy = told[-1]
    same_energy("LAMMPS", float(energy), SALT_ENERGY.get(int(steps), math.nan), text)
    loops = [float(loop) for loop in re.findall(r"^Loop time of ([-+.\de]+) on", text, re.MULTILINE)]
    parts = re.findall(r"^(Pair|Kspace|Comm) +\| [-+.\de]+ +\| ([-+.\de]+) ", text, re.MULTILINE)[-3:]
    return {"samples_ms": [loops[-1] * 1e3], "warmup_ms": [loop * 1e3 for loop in loops[:-1]], "verified": True,
            "figures": {name: {"seconds": float(seconds)} for name, seconds in parts}}


def pw_result(text):
    """The time of all steps, to 10 ms as it is printed, and of parts of them."""
    energies = re.findall(r"^!? +total energy +=\s+([-\d.]+) Ry", text, re.MULTILINE)
    same_energy("pw.x", float(energies[-1]) if energies else math.nan, SILICON_ENERGY.get(len(energies), math.nan), text)
    parts = {name: {"seconds": 60 * float(minutes or 0) + float(seconds)} for name, minutes, seconds in re.findall(
        r"^ +(electrons|h_psi|rdiaghg|fft_scatt_yz) +:.*CPU +(?:(\d+)m *)?([\d.]+)s WALL", text, re.MULTILINE)}
    return {"samples_ms": [parts.pop("electrons")["seconds"] * 1e3], "warmup_ms": [], "verified": True, "figures": parts}
