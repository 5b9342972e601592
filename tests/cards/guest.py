#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Pacing on a card of QEMU's with its own driver, by each back end, while all that a card can do is done to it.

The two ends are eth0 and, in a name space of its own, the card behind the same hub.  Nothing here judges how
fast anything is but one thing: what is paced is never faster than its rate.
"""

import contextlib
import glob
import json
import os
import socket
import subprocess
import sys
import threading
import time

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "daemon"))

from cases_phases import BYTES_PER_S, in_phase, phased
from cases_reconcile import BUFFERS
from control import Control
from guestdaemon import BPF, DEV, FQ, HAS_BPF_QDISCS, MODULES, SOCKET, Daemon, end_all
from ktap import case, equal, run_cases
from tcguest import eventually, note, qdiscs, run, sh, state, tc

DRIVER = sys.argv.pop(1)
PEER, HERE_IP, PEER_IP, PORT = "peer", "10.1.0.1", "10.2.0.1", 4711
PROGRAMS = (FQ, BPF) if HAS_BPF_QDISCS else (FQ,)
BACKENDS = ('backend = "gap"', *(one.line for one in PROGRAMS))
ROOTS = (["1:"], *([root] for one in PROGRAMS for root in (one.root, one.mq_root)))
SINK = f"""
import socket, threading
server = socket.create_server(("{PEER_IP}", {PORT}), backlog=64)
print("listening", flush=True)
def drain(connection):
    count = 0
    try:
        while data := connection.recv(1 << 16):
            count += len(data)
        connection.sendall(str(count).encode())
    except OSError:
        pass
    connection.close()
while True:
    threading.Thread(target=drain, args=(server.accept()[0],), daemon=True).start()
