# SPDX-License-Identifier: Apache-2.0
"""One user tries all there is against another's job (Documentation/security.rst)."""

import ctypes
import json
import os
import signal
import socket
import subprocess
import time

from cases_cgroups import move, rate_of_both
from cases_phases import BYTES_PER_S, REMOTE, phased
from control import Control
from guestdaemon import DEV, EVERYBODY, SOCKET, Daemon, unpaced
from ktap import case, equal
from tcguest import frame, matches, note

HERE = os.path.dirname(os.path.realpath(__file__))
VICTIM, ATTACKER = 1000, 1001
LATENCY_PROGRAM = """
import sys, time
sys.path.insert(0, sys.argv[1])
from control import Control
control, took = Control(sys.argv[2]), []
control.join("victim")
print("begins", flush=True)
for turn in range(200):
    started = time.perf_counter()
    control.phase(sys.argv[3:], message_bytes=65536 << turn % 8)
    took.append(time.perf_counter() - started)
took.sort()
print(took[100] * 1e6, took[-1] * 1e6)
"""


class Sender:
    """Sends as a process of that user and cgroup would: a socket keeps both."""

    def __init__(self, uid, cgroup):
        move(cgroup)
        ctypes.CDLL(None).setfsuid(uid)
        self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x0800))
        ctypes.CDLL(None).setfsuid(0)
        self.socket.bind((DEV, 0))
        move("")

    def send(self, count, payload_bytes=1000):
        for _ in range(count):
            self.socket.send(frame(REMOTE, payload_bytes))


def as_user(uid, cgroup, *words, **more):
    return subprocess.Popen(["setpriv", "--reuid", str(uid), "--regid", str(uid), "--clear-groups",
                             *words], stdout=subprocess.PIPE, text=True,
                            preexec_fn=lambda: move(cgroup), **more)


def victim_in_phase():
    client = as_user(VICTIM, "victim", f"{HERE}/control.py", SOCKET, *EVERYBODY, "--phase",
                     "--job=victim")
    equal(client.stdout.readline(), "entered\n")
    return client


def attack():
    hostile = as_user(ATTACKER, "attacker", "/usr/bin/python3", f"{HERE}/hostile.py", SOCKET,
                      str(VICTIM), "victim", *EVERYBODY, stdin=subprocess.PIPE)
    said = json.loads(hostile.stdout.readline())
    equal((said["uid"], said["granted"]), (ATTACKER, []))
    matches(said["last_refusal"], r"user 1001 has \d+ jobs with phases on this node")
    return hostile


def latencies(meanwhile=lambda: None):
    """(median, longest) of a request of the victim's, in microseconds."""
    client = as_user(VICTIM, "victim", "/usr/bin/python3", "-c", LATENCY_PROGRAM, HERE, SOCKET, *EVERYBODY)
    equal(client.stdout.readline(), "begins\n")
    meanwhile()
    median, longest = map(float, client.communicate(timeout=600)[0].split())
    return median, longest


@case
def a_hostile_user_takes_nothing_from_another_s_job():
    daemon = Daemon(phased())
    client = victim_in_phase()
    victim, stranger = Sender(VICTIM, "victim"), Sender(ATTACKER + 1, "stranger")
    alone = rate_of_both(victim)
    equal(0.99 < alone / BYTES_PER_S < 1.005, True)
    before = latencies()
    hostile = attack()
    jobs = {(job["uid"], job["job"]): job for job in Control(SOCKET).do("jobs")["jobs"]}
    equal(jobs[VICTIM, "victim"]["parts"]["b"], 0.5, "two users, each half, whatever the jobs")
    share = rate_of_both(victim)
    after = latencies()
    note(f"the victim has {share / BYTES_PER_S:.4f} of the plan's rate, its share is 0.5; a request "
         f"takes {after[0]:.0f} us (before {before[0]:.0f}), the longest {after[1]:.0f} (before {before[1]:.0f})")
    equal(0.99 * 0.5 < share / BYTES_PER_S < 1.005 * 0.5, True)
    equal(after[1] < before[1] + 50_000, True)
    equal(rate_of_both(stranger) > 5_000_000, True, "packets of nobody's job rest")
    unpaced()
    equal(hostile.poll(), None, "it goes on")
    equal(client.poll(), None)
    at_end = latencies(meanwhile=hostile.kill)
    note(f"the longest takes {at_end[1]:.0f} us while all its jobs end at once")
    equal(at_end[1] < before[1] + 20_000, True)
    hostile.wait()
    deadline = time.monotonic() + 60
    while rate_of_both(victim, count=10) < 0.9 * BYTES_PER_S and time.monotonic() < deadline:
        pass
    again = rate_of_both(victim)
    equal(0.99 < again / BYTES_PER_S < 1.005, True, "all of it is back")
    client.send_signal(signal.SIGKILL)
    client.wait()
    equal(daemon.said().count("error"), 0)
