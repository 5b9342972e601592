# SPDX-License-Identifier: Apache-2.0
"""A device of several TX queues: they are kept, and its own qdiscs come back while nobody is paced."""

import contextlib
import json
import socket
import time

from cases_programs import PROGRAMS, by_each, segments_max
from cases_phases import BYTES_PER_S, OWN, REMOTE, connection_over_10_ms, in_phase, phased
from cases_reconcile import BUFFERS
from cases_restart import SO_SNDBUFFORCE
from control import Control
from fdstore import Store
from guestdaemon import (BIN, DEV, EVERYBODY, FQ, NEXT_BYTES, NEXT_WIRE_BYTES, SOCKET, Daemon, add_device, config,
                         frame_starts, paced_at, unpaced)
from ktap import case, equal, wait_for
from tcguest import SPEED, eventually, frame, matches, note, options, qdiscs, renegotiate, run, sh, simwire, tc

QUEUES = 4
UDP_SEGMENT = 103
GAP = 'backend = "gap"'
RESTING = "resting: nobody is paced, and eth0 has its own qdiscs until somebody is"


@contextlib.contextmanager
def several_queues(count=QUEUES):
    sh("ip", "link", "del", DEV)
    add_device(count)
    try:
        yield
    finally:
        sh("ip", "link", "del", DEV)
        add_device()


def device():
    """All that a user of the device could notice."""
    return json.loads(tc(f"-j qdisc show dev {DEV}")), tc(f"filter show dev {DEV} egress"), segments_max()


def kinds():
    """(kind, handle) of the root, and the kinds of what is below it."""
    root, = [(q["kind"], q["handle"]) for q in qdiscs(DEV) if q.get("root")]
    return root, [q["kind"] for q in qdiscs(DEV) if not q.get("root") and q["kind"] != "clsact"]


def is_resting():
    return Control(SOCKET).do("status")["daemon"]["resting"]


def rests_once(what):
    """Pacing rests: ten minutes after that at most, however often it was woken."""
    wait_for(lambda: is_resting() or time.sleep(1), what, seconds=1300)


def doctor(*options):
    """Its words; its status tells whether Headway would help."""
    return run(f"{BIN}/headway", "doctor", "--socket", SOCKET, "--seconds", "1", *options).stdout


PACING = {one.line: (("mq", one.mq_root), [one.kind] * QUEUES) for one in PROGRAMS} | {GAP: (("gap", "1:"), [])}
TOLD = {one.line: one.backend for one in PROGRAMS} | {GAP: "timer"}


@case
def a_device_of_several_queues_is_as_it_was_while_nobody_is_paced():
    with several_queues():
        before = device()
        equal(kinds()[0], ("mq", "0:"))
        for backend, pacing in PACING.items():
            daemon = Daemon(phased(backend=backend))
            equal((is_resting(), device()), (True, before))
            matches(sh(f"{BIN}/headway", "status", "--socket", SOCKET), RESTING)
            matches(doctor(), f"headwayd: answers; {DEV} is paced by .*; at present it rests, for nobody is paced")
            unpaced()
            for _ in range(2):
                control, slot, answer = in_phase()
                equal((is_resting(), kinds()), (False, pacing))
                told = json.loads(doctor("--json"))["headwayd"]
                equal((told["interface"], told["backend"], told["resting"]),
                      (DEV, TOLD[backend], False))
                paced_at(BYTES_PER_S)
                paced_at(BYTES_PER_S, OWN)
                slot.store(0)
                unpaced()
                slot.store(answer["phase"])
                paced_at(BYTES_PER_S)
                control.close()
                rests_once("the job has gone")
                equal(device(), before)
            equal(daemon.said().count("resting on"), 3)
            equal((daemon.stop(), device()), (0, before))


@case
def requests_end_a_rest_as_phases_do():
    with several_queues():
        for backend in PACING:
            daemon = Daemon(phased(backend=backend))
            control = Control(SOCKET)
            control.enter(EVERYBODY)
            paced_at(BYTES_PER_S)
            control.do("leave")
            unpaced()
            rests_once("the collective has ended")
            daemon.stop()


