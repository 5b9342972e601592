# SPDX-License-Identifier: Apache-2.0
"""Phases: rates that a process switches with a store (control-protocol.rst)."""

import contextlib
import os
import resource
import select
import signal
import socket
import subprocess
import time

from guestdaemon import (BIN, DEV, EVERYBODY, MODULES, NEXT_WIRE_BYTES, SOCKET, Daemon, at_rest,
                         config, direct_packets, frame_starts, goes_to_no_class, paced_at, rate_of,
                         unpaced, write_config)
from tcguest import (classes, eventually, frame, matches, note, packets, run, send_frames, sh,
                     simwire, tc)
from ktap import case, equal
from control import Control

HERE = os.path.dirname(os.path.realpath(__file__))
# 0.99 * 12.5 Mbit/s / 4 for everybody, / 2 for two of each cluster: so slow that what this
# program sends is paced, and not its own speed measured
BYTES_PER_S, LOOSE_BYTES_PER_S = 386718, 773437
REST = {"1:10", "1:110", "1:11", "1:111"}
REMOTE, OWN = "10.2.0.1", "10.1.0.1"


def phased(**more):
    more.setdefault("host_rate", 'host_rate = "10mbit"')
    return config(phases='phases = "auto"', **more).replace("1.25gbit", "12.5mbit")


def class_of_what(send):
    """The leaf class that the packet goes to which `send` sends; None: no class."""
    before = packets(DEV)
    send()
    after = packets(DEV)
    changed = [c for c in after if after[c] != before.get(c, 0) and c not in ("1:10", "1:11")]
    equal(len(changed) < 2, True)
    return changed[0] if changed else None


def class_of_next(destination=REMOTE):
    return class_of_what(lambda: send_frames(DEV, frame(destination, 100), 1))


def joined():
    control = Control(SOCKET)
    slot, _ = control.join()
    return control, slot


def in_phase(hosts=None, **members):
    """A process in the phase of an all-to-all: (control, slot, answer)."""
    control, slot = joined()
    answer = control.phase(hosts or EVERYBODY, **members)
    slot.store(answer["phase"])
    return control, slot, answer


@case
def phases_need_a_classifier_and_shared_classes():
    daemon = Daemon(phased())
    equal(set(classes(DEV)), REST)
    equal(at_rest(), True)
    matches(tc(f"filter show dev {DEV}"), r"bpf .*headway_phase direct-action")
    matches(daemon.said(), "2 classes on a link of 1 Gbit/s, with phases")
    equal(Control(SOCKET).do("hello", job="1")["phases"], True)
    eventually(goes_to_no_class, "nothing has a rate, so that packets bypass the qdisc")
    control, _ = joined()
    control.phase(EVERYBODY)
    equal(class_of_next(REMOTE), "1:111")
    equal(class_of_next("10.3.7.9"), "1:111")
    equal(class_of_next(OWN), "1:110")
    before = direct_packets()
    equal(class_of_next("192.0.2.1"), None)
    equal(direct_packets() - before, 1)
    control.close()
    eventually(goes_to_no_class, "the job has gone, and its rates")


@case
def the_next_packet_obeys_a_store():
    Daemon(phased())
    control, slot = joined()
    answer = control.phase(EVERYBODY)
    equal(answer["phase"], 1)
    unpaced()
    slot.store(1)
    paced_at(BYTES_PER_S)
    paced_at(BYTES_PER_S, OWN)
    equal(classes(DEV)["1:111"]["phases"], {1: "3093Kbit"})
    slot.store(0)
    unpaced()
    slot.store(1)
    paced_at(BYTES_PER_S)
    equal(class_of_next(), "1:111")
    equal(at_rest(), True)


@case
def packets_keep_the_phase_they_were_queued_in():
    """A phase that ends changes nothing of what waits; nor does one that begins."""
    Daemon(phased())
    _, slot, answer = in_phase()
    simwire(DEV, "record_frames", 64)
    data = frame(REMOTE, 1000)
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x0800)) as sender:
        sender.bind((DEV, 0))
        for phase in (answer["phase"], 0, answer["phase"]):
            slot.store(phase)
            for _ in range(5):
                sender.send(data)
    starts = frame_starts(15)
    rates = [NEXT_WIRE_BYTES * 10**9 / (after - before) / BYTES_PER_S
             for before, after in zip(starts, starts[1:])]
    note(f"of the phase's rate: {' '.join(f'{one:.3f}' for one in rates)}")
    equal([0.98 < one < 1.02 for one in rates[:5] + rates[10:]], [True] * 9)
    equal([one > 10 for one in rates[5:10]], [True] * 5)


