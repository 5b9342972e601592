# SPDX-License-Identifier: Apache-2.0
"""Pacing by the kernel's own fq, without the module sch_gap (headway.toml(5), [kernel] backend)."""

import contextlib
import json
import socket

from cases_phases import (BYTES_PER_S, LATE_TIMER, OWN, REMOTE, connection_over_10_ms, enter_and_leave_beside_phases,
                          fastest_of, in_phase, phased)
from cases_restart import (FRAMES, MUCH, ONE_JOINED, SO_SNDBUFFORCE, restarted_while_it_is_sent,
                           restarts_go_unnoticed)
from control import Control
from fdstore import Store
from guestdaemon import BIN, DEV, MODULES, SOCKET, Daemon, paced_at, refused_to_start, unpaced
from ktap import case, equal
from tcguest import eventually, frame, matches, qdiscs, sh, simwire, state, tc

FQ = 'backend = "fq"'


def segments_max():
    return json.loads(sh("ip", "-json", "-details", "link", "show", DEV))[0]["gso_max_segs"]


def device():
    """All that pacing by fq changes of it."""
    return state(DEV), tc(f"filter show dev {DEV} egress"), segments_max()


def programs():
    return tc(f"filter show dev {DEV} egress").count("headway_phase direct-action")


@contextlib.contextmanager
def without_module():
    """And without a place where the kernel would find it."""
    sh("rmmod", "sch_gap")
    try:
        yield
    finally:
        sh("insmod", f"{MODULES}/sch_gap.ko")


def is_set_up():
    kinds = sorted((q["kind"], q["handle"]) for q in qdiscs(DEV))
    return (kinds, programs(), segments_max()) == ([("clsact", "ffff:"), ("fq", "4857:")], 1, 1)


@case
def without_the_module_fq_paces_and_leaves_nothing():
    before = device()
    with without_module():
        daemon = Daemon(phased())
        equal(is_set_up(), True)
        matches(daemon.said(), f"pacing {DEV} by fq: the module sch_gap is not there")
        told = Control(SOCKET).do("status")["daemon"]
        equal((told["backend"], told["backend_reason"]), ("fq", "the module sch_gap is not there"))
        matches(sh(f"{BIN}/headway", "status", "--socket", SOCKET),
                "paced by fq, without the qdisc gap: the module sch_gap is not there")
        _, slot, answer = in_phase()
        paced_at(BYTES_PER_S)
        paced_at(BYTES_PER_S, OWN)
        unpaced("192.0.2.1")
        slot.store(0)
        unpaced()
        slot.store(answer["phase"])
        paced_at(BYTES_PER_S)
        equal(daemon.stop(), 0)
        equal(device(), before)


@case
def gap_alone_is_refused_without_the_module():
    with without_module():
        refused_to_start(phased(backend='backend = "gap"'), 1, "the kernel module sch_gap is not loaded")
    refused_to_start(phased(backend=FQ).replace('phases = "auto"', 'phases = "off"'), 2,
                     r'kernel.backend: "fq" paces by the program that phases need; remove phases = "off"')


@case
def enter_and_leave_work_beside_phases_of_fq():
    enter_and_leave_beside_phases(phased(backend=FQ))


@case
def segments_of_a_stream_leave_one_by_one():
    """Data that was written in the phase and leaves after it is paced as well, and in order (the
    peer counts)."""
    Daemon(phased(backend=FQ))
    with connection_over_10_ms() as connection:
        _, slot, answer = in_phase()
        simwire(DEV, "record_frames", 4096)
        slot.store(answer["phase"])
        connection.sendall(b"x" * 300_000)
        slot.store(0)
        equal(fastest_of(208) < LATE_TIMER, True)


@case
def fq_drops_nothing_however_much_waits():
    """3000 frames of one flow, the last due in 12 s: by default fq takes 100, and 10 s."""
    Daemon(phased(backend=FQ))
    process = in_phase()
    data = frame(REMOTE, 1458)
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x0800)) as sender:
        sender.bind((DEV, 0))
        sender.setsockopt(socket.SOL_SOCKET, SO_SNDBUFFORCE, 64_000_000)
        for _ in range(3000):
            sender.send(data, socket.MSG_DONTWAIT)
        root, = [q for q in qdiscs(DEV, "-s") if q["kind"] == "fq"]
        equal((root["drops"], root["backlog"] > 2900 * 1500), (0, True))
    process[0].close()


