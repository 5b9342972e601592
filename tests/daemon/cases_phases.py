# SPDX-License-Identifier: Apache-2.0
"""Phases: rates that a process switches with a store (control-protocol.rst)."""

import os
import select
import signal
import subprocess
import time

from guestdaemon import (BIN, DEV, EVERYBODY, MODULES, SOCKET, Daemon, at_rest, config,
                         direct_packets, rate_of, write_config)
from tcguest import (classes, eventually, frame, matches, note, packets, run, send_frames, sh, tc)
from ktap import case, equal
from control import Control

HERE = os.path.dirname(os.path.realpath(__file__))
BYTES_PER_S = 38671875      # as PLANNED
REST = {"1:10", "1:110", "1:11", "1:111"}
REMOTE, OWN = "10.2.0.1", "10.1.0.1"


def phased(**more):
    return config(phases='phases = "auto"', **more)


def class_of_next(destination=REMOTE):
    """The leaf class that one more packet goes to; None: no class."""
    before = packets(DEV)
    send_frames(DEV, frame(destination, 100), 1)
    after = packets(DEV)
    changed = [c for c in after if after[c] != before.get(c, 0) and c not in ("1:10", "1:11")]
    equal(len(changed) < 2, True)
    return changed[0] if changed else None


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
def phases_need_a_classifier_and_resting_classes():
    daemon = Daemon(phased())
    equal(set(classes(DEV)), REST)
    equal(at_rest(), True)
    matches(tc(f"filter show dev {DEV}"), r"bpf .*headway_phase direct-action")
    matches(daemon.said(), "2 classes on a link of 1 Gbit/s, with phases")
    equal(Control(SOCKET).do("hello", job="1")["phases"], True)
    equal(class_of_next(REMOTE), "1:111")
    equal(class_of_next("10.3.7.9"), "1:111")
    equal(class_of_next(OWN), "1:110")
    before = direct_packets()
    equal(class_of_next("192.0.2.1"), None)
    equal(direct_packets() - before, 1)


@case
def the_next_packet_obeys_a_store():
    Daemon(phased())
    control, slot = joined()
    answer = control.phase(EVERYBODY)
    equal(answer["phase"], 1)
    equal(class_of_next(), "1:111")
    slot.store(1)
    paced = class_of_next()
    shown = classes(DEV)[paced]
    equal((shown["parent"], shown["rate"]), ("1:11", "309375Kbit"))
    slot.store(0)
    equal(class_of_next(), "1:111")
    slot.store(1)
    equal(class_of_next(), paced)
    equal(classes(DEV)[class_of_next(OWN)]["parent"], "1:10")
    equal(rate_of("1:11"), "unlimited")


@case
def the_strictest_phase_of_all_processes_holds():
    Daemon(phased())
    loose, loose_slot, _ = in_phase(["a0", "a1", "b0", "b1"])
    loose_class = class_of_next()
    _, strict_slot, _ = in_phase()
    strict_class = class_of_next()
    equal(loose_class == strict_class, False)
    equal(classes(DEV)[strict_class]["rate"], "309375Kbit")
    strict_slot.store(0)
    equal(class_of_next(), loose_class)
    loose_slot.store(63)
    equal(class_of_next(), "1:111")
    loose.close()


@case
def a_job_s_rate_is_each_process_s():
    Daemon(phased())
    control, slot = joined()
    slot.store(control.do("rate", bytes_per_s=1_000_000)["phase"])
    equal(classes(DEV)[class_of_next()]["rate"], "8Mbit")
    equal(class_of_next(OWN), "1:110")
    before = slot.generation()
    other, _ = joined()
    equal(slot.generation() > before, True)
    slot.store(control.do("rate", bytes_per_s=1_000_000)["phase"])
    equal(classes(DEV)[class_of_next()]["rate"], "16Mbit")
    other.close()
    eventually(lambda: slot.generation() > before + 1, "the other one's end is told")


@case
def enter_and_leave_work_beside_phases():
    Daemon(phased())
    old = Control(SOCKET)
    old.enter(EVERYBODY)
    equal(rate_of("1:11"), "309375Kbit")
    equal(class_of_next(), "1:111")
    _, slot, _ = in_phase(["a0", "a1", "b0", "b1"])
    equal(classes(DEV)[class_of_next()]["parent"], "1:11")
    slot.store(0)
    old.do("leave")
    eventually(lambda: rate_of("1:11") == "unlimited", "the cap is gone")


def kill_in_phase(*words):
    """(nanoseconds from the process's end to the slot's, a sibling's slot, the sibling)."""
    sibling = Control(SOCKET)
    slot, _ = sibling.join()
    client = subprocess.Popen([f"{HERE}/control.py", SOCKET, *EVERYBODY, "--phase", *words],
                              stdout=subprocess.PIPE, text=True)
    equal(client.stdout.readline(), "entered\n")
    equal(slot.load(1), 1)
    equal(class_of_next() == "1:111", False)
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
        equal(class_of_next(), "1:111")
        sibling.close()
        eventually(lambda: Control(SOCKET).do("status")["jobs"] == [], "no job is left")


