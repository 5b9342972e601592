#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Three nodes share their cluster's trunk through real etcd, in a guest of
vm-run --icount (tests/coordination/run).  KTAP.

etcd is reached over veths from the nodes to a bridge of their own; what is paced
are the nodes' links of topology.sh.
"""

import ctypes
import json
import os
import socket
import struct
import subprocess
import sys
import threading
import time

ROOT, BUILD = os.environ["HW_ROOT"], os.environ["HW_BUILD"]
sys.path += [os.path.join(ROOT, "tests", folder) for folder in ("lib", "daemon", "tc")]
from gapnl import CLASS_RATE64  # noqa: E402
from ktap import case, equal, run_cases  # noqa: E402
from rtnetlink import RTM_GETTCLASS, TCA_OPTIONS, TCMSG, Netlink, decode  # noqa: E402

WORK = "/tmp/coordination"
CONFIG = f"{WORK}/headway.toml"
NODES = ["a0", "a1", "a2"]
ETCD_ADDRESS = "192.168.77.254"
BYTES = 1_000_000 / 8
CAPACITY = int(25 * BYTES * 0.99)
FALLBACK = CAPACITY // 10 // 3
LINK = int(20 * BYTES)
HALF = (CAPACITY - FALLBACK) // 2     # of two jobs; the third node has its fallback
LEASE_S, EXPIRES_S = 10, 2
PATIENCE_S = 120
TOML = """
[coordination]
via = "etcd"
endpoints = ["http://192.168.77.254:2379"]
[[cluster]]
name = "a"
hosts = ["a[0-2]"]
prefixes = ["10.1.0.0/16"]
host_rate = "20mbit"
trunk_rate = "25mbit"
[[cluster]]
name = "b"
hosts = ["b[0-2]"]
prefixes = ["10.2.0.0/16"]
host_rate = "20mbit"
trunk_rate = "25mbit"
"""
JOB = """
import sys
sys.path.insert(0, sys.argv[1])
from control import Control
control = Control("/run/headway/control.sock")
control.do("hello", job=sys.argv[2], rank=0, pid=1)
print("there", flush=True)
sys.stdin.read()
"""

pids, daemons, jobs, sockets, indexes = {}, {}, {}, {}, {}
looking = threading.Lock()  # one at a time uses the sockets
etcd = None


def sh(command):
    subprocess.run(["bash", "-c", command], check=True)


def within(node, *command):
    return ["nsenter", "--target", pids[node], "--net", "--mount", "--uts", "--", *command]


def eventually(what, holds, patience_s=PATIENCE_S):
    """How long it took, by the guest's clock."""
    start = time.monotonic()
    while not holds():
        if time.monotonic() - start > patience_s:
            raise AssertionError(f"never: {what}; {state()}")
        time.sleep(0.02)
    return time.monotonic() - start


# ------------------------------------------------------------------------- nodes

def open_netlink(node):
    """A socket in the node's network namespace."""
    libc = ctypes.CDLL(None, use_errno=True)
    with open("/proc/self/ns/net") as own, open(f"/proc/{pids[node]}/ns/net") as its:
        equal(libc.setns(its.fileno(), 0), 0)
        try:
            sockets[node] = Netlink()
            indexes[node] = socket.if_nametoindex("eth0")
        finally:
            equal(libc.setns(own.fileno(), 0), 0)


def rates(node):
    """What guard and cap let through, in bytes per second."""
    with looking:
        bodies = sockets[node].dump(RTM_GETTCLASS, indexes[node])
    found = {}
    for body in bodies:
        handle = TCMSG.unpack_from(body)[4]
        options = dict(decode(dict(decode(body[TCMSG.size:]))[TCA_OPTIONS]))
        found[handle] = struct.unpack("=Q", options[CLASS_RATE64])[0]
    return [min(found[handle], LINK) for handle in (0x10002, 0x10003)]


def in_force(node):
    return min(rates(node))


def state():
    return {node: rates(node) for node in NODES}


def has(node, rate, within_bytes=2):
    return abs(in_force(node) - rate) <= within_bytes


def status(node):
    shown = subprocess.run(within(node, f"{BUILD}/bin/headway", "status", "--json"), check=True,
                           capture_output=True, text=True).stdout
    return json.loads(shown)["coordination"]


def start_daemon(node):
    with open(f"{WORK}/{node}.log", "ab") as log:
        daemons[node] = subprocess.Popen(
            within(node, f"{BUILD}/bin/headwayd", "--foreground", "--keep", "--config",
                   CONFIG),
            stdout=log, stderr=log)
    eventually(f"headwayd of {node} answers", lambda: subprocess.run(
        within(node, f"{BUILD}/bin/headway", "status"), capture_output=True).returncode == 0)


