# SPDX-License-Identifier: Apache-2.0
"""Pacing by a program, without the module sch_gap: by the kernel's fq, or by a qdisc that is a BPF program
(headway.toml(5), [kernel] backend)."""

import contextlib
import functools
import json
import socket

from cases_phases import (BYTES_PER_S, LATE_TIMER, OWN, REMOTE, connection_over_10_ms, enter_and_leave_beside_phases,
                          fastest_of, in_phase, phased)
from cases_restart import (FRAMES, MUCH, ONE_JOINED, SO_SNDBUFFORCE, restarted_while_it_is_sent,
                           restarts_go_unnoticed)
from control import Control
from fdstore import Store
from guestdaemon import (BIN, BPF, DEV, FQ, HAS_BPF_QDISCS, MODULES, SOCKET, Daemon, paced_at, refused_to_start,
                         unpaced)
from ktap import case, equal
from tcguest import eventually, frame, matches, qdiscs, sh, simwire, state, tc

PROGRAMS = [FQ, BPF] if HAS_BPF_QDISCS else [FQ]
WITHOUT_MODULE = PROGRAMS[-1]


def by_each(function):
    """Makes a case for each program that the kernel takes."""
    for program in PROGRAMS:
        one = functools.partial(function, program)
        one.__name__ = f"{function.__name__}_by_{program.backend}"
        case(one)
    return function


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


def is_set_up(program):
    kinds = sorted((q["kind"], q["handle"]) for q in qdiscs(DEV))
    return (kinds, programs(), segments_max()) == ([("clsact", "ffff:"), (program.kind, program.root)], 1, 1)


@case
def without_the_module_a_program_paces_and_leaves_nothing():
    before = device()
    with without_module():
        daemon = Daemon(phased())
        equal(is_set_up(WITHOUT_MODULE), True)
        matches(daemon.said(), f"pacing {DEV} by {WITHOUT_MODULE.backend}: the module sch_gap is not there")
        told = Control(SOCKET).do("status")["daemon"]
        equal((told["backend"], told["backend_reason"]), (WITHOUT_MODULE.backend, "the module sch_gap is not there"))
        matches(sh(f"{BIN}/headway", "status", "--socket", SOCKET),
                "paced by .*, without the (qdisc gap|module sch_gap): the module sch_gap is not there")
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
    for program in (FQ, BPF):
        refused_to_start(phased(backend=program.line).replace('phases = "auto"', 'phases = "off"'), 2,
                         r'kernel.backend: "fq" and "bpf" pace by the program that phases need; remove phases = "off"')


@case
def a_kernel_that_is_too_old_for_bpf_qdiscs_says_so():
    if HAS_BPF_QDISCS:
        return
    before = device()
    refused_to_start(phased(backend=BPF.line), 1, "takes no qdiscs that are BPF programs: it is older than Linux 6.16")
    equal(device(), before)


@by_each
def enter_and_leave_work_beside_phases(program):
    enter_and_leave_beside_phases(phased(backend=program.line))


@by_each
def segments_of_a_stream_leave_one_by_one(program):
    """Data that was written in the phase and leaves after it is paced as well, and in order (the
    peer counts)."""
    Daemon(phased(backend=program.line))
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
    Daemon(phased(backend=FQ.line))
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


@by_each
def a_faster_phase_does_not_overtake(program):
    """Packets that wait keep their times; those of the next phase come after them."""
    Daemon(phased(backend=program.line))
    with connection_over_10_ms() as connection:
        control, slot, answer = in_phase()
        faster = control.phase(["a0", "a1", "b0", "b1"])["phase"]
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for phase in [answer["phase"], faster, 0] * 10:
            slot.store(phase)
            connection.sendall(b"x" * 3000)


@by_each
def off_and_on(program):
    Daemon(phased(backend=program.line))
    process = in_phase()
    paced_at(BYTES_PER_S)
    sh(f"{BIN}/headway", "off", "--socket", SOCKET)
    unpaced()
    sh(f"{BIN}/headway", "on", "--socket", SOCKET)
    paced_at(BYTES_PER_S)
    process[0].close()


@by_each
def what_others_take_away_comes_back(program):
    daemon = Daemon(phased(backend=program.line))
    process = in_phase()
    for command in (f"qdisc del dev {DEV} root", f"qdisc del dev {DEV} clsact",
                    f"filter del dev {DEV} egress"):
        tc(command)
        eventually(lambda: is_set_up(program), f"all is there again after tc {command}")
        paced_at(BYTES_PER_S)
    equal(daemon.said().count("HW-207"), 3)
    process[0].close()


@by_each
def what_others_have_there_stays(program):
    tc(f"qdisc add dev {DEV} clsact")
    for direction in ("ingress", "egress"):
        tc(f"filter add dev {DEV} {direction} pref 7 matchall action continue")
    sh("ip", "link", "set", DEV, "gso_max_segs", "40")
    before = device()
    try:
        daemon = Daemon(phased(backend=program.line))
        process = in_phase()
        paced_at(BYTES_PER_S)
        process[0].close()
        equal(daemon.stop(), 0)
        equal(device(), before)
    finally:
        sh("ip", "link", "set", DEV, "gso_max_segs", "65535")


@by_each
def a_restart_goes_unnoticed(program):
    restarts_go_unnoticed(phased(backend=program.line), programs,
                          sorted([*ONE_JOINED, "headway-bpf-classes", "headway-bpf-clocks", "headway-bpf-places"]))


@by_each
def a_stream_stays_paced_over_a_restart(program):
    store = Store()
    daemon = Daemon(phased(backend=program.line), store=store)
    with connection_over_10_ms() as connection:
        _, slot, answer = in_phase()
        connection.setsockopt(socket.SOL_SOCKET, SO_SNDBUFFORCE, 4 * MUCH)
        simwire(DEV, "record_frames", 4096)
        slot.store(answer["phase"])
        connection.sendall(b"x" * MUCH)
        restarted_while_it_is_sent(daemon, store, phased(backend=program.line))
        equal(fastest_of(FRAMES) < LATE_TIMER, True)


@case
def one_backend_takes_the_place_of_the_other():
    """The job that paces outlives each change."""
    order = [FQ, None, *PROGRAMS[::-1], None, *PROGRAMS[1:]]
    for program in order:
        daemon = Daemon(phased(backend=program.line) if program else phased(), options=["--keep"])
        if program:
            equal(is_set_up(program), True)
        else:
            equal(([q["kind"] for q in qdiscs(DEV)], programs(), segments_max() > 1), (["gap"], 0, True))
        process = in_phase()
        paced_at(BYTES_PER_S)
        equal(daemon.stop(), 0)
        process[0].close()


@by_each
def under_somebody_else_s_root_nothing_of_ours_stays(program):
    daemon = Daemon(phased(backend=program.line))
    tc(f"qdisc replace dev {DEV} root handle 7: pfifo")
    equal(daemon.stop(), 0)
    equal([(q["kind"], q["handle"]) for q in qdiscs(DEV)], [("pfifo", "7:")])
    equal((programs(), segments_max() > 1), (0, True))


@by_each
def an_end_that_was_none_is_put_right_by_restore(program):
    before = device()
    daemon = Daemon(phased(backend=program.line))
    daemon.kill()
    equal(is_set_up(program), True)
    sh(f"{BIN}/headwayd", "--config", "/tmp/headway.toml", "--restore")
    equal(device(), before)
