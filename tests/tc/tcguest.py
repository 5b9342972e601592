# SPDX-License-Identifier: Apache-2.0
"""The round trips of tc and the gap qdisc share these: devices, commands, dumps.

Runs inside a guest as root, with sch_gap and simwire for the running kernel in
$HW_BUILD/kmod and the plugin in $HW_BUILD/lib.
"""

import errno
import json
import os
import re
import socket
import struct
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.environ["HW_ROOT"], "tests/lib"))
sys.dont_write_bytecode = True
from gapnl import NLA_F_NESTED, TCA_KIND, TCA_OPTIONS, attr, attrs_of
from ktap import equal, wait_for

ENVIRONMENT = dict(os.environ, TC_LIB_DIR=os.path.join(os.environ["HW_BUILD"], "lib"))
MODULES = os.path.join(os.environ["HW_BUILD"], "kmod", os.uname().release)

DEV, SPEEDLESS, SLOW = "eth0", "wire1", "wire2"
SPEED = 125000000  # bytes per second of a simwire as it is made: 1 Gbit/s
# A wire that any guest can fill with frames of any kind and length.
SLOW_SPEED = 2500000
HANDLE, ROOT = 0x00010000, 0xFFFFFFFF

# In virtual time nothing but the guest itself makes anything late.
ICOUNT = bool(os.environ.get("HW_ICOUNT"))

# A qdisc that was added without options has these.
DEFAULTS = {"backend": "timer", "limit": 10000}


# ----------------------------------------------------------------- devices

def simwire(dev, attribute, value):
    with open(f"/sys/class/net/{dev}/simwire/{attribute}", "w") as file:
        file.write(str(value))


def renegotiate(dev, speed):
    """The device gets another speed, in bytes/s; it has no carrier meanwhile."""
    simwire(dev, "renegotiate", 8 * speed)

    def has_carrier():
        with open(f"/sys/class/net/{dev}/carrier") as file:
            return file.read() == "1\n"
    eventually(has_carrier, "carrier")


def make_devices():
    for module in ("sch_htb", "cls_u32", "cls_flower", "cls_matchall", "tun"):
        sh("modprobe", module)
    for module in ("simwire", "sch_gap"):
        sh("insmod", f"{MODULES}/{module}.ko")
    for name in (DEV, SPEEDLESS, SLOW):
        sh("ip", "link", "add", name, "type", "simwire")
        for end in (name, f"{name}p"):
            # what the kernel sends on its own would be in the counters
            with open(f"/proc/sys/net/ipv6/conf/{end}/disable_ipv6", "w") as file:
                file.write("1")
            sh("ip", "link", "set", end, "up")
    simwire(SPEEDLESS, "speed_known", 0)
    renegotiate(SLOW, SLOW_SPEED)


def loaded():
    return os.path.isdir("/sys/module/sch_gap")


def fresh_devices():
    """Before each case: no gap qdisc."""
    for dev in (DEV, SPEEDLESS, SLOW):
        run("tc", "qdisc", "del", "dev", dev, "root")
        equal([q for q in qdiscs(dev) if q["kind"] == "gap"], [])


def add_gap(options="", dev=DEV):
    tc(f"qdisc add dev {dev} root handle 1: gap {options}")


def matches(text, pattern):
    if not re.search(pattern, text):
        raise AssertionError(f"{pattern!r} is not in:\n{text}")


def eventually(condition, what):
    """Wait for a condition that takes programs to find out."""
    return wait_for(lambda: condition() or time.sleep(0.05), what)


def note(text):
    """Says what a case is about to do, which tells in which step a failure was."""
    print("#", text, flush=True)


# ---------------------------------------------------------------- commands

def run(*words, env=None, data=None):
    """Loading a program may take any virtual time; vm-run has a time limit."""
    return subprocess.run(words, env=env or ENVIRONMENT, input=data, capture_output=True,
                          text=True)


def sh(*words, data=None):
    """Run a command that must succeed; its standard output."""
    result = run(*words, data=data)
    if result.returncode:
        raise AssertionError(f"{' '.join(words)}\n{result.stdout}{result.stderr}")
    return result.stdout


def tc(command, warning=None):
    """A tc command that must succeed, and warn only as wanted; what it says."""
    result = run("tc", *command.split())
    if result.returncode or (result.stderr and not warning):
        raise AssertionError(f"tc {command}: {result.returncode}\n{result.stderr}")
    if warning:
        matches(result.stderr, "^Warning: " + warning)
    return result.stdout


def state(dev):
    """All that a refused request might have changed."""
    shown = sh("tc", "-d", "-batch", "-",
               data=f"qdisc show dev {dev}\nclass show dev {dev}\nfilter show dev {dev}\n")
    # these go on by themselves
    return re.sub(r"left \S+", "", shown)


def refused(dev, command, pattern, status=2):
    """A tc command that must fail, say why, and change nothing."""
    before = state(dev)
    result = run("tc", *command.split())
    if result.returncode != status:
        raise AssertionError(f"tc {command}: {result.returncode}\n{result.stderr}")
    matches(result.stderr, pattern)
    equal(state(dev), before)


# ------------------------------------------------------------------- dumps

def qdiscs(dev, flags=""):
    return json.loads(tc(f"-j {flags} qdisc show dev {dev}"))


def root_qdisc(dev, flags=""):
    roots = [qdisc for qdisc in qdiscs(dev, flags) if qdisc.get("root")]
    equal(len(roots), 1)
    return roots[0]


