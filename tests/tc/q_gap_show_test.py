#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Tests what the installed tc with q_gap.so prints of dumps packed here.

`tc monitor` reads them from files; preloaded json_monitor makes it print JSON.
q_gap_test.py is about what tc sends.
"""

import json
import random
import re
import struct
import sys
import tempfile
import unittest

from gapnl import (BACKEND, BACKEND_USED, CLASS_BURST, CLASS_EXPIRED, CLASS_EXPIRES_NS, CLASS_FALLBACK64,
                   CLASS_LEFT_NS, CLASS_RATE64, DEFAULT, LIMIT, LINK_RATE64, RATE64, REASON,
                   RTM_NEWQDISC, RTM_NEWTCLASS, TCA_KIND, TCA_OPTIONS, TCA_STATS2, TCA_STATS_APP,
                   TCA_STATS_BASIC, TCA_XSTATS, UNLIMITED, attr, flag, phases, u32, u64)
from tcplugin import CAPTURE, JSON, run_tc

KIND = attr(TCA_KIND, b"gap\0")
QDISC_START = "qdisc gap 1: dev lo root refcnt 0 "
CLASS_START = "class gap 1:10 dev lo parent 1: "

ALL_OF_QDISC = (
    u64(RATE64, 39062500) + attr(1, b"") + attr(99, b"later") + u32(DEFAULT, 0x10010) +
    u32(BACKEND, 1) + u32(LIMIT, 77) + u64(LINK_RATE64, 39062500) + u32(BACKEND_USED, 0) +
    u32(REASON, 3))
ALL_OF_QDISC_JSON = {
    "rate": 39062500, "default": "1:10", "backend": "gap", "limit": 77, "link_rate": 39062500,
    "backend_used": "timer", "reason": "lost"}
ALL_OF_CLASS = (
    u64(CLASS_RATE64, 39062500) + u64(CLASS_FALLBACK64, 1250000) +
    u64(CLASS_EXPIRES_NS, 5 * 10**9) + u64(CLASS_LEFT_NS, 4987654321) +
    phases({1: 12500000, 160: UNLIMITED}) + u32(CLASS_BURST, 67000))
ALL_OF_CLASS_JSON = {
    "rate": 39062500, "fallback": 1250000, "expires_ns": 5 * 10**9, "expired": False,
    "burst_bytes": 67000, "left_ns": 4987654321,
    "phases": [{"phase": 1, "rate": 12500000}, {"phase": 160, "rate": None}]}

QDISC_COUNTERS = ("stamp_ns", "wire_bytes", "gap_wire_bytes", "gap_packets", "gap_failed",
                  "direct_packets", "direct_wire_bytes", "gso_split", "underruns", "underrun_ns",
                  None, None, "fallbacks", "expired", "device_queued_bytes",
                  "device_completed_bytes")
QDISC_APP = struct.pack("=II14QII", 0, 0, *range(1, 17))
QDISC_TEXT = ("  wire 2 bytes gaps 4 (3 bytes, failed 5)\n"
              "  direct 6 pkt (7 bytes) gso_split 8\n"
              "  underruns 9 (10 ns)\n"
              "  fallbacks 13 expired 14\n")
CLASS_APP = struct.pack("=II5QII", 1, 0, 11, 12, 13, 14, 16, 15, 0)
CLASS_TEXT = ("  wire 11 bytes credit_lost 13 bytes\n"
              "  acks_first 14 destinations 15 expired 16\n")


def message(kind, attributes):
    is_qdisc = kind == RTM_NEWQDISC
    body = struct.pack("=BBHiIII", 0, 0, 0, 1, 0x10000 if is_qdisc else 0x10010,
                       0xFFFFFFFF if is_qdisc else 0x10000, 0) + KIND + attributes
    return struct.pack("=IHHII", 16 + len(body), kind, 0, 0, 0) + body


def qdisc(options):
    return message(RTM_NEWQDISC, attr(TCA_OPTIONS, options))


def cls(options):
    return message(RTM_NEWTCLASS, attr(TCA_OPTIONS, options))


def statistics(kind, app):
    basic = attr(TCA_STATS_BASIC, struct.pack("=QII", 1000, 10, 0))
    stats = attr(TCA_STATS2, basic + attr(TCA_STATS_APP, app))
    return message(kind, attr(TCA_OPTIONS, b"") + stats)


def show(data, *flags, preload=CAPTURE):
    with tempfile.NamedTemporaryFile() as file:
        file.write(data)
        file.flush()
        return run_tc([*flags, "monitor", "file", file.name], preload)


class Dumps(unittest.TestCase):
    def shown(self, data, want, *flags):
        with self.subTest(want=want):
            result = show(data, *flags)
            self.assertEqual(result.stderr, "")
            self.assertEqual(result.stdout, want)
            self.assertEqual(result.returncode, 0)


class Text(Dumps):
    # tc prints "refcnt 0" because the message packed here says 0.

    def test_qdisc(self):
        plain = "backend timer "
        used = "backend_used timer "
        for options, text in (
                (b"", plain + used),
                (u64(LINK_RATE64, 125000000), plain + "link_rate 1Gbit " + used),
                (u32(DEFAULT, 0x10), "default :10 " + plain + used),
                (u32(DEFAULT, 0), "default none " + plain + used),
                (u32(BACKEND, 7), "backend unknown " + used)):
            self.shown(qdisc(options), QDISC_START + text + "\n")

    def test_all_of_a_qdisc(self):
        self.shown(qdisc(ALL_OF_QDISC), QDISC_START +
                   "rate 312500Kbit default 1:10 backend gap limit 77 link_rate 312500Kbit "
                   "backend_used timer (gap frames take no time, something drops them) \n")

    def test_reasons(self):
        for number in range(1, 6):
            out = show(qdisc(u32(REASON, number))).stdout
            self.assertRegex(out, r"backend_used timer \([^()]+\) \n")

    def test_class(self):
        for options, text in (
                (u64(CLASS_RATE64, 39062500), "rate 312500Kbit "),
                (u64(CLASS_RATE64, UNLIMITED) + phases({7: 10**11}),
                 "rate unlimited phase 7 800Gbit "),
                (u64(CLASS_FALLBACK64, 1) + u64(CLASS_EXPIRES_NS, 10**9) + flag(CLASS_EXPIRED),
                 "fallback 8bit expires 1s expired ")):
            self.shown(cls(options), CLASS_START + text + "\n")

    def test_all_of_a_class(self):
        self.shown(cls(ALL_OF_CLASS), CLASS_START +
                   "rate 312500Kbit fallback 10Mbit expires 5s burst 67000 left 4.99s phase 1 100Mbit "
                   "phase 160 unlimited \n")

    def test_rates_in_units_of_1024(self):
        self.shown(cls(u64(CLASS_RATE64, 2**27)), CLASS_START + "rate 1Gibit \n", "-iec")

    def test_statistics(self):
        for kind, app, want in ((RTM_NEWQDISC, QDISC_APP, QDISC_TEXT),
                                (RTM_NEWTCLASS, CLASS_APP, CLASS_TEXT)):
            result = show(statistics(kind, app), "-s")
            self.assertEqual(result.stderr, "")
            self.assertIn(" Sent 1000 bytes 10 pkt\n" + want, result.stdout)
            self.assertNotIn("wire", show(statistics(kind, app)).stdout)

    def test_statistics_of_the_older_attribute(self):
        data = message(RTM_NEWQDISC, attr(TCA_OPTIONS, b"") + attr(TCA_STATS2, b"") +
                       attr(TCA_XSTATS, QDISC_APP))
        self.assertIn(QDISC_TEXT, show(data, "-s").stdout)

    def test_statistics_of_other_kernels(self):
        longer = statistics(RTM_NEWQDISC, QDISC_APP + b"\xff" * 200)
        self.assertIn(QDISC_TEXT, show(longer, "-s").stdout)
        shorter = statistics(RTM_NEWTCLASS, CLASS_APP[:16])
        self.assertIn("  wire 11 bytes credit_lost 0 bytes\n"
                      "  acks_first 0 destinations 0 expired 0\n", show(shorter, "-s").stdout)


class Json(Dumps):
    """Keys are options' names; numbers are raw."""

    def json(self, data, *flags):
        result = show(data, *flags, preload=JSON)
        self.assertEqual(result.stderr, "")
        # what tc itself tells of a class is text in 6.1, and statistics are an object of their own in 6.15
        inside = result.stdout.strip().removeprefix("[").removesuffix("]")
        inside = inside.replace(CLASS_START, "").strip()
        got = json.loads(inside if inside.startswith("{") else "{" + inside + "}")
        return {name: value for name, value in {**got, **got.get("stats", {})}.items()
                if name not in ("class", "handle", "dev", "parent", "stats")}

    def test_all_of_a_qdisc(self):
        for flags in ((), ("-s",), ("-d",)):
            got = self.json(qdisc(ALL_OF_QDISC), *flags)
            self.assertEqual(got["options"], ALL_OF_QDISC_JSON)

    def test_words_for_nothing(self):
        got = self.json(qdisc(u32(DEFAULT, 0)))
        self.assertEqual(got["options"]["default"], "none")

    def test_all_of_a_class(self):
        for flags in ((), ("-d",)):
            self.assertEqual(self.json(cls(ALL_OF_CLASS), *flags), ALL_OF_CLASS_JSON)

    def test_an_expired_class(self):
        got = self.json(cls(u64(CLASS_RATE64, 1) + flag(CLASS_EXPIRED)))
        self.assertEqual(got, {"rate": 1})
        got = self.json(cls(u64(CLASS_EXPIRES_NS, 10**9) + flag(CLASS_EXPIRED)))
        self.assertEqual(got, {"expires_ns": 10**9, "expired": True})

    def test_statistics(self):
        got = self.json(statistics(RTM_NEWQDISC, QDISC_APP), "-s")
        self.assertEqual({name: got[name] for name in QDISC_COUNTERS if name},
                         {name: number for number, name in enumerate(QDISC_COUNTERS, 1) if name})
        got = self.json(statistics(RTM_NEWTCLASS, CLASS_APP), "-s")
        for name, number in {"wire_bytes": 11, "credit_lost_bytes": 13,
                             "acks_first": 14, "destinations": 15, "expired": 16}.items():
            self.assertEqual(got[name], number)


