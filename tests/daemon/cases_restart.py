# SPDX-License-Identifier: Apache-2.0
"""A restart of the daemon that processes in phases do not notice."""

import os
import random
import select
import shutil
import signal
import socket
import subprocess

from cases_bad_days import KILLS, killed_while_it_starts
from cases_phases import (BYTES_PER_S, HERE, LATE_TIMER, REMOTE, connection_over_10_ms, fastest_of, in_phase, joined,
                          peer_behind_10_ms, phased)
from cases_reconcile import is_paced
from control import Control
from fdstore import Store, is_hung_up
from guestdaemon import (BIN, DEV, EVERYBODY, SOCKET, Daemon, is_unpaced, paced_at, records,
                         unpaced)
from ktap import case, equal
from tcguest import eventually, matches, note, simwire, tc

ONE_JOINED = ["headway-client-0-0"] * 2 + ["headway-job-0", "headway-sent", "headway-state"]


def classifiers():
    return tc(f"filter show dev {DEV}").count("direct-action")


def end(daemon, how):
    """The daemon does not serve: it has taken leave of the client that asked before when it answers
    another."""
    Control(SOCKET).do("status")
    daemon.process.send_signal(how)
    daemon.ended()
    paced_at(BYTES_PER_S)


def restarts_go_unnoticed(text, classifiers_there, kept):
    store = Store()
    daemon = Daemon(text, store=store, options=["--keep"])
    control, slot, answer = in_phase()
    equal(sorted(store.names()), kept)
    for how in (signal.SIGKILL, signal.SIGTERM):
        end(daemon, how)
        slot.store(0)
        unpaced()
        slot.store(answer["phase"])
        generation = slot.generation()
        daemon = Daemon(text, store=store, options=["--keep"])
        matches(daemon.said(), "took over the .* qdisc of an earlier run")
        matches(daemon.said(), "took up 1 processes that had joined")
        equal(classifiers_there(), 1)
        paced_at(BYTES_PER_S)
        slot.store(0)
        unpaced()
        slot.store(answer["phase"])
        paced_at(BYTES_PER_S)
        equal(slot.generation() == generation, False)
        equal(control.phase(EVERYBODY)["phase"], answer["phase"])
        client = control.do("status")["clients"][0]
        equal((client["pid"], client["slot"]), (os.getpid(), 0))
        equal(sorted(store.names()), kept)
    control.close()
    eventually(is_unpaced, "it is gone")
    eventually(lambda: store.names() == [], "nothing is kept of it")


@case
def a_restart_goes_unnoticed():
    restarts_go_unnoticed(phased(), classifiers, ONE_JOINED)


@case
def an_upgrade_goes_unnoticed():
    store = Store()
    daemon = Daemon(phased(), store=store, options=["--keep"])
    _, slot, answer = in_phase()
    end(daemon, signal.SIGTERM)
    shutil.copy(f"{BIN}/headwayd", "/tmp/headwayd-next")
    Daemon(phased(), store=store, program="/tmp/headwayd-next")
    slot.store(0)
    unpaced()
    slot.store(answer["phase"])
    paced_at(BYTES_PER_S)