def options(dev=DEV):
    """Returns what the root qdisc's dump says of it, options and state."""
    return root_qdisc(dev)["options"]


def given(dev=DEV):
    """The options of the root qdisc alone."""
    names = ("rate", "default", *DEFAULTS)
    return {name: value for name, value in options(dev).items() if name in names}


def paced_by(dev):
    """(back end in use, why)."""
    shown = options(dev)
    return shown["backend_used"], shown["reason"]


def classes(dev, flags=""):
    """By class id: the options of each class.

    tc of iproute2 6.1 writes classes as text even with -j.
    """
    found = {}
    for line in tc(f"{flags} class show dev {dev}").splitlines():
        words = line.split()
        if not line.startswith("class gap "):
            continue
        shown = found[words[2]] = {}
        rest = ["parent", *words[3:]] if words[3] == "root" else words[3:]
        if "expired" in rest:
            rest.remove("expired")
            shown["expired"] = True
        if "phase" in rest:
            start = rest.index("phase")
            shown["phases"] = {int(number): rate for number, rate
                               in zip(rest[start + 1::3], rest[start + 2::3])}
            rest = rest[:start]
        equal(len(rest) % 2, 0)
        shown.update(zip(rest[::2], rest[1::2]))
    return found


def counters(dev):
    """By class id: the statistics of each class."""
    found = {}
    current = {}
    for line in tc(f"-s class show dev {dev}").splitlines():
        if line.startswith("class "):
            current = {}  # a child qdisc may show classes of its own: not kept
        if line.startswith("class gap "):
            found[line.split()[2]] = current
        sent = re.match(r" Sent (\d+) bytes (\d+) pkt", line)
        if sent:
            current["packets"] = int(sent[2])
        if re.match(r"  (wire|acks_first) ", line):
            current.update((name, int(number)) for name, number
                           in re.findall(r"(\w+) (\d+)", line))
    return found


def packets(dev):
    return {classid: shown["packets"] for classid, shown in counters(dev).items()}


# ----------------------------------------------------------------- netlink
# Requests that tc with the plugin would never send.

NLMSG_ERROR = 2
NLM_F_REQUEST, NLM_F_ACK, NLM_F_EXCL, NLM_F_CREATE = 1, 4, 0x200, 0x400
NLM_F_CAPPED, NLM_F_ACK_TLVS = 0x100, 0x200
NLMSGERR_ATTR_MSG = 1
SOL_NETLINK, NETLINK_EXT_ACK = 270, 11
ADD = NLM_F_CREATE | NLM_F_EXCL
CHANGE = 0


def netlink(kind, flags, dev, handle, parent, attributes):
    """Send one request, attributes None: without TCA_OPTIONS; (errno, the sentence)."""
    body = struct.pack("=BBHiIII", 0, 0, 0, socket.if_nametoindex(dev), handle, parent, 0)
    body += attr(TCA_KIND, b"gap\0")
    if attributes is not None:
        body += attr(TCA_OPTIONS | NLA_F_NESTED, attributes)
    header = struct.pack("=IHHII", 16 + len(body), kind, flags | NLM_F_REQUEST | NLM_F_ACK, 1, 0)
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as sock:
        sock.settimeout(20)
        sock.setsockopt(SOL_NETLINK, NETLINK_EXT_ACK, 1)
        sock.bind((0, 0))
        sock.send(header + body)
        answer = sock.recv(65536)
    length, answer_kind, answer_flags, _, _ = struct.unpack_from("=IHHII", answer)
    equal(answer_kind, NLMSG_ERROR)
    error, = struct.unpack_from("=i", answer, 16)
    offset = 20 + 16
    if not answer_flags & NLM_F_CAPPED:
        offset += (len(header + body) - 16 + 3) & ~3 if error else 0
    sentence = b""
    if answer_flags & NLM_F_ACK_TLVS:
        sentence = attrs_of(answer[offset:length]).get(NLMSGERR_ATTR_MSG, b"")
    return -error, sentence.rstrip(b"\0").decode()


def netlink_refused(dev, request, error, pattern):
    """A netlink request that must fail, say why, and change nothing."""
    before = state(dev)
    got, text = netlink(*request[:2], dev, *request[2:])
    equal((got, os.strerror(got)), (error, os.strerror(error)))
    matches(text, pattern)
    equal(state(dev), before)


# ----------------------------------------------------------------- packets

def frame(destination, payload_bytes):
    """An IPv4/UDP frame; payload_bytes counts what follows the 42 of headers."""
    udp_len = 8 + payload_bytes
    ip_header = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 20 + udp_len, 0, 0, 64, 17, 0,
                            socket.inet_aton("10.1.0.1"), socket.inet_aton(destination))
    total = sum(struct.unpack("!10H", ip_header))
    total = (total & 0xFFFF) + (total >> 16)
    ip_header = ip_header[:10] + struct.pack("!H", ~total & 0xFFFF) + ip_header[12:]
    udp = struct.pack("!HHHH", 7, 9, udp_len, 0)
    return b"\2\0\0\0\0\2\2\0\0\0\0\1\x08\0" + ip_header + udp + b"x" * payload_bytes


def send_frames(dev, data, count, priority=0):
    """Queue frames; what a full queue refuses is dropped, as on any device."""
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x0800)) as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_PRIORITY, priority)
        sock.bind((dev, 0))
        for _ in range(count):
            try:
                sock.send(data)
            except OSError as error:
                if error.errno != errno.ENOBUFS:
                    raise