PEER = "peer"       # the name space of the other end of the wire
PEER_PROGRAM = """
import socket
server = socket.create_server(("10.2.0.1", 4711))
print("listening", flush=True)
connection = server.accept()[0]
while connection.recv(1 << 16):
    pass
names, numbers = [line.split() for line in open("/proc/net/netstat") if line.startswith("TcpExt:")]
print(numbers[names.index("TCPOFOQueue")], flush=True)
"""


@contextlib.contextmanager
def peer_behind_10_ms():
    """It takes one connection through the device, whose window is small when it begins."""
    sh("ip", "netns", "add", PEER)
    for end in (DEV, f"{DEV}p"):
        simwire(end, "delay_ns", 10_000_000)
    sh("ip", "link", "set", f"{DEV}p", "netns", PEER)
    try:
        for place, dev, address in (([], DEV, "10.1.0.1"), (["-n", PEER], f"{DEV}p", "10.2.0.1")):
            sh("ip", *place, "address", "add", f"{address}/8", "dev", dev)
            sh("ip", *place, "link", "set", dev, "up")
            sh("ip", *place, "route", "replace", "10.0.0.0/8", "dev", dev, "initcwnd", "4")
        peer = subprocess.Popen(["ip", "netns", "exec", PEER, "/usr/bin/python3", "-c", PEER_PROGRAM],
                                stdout=subprocess.PIPE, text=True)
        equal(peer.stdout.readline(), "listening\n")
        yield
        equal(peer.communicate(timeout=60)[0], "0\n", "segments that came out of order")
    finally:
        sh("ip", "-n", PEER, "link", "set", f"{DEV}p", "netns", "1")
        sh("ip", "netns", "del", PEER)
        sh("ip", "address", "flush", "dev", DEV)
        for end in (DEV, f"{DEV}p"):
            simwire(end, "delay_ns", 0)
            sh("ip", "link", "set", end, "up")


@contextlib.contextmanager
def connection_over_10_ms():
    with peer_behind_10_ms(), socket.socket() as connection:
        connection.connect((REMOTE, 4711))
        yield connection


# Frames leave 4 ms apart.  Beside a daemon that starts, or under fq, a timer may be late by a fifth
# of a millisecond, as softirqs of a busy processor make it, and the next frame follows sooner; what is
# not paced is hundreds of times too fast.
LATE_TIMER = 1.05


def fastest_of(frames):
    """Returns the distances of neighbours on the wire among so many frames of 1514 bytes, in rates
    of the phase."""
    starts = frame_starts(frames)
    rates = [1538 * 10**9 / (after - before) / BYTES_PER_S
             for before, after in zip(starts, starts[1:])]
    note(f"fastest {max(rates):.3f} of the phase's rate, in {(starts[-1] - starts[0]) / 1e6:.1f} ms")
    return max(rates)


@case
def what_is_in_a_socket_when_a_phase_ends_stays_paced():
    """64 KB in one call, of which the window lets 6 KB go; the phase ends at once."""
    Daemon(phased())
    with connection_over_10_ms() as connection:
        _, slot, answer = in_phase()
        simwire(DEV, "record_frames", 4096)
        slot.store(answer["phase"])
        connection.sendall(b"x" * 65_000)
        slot.store(0)
        equal(fastest_of(45) < 1.005, True)
        time.sleep(0.5)
        simwire(DEV, "record_frames", 4096)
        connection.sendall(b"x" * 5_000)
        starts = frame_starts(4)
        equal(1538 * 10**9 / (starts[2] - starts[1]) > 5_000_000, True)


@case
def the_strictest_phase_of_all_processes_holds():
    Daemon(phased())
    loose, loose_slot, _ = in_phase(["a0", "a1", "b0", "b1"])
    paced_at(LOOSE_BYTES_PER_S)
    _, strict_slot, _ = in_phase()
    paced_at(BYTES_PER_S)
    strict_slot.store(0)
    paced_at(LOOSE_BYTES_PER_S)
    loose_slot.store(63)
    unpaced()
    loose.close()