class Garbage(Dumps):
    def test_dumps_cut_off(self):
        cut = [u64(2, 1)[:-1], u64(2, 1) + b"\1", attr(2, b"1234"), b"\3\0\2\0"]
        messages = [qdisc(options) for options in cut] + [cls(options) for options in cut]
        messages.append(qdisc(u64(DEFAULT, 1)))
        messages.append(cls(u32(CLASS_FALLBACK64, 1)))
        for data in messages:
            with self.subTest(data=data):
                result = show(data)
                self.assertEqual(result.stderr, "[gap: the kernel's options cannot be read]")

    def test_statistics_that_cannot_be_read(self):
        for app, what in ((b"", "statistics"), (b"\0\0\0", "statistics"),
                          (struct.pack("=II", 2, 0), "kind of statistics")):
            result = show(statistics(RTM_NEWQDISC, app), "-s")
            self.assertEqual(result.stderr, f"[gap: the kernel's {what} cannot be read]")

    def test_random_bytes(self):
        """Plausible and random bytes in options and statistics; sanitised."""
        rng = random.Random(20261121)
        data = b""
        for _ in range(3000):
            options = rng.randbytes(rng.randrange(48))
            if rng.random() < 0.7:
                options = b"".join(
                    attr(rng.randrange(20), rng.randbytes(rng.choice((0, 4, 4, 8, 8, 8, 12))))
                    for _ in range(rng.randrange(4)))
                options = options[:len(options) - rng.choice((0, 0, 0, 1, 5))]
            app = rng.randbytes(rng.randrange(4, 300))
            if rng.random() < 0.5:
                app = struct.pack("=I", rng.randrange(3)) + app
            app = app[:rng.randrange(len(app) + 1)]
            data += message(rng.choice((RTM_NEWQDISC, RTM_NEWTCLASS)),
                            attr(TCA_OPTIONS, options) + attr(TCA_STATS2, attr(TCA_STATS_APP, app)))
        for flags in (("-s", "-d"), ()):
            result = show(data, *flags)
            self.assertEqual(result.returncode, 0, result.stderr)
            # Both ends were reached often, and nothing else was said.
            self.assertGreater(result.stderr.count("options cannot be read"), 300)
            shown = re.findall(r"(?m)^qdisc .* refcnt 0 \w|^class .* parent 1: \w", result.stdout)
            self.assertGreater(len(shown), 100)
            rest = re.sub(r"\[gap: the kernel's (options|statistics|kind of statistics) "
                          r"cannot be read\]", "", result.stderr)
            self.assertEqual(rest, "")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
