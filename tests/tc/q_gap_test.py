#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""q_gap.so in the installed tc, without a kernel that knows the gap qdisc.

What tc would send is captured by a preloaded library and compared byte for
byte with attributes packed here.  The plugin that users get is looked at for
its symbols.  q_gap_show_test.py is about what tc prints.
"""

import os
import re
import struct
import subprocess
import sys
import tempfile
import unittest

from gapnl import (BACKEND, BURST_NS, CLASS_EXPIRES_NS, CLASS_FALLBACK64, CLASS_GROUP, CLASS_LINGER_NS,
                   CLASS_ORDERED_NS,
                   CLASS_RATE64, DEFAULT, FRAME, FRAME_MAX, HYBRID_NS, NLA_F_NESTED, RATE64,
                   SELFTEST, TCA_KIND, TCA_OPTIONS, UNLIMITED, attrs_of, flag, u32, u64)
from tcplugin import CAPTURE, PLUGIN, TC, run_tc

QDISC, CLASS = "qdisc", "class"
TRAILER = "Nothing was changed. Syntax: tc {} add gap help"
UNKNOWN = r'unknown option "[^"]*"$'
THERE_ARE = {
    QDISC: "there are rate, default, backend, frame, frame-max, hybrid, burst, selftest",
    CLASS: "there are rate, linger, fallback, expires, ordered, group",
}


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

    def refused(self, obj, verb, options, *complaints):
        with self.subTest(obj=obj, verb=verb, options=options):
            request, result = self.send(obj, verb, options)
            self.assertIsNone(request)
            self.assertEqual(result.returncode, 1)
            self.assertEqual(result.stdout, "")
            want = [f"gap: {line}{': ' + THERE_ARE[obj] if re.match(UNKNOWN, line) else ''}"
                    for line in complaints] + [TRAILER.format(obj)]
            self.assertEqual(result.stderr.splitlines(), want)

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
            "8tbit": 10**12,
            "1tbps": 10**12,
            ".5gbit": 62500000,
            "1e3mbit": 125000000,
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

    def test_linger(self):
        for text, nanoseconds in {
            "10ms": 10**7,
            "10msec": 10**7,
            "0": 0,
            "0.5s": 5 * 10**8,
            "1.5us": 1500,
            "7ns": 7,
            "10s": 10**10,
        }.items():
            self.accepted(CLASS, "change", ["rate", "8bit", "linger", text],
                          u64(CLASS_RATE64, 1) + u64(CLASS_LINGER_NS, nanoseconds))
        # replace changes a class that exists; the kernel refuses it for a new one.
        self.accepted(CLASS, "replace", ["linger", "1s", "rate", "unlimited"],
                      u64(CLASS_RATE64, UNLIMITED) + u64(CLASS_LINGER_NS, 10**9))

    def test_backend_and_frame(self):
        for number, text in enumerate(("auto", "gap", "timer")):
            self.accepted(QDISC, "add", ["backend", text], u32(BACKEND, number))
        for number, text in enumerate(("pause", "void")):
            self.accepted(QDISC, "change", ["frame", text], u32(FRAME, number))

    def test_frame_max(self):
        for text, length in {"mtu": 0, "60": 60, "1514": 1514, "65535": 65535}.items():
            self.accepted(QDISC, "add", ["frame-max", text], u32(FRAME_MAX, length))

    def test_times_of_the_qdisc(self):
        for text, nanoseconds in {"off": 0, "0": 0, "200us": 200000, "1s": 10**9,
                                  "0.4ns": 1}.items():
            self.accepted(QDISC, "add", ["hybrid", text], u64(HYBRID_NS, nanoseconds))
        for text, nanoseconds in {"0": 0, "1ns": 1, "4.35us": 4350, "1000ms": 10**9}.items():
            self.accepted(QDISC, "replace", ["burst", text], u64(BURST_NS, nanoseconds))

    def test_selftest_has_no_value(self):
        self.accepted(QDISC, "change", ["selftest"], flag(SELFTEST))
        want = u32(BACKEND, 0) + flag(SELFTEST)
        self.accepted(QDISC, "change", ["selftest", "backend", "auto"], want)
        self.accepted(QDISC, "change", ["backend", "auto", "selftest"], want)

    def test_fallback_and_expires(self):
        for text, nanoseconds in {"1ms": 10**6, "5s": 5 * 10**9, "86400s": 86400 * 10**9}.items():
            self.accepted(CLASS, "add", ["fallback", "30mbit", "expires", text],
                          u64(CLASS_FALLBACK64, 3750000) + u64(CLASS_EXPIRES_NS, nanoseconds))
        self.accepted(CLASS, "replace", ["expires", "1s", "fallback", "unlimited"],
                      u64(CLASS_FALLBACK64, UNLIMITED) + u64(CLASS_EXPIRES_NS, 10**9))
        # a class that exists may have the other one already
        self.accepted(CLASS, "change", ["fallback", "8bit"], u64(CLASS_FALLBACK64, 1))
        self.accepted(CLASS, "change", ["expires", "2s"], u64(CLASS_EXPIRES_NS, 2 * 10**9))
        for text in ("off", "0"):
            self.accepted(CLASS, "change", ["expires", text], u64(CLASS_EXPIRES_NS, 0))
            self.accepted(CLASS, "add", ["expires", text], u64(CLASS_EXPIRES_NS, 0))

    def test_ordered(self):
        for verb in ("add", "change", "replace"):
            for text, nanoseconds in {"10ms": 10**7, "10s": 10**10, "off": 0, "0": 0}.items():
                self.accepted(CLASS, verb, ["ordered", text], u64(CLASS_ORDERED_NS, nanoseconds))
        self.refused(CLASS, "add", ["ordered", "11s"],
                     'ordered "11s": ordered must be from 0 to 10s, or off')
        self.refused(CLASS, "add", ["ordered", "10"],
                     'ordered "10": not a time with a unit (such as 10ms, 500us, off)')

    def test_group(self):
        for verb in ("add", "change", "replace"):
            for text in "07":
                self.accepted(CLASS, verb, ["group", text], u32(CLASS_GROUP, int(text)))
        for text in ("8", "x", "", "-1", "01"):
            self.refused(CLASS, "add", ["group", text],
                         f'group "{text}": group must be from 0 to 7')

    def test_what_is_not_a_rate(self):
        for text in ("nonsense", "", ".", "1.5.5mbit", "1e1e5bit", "1e", "0x10mbit", "inf", "nan",
                     "-1mbit", "+1mbit", " 1mbit", "1 mbit", "10%", "1mbits", "mbit", "1" * 65):
            self.refused(QDISC, "add", ["rate", text],
                         f'rate "{text}": not a rate (such as 1gbit, 312.5mbit)')
            self.refused(CLASS, "add", ["rate", text],
                         f'rate "{text}": not a rate (such as 1gbit, 312.5mbit, unlimited)')
            self.refused(CLASS, "change", ["fallback", text],
                         f'fallback "{text}": not a rate (such as 1gbit, 312.5mbit, unlimited)')

    def test_rates_out_of_range(self):
        for text in ("0", "0bit", "7bit", "8.1tbit", "1000000tibit", "1e30bit", "1e999bit",
                     "18446744073709551615bps", "9" * 60):
            self.refused(QDISC, "add", ["rate", text],
                         f'rate "{text}": rate must be from 8bit to 8tbit')
            self.refused(CLASS, "change", ["rate", text],
                         f'rate "{text}": rate must be from 8bit to 8tbit, or unlimited')
            self.refused(CLASS, "change", ["fallback", text],
                         f'fallback "{text}": fallback must be from 8bit to 8tbit, or unlimited')

    def test_a_link_is_not_unlimited(self):
        self.refused(QDISC, "add", ["rate", "unlimited"],
                     'rate "unlimited": a link has a rate; leave it out for the device\'s own')

    def test_what_is_not_a_class(self):
        for text in ("", ":", "root", "1:10:", "1:1:1", "1:10000", "10000:1", "1ffffffff", "-1",
                     " 1", "0x10", "eth0"):
            self.refused(QDISC, "change", ["default", text],
                         f'default "{text}": not a class id (such as 1:10, :10) nor "none"')
        for text in ("1:", "1:0", "10000"):
            self.refused(QDISC, "add", ["default", text],
                         f'default "{text}": default must name a class (1:10), not a qdisc (1:)')

    def test_what_is_not_a_linger(self):
        for text in ("soon", "10", "1.5", "-1ms", "1m", "10ms10", "inf", ""):
            self.refused(CLASS, "change", ["rate", "1mbit", "linger", text],
                         f'linger "{text}": not a time with a unit (such as 10ms, 500us)')
        for text in ("10.1s", "1e30s", "1e999ns"):
            self.refused(CLASS, "change", ["rate", "1mbit", "linger", text],
                         f'linger "{text}": linger must be from 0 to 10s')
        self.refused(CLASS, "change", ["linger", "1ms"],
                     'linger "1ms": linger needs a rate: it tells when the new rate takes effect')

    def test_what_is_no_backend_and_no_frame(self):
        for text in ("fast", "", "Gap", "1", "unknown"):
            self.refused(QDISC, "add", ["backend", text],
                         f'backend "{text}": backend must be auto, gap or timer')
            self.refused(QDISC, "add", ["frame", text],
                         f'frame "{text}": frame must be pause or void')

    def test_what_is_not_a_frame_max(self):
        for text in ("", "all", "-60", "60b", "1e3", "0x40", "64.0", " 64"):
            self.refused(QDISC, "add", ["frame-max", text],
                         f'frame-max "{text}": not a number of bytes (such as 60) nor "mtu"')
        for text in ("0", "59", "65536", "100060", "9" * 60):
            self.refused(QDISC, "add", ["frame-max", text],
                         f'frame-max "{text}": frame-max must be from 60 to 65535 bytes, or mtu')

    def test_what_is_no_time_of_the_qdisc(self):
        self.refused(QDISC, "add", ["hybrid", "200"],
                     'hybrid "200": not a time with a unit (such as 10ms, 500us, off)')
        self.refused(QDISC, "add", ["burst", "off"],
                     'burst "off": not a time with a unit (such as 10ms, 500us)')
        for text in ("1.1s", "1e30s", "1e999ns"):
            self.refused(QDISC, "add", ["hybrid", text],
                         f'hybrid "{text}": hybrid must be from 0 to 1s, or off')
            self.refused(QDISC, "add", ["burst", text],
                         f'burst "{text}": burst must be from 0 to 1s')

    def test_what_is_no_expires(self):
        for text in ("0.9ms", "1ns", "0.1ns", "86401s", "1e30s"):
            self.refused(CLASS, "change", ["expires", text],
                         f'expires "{text}": expires must be from 1ms to 86400s (1 day), or off')
        self.refused(CLASS, "change", ["expires", "never"],
                     'expires "never": not a time with a unit (such as 10ms, 500us, off)')
        self.refused(CLASS, "change", ["fallback", "1mbit", "expires", "off"],
                     'fallback "1mbit": fallback has no use with expires off')

    def test_a_new_class_needs_fallback_and_expires(self):
        self.refused(CLASS, "add", ["fallback", "1mbit"],
                     '"fallback" of a new class needs "expires": it tells when to fall back')
        self.refused(CLASS, "add", ["expires", "1s"],
                     '"expires" of a new class needs "fallback": it tells the rate then')

    def test_linger_is_for_change(self):
        self.refused(CLASS, "add", ["rate", "1mbit", "linger", "1ms"],
                     '"linger" is for change: a new class has no rate to linger at')

    def test_words(self):
        self.refused(QDISC, "add", ["fast"], 'unknown option "fast"')
        self.refused(QDISC, "add", [""], 'unknown option ""')
        self.refused(QDISC, "add", ["rat", "1gbit"],
                     'unknown option "rat": write "rate" in full', 'unknown option "1gbit"')
        self.refused(QDISC, "add", ["rate"], '"rate" lacks its value')
        self.refused(QDISC, "add", ["rate", "default", "1:10"], '"rate" lacks its value')
        self.refused(QDISC, "add", ["default", "1:1", "default", "1:1"],
                     '"default" is given twice')
        self.refused(QDISC, "change", ["selftest", "selftest"], '"selftest" is given twice')
        self.refused(QDISC, "change", ["selftest", "now"], 'unknown option "now"')
        self.refused(QDISC, "add", ["frame-", "mtu"],
                     'unknown option "frame-": write "frame-max" in full', 'unknown option "mtu"')
        self.refused(CLASS, "change", ["selftest"], '"selftest" is an option of the qdisc')
        self.refused(QDISC, "add", ["rate", "1gbit", "linger", "1ms"],
                     '"linger" is an option of classes')
        self.refused(CLASS, "add", ["default", "1:1"], '"default" is an option of the qdisc')
        self.refused(CLASS, "add", ["help", "me"],
                     'unknown option "help"', 'unknown option "me"')

    def test_all_complaints_at_once(self):
        self.refused(CLASS, "add",
                     ["linger", "20s", "rate", "1", "rate", "9tbit", "ceil", "default", "4", "lin"],
                     '"rate" is given twice',
                     'unknown option "ceil"',
                     '"default" is an option of the qdisc',
                     'unknown option "lin": write "linger" in full',
                     '"linger" is for change: a new class has no rate to linger at',
                     'rate "9tbit": rate must be from 8bit to 8tbit, or unlimited',
                     'linger "20s": linger must be from 0 to 10s')

        self.refused(QDISC, "add",
                     ["rate", "0", "backend", "fast", "frame", "x", "frame-max", "1", "hybrid", "x",
                      "burst", "2s", "default", "1:"],
                     'hybrid "x": not a time with a unit (such as 10ms, 500us, off)',
                     'rate "0": rate must be from 8bit to 8tbit',
                     'default "1:": default must name a class (1:10), not a qdisc (1:)',
                     'backend "fast": backend must be auto, gap or timer',
                     'frame "x": frame must be pause or void',
                     'frame-max "1": frame-max must be from 60 to 65535 bytes, or mtu',
                     'burst "2s": burst must be from 0 to 1s')

    def test_help(self):
        for obj, names in THERE_ARE.items():
            request, result = self.send(obj, "add", ["help"])
            self.assertIsNone(request)
            self.assertEqual(result.returncode, 1)
            self.assertIn(f"Usage: tc {obj} add|change|replace", result.stderr)
            names = names.removeprefix("there are ").split(", ")
            usage, explained = result.stderr.split("\n\n", 1)
            for name in names:
                # Each option is in the usage and has its line; lines fit a terminal.
                self.assertRegex(usage, rf"\[{name}[ \]]")
                self.assertRegex(explained, rf"(?m)^  {name} ")
                self.assertLess(max(map(len, result.stderr.splitlines())), 81)
            # selftest is done or not; all others have a default, in braces.
            self.assertEqual(len(re.findall(r"\{[^}]+\}", explained)),
                             len(set(names) - {"selftest"}))
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
        self.assertIn("iproute2-6.1", version,
                      "tc_plugin_abi.h restates iproute2 6.1; check it against this release")

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