@by_each
def one_rate_holds_for_all_queues(program):
    """Packets of 16 addresses, of which each takes the queue that its hash gives it."""
    with several_queues():
        Daemon(phased(backend=program.line))
        process = in_phase()
        simwire(DEV, "tx_queues", 0)
        simwire(DEV, "record_frames", 64)
        with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x0800)) as sender:
            sender.bind((DEV, 0))
            for i in range(32):
                sender.send(frame(f"10.2.0.{1 + i % 16}", NEXT_BYTES - 42))
        starts = frame_starts(32)
        rate = NEXT_WIRE_BYTES * 10**9 * (len(starts) - 1) / (starts[-1] - starts[0]) / BYTES_PER_S
        with open(f"/sys/class/net/{DEV}/simwire/tx_queues") as file:
            queues = int(file.read(), 0).bit_count()
        note(f"{queues} queues sent at {rate:.4f} of the rate")
        equal((queues > 1, 0.995 < rate < 1.005), (True, True))
        process[0].close()


def bursts_of(starts):
    """Frames that follow each other as fast as the wire takes them, by their beginnings."""
    bursts = [[starts[0]]]
    for before, start in zip(starts, starts[1:]):
        if start - before > 100_000:
            bursts.append([])
        bursts[-1].append(start)
    return bursts


@by_each
def packets_are_as_long_as_the_bursts_of_the_plan(program):
    """A burst of 9362 bytes holds six frames of 1538 on the wire, and the rate is that of the phase."""
    with_buffers = phased(host_rate=f'host_rate = "10mbit"\n{BUFFERS}', backend=program.line)
    with several_queues():
        Daemon(with_buffers)
        process = in_phase()
        equal(segments_max(), 6)
        equal([one["burst_bytes"] for one in Control(SOCKET).do("status")["classes"]], [9362, 9362])
        with connection_over_10_ms(), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
            simwire(DEV, "record_frames", 4096)
            sender.setsockopt(socket.IPPROTO_UDP, UDP_SEGMENT, 1472)
            sender.connect((REMOTE, 9))
            for _ in range(10):
                sender.send(b"x" * 1472 * 6)
            bursts = bursts_of(frame_starts(60))
            lengths = [len(burst) for burst in bursts]
            note(f"bursts of {lengths} frames")
            equal(lengths, [6] * 10)
            rates = [6 * 1538 * 10**9 / (after[0] - before[0]) / BYTES_PER_S
                     for before, after in zip(bursts, bursts[1:])]
            equal([0.99 < one < 1.01 for one in rates], [True] * len(rates))
        process[0].close()


@case
def what_paces_is_chosen_by_queues_and_buffers():
    """The table of limits.rst; tests/unit/kernel_setup_test.cpp has its other rows."""
    known = phased(host_rate=f'host_rate = "10mbit"\n{BUFFERS}')
    fast = 25_000_000_000 // 8
    for queues, speed, text, backend in ((1, fast, known, GAP), (QUEUES, SPEED, known, GAP),
                                         (QUEUES, fast, phased(), GAP), (QUEUES, fast, known, FQ.line)):
        with several_queues(queues):
            renegotiate(DEV, speed)
            daemon = Daemon(text)
            told = Control(SOCKET).do("status")["daemon"]
            equal(told["backend"], TOLD[backend])
            if backend == FQ.line:
                equal(told["backend_reason"],
                      "it keeps the 4 TX queues of a link of 25 Gbit/s, and buffers take bursts")
            daemon.stop()


@by_each
def queues_that_come_later_are_paced_as_well(program):
    with several_queues():
        sh("ethtool", "-L", DEV, "tx", "2")
        Daemon(phased(backend=program.line))
        process = in_phase()
        sh("ethtool", "-L", DEV, "tx", str(QUEUES))
        equal(kinds(), PACING[program.line])
        for i in range(1, 9):
            paced_at(BYTES_PER_S, f"10.2.0.{i}")
        process[0].close()


@by_each
def a_queue_whose_qdisc_others_replace_is_mended(program):
    with several_queues():
        daemon = Daemon(phased(backend=program.line))
        process = in_phase()
        tc(f"qdisc replace dev {DEV} parent {program.mq_root}3 pfifo")
        eventually(lambda: kinds() == PACING[program.line], "there is one for each queue again")
        equal(daemon.said().count("HW-207"), 1)
        paced_at(BYTES_PER_S)
        process[0].close()


