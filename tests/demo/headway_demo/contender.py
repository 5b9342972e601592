# SPDX-License-Identifier: Apache-2.0
"""Lists the contenders.  What each does to nodes and switches is in ../contenders/."""

from dataclasses import dataclass

LIBRARIES = {"ompi": "Open MPI", "mpich": "MPICH"}


def tuned_alltoall(algorithm, *more):
    """Arguments for Open MPI: an algorithm of its component `tuned`, by number."""
    return ("--mca", "coll_tuned_use_dynamic_rules", "1",
            "--mca", "coll_tuned_alltoall_algorithm", str(algorithm), *more)


def mpich_alltoall(algorithm, throttle=0):
    """Sets the algorithm of MPICH; throttle 0: as many messages at a time as there are ranks."""
    return (f"MPIR_CVAR_ALLTOALL_INTRA_ALGORITHM={algorithm}", f"MPIR_CVAR_ALLTOALL_THROTTLE={throttle}")


# The all-to-all that Headway's helper chooses: every rank posts everything, then waits.
LINEAR = tuned_alltoall(1)
SCATTERED = mpich_alltoall("scattered")
# And its transport (mpi-glue/library_environment.cpp): who sends does not ask before, with MPICH below 128 KiB.
TRANSPORT = {"ompi": {"pml_ob1_max_rdma_per_request": "0", "btl_tcp_eager_limit": "131072",
                      "mpi_add_procs_cutoff": "1024"},
             "mpich": {"UCX_RNDV_THRESH": "128k"}}
SEND_ONLY = tuple(word for name, value in TRANSPORT["ompi"].items() for word in ("--mca", name, value))
EAGER, = (f"{name}={value}" for name, value in TRANSPORT["mpich"].items())


def at_a_time(messages):
    """Open MPI heeds the number in its algorithm 4 only, "linear with sync"."""
    return {"ompi": (*tuned_alltoall(4, "--mca", "coll_tuned_alltoall_algorithm_max_requests",
                                     str(messages)), *SEND_ONLY),
            "mpich": (*mpich_alltoall("scattered", messages), EAGER)}


# How an MPI library is told: words for mpi-job.
SETTINGS = {
    # algorithm and transport are the library's own choice
    "library": {"ompi": (), "mpich": ()},
    "as Headway": {"ompi": (*LINEAR, *SEND_ONLY), "mpich": (*SCATTERED, EAGER)},
    "other transport": {"ompi": LINEAR, "mpich": SCATTERED},
    "2 at a time": at_a_time(2),
    "4 at a time": at_a_time(4),
    "pairwise": {"ompi": (*tuned_alltoall(2), *SEND_ONLY),
                 "mpich": (*mpich_alltoall("pairwise"), EAGER)},
    # preloaded, and sets algorithm and transport by itself
    "helper": {"ompi": (), "mpich": ()},
    # the same without a daemon: each rank paces itself, as the job's own planner says
    "helper alone": {"ompi": (), "mpich": ()},
}

PLAIN, RATES, HEADWAY = "plain", "rates", "Headway"
ALONE = ("helper alone",)   # settings of Headway without daemons
RTO_MIN_MS = 200    # the kernel's


@dataclass(frozen=True)
class Contender:
    name: str
    title: str
    what: str
    kind: str = PLAIN           # PLAIN: sets no rates; RATES: does
    settings: tuple = ("as Headway",)   # of several the one with the lowest median counts
    setup: str = None           # of ../contenders; default: its own name
    rto_min_ms: float = RTO_MIN_MS

    @property
    def set_up_by(self):
        return self.setup or self.name


CONTENDERS = {contender.name: contender for contender in (
    Contender("stock", "stock", "the kernel's and the MPI library's defaults, which is what users have",
              settings=("library",)),
    Contender("stock_tuned", "stock, tuned MPI",
              "the kernel's defaults; the MPI library with Headway's algorithm and the better transport",
              settings=("as Headway", "other transport"), setup="stock"),
    Contender("rto_min", "rto_min 5 ms", "cubic, least retransmission time-out 5 ms instead of 200 ms",
              rto_min_ms=5),
    Contender("rto_min_least", "rto_min 1 tick", "cubic, the least retransmission time-out that a route can have:"
                                                 " one tick of the kernel, 4 ms where HZ is 250", rto_min_ms=4),
    Contender("rto_delack", "2-tick time-outs", "cubic, sockets with the least retransmission time-out and delay of"
                                                " acknowledgments that they can have: two ticks each, 8 ms where HZ is 250",
              rto_min_ms=8),
    Contender("throttle", "library's throttle",
              "the MPI library sends to 2 or 4 ranks at a time, whichever is better",
              settings=("2 at a time", "4 at a time"), setup="stock"),
    Contender("pairwise", "pairwise", "the MPI library exchanges with one rank at a time",
              settings=("pairwise",), setup="stock"),
    Contender("dctcp", "dctcp + ECN", "dctcp on every node, switch ports mark by RED"),
    Contender("bbr", "bbr + fq", "bbr on every node, paced by fq"),
    Contender("fq", "fq maxrate", "fq on every node, maxrate set once: the trunk's rate divided among all"
                                  " flows that can cross it", RATES),
    Contender("htb", "htb + pfifo", "htb classes set once: to the other cluster the node's share of the"
                                    " trunk, to the own cluster the rest of its link; pfifo leaves", RATES),
    Contender("htb_sfq", "htb + sfq", "the same classes with sfq leaves", RATES),
    Contender("fq_rates", "Headway's rates, fq", "fq with the rate of a pair of nodes that Headway plans"
                                                 " for an all-to-all as maxrate", RATES),
    Contender("htb_rates", "Headway's rates, htb", "htb classes at the rates that Headway plans for an"
                                                   " all-to-all, pfifo leaves", RATES),
    Contender("htb_rates_sfq", "Headway's rates, htb + sfq", "the same classes with sfq leaves", RATES),
    # The helper library chooses transport and algorithm itself.
    Contender("headway_timer", "Headway, timer", "as Headway, on cards that do not send gap frames: the"
                                                 " qdisc paces with a timer", HEADWAY, ("helper",)),
    Contender("headway_fq", "Headway, fq", "as Headway, without its kernel module: the kernel's own fq"
                                           " paces", HEADWAY, ("helper",)),
    Contender("headway_bpf", "Headway, bpf", "as Headway, without its kernel module: a qdisc that is a BPF program"
                                             " paces (Linux 6.16 and later)", HEADWAY, ("helper",)),
    Contender("headway_alone", "Headway, no root", "the MPI helper and the job's own planner; the nodes as they are",
              HEADWAY, ALONE, setup="stock"),
    Contender("headway", "Headway", "gap qdisc, headwayd and the MPI helper; nothing set by hand",
              HEADWAY, ("helper",)),
)}
