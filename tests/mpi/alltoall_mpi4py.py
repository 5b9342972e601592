# SPDX-License-Identifier: Apache-2.0
"""MPI_Alltoall from Python.  Before it rank 0 prints "call OPERATION BYTES RANKS", as
alltoall_check.c does."""

from mpi4py import MPI

COUNT = 5000

world = MPI.COMM_WORLD
sent = bytearray()
for peer in range(world.size):
    sent += bytes([16 * world.rank + peer]) * COUNT
received = bytearray(len(sent))
if world.rank == 0:
    print("call", "alltoall", COUNT, world.size, flush=True)
world.Alltoall([sent, MPI.BYTE], [received, MPI.BYTE])
for peer in range(world.size):
    part = received[peer * COUNT:(peer + 1) * COUNT]
    if part != bytes([16 * peer + world.rank]) * COUNT:
        raise SystemExit(f"rank {world.rank}: wrong data from {peer}")
if world.rank == 0:
    print("all data right")
