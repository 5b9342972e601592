# SPDX-License-Identifier: Apache-2.0
"""`headway off` and `headway on` (headway(1))."""

import signal

from cases_phases import BYTES_PER_S, in_phase, phased
from control import Control
from fdstore import Store
from guestdaemon import (BIN, DEV, EVERYBODY, PLANNED, SOCKET, Daemon, at_rest, config, goes_to_no_class,
                         paced_at, rate_of, unpaced)
from ktap import case, equal
from tcguest import classes, eventually, matches, run, sh, tc

HEADWAY = f"{BIN}/headway"


def headway(*words):
    return sh(HEADWAY, *words, "--socket", SOCKET)


@case
def off_lets_everything_go_at_once_and_on_paces_again():
    daemon = Daemon(phased())
    control, slot, answer = in_phase()
    paced_at(BYTES_PER_S)
    equal(headway("off"), "pacing is off\n")
    unpaced()
    equal(goes_to_no_class(), True)
    equal([c["rate"] for c in classes(DEV).values()], ["unlimited"] * 4)
    equal(classes(DEV)["1:111"]["phases"], {1: "unlimited"})
    matches(headway("status"), r"PACING IS OFF since .*, by user 0: ")
    matches(daemon.said(), "HW-403 pacing nothing: user 0 has switched pacing off")
    told = control.phase(EVERYBODY)
    equal((told["paced"], told["phase"]), (False, answer["phase"]), "the job goes on, and is told")
    matches(told["reason"], r"pacing is switched off on this node \(headway off\)")
    headway("on")
    paced_at(BYTES_PER_S)
    equal(headway("status").count("PACING IS OFF"), 0)


@case
def off_outlives_restarts_and_hand_overs():
    store = Store()
    daemon = Daemon(phased(), store=store, options=["--keep"])
    control, _, answer = in_phase()
    headway("off")
    for how in (signal.SIGKILL, signal.SIGTERM):
        daemon.process.send_signal(how)
        daemon.ended()
        unpaced()
        daemon = Daemon(phased(), store=store, options=["--keep"])
        matches(daemon.said(), "took up 1 processes that had joined")
        matches(daemon.said(), "HW-403 pacing nothing")
        unpaced()
        equal(goes_to_no_class(), True)
    equal(control.phase(EVERYBODY)["phase"], answer["phase"])
    headway("on")
    paced_at(BYTES_PER_S)
    daemon.process.send_signal(signal.SIGKILL)
    daemon.ended()
    daemon = Daemon(phased(), store=store)
    equal(daemon.said().count("HW-403"), 0)
    paced_at(BYTES_PER_S)


@case
def off_without_phases():
    daemon = Daemon(config())
    control = Control(SOCKET)
    control.enter(EVERYBODY)
    equal(rate_of("1:11"), PLANNED)
    headway("off")
    equal(at_rest(), True)
    equal(tc(f"filter show dev {DEV}"), "")
    equal(goes_to_no_class(), True)
    equal(control.enter(EVERYBODY)["paced"], False)
    control.do("leave")
    headway("on")
    equal(rate_of("1:11"), PLANNED)
    equal(goes_to_no_class(), False)
    equal(daemon.stop(), 0)


@case
def off_is_an_administrator_s():
    Daemon(phased())
    held = in_phase()
    result = run("setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups",
                 HEADWAY, "off", "--socket", SOCKET)
    equal(result.returncode, 1)
    matches(result.stderr, "headway off: .*only administrators")
    paced_at(BYTES_PER_S)
    held[0].close()


@case
def off_in_a_state_directory_that_cannot_be_written():
    daemon = Daemon(phased(), state="/proc/nowhere")
    held = in_phase()
    result = run(HEADWAY, "off", "--socket", SOCKET)
    equal((result.returncode, result.stdout), (1, "pacing is off\n"))
    matches(result.stderr, "a restart of headwayd will forget this: /proc/nowhere")
    matches(daemon.said(), "HW-404 cannot store that pacing is off: ")
    unpaced()
    held[0].close()
    eventually(lambda: Control(SOCKET).do("status")["jobs"] == [], "the job has ended")
