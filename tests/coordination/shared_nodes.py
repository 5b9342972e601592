# SPDX-License-Identifier: Apache-2.0
"""Nodes a0, a1, ... of a guest of vm-run that share their cluster's trunk through real
etcd.  Needs HW_ROOT and HW_BUILD.

etcd is reached over veths from the nodes to a bridge of their own; what is paced
are the nodes' links of topology.sh.
"""

import contextlib
import ctypes
import os
import socket
import struct
import subprocess
import sys
import threading
import time

ROOT, BUILD = os.environ["HW_ROOT"], os.environ["HW_BUILD"]
sys.path += [os.path.join(ROOT, "tests", folder) for folder in ("lib", "daemon", "tc")]
from control import Control  # noqa: E402
from gapnl import CLASS_RATE64  # noqa: E402
from ktap import equal  # noqa: E402
from rtnetlink import RTM_GETTCLASS, TCA_OPTIONS, TCMSG, Netlink, decode  # noqa: E402

WORK = "/tmp/coordination"
CONFIG, OTHER_CONFIG = f"{WORK}/headway.toml", f"{WORK}/other.toml"
BYTES = 1_000_000 / 8
LINK_MBIT, TRUNK_MBIT = 1000, 1250
CAPACITY = int(TRUNK_MBIT * BYTES * 0.99)
LINK = int(LINK_MBIT * BYTES)
LEASE_S, EXPIRES_S = 10, 2
PATIENCE_S = 120
CLUSTER = f"""
[[cluster]]
name = "{{name}}"
hosts = ["{{name}}[0-{{last}}]"]
prefixes = ["10.{{number}}.0.0/16"]
host_rate = "{LINK_MBIT}mbit"
trunk_rate = "{TRUNK_MBIT}mbit"
"""
JOB = """
import sys
sys.path.insert(0, sys.argv[1])
from control import Control
control = Control("/run/headway/control.sock")
control.do("hello", job=sys.argv[2], rank=0, pid=1, start=int(sys.argv[3]))
# a job without hosts demands nothing
node = control.do("status")["daemon"]["node"]
control.do("prepare", operation="alltoall", job_hosts=[node], comm_hosts=[node])
if sys.argv[4:]:
    control.enter(sys.argv[4:])
print("there", flush=True)
sys.stdin.read()
"""

names = []
pids, daemons, jobs, sockets, indexes = {}, {}, {}, {}, {}
looking = threading.Lock()  # one at a time uses the sockets
etcd = None


def sh(command):
    subprocess.run(["bash", "-c", command], check=True)


def with_functions(command):
    """A command in which a function of topology.sh or etcd.sh may stand, as words."""
    return ["bash", "-c", f". {ROOT}/tests/lib/topology.sh; . {ROOT}/tests/lib/etcd.sh; {command}"]


def topology(command):
    """Returns what such a function prints."""
    return subprocess.run(with_functions(command), check=True, capture_output=True, text=True).stdout


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


def fallback():
    return CAPACITY // 10 // len(names)


# ------------------------------------------------------------------------- rates

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


def class_rates(node):
    """Returns the rates in bytes per second, by the class's handle."""
    with looking:
        bodies = sockets[node].dump(RTM_GETTCLASS, indexes[node])
    found = {}
    for body in bodies:
        handle = TCMSG.unpack_from(body)[4]
        options = dict(decode(dict(decode(body[TCMSG.size:]))[TCA_OPTIONS]))
        found[handle] = struct.unpack("=Q", options[CLASS_RATE64])[0]
    return found


def rates(node):
    """Returns the rates of guard and cap, in bytes per second."""
    found = class_rates(node)
    return [min(found[handle], LINK) for handle in (0x10002, 0x10003)]


def in_force(node):
    return min(rates(node))


def state():
    return {node: rates(node) for node in names}


def planned(node):
    """Returns the rate of the node's class to the other cluster."""
    return class_rates(node)[0x10011]


def has(node, rate, within_bytes=2):
    return abs(in_force(node) - rate) <= within_bytes


def all_have(rate_of):
    return all(has(node, rate) for node, rate in rate_of.items())