SO_SNDBUFFORCE = 32         # of <asm-generic/socket.h>
MUCH = 1_000_000            # takes the phase's rate some seconds
FRAMES = -(-MUCH // 1448)


def restarted_while_it_is_sent(daemon, store, text=None):
    daemon.kill()
    eventually(lambda: len(records()) > FRAMES // 10, "it is being sent")
    Daemon(text or phased(), store=store)
    before = len(records())
    note(f"restarted before frame {before} of {FRAMES}")
    equal(before < FRAMES * 9 // 10, True)


@case
def what_is_in_a_socket_at_a_restart_stays_paced():
    store = Store()
    daemon = Daemon(phased(), store=store)
    with connection_over_10_ms() as connection:
        _, slot, answer = in_phase()
        connection.setsockopt(socket.SOL_SOCKET, SO_SNDBUFFORCE, 4 * MUCH)
        simwire(DEV, "record_frames", 4096)
        slot.store(answer["phase"])
        connection.sendall(b"x" * MUCH)
        slot.store(0)
        restarted_while_it_is_sent(daemon, store)
        equal(fastest_of(FRAMES) < LATE_TIMER, True)


# A user's program; the user's packets have a class of their own.
USER_PROGRAM = f"""
import socket, sys
sys.path.insert(0, "{HERE}")
from control import Control
control = Control("{SOCKET}")
slot, _ = control.join()
slot.store(control.phase({EVERYBODY})["phase"])
with socket.socket() as connection:
    connection.connect(("{REMOTE}", 4711))
    print("connected", flush=True)
    sys.stdin.readline()
    connection.sendall(b"x" * {MUCH})
    sys.stdin.read()
"""


@case
def a_user_s_job_keeps_its_rate_over_a_restart():
    store = Store()
    daemon = Daemon(phased(), store=store)
    with peer_behind_10_ms():
        with subprocess.Popen(["setpriv", "--reuid", "1000", "--regid", "1000", "--clear-groups",
                               "/usr/bin/python3", "-c", USER_PROGRAM], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, text=True) as client:
            equal(client.stdout.readline(), "connected\n")
            simwire(DEV, "record_frames", 4096)
            client.stdin.write("send\n")
            client.stdin.flush()
            restarted_while_it_is_sent(daemon, store)
            equal(fastest_of(FRAMES) < LATE_TIMER, True)


@case
def who_died_meanwhile_is_found_dead():
    store = Store()
    daemon = Daemon(phased(), store=store)
    _, slot, _ = in_phase()
    slot.store(0)
    client = subprocess.Popen([f"{HERE}/control.py", SOCKET, *EVERYBODY, "--phase", "--child"],
                              stdout=subprocess.PIPE, text=True)
    equal(client.stdout.readline(), "entered\n")
    end(daemon, signal.SIGKILL)
    client.kill()       # its child holds the connection, and goes on storing
    client.wait()
    eventually(lambda: slot.load(1) == 1, "the child stores")
    Daemon(phased(), store=store)
    unpaced()
    equal(Control(SOCKET).do("status")["jobs"][0]["processes"], 1)
    equal(sorted(store.names()), ONE_JOINED)


@case
def a_job_that_ended_meanwhile_is_gone():
    store = Store()
    daemon = Daemon(phased(), store=store)
    control, _, _ = in_phase()
    end(daemon, signal.SIGKILL)
    control.close()
    Daemon(phased(), store=store)
    watcher = Control(SOCKET)
    eventually(lambda: watcher.do("status")["jobs"] == [], "no job is left")
    equal(watcher.do("status")["client_count"], 1)
    equal(store.names(), [])
    eventually(is_unpaced, "nothing is paced for it")


@case
def other_clusters_mean_joining_again():
    store = Store()
    daemon = Daemon(phased(), store=store)
    _, slot, _ = in_phase()
    end(daemon, signal.SIGKILL)
    daemon = Daemon(phased().replace('"10.3.7.0/24", ', ""), store=store)
    matches(daemon.said(), "HW-305 cannot take up processes that had joined, which join again: "
                           "it is of other "
                           "clusters, or of another interface")
    paced_at(BYTES_PER_S)      # by the classifier of the earlier run
    equal(store.names(), [])
    again = in_phase()
    equal(sorted(store.names()), ONE_JOINED)
    slot.store(0)
    eventually(lambda: classifiers() == 1, "the earlier run's classifier is gone")
    paced_at(BYTES_PER_S)
    again[0].close()


@case
def a_full_node_goes_unnoticed():
    store = Store()
    daemon = Daemon(phased(), store=store)
    clients = [joined() for _ in range(64)]
    control, slot = clients[-1]
    number = control.phase(EVERYBODY)["phase"]
    slot.store(number)
    equal(len(store.names()), 2 * 64 + len(["headway-job-0", "headway-sent", "headway-state"]))
    end(daemon, signal.SIGKILL)
    daemon = Daemon(phased(), store=store)
    paced_at(BYTES_PER_S)
    equal(Control(SOCKET).do("status")["client_count"], 65)
    equal(daemon.stop(), 0)
    equal(is_paced(), False)
    daemon = Daemon(phased(), store=store)
    eventually(lambda: store.names() == [], "nothing is kept of them")
    equal(daemon.said().count("HW-305"), 0)
    equal(Control(SOCKET).do("status")["client_count"], 1)


@case
def kills_at_any_moment_go_unnoticed():
    """But for who waits for an answer just then: he may have to join again."""
    chance = random.Random(21)
    store, disconnected = Store(), 0
    Daemon(phased(), store=store)
    control, slot, answer = in_phase()
    for turn in range(KILLS):
        for _ in range(chance.randrange(4)):
            control.phase(EVERYBODY[:1 + chance.randrange(8)] + EVERYBODY[4:])
        asks = chance.randrange(2)
        if asks:
            control.socket.send(b'{"v":1,"id":0,"op":"rate","bytes_per_s":%d}' % (10**6 + turn))
        Daemon.kill_last()
        paced_at(BYTES_PER_S, when=turn)
        for _ in range(chance.randrange(3)):
            killed_while_it_starts(chance, store=store)
            paced_at(BYTES_PER_S, when=turn)
        daemon = Daemon(phased(), store=store)
        paced_at(BYTES_PER_S, when=turn)
        if is_hung_up(control.socket.fileno(), select.EPOLLRDHUP):
            disconnected += 1
            slot.close()
            control, slot, answer = in_phase()
        elif asks:
            control.socket.recv(65536)
        slot.store(answer["phase"])
        paced_at(BYTES_PER_S, when=turn)
    note(f"{disconnected} of {KILLS} times the connection went with the daemon")
    equal(len(store.names()), len(ONE_JOINED))
    control.close()
    eventually(is_unpaced, "what is sent is not paced any more")
    equal(daemon.stop(), 0)
    equal((is_paced(), store.names()), (False, []))
