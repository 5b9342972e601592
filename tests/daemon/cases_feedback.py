# SPDX-License-Identifier: Apache-2.0
"""Feedback: real time-outs of real connections change plans."""

import contextlib
import json
import os
import signal
import socket

from control import Control
from guestdaemon import BIN, EVERYBODY, PLANNED, SOCKET, Daemon, config, rate_of
from ktap import case, equal, wait_for
from tcguest import note, sh, tc

REMOTE = "10.2.0.1"     # of a host of the other cluster, though here it is on the loopback
LESS = "281250Kbit"     # PLANNED / 1.1
TABLE = "[feedback]\nenabled = true\nquiet_s = 5\n"


def feedback():
    return Control(SOCKET).do("status")["feedback"]


def factor():
    return feedback()["divisor_factor"]


@contextlib.contextmanager
def connection():
    """Two ends, over a path that can lose packets."""
    sh("ip", "address", "add", f"{REMOTE}/32", "dev", "lo")
    try:
        with socket.create_server((REMOTE, 0)) as server, socket.socket() as client:
            client.connect(server.getsockname())
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            yield client, server.accept()[0]
    finally:
        sh("ip", "address", "del", f"{REMOTE}/32", "dev", "lo")


def talk_until(ends, condition, what):
    """A segment every 20 ms."""
    def sent_and_is():
        ends[0].send(b"x")
        ends[1].setblocking(False)
        with contextlib.suppress(BlockingIOError):
            ends[1].recv(4096)
        signal.sigtimedwait([], 0.02)
        return condition()
    wait_for(sent_and_is, what, 600)


def node_timeouts():
    names, numbers = [line.split() for line in open("/proc/net/netstat") if line.startswith("TcpExt:")]
    return int(numbers[names.index("TCPTimeouts")])


@case
def connections_that_time_out_slow_plans_down_and_quiet_ones_do_not():
    daemon = Daemon(TABLE + config())
    before = node_timeouts()
    with connection() as ends:
        talk_until(ends, lambda: feedback()["segments"] > 50, "the connection is seen")
        equal((factor(), feedback()["timeouts"], feedback()["readable"]), (None, 0, True))

        tc("qdisc add dev lo root netem loss 100%")
        try:
            talk_until(ends, lambda: (factor() or 0) >= 1.1, "plans have become slower")
        finally:
            tc("qdisc del dev lo root")
        told = feedback()
        note(f"{told['timeouts']} time-outs by the daemon, {node_timeouts() - before} by the node")
        equal(0 < told["timeouts"] <= node_timeouts() - before, True)
        control = Control(SOCKET)
        control.enter(EVERYBODY)
        equal((factor(), rate_of("1:11")), (1.1, LESS))
        control.close()

        talk_until(ends, lambda: factor() is None, "nothing is lost any more")
        Control(SOCKET).enter(EVERYBODY)
    said = daemon.said()
    for change in ("none -> 1:", "1 -> 1.1:", "1.1 -> 1:", "1 -> none:"):
        equal(said.count(f"changed the divisor factor {change}"), 1, said)


@case
def reloading_turns_feedback_on_and_off():
    daemon = Daemon(config())
    equal(feedback(), None)
    for text, shown in ((TABLE + config(), "feedback: plans hold; 0 time-outs"), (config(), "")):
        with open("/tmp/headway.toml", "w") as file:
            file.write(text)
        daemon.process.send_signal(signal.SIGHUP)
        wait_for(lambda: bool(feedback()) == bool(shown), "the daemon has read it", 600)
        equal(shown in sh(os.path.join(BIN, "headway"), "status", "--socket", SOCKET), True)
    equal(json.dumps(feedback()), "null")


@case
def without_losses_plans_are_those_without_feedback():
    Daemon(TABLE + config())
    control = Control(SOCKET)
    control.enter(EVERYBODY)
    equal(rate_of("1:11"), PLANNED)
