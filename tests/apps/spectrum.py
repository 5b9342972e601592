#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A 3-D field decays in its spectrum, by mpi4py-fft: what fftw.c does, as it is written in Python.

Each iteration transforms there and back, and transposes once each way by MPI_Alltoallw.  The field at
the end has to be that which numpy finds alone.  Tells its times as npb_kernel does, and pauses like it.
"""

import argparse
import json
import sys

import numpy
from mpi4py import MPI
from mpi4py_fft import PFFT, newDistArray

DECAY = 1e-4
SEED = 1
TOLERANCE = 1e-10
ROOT = 0


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--size", type=int, default=64, help="values along an edge (default 64)")
    parser.add_argument("--iterations", type=int, default=6)
    parser.add_argument("--warmup", type=int, default=1)
    parser.add_argument("--pause", action="store_true", help="wait for a line of input before and after what is timed")
    arguments = parser.parse_args()
    if not MPI.COMM_WORLD.size <= arguments.size <= 1024:
        parser.error(f"--size {arguments.size}: from the number of ranks, {MPI.COMM_WORLD.size}, to 1024 is wanted")
    if arguments.iterations < 1 or arguments.warmup < 0:
        parser.error("at least one iteration is wanted")
    return arguments


def decay(size):
    """Along one dimension, by frequency."""
    return numpy.exp(-DECAY * (size * numpy.fft.fftfreq(size)) ** 2)


class Field:
    """A rank's part of it: planes, and of the spectrum planes of another dimension."""

    def __init__(self, size):
        self.transform = PFFT(MPI.COMM_WORLD, [size] * 3, axes=(0, 1, 2), dtype=numpy.complex128, slab=True)
        self.values = newDistArray(self.transform, False)
        self.spectrum = newDistArray(self.transform, True)
        self.values[:] = whole_field(size)[self.values.local_slice()]
        x, y, z = (decay(size)[part] for part in self.spectrum.local_slice())
        self.factors = x[:, None, None] * y[None, :, None] * z[None, None, :]

    def iterate(self):
        self.transform.forward(self.values, self.spectrum)
        self.spectrum *= self.factors
        self.transform.backward(self.spectrum, self.values)

    def error(self, expected):
        """The largest of all ranks."""
        own = numpy.abs(numpy.asarray(self.values) - expected[self.values.local_slice()]).max()
        return MPI.COMM_WORLD.allreduce(own, MPI.MAX)


def whole_field(size):
    return numpy.random.default_rng(SEED).random((size,) * 3) + 0j


def alone(size, iterations):
    """The field after so many iterations, by one process."""
    factors = decay(size)
    spectrum = numpy.fft.fftn(whole_field(size))
    spectrum *= (factors[:, None, None] * factors[None, :, None] * factors[None, None, :]) ** iterations
    return numpy.fft.ifftn(spectrum)


def pause(when):
    """Where counters may be read."""
    if MPI.COMM_WORLD.rank == ROOT:
        print(json.dumps({"pause": when}), flush=True)
        sys.stdin.readline()
    MPI.COMM_WORLD.barrier()


def timed_ms(field, iterations):
    times = []
    MPI.COMM_WORLD.barrier()
    for _ in range(iterations):
        began = MPI.Wtime()
        field.iterate()
        times.append(round((MPI.Wtime() - began) * 1e3, 3))
    MPI.COMM_WORLD.barrier()
    return times


def main():
    arguments = parse_arguments()
    field = Field(arguments.size)
    warmup_ms = timed_ms(field, arguments.warmup)
    if arguments.pause:
        pause("before")
    samples_ms = timed_ms(field, arguments.iterations)
    if arguments.pause:
        pause("after")
    error = field.error(alone(arguments.size, arguments.warmup + arguments.iterations))
    right = bool(error < TOLERANCE)
    if MPI.COMM_WORLD.rank == ROOT:
        print(json.dumps({"kernel": "mpi4py-fft", "size": arguments.size, "ranks": MPI.COMM_WORLD.size, "error": float(error),
                          "warmup_ms": warmup_ms, "samples_ms": samples_ms, "verified": right}))
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
