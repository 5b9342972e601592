#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""q_gap.so in the installed tc, without a kernel that knows the gap qdisc.

What tc would send is captured by a preloaded library and compared byte for
byte with attributes packed here.  The plugin that users get is looked at for
its symbols.  q_gap_show_test.py is about what tc prints.
"""

import os
import struct
import subprocess
import sys
import tempfile
import unittest

from gapnl import (BACKEND, CLASS_BURST, CLASS_EXPIRES_NS, CLASS_FALLBACK64, CLASS_RATE64, DEFAULT,
                   LIMIT, NLA_F_NESTED, RATE64, TCA_KIND, TCA_OPTIONS, UNLIMITED, attrs_of, phases, u32, u64)
from tcplugin import CAPTURE, PLUGIN, TC, run_tc

QDISC, CLASS = "qdisc", "class"
TRAILER = ". Nothing was changed."
OPTIONS = {QDISC: ("rate", "default", "backend", "limit"),
           CLASS: ("rate", "phase", "fallback", "expires", "burst")}


def command(obj, verb, options):
    where = ["root"] if obj == QDISC else ["parent", "1:", "classid", "1:10"]
    return [obj, verb, "dev", "lo", *where, "gap", *options]


class Requests(unittest.TestCase):
    """From words to bytes."""

    def send(self, obj, verb, options):
        """The captured request, None if there was none; and tc's result."""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "request")
            result = run_tc(command(obj, verb, options), CAPTURE, path)
            if not os.path.exists(path):
                return None, result
            with open(path, "rb") as file:
                return file.read(), result

    def accepted(self, obj, verb, options, want):
        with self.subTest(obj=obj, verb=verb, options=options):
            request, result = self.send(obj, verb, options)
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertEqual(result.stderr, "")
            got = attrs_of(request[16 + 20:])
            self.assertEqual(got.pop(TCA_KIND), b"gap\0")
            if want:
                self.assertEqual(got.pop(NLA_F_NESTED | TCA_OPTIONS), want)
            self.assertEqual(got, {})

    def refused(self, obj, verb, options, complaint):
        """By the first complaint; tc sends nothing."""
        with self.subTest(obj=obj, verb=verb, options=options):
            request, result = self.send(obj, verb, options)
            self.assertIsNone(request)
            self.assertEqual(result.returncode, 1)
            self.assertEqual(result.stdout, "")
            self.assertEqual(result.stderr, f"gap: {complaint}{TRAILER}\n")

    def test_the_capture_takes_a_request_of_any_qdisc(self):
        """Otherwise none of these tests would mean anything."""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "request")
            result = run_tc(["qdisc", "add", "dev", "lo", "root", "pfifo", "limit", "7"], CAPTURE,
                            path)
            self.assertEqual(result.returncode, 0, result.stderr)
            with open(path, "rb") as file:
                got = attrs_of(file.read()[16 + 20:])
            self.assertEqual(got[TCA_OPTIONS], struct.pack("=I", 7))

    def test_nothing_given_nothing_sent(self):
        for obj in (QDISC, CLASS):
            for verb in ("add", "change", "replace"):
                self.accepted(obj, verb, [], b"")

    def test_rate_of_the_qdisc(self):
        for text, bytes_per_s in {
            "1gbit": 125000000,
            "1Gbit": 125000000,
            "312.5mbit": 39062500,
            "2.5gbit": 312500000,
            "8": 1,
            "8bit": 1,
            "15bit": 1,
            "1bps": 1,
            "125mbps": 125000000,
            "1gibit": 2**27,
            "40gbit": 5 * 10**9,
            "1600gbit": 2 * 10**11,
            ".5gbit": 62500000,
        }.items():
            self.accepted(QDISC, "add", ["rate", text], u64(RATE64, bytes_per_s))

    def test_default(self):
        for text, classid in {
            "1:10": 0x10010,
            ":10": 0x10,
            "10": 0x10,
            "ffff": 0xFFFF,
            "abcd:1": 0xABCD0001,
            "none": 0,
            "0": 0,
        }.items():
            self.accepted(QDISC, "replace", ["default", text], u32(DEFAULT, classid))

    def test_the_order_of_options_does_not_matter(self):
        want = u64(RATE64, 125000000) + u32(DEFAULT, 0x10010)
        self.accepted(QDISC, "change", ["rate", "1gbit", "default", "1:10"], want)
        self.accepted(QDISC, "change", ["default", "1:10", "rate", "1gbit"], want)

    def test_class(self):
        for verb in ("add", "change", "replace"):
            self.accepted(CLASS, verb, ["rate", "unlimited"], u64(CLASS_RATE64, UNLIMITED))
            self.accepted(CLASS, verb, ["rate", "312.5mbit"], u64(CLASS_RATE64, 39062500))

    def test_phases(self):
        self.accepted(CLASS, "change", ["phase", "3", "8mbit"], phases({3: 10**6}))
        self.accepted(CLASS, "add", ["phase", "160", "none", "phase", "1", "unlimited"],
                      phases({160: 0, 1: UNLIMITED}))
        table = {i: i for i in range(1, 161)}
        words = [word for i, rate in table.items() for word in ("phase", str(i), f"{rate}bps")]
        self.accepted(CLASS, "change", words, phases(table))
        self.refused(CLASS, "change", [*words, "phase", "1", "1mbit"],
                     'phase "1": a class has at most 160')
        for number in ("0", "161", "x", "", "-1", "1000", "1.5"):
            self.assertRegex(self.send(CLASS, "add", ["phase", number, "1mbit"])[1].stderr,
                             "they are numbered from 1 to 160")
        self.refused(CLASS, "add", ["phase", "1", "fast"],
                     'phase "fast": not a rate, such as 312.5mbit')
        self.refused(CLASS, "add", ["phase", "1"], '"phase" lacks its value')

    def test_backend(self):
        for number, text in enumerate(("timer", "gap")):
            self.accepted(QDISC, "add", ["backend", text], u32(BACKEND, number))
        for text in ("fast", "", "Gap", "1", "unknown"):
            self.refused(QDISC, "add", ["backend", text],
                         f'backend "{text}": there is no such thing; see tc qdisc add gap help')

    def test_limit(self):
        for number in (2, 10000, 2**32 - 1):
            self.accepted(QDISC, "change", ["limit", str(number)], u32(LIMIT, number))
        for number in ("0", "1"):
            self.refused(QDISC, "add", ["limit", number], "limit: a queue holds 2 packets at least")
        for text in ("", "many", "-1", "5p", "1.5", "0x10", "4294967296", "1" * 11):
            self.refused(QDISC, "add", ["limit", text], f'limit "{text}": not a number of packets')

    def test_fallback_and_expires(self):
        for text, nanoseconds in {"1ms": 10**6, "5s": 5 * 10**9, "86400s": 86400 * 10**9}.items():
            self.accepted(CLASS, "add", ["fallback", "30mbit", "expires", text],
                          u64(CLASS_FALLBACK64, 3750000) + u64(CLASS_EXPIRES_NS, nanoseconds))
        self.accepted(CLASS, "replace", ["expires", "1s", "fallback", "unlimited"],
                      u64(CLASS_FALLBACK64, UNLIMITED) + u64(CLASS_EXPIRES_NS, 10**9))
        self.accepted(CLASS, "change", ["fallback", "8bit"], u64(CLASS_FALLBACK64, 1))
        self.accepted(CLASS, "change", ["expires", "2s"], u64(CLASS_EXPIRES_NS, 2 * 10**9))
        self.accepted(CLASS, "change", ["expires", "off"], u64(CLASS_EXPIRES_NS, 0))

    def test_what_is_not_a_rate(self):
        for text in ("nonsense", "", ".", "1e3mbit", "1e", "0x10mbit", "inf", "nan", "-1mbit",
                     "+1mbit", " 1mbit", "1 mbit", "10%", "1mbits", "mbit", "9" * 60, "1" * 65):
            for obj, option in ((QDISC, "rate"), (CLASS, "rate"), (CLASS, "fallback")):
                self.refused(obj, "add", [option, text],
                             f'{option} "{text}": not a rate, such as 312.5mbit')
        self.refused(QDISC, "add", ["rate", "unlimited"],
                     'rate "unlimited": not a rate, such as 312.5mbit')

    def test_rates_out_of_range(self):
        for text in ("0", "0bit", "7bit", "1.7tbit"):
            self.refused(QDISC, "add", ["rate", text], "rate: a link carries 8bit to 1600gbit")
            for option in ("rate", "fallback"):
                self.refused(CLASS, "change", [option, text],
                             f"{option}: 8bit to 1600gbit, or unlimited")

    def test_what_is_not_a_class(self):
        for text in ("", ":", "root", "1:10:", "1:1:1", "1:10000", "10000:1", "1ffffffff", "-1",
                     " 1", "0x10", "eth0"):
            self.refused(QDISC, "change", ["default", text],
                         f'default "{text}": not a class id, such as 1:10, nor none')
        for text in ("1:", "1:0", "10000"):
            self.refused(QDISC, "add", ["default", text],
                         "default: a class has a minor number, as 1:10")

    def test_burst(self):
        for bytes_ in (0, 1, 67000, 2**20):
            self.accepted(CLASS, "add", ["burst", str(bytes_)], u32(CLASS_BURST, bytes_))
        self.refused(CLASS, "change", ["burst", str(2**20 + 1)], "burst: 0 to 1048576 bytes")
        for text in ("15k", "-1", "", "0x10", "4294967296"):
            self.refused(CLASS, "change", ["burst", text], f'burst "{text}": not a number of bytes')

    def test_what_is_no_expires(self):
        for text in ("0.9ms", "1ns", "86401s"):
            self.refused(CLASS, "change", ["expires", text], "expires: 1ms to 86400s, or off")
        for text in ("never", "10", "", "-1ms", "1e3s", "1 s"):
            self.refused(CLASS, "change", ["expires", text],
                         f'expires "{text}": not a time with a unit, such as 10ms')
        self.refused(CLASS, "change", ["expires", "0s"], 'expires "0s": 1ms to 86400s, or off')
        self.refused(CLASS, "change", ["fallback", "1mbit", "expires", "off"],
                     "fallback: it never takes effect with expires off")

    def test_words(self):
        for obj, option in ((QDISC, "fast"), (QDISC, ""), (QDISC, "rat"), (QDISC, "phase"),
                            (CLASS, "backend"), (CLASS, "ceil")):
            request, result = self.send(obj, "add", [option, "1gbit"])
            self.assertIsNone(request)
            self.assertEqual(result.returncode, 1)
            self.assertTrue(result.stderr.startswith(f'gap: What is "{option}"?\nUsage: tc {obj}'))
        for obj, options in OPTIONS.items():
            for option in options:
                self.refused(obj, "add", [option], f'"{option}" lacks its value')

    def test_help(self):
        for obj, options in OPTIONS.items():
            request, result = self.send(obj, "add", ["help"])
            self.assertIsNone(request)
            self.assertEqual(result.returncode, 1)
            self.assertIn(f"Usage: tc {obj} add|change|replace", result.stderr)
            usage, explained = result.stderr.split("\n\n", 1)
            for option in options:
                # Each option is in the usage and has its line; lines fit a terminal.
                self.assertIn(f"[{option} ", usage)
                self.assertRegex(explained, rf"(?m)^  {option} ")
            self.assertLess(max(map(len, result.stderr.splitlines())), 81)
            self.assertIn("max(length, 60) + 24", explained)