@case
def a_job_s_rate_is_each_process_s():
    Daemon(phased())
    control, slot = joined()
    slot.store(control.do("rate", bytes_per_s=150_000)["phase"])
    paced_at(150_000)
    unpaced(OWN)
    before = slot.generation()
    other, _ = joined()
    equal(slot.generation() > before, True)
    slot.store(control.do("rate", bytes_per_s=150_000)["phase"])
    paced_at(300_000)
    other.close()
    eventually(lambda: slot.generation() > before + 1, "the other one's end is told")


def in_force(classid):
    """The class's own rate, by headwayd, which asks whoever paces; None: unlimited."""
    rates = {one["classid"]: one["bytes_per_s"] for one in Control(SOCKET).do("status")["classes"]}
    return rates[classid]


def enter_and_leave_beside_phases(text):
    Daemon(text)
    old = Control(SOCKET)
    old.enter(EVERYBODY)
    paced_at(BYTES_PER_S)
    _, slot, _ = in_phase(["a0", "a1", "b0", "b1"])
    note("both jobs have half of the links")
    paced_at(BYTES_PER_S // 2)
    old.close()
    eventually(lambda: in_force("1:11") is None, "the cap is gone")
    paced_at(LOOSE_BYTES_PER_S)
    slot.store(0)
    unpaced()


@case
def enter_and_leave_work_beside_phases():
    enter_and_leave_beside_phases(phased())


def kill_in_phase(*words):
    """(nanoseconds from the process's end to the slot's, a sibling's slot, the sibling)."""
    sibling = Control(SOCKET)
    slot, _ = sibling.join()
    client = subprocess.Popen([f"{HERE}/control.py", SOCKET, *EVERYBODY, "--phase", *words],
                              stdout=subprocess.PIPE, text=True)
    equal(client.stdout.readline(), "entered\n")
    equal(slot.load(1), 1)
    paced_at(BYTES_PER_S)
    generation = slot.generation()
    ends = select.poll()
    ends.register(os.pidfd_open(client.pid), select.POLLIN)
    killed = time.perf_counter_ns()
    client.send_signal(signal.SIGKILL)
    ends.poll(20_000)
    ended = time.perf_counter_ns()
    # what the daemon does last when a process has gone
    while slot.generation() == generation:
        time.sleep(0.0001)
    done = time.perf_counter_ns()
    client.wait(timeout=30)
    note(f"out of its phase {(done - killed) / 1e6:.3f} ms after kill -9, "
         f"{(done - ended) / 1e6:.3f} ms after the process's end was seen here")
    return done - ended, slot, sibling


@case
def a_killed_process_s_slot_counts_no_more_within_5_ms():
    Daemon(phased())
    for _ in range(3):
        took, slot, sibling = kill_in_phase()
        equal(took < 5_000_000, True)
        equal(slot.load(1), 0)
        unpaced()
        sibling.close()
        eventually(lambda: Control(SOCKET).do("status")["jobs"] == [], "no job is left")


@case
def not_even_if_a_child_of_it_goes_on():
    Daemon(phased())
    took, slot, sibling = kill_in_phase("--child")
    equal(took < 5_000_000, True)
    eventually(lambda: slot.load(1) == 1, "the child stores again")
    unpaced()
    equal(sibling.do("status")["jobs"][0]["processes"], 1)


@case
def another_user_s_job_is_out_of_reach():
    Daemon(phased())
    _, slot, _ = in_phase()
    script = ("import sys; sys.path.insert(0, sys.argv[1]); from control import *\n"
              "control = Control(sys.argv[2]); slot, answer = control.join()\n"
              "assert answer['slot'] == 0, answer\n"
              "assert slot.load(0) == 0, 'it sees the other job'\n"
              "for i in range(64): slot.store(0xffffffff, i)\n"
              "print('done', flush=True); signal.pause()")
    other = subprocess.Popen(["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups",
                              "/usr/bin/python3", "-c", script, HERE, SOCKET],
                             stdout=subprocess.PIPE, text=True)
    try:
        equal(other.stdout.readline(), "done\n")
        equal(slot.load(), 1)
        paced_at(BYTES_PER_S)
        jobs = Control(SOCKET).do("status")["jobs"]
        equal(sorted(job["uid"] for job in jobs), [0, 65534])
    finally:
        other.kill()
        other.wait()


@case
def phases_are_bounded():
    Daemon(phased())
    processes = 256
    resource.setrlimit(resource.RLIMIT_NOFILE, (8 * processes, 8 * processes))
    clients = [joined() for _ in range(processes)]
    answer = Control(SOCKET).join()[1]
    equal(answer["ok"], False)
    matches(answer["error"], f"there are {processes} processes with phases on this node already")
    control, slot = clients[-1]
    for number in range(1, 64):
        equal(control.do("rate", bytes_per_s=2_500 + number)["phase"], number)
    matches(control.ask("rate", bytes_per_s=250)["error"], "less than a thousandth")
    matches(control.ask("rate", bytes_per_s=50_000)["error"], "a job may have 63 phases")
    slot.store(63)
    paced_at(processes * 2_563)
    for client, _ in clients:
        client.close()
    eventually(lambda: Control(SOCKET).do("status")["jobs"] == [], "all are gone")
    unpaced()
    note("rates that nobody wants stay for the next job")
    equal(len(classes(DEV)["1:111"]["phases"]), 63)
    again, slot = joined()
    slot.store(again.do("rate", bytes_per_s=processes * 2_563)["phase"])
    paced_at(processes * 2_563)
    equal(len(classes(DEV)["1:111"]["phases"]), 63)


@case
def jobs_come_and_go():
    Daemon(phased())
    for number in range(130):
        control = Control(SOCKET)
        slot, answer = control.join(f"job-{number}")
        equal((answer["ok"], slot.load()), (True, 0))
        slot.memory.close()
        os.close(slot.fd)
        control.close()
    eventually(lambda: Control(SOCKET).do("status")["jobs"] == [], "all are gone")


@case
def a_reload_tells_the_processes():
    daemon = Daemon(phased())
    control, slot, answer = in_phase()
    before = slot.generation()
    equal(answer["generation"], before)
    write_config(phased(policy="target_utilisation = 0.495"))
    daemon.process.send_signal(signal.SIGHUP)
    daemon.expect("RELOADING=1")
    daemon.expect("READY=1")
    equal(slot.generation() == before, False)
    paced_at(BYTES_PER_S)
    slot.store(control.phase(EVERYBODY)["phase"])
    paced_at(BYTES_PER_S // 2)


@case
def status_shows_jobs_and_slots():
    Daemon(phased())
    _, _, answer = in_phase()
    equal(answer["rates"][1]["bytes_per_s"], BYTES_PER_S)
    text = sh(f"{BIN}/headway", "status", "--socket", SOCKET)
    matches(text, r"job 12\.0 of user 0: 1 process, 1 phase: 1 \(3\.093 Mbit/s\)")
    matches(text, r"slot 0 in phase 1")


@case
def without_the_privilege_rates_change_by_requests():
    write_config(phased())
    caps = "-bpf,-sys_admin,-perfmon"
    daemon = Daemon(phased(), wrapper=["setpriv", "--bounding-set", caps, "--inh-caps", caps])
    matches(daemon.said(), "without phases, rates change by requests only: loading the classifier: "
                           "Operation not permitted; headwayd needs root, or CAP_BPF")
    falls_back()


@case
def without_cls_bpf_rates_change_by_requests():
    run("rmmod", "cls_bpf")
    folder = f"/lib/modules/{os.uname().release}"
    sh("mount", "-t", "tmpfs", "tmpfs", folder)
    try:
        daemon = Daemon(phased())
    finally:
        sh("umount", folder)
    matches(daemon.said(), "without phases, rates change by requests only: adding the BPF "
                           "classifier: ")
    falls_back()


def falls_back():
    equal(sorted(classes(DEV)), ["1:10", "1:11"])
    control = Control(SOCKET)
    slot, answer = control.join()
    equal((slot, answer["ok"]), (None, False))
    equal(control.do("hello", job="1")["phases"], False)
    control.enter(EVERYBODY)
    equal(rate_of("1:11"), "3093Kbit")


@case
def the_classifier_in_this_kernel():
    # without what make bench-phase measures, which asserts nothing
    result = run(f"{BIN}/phase_classifier_test", "--gtest_filter=-*.Cost*", f"{BIN}/class_of.bpf.o")
    for line in result.stdout.splitlines():
        note(line)
    equal((result.returncode, result.stderr), (0, ""))


@case
def phases_leave_nothing_in_the_kernel():
    daemon = Daemon(phased())
    control, slot, _ = in_phase()
    send_frames(DEV, frame(REMOTE, 1000), 20)
    equal(daemon.stop(), 0)
    equal([c for c in classes(DEV)], [])
    slot.store(7)  # the memory is still the process's
    sh("rmmod", "sch_gap")
    sh("insmod", f"{MODULES}/sch_gap.ko")
