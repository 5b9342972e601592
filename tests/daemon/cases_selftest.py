# SPDX-License-Identifier: Apache-2.0
"""The self-test of gap frames, by headwayd and by `headway selftest`."""

import json
import os
import signal
import subprocess
from itertools import takewhile

from control import Control
from guestdaemon import BIN, DEV, EVERYBODY, SOCKET, Daemon, bytes_per_s_of_next, config
from ktap import case, equal
from tcguest import (eventually, frame, matches, note, options, packets, qdiscs, renegotiate, run,
                     send_frames, sh, simwire, tc)

HEADWAY = os.path.join(BIN, "headway")
AUTO = config(gap_frames='gap_frames = "auto"')


def backend():
    return options(DEV)["backend_used"]


def lose_gap_frames(lost):
    simwire(DEV, "drop_mac_control", int(lost))


@case
def an_honest_device_is_paced_by_gap_frames():
    daemon = Daemon(AUTO)
    matches(daemon.said(), f"pacing {DEV} by gap frames: gap frames take their time: ")
    equal(backend(), "gap")
    status = Control(SOCKET).do("status")["daemon"]
    equal((status["backend"], status["backend_reason"][:9]), ("gap", "gap frame"))
    equal("1:fff0" in tc(f"class show dev {DEV}"), False)
    daemon.process.kill()
    daemon.ended()
    again = Daemon(AUTO)
    equal((backend(), again.said().count("paced by")), ("gap", 0))
    equal(Control(SOCKET).do("status")["daemon"]["backend_reason"], "tested by an earlier run")


@case
def what_an_earlier_run_has_left_is_not_believed_blindly():
    daemon = Daemon(AUTO)
    equal(backend(), "gap")
    daemon.process.kill()
    daemon.ended()
    tc(f"class add dev {DEV} parent 1: classid 1:fff0 gap rate 1mbit")
    again = Daemon(AUTO)
    matches(again.said(), f"pacing {DEV} by gap frames: gap frames take their time: ")
    equal("1:fff0" in tc(f"class show dev {DEV}"), False, "a class of a test that was killed:")
    again.process.kill()
    again.ended()
    Daemon(config(gap_frames='gap_frames = "off"'))
    equal(backend(), "timer", "switched off:")


@case
def a_qdisc_that_is_made_anew_is_tested_anew():
    daemon = Daemon(AUTO)
    equal(backend(), "gap")
    before = daemon.said().count(f"pacing {DEV} by gap frames")
    tc(f"qdisc del dev {DEV} root")
    eventually(lambda: daemon.said().count(f"pacing {DEV} by gap frames") > before,
               "a line in the log")
    equal(backend(), "gap")
    tc(f"qdisc change dev {DEV} root gap backend timer")
    eventually(lambda: backend() == "gap", "it is tested again")


@case
def a_device_that_drops_them_is_paced_by_the_timer():
    lose_gap_frames(True)
    try:
        daemon = Daemon(AUTO)
        matches(daemon.said(), f"HW-209 pacing {DEV} by the timer: ")
        equal(backend(), "timer")
        lose_gap_frames(False)
        renegotiate(DEV, 125_000_000)
        eventually(lambda: backend() == "gap", "it is tested when the carrier comes back")
    finally:
        lose_gap_frames(False)


@case
def a_device_that_begins_to_drop_them_is_found_out():
    """At 31 Mbit/s a frame leaves a gap of 34 KB behind it, which is too short to be slept."""
    daemon = Daemon(AUTO.replace("1gbit", "100mbit").replace("1.25gbit", "125mbit"))
    equal(backend(), "gap")
    client = Control(SOCKET)
    client.enter(EVERYBODY)
    lose_gap_frames(True)
    try:
        send_frames(DEV, frame("10.2.0.1", 1000), 200)
        eventually(lambda: "HW-209" in daemon.said(), "a line in the log")
        note(daemon.said().splitlines()[-1])
        equal(backend(), "timer")
        equal(options(DEV)["reason"], "lost")
        client.close()
    finally:
        lose_gap_frames(False)


@case
def the_command_tests_a_device_without_a_qdisc():
    report = "/tmp/report.json"
    result = run(HEADWAY, "selftest", DEV, "--report", report)
    note(result.stdout + result.stderr)
    equal(result.returncode, 0)
    matches(result.stdout, f"{DEV}: passed: gap frames take their time: ")
    equal([q for q in qdiscs(DEV) if q["kind"] == "gap"], [])
    with open(report) as file:
        seen = json.load(file)
    equal((seen["format"], seen["result"]["verdict"], seen["device"]["speed"]),
          ("headway-selftest", "passed", "1000"))
    equal(seen["counters_rose_by"]["statistics/tx_packets"] > 1000, True)
    lose_gap_frames(True)
    try:
        result = run(HEADWAY, "selftest", DEV, "--json")
    finally:
        lose_gap_frames(False)
    equal((result.returncode, json.loads(result.stdout)["verdict"]), (1, "lost"))


@case
def an_interrupted_command_takes_back_what_it_did():
    """At 10 Mbit/s, where a test takes three seconds."""
    def has_class():
        return "fff0" in tc(f"class show dev {DEV}")

    def interrupt():
        with subprocess.Popen([HEADWAY, "selftest", DEV], stderr=subprocess.PIPE, text=True) as command:
            eventually(has_class, "the test has begun")
            command.send_signal(signal.SIGINT)
            said = command.communicate()[1]
        equal((command.returncode, has_class()), (2, False))
        matches(said, "the test of eth0 was interrupted; gap frames are not used")

    renegotiate(DEV, 1_250_000)
    try:
        interrupt()
        equal([q for q in qdiscs(DEV) if q["kind"] == "gap"], [])
        tc(f"qdisc add dev {DEV} root handle 1: gap")
        interrupt()
        equal(backend(), "timer")
    finally:
        renegotiate(DEV, 125_000_000)


@case
def the_command_leaves_other_qdiscs_alone():
    tc(f"qdisc add dev {DEV} root handle 7: pfifo")
    result = run(HEADWAY, "selftest", DEV)
    equal((result.returncode, result.stdout), (2, ""))
    matches(result.stderr, "the root qdisc of eth0 is pfifo 7:, which somebody installed")
    tc(f"qdisc del dev {DEV} root")
    tc(f"qdisc add dev {DEV} root handle 1: gap")
    matches(sh(HEADWAY, "selftest", DEV), "The gap qdisc of eth0 uses gap frames now.")
    equal(backend(), "gap")
    result = run(HEADWAY, "selftest", "nowhere")
    equal(result.returncode, 2)
    matches(result.stderr, "nowhere")


@case
def commands_by_hand_pace_what_is_sent():
    """Runs what packages.rst does by hand, without the daemon; insmod is the first of its commands."""
    with open(os.path.join(os.environ["HW_ROOT"], "Documentation/packages.rst"), encoding="utf-8") as file:
        text = file.read()
    shown = text[text.index("    insmod "):].splitlines()
    commands = [line.strip() for line in takewhile(lambda line: line.startswith("    "), shown)]
    equal(len(commands), 5)
    sh("rmmod", "sch_gap")
    sh("env", "-C", os.environ["HW_ROOT"], "bash", "-ec", "\n".join(commands))
    equal(backend(), "gap")
    equal(round(bytes_per_s_of_next("192.0.2.1") * 8 / 1e6, 1), 312.5)
    equal(packets(DEV), {"1:10": 3})