def dynamic_symbols(path, which):
    output = subprocess.run(["nm", "-D", which, path], check=True, capture_output=True,
                            text=True).stdout
    return {line.split()[-1].split("@")[0] for line in output.splitlines()
            if line.split()[-2] != "w"}


class Plugin(unittest.TestCase):
    """The file that users get, and the tc it is made for."""

    def test_the_release_of_tc(self):
        version = subprocess.run([TC, "-V"], check=True, capture_output=True, text=True).stdout
        self.assertRegex(version, r"iproute2-6\.(1|15)\.0\b",
                         "tc_plugin_abi.h restates iproute2 6.1 and 6.15; check it against this release")

    def test_exports_one_symbol(self):
        self.assertEqual(dynamic_symbols(PLUGIN, "--defined-only"), {"gap_qdisc_util"})

    def test_tc_has_what_the_plugin_needs(self):
        undefined = subprocess.run(["nm", "-D", "--undefined-only", PLUGIN], check=True,
                                   capture_output=True, text=True).stdout
        # A version (@GLIBC...) marks those of the C library.
        of_tc = {line.split()[-1] for line in undefined.splitlines()
                 if "@" not in line and line.split()[0] != "w"}
        self.assertIn("get_rate64", of_tc)
        self.assertEqual(of_tc - dynamic_symbols(TC, "--defined-only"), set())

    def test_tc_loads_it(self):
        env = dict(os.environ, TC_LIB_DIR=os.path.dirname(PLUGIN))
        result = subprocess.run([TC, "qdisc", "add", "dev", "lo", "root", "gap", "help"], env=env,
                                capture_output=True, text=True)
        self.assertIn("Usage: tc qdisc add|change|replace", result.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