class Sums(threading.Thread):
    """Looks all the time whether the rates in force fit into the trunk."""

    def __init__(self, pause_s=0.01):
        super().__init__(daemon=True)
        self.pause_s = pause_s
        self.ends, self.looks, self.too_much, self.error = False, 0, [], None

    def run(self):
        try:
            while not self.ends:
                self.look()
                time.sleep(self.pause_s)
        except Exception as error:  # told by check()
            self.error = error

    def look(self):
        # a node that went down between two looks counts as down: the others
        # may have risen by then
        first = {node: in_force(node) for node in names}
        total = sum(min(first[node], in_force(node)) for node in names)
        self.looks += 1
        if total > CAPACITY:
            self.too_much.append((total, state()))

    def check(self, looks_min):
        """The end of it."""
        self.ends = True
        self.join()
        print(f"# {self.looks} looks")
        equal(self.error, None)
        equal(self.looks > looks_min, True)
        equal(self.too_much, [])


# --------------------------------------------------------------- daemons, jobs, etcd

def ask_status(node):
    """Connects to the node's daemon, whose socket is in the node's own /run."""
    control = Control(f"/proc/{pids[node]}/root/run/headway/control.sock")
    try:
        return control.do("status")
    finally:
        control.close()


def status(node):
    return ask_status(node)["coordination"]


def begin_daemon(node, config=CONFIG):
    with open(f"{WORK}/{node}.log", "ab") as log:
        daemons[node] = subprocess.Popen(
            within(node, f"{BUILD}/bin/headwayd", "--foreground", "--keep", "--config",
                   config),
            stdout=log, stderr=log)


def daemon_answers(node):
    def answers():
        with contextlib.suppress(OSError):
            return ask_status(node)
    eventually(f"headwayd of {node} answers", answers)


def start_daemon(node, config=CONFIG):
    begin_daemon(node, config)
    daemon_answers(node)


def stop_daemon(node):
    daemons[node].terminate()
    equal(daemons[node].wait(PATIENCE_S), 0)


def write_other_config():
    """Settings for the trunk that differ from the other nodes'."""
    with open(CONFIG) as file:
        text = file.read()
    with open(OTHER_CONFIG, "w") as file:
        file.write(text.replace("[coordination]", '[coordination]\nshare = "host"'))


def log_of(node):
    with open(f"{WORK}/{node}.log") as file:
        return file.read()


def status_of_child(node):
    """/proc/PID/status of the daemon's headway-etcd."""
    pid = daemons[node].pid
    with open(f"/proc/{pid}/task/{pid}/children") as file:
        child, = file.read().split()
    with open(f"/proc/{child}/status") as file:
        return dict(line.rstrip("\n").split(":\t", 1) for line in file)


def start_job(node, name=None, hosts=(), start=0):
    """A process of the job; with hosts it is in an all-to-all of them."""
    job = subprocess.Popen(within(node, "/usr/bin/python3", "-c", JOB, f"{ROOT}/tests/daemon",
                                  name or f"job-of-{node}", str(start), *hosts),
                           stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    equal(job.stdout.readline(), b"there\n")
    jobs[node] = job


def end_job(node):
    job = jobs.pop(node)
    job.kill()
    job.wait()


def start_etcd():
    global etcd
    etcd = subprocess.Popen(with_functions(f"hw_etcd_exec {WORK}"))


def kill_etcd():
    etcd.kill()
    etcd.wait()


# ------------------------------------------------------------------------- set-up

def find_process(node):
    with open(f"/tmp/headway-topology/{node}.pid") as file:
        pids[node] = file.read().strip()


def set_up(count):
    """Makes as many nodes on either side of the trunk; headwayd runs on those of a."""
    os.makedirs(WORK)
    with open(CONFIG, "w") as file:
        file.write(topology("hw_etcd_coordination"))
        for number, name in enumerate("ab", 1):
            file.write(CLUSTER.format(name=name, number=number, last=count - 1))
    names.extend(f"a{number}" for number in range(count))
    topology(f"hw_two_clusters {count} {LINK_MBIT} {TRUNK_MBIT} 50 32768 16384")
    topology("hw_etcd_reach")
    sh(f"insmod {BUILD}/kmod/$(uname -r)/sch_gap.ko")
    for node in names:
        find_process(node)
        find_process(node.replace("a", "b"))
        subprocess.run(within(node, "mkdir", "-p", "/run/headway"), check=True)
        open_netlink(node)
    start_etcd()
    for node in names:
        begin_daemon(node)
    for node in names:
        daemon_answers(node)


def show_logs():
    sh(f"tail -n 40 {WORK}/*.log | sed 's/^/# /'")
