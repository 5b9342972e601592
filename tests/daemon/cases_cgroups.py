# SPDX-License-Identifier: Apache-2.0
"""Several jobs on one node whose packets are told apart by their cgroups.

A socket keeps the cgroup in which it was made, and a process is in the one in
which it joins: so this process moves, and is one of either job.
"""

import os
import socket

from cases_phases import BYTES_PER_S, REMOTE, class_of_what, in_phase, phased
from control import Control
from fdstore import Store
from guestdaemon import BIN, DEV, EVERYBODY, SOCKET, Daemon, frame_starts
from ktap import case, equal
from tcguest import classes, eventually, frame, matches, note, sh, simwire

FRAME_BYTES = 1042 + 24
ROOT = "/sys/fs/cgroup"


def move(cgroup):
    """Moves a process to the cgroup of that name; "" is the root."""
    os.makedirs(f"{ROOT}/{cgroup}", exist_ok=True)
    with open(f"{ROOT}/{cgroup}/cgroup.procs", "w") as file:
        file.write(str(os.getpid()))


class Job:
    """A process of a job in the phase of an all-to-all, and its socket, in a cgroup."""

    def __init__(self, name, cgroup):
        move(cgroup)
        self.packets = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x0800))
        self.packets.bind((DEV, 0))
        self.control = Control(SOCKET)
        self.slot, _ = self.control.join(name)
        self.answer = self.control.phase(EVERYBODY)
        self.slot.store(self.answer["phase"])
        move("")

    def send(self, count, payload_bytes=1000):
        for _ in range(count):
            self.packets.send(frame(REMOTE, payload_bytes))

    def class_of_next(self):
        return class_of_what(lambda: self.send(1, 100))


def jobs():
    return {job["job"]: job for job in Control(SOCKET).do("status")["jobs"]}


def rate_of_both(*senders, count=60):
    """Bytes of wire time per second of so many frames from each of them, all at once."""
    simwire(DEV, "record_frames", 4096)
    for _ in range(count):
        for job in senders:
            job.send(1)
    frames = count * len(senders)
    starts = frame_starts(frames)
    # the first and the last frames of several rivals leave together
    return (frames - len(senders)) * FRAME_BYTES * 10**9 / (starts[-1] - starts[0])


@case
def two_jobs_send_their_parts_at_the_same_time():
    daemon = Daemon(phased())
    one, other = Job("12", "one"), Job("13", "other")
    equal(daemon.said().count("cannot tell packets apart"), 0)
    leaves = [job.class_of_next() for job in (one, other)]
    equal(sorted(leaves), ["1:1002", "1:1004"])
    equal(classes(DEV)[leaves[0]]["phases"], classes(DEV)["1:111"]["phases"])
    together, alone = rate_of_both(one, other), rate_of_both(one)
    note(f"both {together / BYTES_PER_S:.4f} of the trunk's part, one of them {alone / BYTES_PER_S:.4f}")
    equal(0.99 < together / BYTES_PER_S < 1.005, True)
    equal(0.495 < alone / BYTES_PER_S < 0.5025, True)
    text = sh(f"{BIN}/headway", "status", "--socket", SOCKET)
    matches(text, r"job 12 of user 0: 1 process, 1 phase: 1 \(.*\); told apart by 1 cgroup\n")


@case
def one_that_is_left_has_everything():
    Daemon(phased())
    one, other = Job("12", "one"), Job("13", "other")
    other.control.close()
    eventually(lambda: list(jobs()) == ["12"], "the other job has ended")
    equal(one.class_of_next(), "1:111", "one rate for all is in one class:")
    whole = rate_of_both(one)
    note(f"{whole / BYTES_PER_S:.4f} of the trunk's part")
    equal(0.99 < whole / BYTES_PER_S < 1.005, True)


@case
def in_one_cgroup_the_strictest_counts():
    Daemon(phased())
    one, other = Job("12", "one"), Job("13", "one")
    equal(one.class_of_next(), other.class_of_next())
    equal([job["cgroups"] for job in jobs().values()], [0, 0])
    matches(sh(f"{BIN}/headway", "status", "--socket", SOCKET), "\n1 cgroup of processes of several jobs")
    together = rate_of_both(one, other)
    note(f"both {together / BYTES_PER_S:.4f} of the trunk's part")
    equal(0.48 < together / BYTES_PER_S < 0.505, True)
    other.control.close()
    eventually(lambda: list(jobs()) == ["12"], "the other job has ended")
    equal(jobs()["12"]["cgroups"], 1)


@case
def others_take_the_strictest_of_all():
    Daemon(phased())
    one, other = Job("12", "one"), Job("13", "other")
    stranger = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x0800))
    stranger.bind((DEV, 0))
    one.packets, own = stranger, one.packets
    equal(one.class_of_next(), "1:111")
    strictest = rate_of_both(one)
    equal(0.495 < strictest / BYTES_PER_S < 0.5025, True)
    one.packets = own
    equal(one.class_of_next() == "1:111", False)
    one.slot.store(0)
    equal(one.class_of_next(), "1:111", "what the other's phase means for it:")
    strictest = rate_of_both(one)
    equal(0.495 < strictest / BYTES_PER_S < 0.5025, True)
    other.slot.store(0)
    equal(rate_of_both(one) > 5_000_000, True)


@case
def a_restart_tells_them_apart_as_before():
    store = Store()
    daemon = Daemon(phased(), store=store, options=["--keep"])
    one, other = Job("12", "one"), Job("13", "other")
    move("third")       # a socket stays where it was made, and so does what is kept
    before = [job.class_of_next() for job in (one, other)]
    Control(SOCKET).do("status")
    daemon.kill()
    equal([job.class_of_next() for job in (one, other)], before)
    Daemon(phased(), store=store, options=["--keep"])
    after = [job.class_of_next() for job in (one, other)]
    equal(sorted(after), sorted(before))
    together = rate_of_both(one, other)
    equal(0.99 < together / BYTES_PER_S < 1.005, True)
    equal([job["cgroups"] for job in jobs().values()], [1, 1])
    move("")


@case
def without_cgroups_nothing_fails():
    sh("umount", ROOT)
    try:
        daemon = Daemon(phased())
        held = in_phase()
        matches(daemon.said(), "cannot tell packets apart: the cgroup of pid")
        equal(jobs()["12.0"]["cgroups"], 0)
        held[0].close()
    finally:
        sh("mount", "-t", "cgroup2", "cgroup2", ROOT)