@case
def a_faster_phase_does_not_overtake():
    """Packets that wait keep their times; those of the next phase come after them."""
    Daemon(phased(backend=FQ))
    with connection_over_10_ms() as connection:
        control, slot, answer = in_phase()
        faster = control.phase(["a0", "a1", "b0", "b1"])["phase"]
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for phase in [answer["phase"], faster, 0] * 10:
            slot.store(phase)
            connection.sendall(b"x" * 3000)


@case
def off_and_on():
    Daemon(phased(backend=FQ))
    process = in_phase()
    paced_at(BYTES_PER_S)
    sh(f"{BIN}/headway", "off", "--socket", SOCKET)
    unpaced()
    sh(f"{BIN}/headway", "on", "--socket", SOCKET)
    paced_at(BYTES_PER_S)
    process[0].close()


@case
def what_others_take_away_comes_back():
    daemon = Daemon(phased(backend=FQ))
    process = in_phase()
    for command in (f"qdisc del dev {DEV} root", f"qdisc del dev {DEV} clsact",
                    f"filter del dev {DEV} egress"):
        tc(command)
        eventually(is_set_up, f"all is there again after tc {command}")
        paced_at(BYTES_PER_S)
    equal(daemon.said().count("HW-207"), 3)
    process[0].close()


@case
def what_others_have_there_stays():
    tc(f"qdisc add dev {DEV} clsact")
    for direction in ("ingress", "egress"):
        tc(f"filter add dev {DEV} {direction} pref 7 matchall action continue")
    sh("ip", "link", "set", DEV, "gso_max_segs", "40")
    before = device()
    try:
        daemon = Daemon(phased(backend=FQ))
        process = in_phase()
        paced_at(BYTES_PER_S)
        process[0].close()
        equal(daemon.stop(), 0)
        equal(device(), before)
    finally:
        sh("ip", "link", "set", DEV, "gso_max_segs", "65535")


@case
def a_restart_goes_unnoticed_by_fq_too():
    restarts_go_unnoticed(phased(backend=FQ), programs,
                          sorted([*ONE_JOINED, "headway-fq-classes", "headway-fq-clocks"]))


@case
def a_stream_stays_paced_over_a_restart():
    store = Store()
    daemon = Daemon(phased(backend=FQ), store=store)
    with connection_over_10_ms() as connection:
        _, slot, answer = in_phase()
        connection.setsockopt(socket.SOL_SOCKET, SO_SNDBUFFORCE, 4 * MUCH)
        simwire(DEV, "record_frames", 4096)
        slot.store(answer["phase"])
        connection.sendall(b"x" * MUCH)
        restarted_while_it_is_sent(daemon, store, phased(backend=FQ))
        equal(fastest_of(FRAMES) < LATE_TIMER, True)


@case
def one_backend_takes_the_place_of_the_other():
    Daemon(phased(backend=FQ), options=["--keep"]).stop()
    equal(is_set_up(), True)
    daemon = Daemon(phased(), options=["--keep"])
    equal([q["kind"] for q in qdiscs(DEV)], ["gap"])
    equal(segments_max() > 1, True)
    process = in_phase()
    paced_at(BYTES_PER_S)
    daemon.stop()
    daemon = Daemon(phased(backend=FQ), options=["--keep"])
    equal(is_set_up(), True)
    process = in_phase()
    paced_at(BYTES_PER_S)
    process[0].close()
    daemon.stop()


@case
def under_somebody_else_s_root_nothing_of_ours_stays():
    daemon = Daemon(phased(backend=FQ))
    tc(f"qdisc replace dev {DEV} root handle 7: pfifo")
    equal(daemon.stop(), 0)
    equal([(q["kind"], q["handle"]) for q in qdiscs(DEV)], [("pfifo", "7:")])
    equal((programs(), segments_max() > 1), (0, True))


@case
def an_end_that_was_none_is_put_right_by_restore():
    before = device()
    daemon = Daemon(phased(backend=FQ))
    daemon.kill()
    equal(is_set_up(), True)
    sh(f"{BIN}/headwayd", "--config", "/tmp/headway.toml", "--restore")
    equal(device(), before)
