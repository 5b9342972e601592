# SPDX-License-Identifier: Apache-2.0
"""An MPI job that exchanges data between all ranks, every 50 ms, until a file is there.
  exchange.py FILE CALLS     at least CALLS times
Data that is wrong ends it with status 1; after each call rank 0 prints how many there were."""
import pathlib
import sys
import time

import mpi4py

# With threads Open MPI wants an instruction that the guest machines do not have (vm-run --cpu).
mpi4py.rc.threads = False
from mpi4py import MPI  # noqa: E402

COUNT = 65536


def message(source, destination, call, last):
    return bytes([last, 16 * source + destination, call % 251]) + bytes(COUNT - 3)


def exchange(world, call, last):
    """Whether rank 0 says that this was the last."""
    sent = b"".join(message(world.rank, peer, call, last) for peer in range(world.size))
    received = bytearray(len(sent))
    world.Alltoall([sent, MPI.BYTE], [received, MPI.BYTE])
    last = received[0]
    for peer in range(world.size):
        own = last if peer == 0 else 0
        if received[peer * COUNT:(peer + 1) * COUNT] != message(peer, world.rank, call, own):
            sys.exit(f"rank {world.rank}: wrong data from {peer} in call {call}")
    return last


def main():
    end, least = pathlib.Path(sys.argv[1]), int(sys.argv[2])
    world = MPI.COMM_WORLD
    call = last = 0
    while not last:
        call += 1
        last = exchange(world, call, int(world.rank == 0 and call >= least and end.exists()))
        if world.rank == 0:
            print("calls", call, flush=True)
        time.sleep(0.05)


main()