@case
def not_even_if_a_child_of_it_goes_on():
    Daemon(phased())
    took, slot, sibling = kill_in_phase("--child")
    equal(took < 5_000_000, True)
    eventually(lambda: slot.load(1) == 1, "the child stores again")
    equal(class_of_next(), "1:111")
    equal(sibling.do("status")["jobs"][0]["processes"], 1)


@case
def another_user_s_job_is_out_of_reach():
    Daemon(phased())
    _, slot, _ = in_phase()
    mine = class_of_next()
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
        equal(class_of_next(), mine)
        jobs = Control(SOCKET).do("status")["jobs"]
        equal(sorted(job["uid"] for job in jobs), [0, 65534])
    finally:
        other.kill()
        other.wait()


@case
def phases_are_bounded():
    Daemon(phased())
    clients = [joined() for _ in range(64)]
    answer = Control(SOCKET).join()[1]
    equal(answer["ok"], False)
    matches(answer["error"], "64 processes of this node have phases")
    control, slot = clients[-1]
    for number in range(1, 64):
        equal(control.do("rate", bytes_per_s=100_000 + number)["phase"], number)
    matches(control.ask("rate", bytes_per_s=1_000)["error"], "less than a thousandth")
    matches(control.ask("rate", bytes_per_s=200_000)["error"], "a job may have 63 phases")
    slot.store(63)
    equal(class_of_next() == "1:111", False)
    for client, _ in clients:
        client.close()
    eventually(lambda: Control(SOCKET).do("status")["jobs"] == [], "all are gone")
    equal(class_of_next(), "1:111")
    note("classes of phases that nobody wants stay for the next job")
    equal(len(classes(DEV)), 4 + 63)
    again, slot = joined()
    slot.store(again.do("rate", bytes_per_s=64 * 100_063)["phase"])
    equal(len(classes(DEV)), 4 + 63)


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
    write_config(phased(linger="target_utilisation = 0.495"))
    daemon.process.send_signal(signal.SIGHUP)
    daemon.expect("RELOADING=1")
    daemon.expect("READY=1")
    equal(slot.generation() == before, False)
    equal(classes(DEV)[class_of_next()]["rate"], "309375Kbit")
    slot.store(control.phase(EVERYBODY)["phase"])
    equal(classes(DEV)[class_of_next()]["rate"], "154687Kbit")


@case
def a_reload_sets_how_long_phases_linger():
    daemon = Daemon(phased())
    _, slot, _ = in_phase()
    paced = class_of_next()
    equal([classes(DEV)[c]["ordered"] for c in ("1:10", "1:11")], ["10ms", "10ms"])
    write_config(phased(linger="linger_ms = 250"))
    daemon.process.send_signal(signal.SIGHUP)
    daemon.expect("RELOADING=1")
    daemon.expect("READY=1")
    equal([classes(DEV)[c]["ordered"] for c in ("1:10", "1:11")], ["250ms", "250ms"])
    equal(class_of_next(), paced)


@case
def status_shows_jobs_and_slots():
    Daemon(phased())
    _, _, answer = in_phase()
    equal(answer["rates"][1]["bytes_per_s"], BYTES_PER_S)
    text = sh(f"{BIN}/headway", "status", "--socket", SOCKET)
    matches(text, r"job 12\.0 of user 0: 1 process, 1 phase: 1 \(309\.375 Mbit/s\)")
    matches(text, r"slot 0 in phase 1")


@case
def without_the_privilege_rates_change_by_requests():
    write_config(phased())
    caps = "-bpf,-sys_admin,-perfmon"
    daemon = Daemon(phased(), wrapper=["setpriv", "--bounding-set", caps, "--inh-caps", caps])
    matches(daemon.said(), "no phases, rates change by requests: loading the classifier: "
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
    matches(daemon.said(), "no phases, rates change by requests: adding the BPF classifier: ")
    falls_back()


@case
def with_tc_rates_change_by_requests():
    daemon = Daemon(phased(via="tc"))
    matches(daemon.said(), "no phases, rates change by requests: tc cannot attach")
    falls_back()


def falls_back():
    equal(sorted(classes(DEV)), ["1:10", "1:11"])
    control = Control(SOCKET)
    slot, answer = control.join()
    equal((slot, answer["ok"]), (None, False))
    equal(control.do("hello", job="1")["phases"], False)
    control.enter(EVERYBODY)
    equal(rate_of("1:11"), "309375Kbit")


@case
def the_classifier_in_this_kernel():
    result = run(f"{BIN}/phase_classifier_test", f"{BIN}/class_of.bpf.o")
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