def start_job(node):
    job = subprocess.Popen(within(node, "/usr/bin/python3", "-c", JOB, f"{ROOT}/tests/daemon",
                                  f"job-of-{node}"),
                           stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    equal(job.stdout.readline(), b"there\n")
    jobs[node] = job


def end_job(node):
    job = jobs.pop(node)
    job.kill()
    job.wait()


def start_etcd():
    global etcd
    url = f"http://{ETCD_ADDRESS}:2379"
    with open(f"{WORK}/etcd.log", "ab") as log:
        etcd = subprocess.Popen(["etcd", "--data-dir", f"{WORK}/etcd", "--listen-client-urls", url,
                                 "--advertise-client-urls", url, "--unsafe-no-fsync",
                                 "--listen-peer-urls", "http://127.0.0.1:2380"],
                                stdout=log, stderr=log)


def set_up():
    os.makedirs(WORK)
    with open(CONFIG, "w") as file:
        file.write(TOML)
    sh(f". {ROOT}/tests/lib/topology.sh; hw_two_clusters 3 20 25 50 32768 16384; "
       f"insmod {BUILD}/kmod/$(uname -r)/sch_gap.ko; modprobe -a veth bridge; "
       f"ip link add etcd type bridge; ip address add {ETCD_ADDRESS}/24 dev etcd; "
       f"ip link set etcd up; ip link set lo up")
    for number, node in enumerate(NODES):
        with open(f"/tmp/headway-topology/{node}.pid") as file:
            pids[node] = file.read().strip()
        sh(f"ip link add to-{node} type veth peer name etcd netns {pids[node]}; "
           f"ip link set to-{node} master etcd up")
        subprocess.run(within(node, "ip", "address", "add", f"192.168.77.{number + 1}/24", "dev",
                              "etcd"), check=True)
        subprocess.run(within(node, "ip", "link", "set", "etcd", "up"), check=True)
        subprocess.run(within(node, "mkdir", "-p", "/run/headway"), check=True)
        open_netlink(node)
    start_etcd()
    for node in NODES:
        start_daemon(node)


class Sums(threading.Thread):
    """Looks all the time whether the rates in force fit into the trunk."""

    def __init__(self):
        super().__init__(daemon=True)
        self.ends, self.looks, self.too_much, self.error = False, 0, [], None

    def run(self):
        try:
            self.look()
        except Exception as error:  # told by the last case
            self.error = error

    def look(self):
        while not self.ends:
            # a node that went down between two looks counts as down: the others
            # may have risen by then
            first = {node: in_force(node) for node in NODES}
            sums = sum(min(first[node], in_force(node)) for node in NODES)
            self.looks += 1
            time.sleep(0.01)
            if sums > CAPACITY:
                self.too_much.append((sums, state()))


# ------------------------------------------------------------------------- cases

@case
def nobody_is_above_the_fallback_before_the_store_is_settled():
    start_job("a0")
    for node in NODES:
        equal(has(node, FALLBACK), True)
    eventually("the store is settled", lambda: status("a0")["settled"])


@case
def the_only_job_has_the_trunk():
    eventually("a0 has its link's rate", lambda: has("a0", LINK))
    equal(status("a0")["agreed"], True)


@case
def two_jobs_have_half_each():
    start_job("a1")
    eventually("half each", lambda: has("a0", HALF) and has("a1", HALF))
    equal(has("a2", FALLBACK), True)


@case
def when_one_ends_the_other_has_the_trunk_within_a_second():
    end_job("a1")
    took = eventually("a0 has its link's rate", lambda: has("a0", LINK))
    print(f"# it took {took:.3f} s")
    equal(took <= 1, True)


@case
def killed_daemon_is_at_its_fallback_and_then_its_rate_goes_to_the_others():
    start_job("a1")
    eventually("half each", lambda: has("a0", HALF) and has("a1", HALF))
    daemons["a1"].kill()
    took = eventually("a1 is at its fallback", lambda: has("a1", FALLBACK))
    print(f"# the kernel took {took:.3f} s")
    equal(took <= EXPIRES_S + 0.5, True)
    equal(has("a0", HALF), True)
    took = eventually("a0 has its link's rate", lambda: has("a0", LINK))
    print(f"# the others took {took:.3f} s more")
    equal(took <= LEASE_S + 2, True)
    end_job("a1")
    start_daemon("a1")


@case
def without_etcd_all_go_to_their_fallback_and_come_back_with_it():
    start_job("a1")
    eventually("half each", lambda: has("a0", HALF) and has("a1", HALF))
    etcd.kill()
    etcd.wait()
    took = eventually("all are at the fallback", lambda: all(has(node, FALLBACK) for node in NODES))
    print(f"# it took {took:.3f} s")
    equal(took <= LEASE_S + 2, True)
    start_etcd()
    eventually("half each", lambda: has("a0", HALF) and has("a1", HALF))


@case
def node_that_is_cut_off_goes_down_before_the_others_rise():
    sh("ip link set to-a0 down")
    eventually("a1 has its link's rate", lambda: has("a1", LINK))
    equal(has("a0", FALLBACK), True)
    sh("ip link set to-a0 up")
    eventually("half each", lambda: has("a0", HALF) and has("a1", HALF))


@case
def stopped_daemon_gives_its_rate_back_at_once():
    daemons["a1"].terminate()
    took = eventually("a0 has its link's rate", lambda: has("a0", LINK))
    print(f"# it took {took:.3f} s")
    equal(took <= 2, True)
    equal(has("a1", FALLBACK), True)
    equal(daemons["a1"].wait(PATIENCE_S), 0)
    start_daemon("a1")


@case
def never_was_it_more_than_the_trunk():
    sums.ends = True
    sums.join()
    print(f"# {sums.looks} looks")
    equal(sums.error, None)
    equal(sums.looks > 1000, True)
    equal(sums.too_much, [])


set_up()
sums = Sums()
sums.start()
failed = run_cases()
if failed:
    sh(f"tail -n 40 {WORK}/*.log | sed 's/^/# /'")
sys.exit(failed)