"""


def address(end=DEV):
    sh("ip", "address", "replace", f"{HERE_IP}/8", "dev", end)
    sh("ip", "link", "set", end, "up")


def make_cards():
    for module in ("sch_fq", "sch_ingress", "cls_bpf", "cls_flower", DRIVER):
        sh("modprobe", module)
    if DRIVER == "virtio_net":
        sh("modprobe", "virtio_pci")
    sh("insmod", f"{MODULES}/sch_gap.ko")
    sh("ip", "netns", "add", PEER)
    eventually(lambda: os.path.exists("/sys/class/net/eth1"), "both cards are there")
    sh("ip", "link", "set", "lo", "up")
    sh("ip", "link", "set", "eth1", "netns", PEER)
    sh("ip", "-n", PEER, "address", "add", f"{PEER_IP}/8", "dev", "eth1")
    sh("ip", "-n", PEER, "link", "set", "eth1", "up")
    address()
    sink = subprocess.Popen(["ip", "netns", "exec", PEER, "python3", "-c", SINK], stdout=subprocess.PIPE, text=True)
    equal(sink.stdout.readline(), "listening\n")
    queues = len(glob.glob(f"/sys/class/net/{DEV}/queues/tx-*"))
    note(f"{DRIVER}: {queues} TX queues, speed {speed()}")


def speed():
    with contextlib.suppress(OSError), open(f"/sys/class/net/{DEV}/speed") as file:
        return file.read().strip()
    return "unknown"


def has_carrier():
    with open(f"/sys/class/net/{DEV}/carrier") as file:
        return file.read() == "1\n"


def transferred(count):
    """So many bytes reach the peer, over a connection of its own."""
    with socket.socket() as connection:
        connection.connect((PEER_IP, PORT))
        connection.sendall(b"x" * count)
        connection.shutdown(socket.SHUT_WR)
        equal(int(connection.recv(64)), count)


@contextlib.contextmanager
def traffic(streams=4):
    """Connections that send until the end, and are made anew when they break."""
    ends = threading.Event()

    def send():
        while not ends.is_set():
            with contextlib.suppress(OSError), socket.socket() as connection:
                connection.settimeout(1)    # a break is noticed by the next connection
                connection.connect((PEER_IP, PORT))
                while not ends.is_set():
                    with contextlib.suppress(TimeoutError):
                        connection.send(b"x" * 30_000)
    senders = [threading.Thread(target=send, daemon=True) for _ in range(streams)]
    for one in senders:
        one.start()
    try:
        yield
    finally:
        ends.set()
        for one in senders:
            one.join()


def card():
    """All that pacing changes of it."""
    return state(DEV), tc(f"filter show dev {DEV} egress"), \
        json.loads(sh("ip", "-json", "-details", "link", "show", DEV))[0]["gso_max_segs"]


def status():
    return Control(SOCKET).do("status")


def wire_bytes():
    return sum(one["wire_bytes"] for one in status()["classes"] if one["classid"] == "1:11")


def never_faster():
    """The time is taken before the first count and after the second, so that it is not too short, however late this
    program runs.  By fq packets are charged when they are handed over: some are beyond the rate as yet."""
    began, before = time.monotonic(), wire_bytes()
    time.sleep(0.5)
    after, ended = wire_bytes(), time.monotonic()
    sent, allowed = after - before, BYTES_PER_S * (ended - began)
    note(f"{sent} bytes of {allowed:.0f}")
    equal(0 < sent <= allowed * 1.01 + 64_000, True)


def ringed():
    """Descriptor rings and queues of other sizes, as far as the driver can."""
    for words in (("-G", DEV, "tx", "256"), ("-G", DEV, "tx", "512"), ("-L", DEV, "combined", "1"),
                  ("-L", DEV, "combined", "2"), ("-K", DEV, "tso", "off"), ("-K", DEV, "tso", "on")):
        done = run("ethtool", *words)
        note(f"ethtool {' '.join(words)}: {done.returncode} {done.stderr.strip()}")


def unplugged():
    """The driver lets the card go and takes it again; without its address meanwhile."""
    device = os.path.realpath(f"/sys/class/net/{DEV}/device")
    driver = os.path.realpath(f"{device}/driver")
    for verb in ("unbind", "bind"):
        with open(f"{driver}/{verb}", "w") as file:
            file.write(os.path.basename(device))
        if verb == "unbind":
            eventually(lambda: not os.path.exists(f"/sys/class/net/{DEV}"), "the card is gone")
    eventually(lambda: os.path.exists(f"/sys/class/net/{DEV}"), "the card is back")
    address()


def down_and_up():
    for _ in range(3):
        sh("ip", "link", "set", DEV, "down")
        sh("ip", "link", "set", DEV, "up")


def is_paced():
    told = status()
    return told["in_step"] and not told["daemon"]["resting"] and \
        [q["handle"] for q in qdiscs(DEV) if q.get("root")] in ROOTS


def paced_through_everything(text):
    before = card()
    daemon = Daemon(text)
    told = status()["daemon"]
    note(f"paced by {told['backend']}: {told['backend_reason']}; link {told['link_bits_per_s']}")
    process = in_phase()
    control, slot, answer = process
    with traffic():
        for name, happen in (("nothing", lambda: None), ("rings", ringed), ("down and up", down_and_up),
                             ("unplugged", unplugged)):
            note(name)
            happen()
            eventually(is_paced, f"all is there again after: {name}")
            eventually(has_carrier, "the link is negotiated")
            sh("ip", "neigh", "flush", "dev", DEV)  # some may have been asked for while there was no link
            for _ in range(20):
                slot.store(0)
                slot.store(answer["phase"])
            slot.store(0)
            transferred(300_000)
            slot.store(answer["phase"])
    control.close()
    equal(daemon.stop(), 0)
    equal(card(), before)


@case
def every_backend_is_paced_through_everything():
    for backend in BACKENDS:
        paced_through_everything(phased(backend=backend, gap_frames='gap_frames = "auto"'))


@case
def buffers_that_are_known_give_bursts():
    Daemon(phased(host_rate=f'host_rate = "10mbit"\n{BUFFERS}'))
    equal([one["burst_bytes"] for one in status()["classes"]], [9362, 9362])
    end_all()
    paced_through_everything(phased(host_rate=f'host_rate = "10mbit"\n{BUFFERS}'))


@case
def what_is_paced_is_never_faster_than_its_rate():
    for backend in BACKENDS:
        daemon = Daemon(phased(backend=backend))
        process = in_phase()
        with traffic():
            for _ in range(3):
                never_faster()
        process[0].close()
        equal(daemon.stop(), 0)


if __name__ == "__main__":
    make_cards()
    own = [name for name, one in globals().items() if getattr(one, "__module__", "") == "__main__"]
    sys.exit(run_cases(end_all, named=sys.argv[1:] or own))
