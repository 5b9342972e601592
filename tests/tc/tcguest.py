# SPDX-License-Identifier: Apache-2.0
"""What the tests of tc and the gap qdisc share: cases, commands, netlink.

Runs inside a guest as root.  A case is a function decorated with @case; it
passes unless it raises.  Cases print KTAP lines and run in the order written.
"""

import errno
import json
import os
import re
import socket
import struct
import subprocess
import time
import traceback

ENVIRONMENT = dict(os.environ, TC_LIB_DIR=os.path.join(os.environ["HW_BUILD"], "lib"))
CASES = []


# ------------------------------------------------------------------- cases

def case(function):
    CASES.append(function)
    return function


def run_cases(before_each):
    """Run all cases; 0 if all passed."""
    print("KTAP version 1")
    print(f"1..{len(CASES)}")
    failed = 0
    for number, function in enumerate(CASES, 1):
        name = function.__name__.replace("_", " ")
        try:
            before_each()
            function()
            print(f"ok {number} {name}", flush=True)
        except Exception:  # whatever it is, it is this case's failure
            failed += 1
            for line in traceback.format_exc().splitlines():
                print("#", line)
            print(f"not ok {number} {name}", flush=True)
    print(f"# Totals: pass:{len(CASES) - failed} fail:{failed} skip:0")
    return 1 if failed else 0


def equal(got, want):
    if got != want:
        raise AssertionError(f"got  {got!r}\nwant {want!r}")


def matches(text, pattern):
    if not re.search(pattern, text):
        raise AssertionError(f"{pattern!r} is not in:\n{text}")


def eventually(condition, seconds=20):
    """Wait for a condition; its last value is returned."""
    deadline = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError("it did not happen in time")
        time.sleep(0.01)


# ---------------------------------------------------------------- commands

def run(*words, env=None, data=None):
    return subprocess.run(words, env=env or ENVIRONMENT, input=data, capture_output=True,
                          text=True, timeout=120)


def sh(*words, data=None):
    """Run a command that must succeed; its standard output."""
    result = run(*words, data=data)
    if result.returncode:
        raise AssertionError(f"{' '.join(words)}\n{result.stdout}{result.stderr}")
    return result.stdout


def tc(command):
    """A tc command that must succeed and say nothing on standard error."""
    result = run("tc", *command.split())
    if result.returncode or result.stderr:
        raise AssertionError(f"tc {command}: {result.returncode}\n{result.stderr}")
    return result.stdout


def state(dev):
    """All that a refused request might have changed."""
    return sh("tc", "-d", "-batch", "-",
              data=f"qdisc show dev {dev}\nclass show dev {dev}\nfilter show dev {dev}\n")


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


def classes(dev, flags=""):
    """By class id: the options of each class, and with -s its counters.

    tc of iproute2 6.1 writes classes as text even with -j.
    """
    found = {}
    current = {}
    for line in tc(f"{flags} class show dev {dev}").splitlines():
        words = line.split()
        if line.startswith("class "):
            current = {}  # a child qdisc may show classes of its own: not kept
        if line.startswith("class gap "):
            found[words[2]] = current
            rest = ["parent", *words[3:]] if words[3] == "root" else words[3:]
            equal(len(rest) % 2, 0)
            current.update(zip(rest[::2], rest[1::2]))
        sent = re.match(r" Sent (\d+) bytes (\d+) pkt", line)
        if sent:
            current["packets"] = int(sent[2])
        if re.match(r"  (wire|acks_first) ", line):
            current.update((name, int(number)) for name, number
                           in re.findall(r"(\w+) (\d+)", line))
    return found


# ----------------------------------------------------------------- netlink
# Requests that tc with the plugin would never send.

RTM_NEWQDISC, RTM_NEWTCLASS = 36, 40
NLMSG_ERROR = 2
NLM_F_REQUEST, NLM_F_ACK, NLM_F_EXCL, NLM_F_CREATE = 1, 4, 0x200, 0x400
NLM_F_CAPPED, NLM_F_ACK_TLVS = 0x100, 0x200
NLA_F_NESTED = 0x8000
TCA_KIND, TCA_OPTIONS, TCA_RATE = 1, 2, 5
NLMSGERR_ATTR_MSG = 1
SOL_NETLINK, NETLINK_EXT_ACK = 270, 11
ADD = NLM_F_CREATE | NLM_F_EXCL
CHANGE = 0


def attr(kind, payload):
    data = struct.pack("=HH", 4 + len(payload), kind) + payload
    return data + b"\0" * (-len(data) % 4)


def u64(kind, value):
    return attr(kind, struct.pack("=Q", value))


def u32(kind, value):
    return attr(kind, struct.pack("=I", value))


def _sentence(attributes):
    while len(attributes) >= 4:
        length, kind = struct.unpack_from("=HH", attributes)
        if kind == NLMSGERR_ATTR_MSG:
            return attributes[4:length].rstrip(b"\0").decode()
        attributes = attributes[(length + 3) & ~3:]
    return ""


def netlink(kind, flags, dev, handle, parent, options, extra=b""):
    """Send one request; (errno, the kernel's sentence)."""
    body = struct.pack("=BBHiIII", 0, 0, 0, socket.if_nametoindex(dev), handle, parent, 0)
    body += attr(TCA_KIND, b"gap\0") + attr(TCA_OPTIONS | NLA_F_NESTED, options) + extra
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
    text = _sentence(answer[offset:length]) if answer_flags & NLM_F_ACK_TLVS else ""
    return -error, text


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


def note(text):
    """What a case is about to do; tells which step a failure was in."""
    print("#", text, flush=True)
