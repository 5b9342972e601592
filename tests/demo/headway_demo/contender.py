# SPDX-License-Identifier: Apache-2.0
"""Who takes part.  What each does to nodes and switches is in ../contenders/."""

from dataclasses import dataclass

# Open MPI's TCP settings that a contender may choose from; mpirun arguments.
TRANSPORTS = {
    "default": (),
    "send_only": ("--mca", "btl_tcp_flags", "1"),
}
# The same all-to-all for everybody: every rank posts everything, then waits.
LINEAR = ("--mca", "coll_tuned_use_dynamic_rules", "1",
          "--mca", "coll_tuned_alltoall_algorithm", "1")


@dataclass(frozen=True)
class Contender:
    name: str
    title: str
    what: str
    transports: tuple = tuple(TRANSPORTS)


CONTENDERS = {contender.name: contender for contender in (
    Contender("stock", "stock", "cubic and the kernel's defaults"),
    Contender("rto_min", "rto_min 5 ms", "cubic, least retransmission time-out 5 ms instead of 200 ms"),
    Contender("fq", "fq maxrate", "fq on every node, maxrate = the node's share of the trunk"
                                  " divided among its flows that cross it"),
    Contender("htb", "htb + pfifo", "htb classes at the same rates as Headway's, pfifo leaves"),
    Contender("htb_sfq", "htb + sfq", "htb classes at the same rates as Headway's, sfq leaves"),
    Contender("dctcp", "dctcp + ECN", "dctcp on every node, switch ports mark by RED"),
    # The helper library chooses transport and algorithm itself.
    Contender("headway", "Headway", "gap qdisc, headwayd and the MPI helper; nothing set by hand",
              transports=("helper",)),
)}
