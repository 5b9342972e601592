# SPDX-License-Identifier: Apache-2.0
"""The program that the tutorial and README.md call ./program: it does all-to-alls, and sends
messages point to point to the rank half a ring away, which is in the other cluster."""
import mpi4py

# With threads Open MPI wants an instruction that the guest machines do not have (vm-run --cpu).
mpi4py.rc.threads = False
from mpi4py import MPI  # noqa: E402

COUNT = 65536
world = MPI.COMM_WORLD
other = (world.rank + world.size // 2) % world.size
for _ in range(20):
    received = bytearray(COUNT * world.size)
    world.Alltoall([bytes([world.rank]) * len(received), MPI.BYTE], [received, MPI.BYTE])
    assert received == b"".join(bytes([rank]) * COUNT for rank in range(world.size))
    halo = bytearray(COUNT)
    world.Sendrecv([bytes([world.rank]) * COUNT, MPI.BYTE], other, recvbuf=[halo, MPI.BYTE], source=other)
    assert halo == bytes([other]) * COUNT