@case
def gap_frames_come_back_with_the_qdisc():
    with several_queues():
        daemon = Daemon(config(gap_frames='gap_frames = "auto"'))
        rests_once("the self-test has ended")
        equal(daemon.said().count(f"pacing {DEV} by gap frames"), 1)
        for _ in range(2):
            control = Control(SOCKET)
            control.enter(EVERYBODY)
            equal(options(DEV)["backend_used"], "gap")
            control.close()
            rests_once("the collective has ended")
        equal(daemon.said().count(f"pacing {DEV} by"), 1, "it was tested once")


@by_each
def somebody_else_s_root_stays_while_pacing_rests(program):
    with several_queues():
        daemon = Daemon(phased(backend=program.line))
        tc(f"qdisc replace dev {DEV} root handle 7: pfifo")
        control = Control(SOCKET)
        control.join()
        told = control.ask("phase", operation="alltoall", job_hosts=EVERYBODY, comm_hosts=EVERYBODY)
        note(f"the answer: {told}")
        equal(told.get("paced", False), False)
        equal(kinds()[0], ("pfifo", "7:"))
        matches(daemon.said(), "HW-206 cannot set up eth0: .*pfifo 7:, which somebody else installed")
        tc(f"qdisc del dev {DEV} root")
        control.phase(EVERYBODY)
        equal(kinds(), PACING[program.line])
        control.close()


@case
def a_restart_keeps_a_job_s_qdiscs_and_then_they_rest():
    with several_queues():
        before = device()
        for backend, pacing in PACING.items():
            store = Store()
            Daemon(phased(backend=backend), options=["--keep"], store=store).stop()
            equal(device(), before)
            daemon = Daemon(phased(backend=backend), options=["--keep"], store=store)
            control, _, _ = in_phase()
            daemon.stop()
            equal(kinds(), pacing)
            daemon = Daemon(phased(backend=backend), options=["--keep"], store=store)
            matches(daemon.said(), "took over the .* qdisc of an earlier run")
            control.close()
            rests_once("nothing of the earlier run is in force")
            equal(device(), before)
            daemon.stop()


@case
def restore_takes_all_queues_of_a_run_that_did_not_end():
    with several_queues():
        before = device()
        for backend, pacing in PACING.items():
            daemon = Daemon(phased(backend=backend))
            control, _, _ = in_phase()
            daemon.kill()
            equal(kinds(), pacing)
            sh(f"{BIN}/headwayd", "--config", "/tmp/headway.toml", "--restore")
            equal(device(), before)
            control.close()


@case
def off_gives_the_device_back():
    with several_queues():
        before = device()
        for backend, pacing in PACING.items():
            daemon = Daemon(phased(backend=backend))
            control, _, _ = in_phase()
            sh(f"{BIN}/headway", "off", "--socket", SOCKET)
            rests_once("pacing is off")
            equal(device(), before)
            sh(f"{BIN}/headway", "on", "--socket", SOCKET)
            equal(kinds(), pacing)
            paced_at(BYTES_PER_S)
            control.close()
            daemon.stop()


def sent_frames():
    return json.loads(sh("ip", "-json", "-statistics", "link", "show", DEV))[0]["stats64"]["tx"]["packets"]


@case
def a_rest_loses_nothing_that_waits():
    """3000 frames, of which by fq the last is due 8 s after its job has gone: longer than between two looks."""
    with several_queues():
        for backend in PACING:
            daemon = Daemon(phased(backend=backend))
            process = in_phase()
            before = sent_frames()
            with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x0800)) as sender:
                sender.bind((DEV, 0))
                sender.setsockopt(socket.SOL_SOCKET, SO_SNDBUFFORCE, 64_000_000)
                for _ in range(3000):
                    sender.send(frame(REMOTE, NEXT_BYTES - 42), socket.MSG_DONTWAIT)
                process[0].close()
                rests_once("all has been sent")
            equal(sent_frames() - before, 3000, backend)
            daemon.stop()
