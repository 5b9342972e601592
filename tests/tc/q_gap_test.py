#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""q_gap.so in the installed tc, without a kernel that knows the gap qdisc.

What tc would send is captured by a preloaded library and compared byte for
byte with attributes packed here; what tc would print is fed to `tc monitor`
from files packed here.  The plugin under test is built with the address and
undefined-behaviour sanitisers; the one that users get is looked at for its
symbols.

usage: q_gap_test.py TC CHECKED_PLUGIN_DIR PLUGIN CAPTURE_LIBRARY ASAN_LIBRARY
"""

import os
import random
import re
import struct
import subprocess
import sys
import tempfile
import unittest

TC, CHECKED_DIR, PLUGIN, CAPTURE, ASAN = sys.argv[1:6]

RTM_NEWQDISC, RTM_NEWTCLASS = 36, 40
TCA_KIND, TCA_OPTIONS, TCA_XSTATS, TCA_STATS2 = 1, 2, 4, 7
TCA_STATS_BASIC, TCA_STATS_APP = 1, 4
NLA_F_NESTED = 0x8000
RATE64, DEFAULT, LINK_RATE64 = 2, 3, 4
CLASS_RATE64, CLASS_LINGER_NS, CLASS_NEXT_RATE64 = 2, 3, 4
UNLIMITED = 2**64 - 1
QDISC, CLASS = "qdisc", "class"
TRAILER = "Nothing was changed. Syntax: tc {} add gap help"


def run_tc(args, capture_file="/dev/null"):
    env = dict(
        os.environ,
        TC_LIB_DIR=CHECKED_DIR,
        LD_PRELOAD=f"{ASAN}:{CAPTURE}",
        HW_CAPTURE_FILE=capture_file,
        # tc itself leaks; that is not under test.
        ASAN_OPTIONS="detect_leaks=0:exitcode=98",
        UBSAN_OPTIONS="print_stacktrace=1:exitcode=98",
    )
    result = subprocess.run([TC, *args], env=env, capture_output=True, text=True, timeout=60)
    for word in ("Sanitizer", "runtime error", "cannot be preloaded"):
        if word in result.stderr:
            raise AssertionError(result.stderr)
    return result


def attr(kind, payload):
    data = struct.pack("=HH", 4 + len(payload), kind) + payload
    return data + b"\0" * (-len(data) % 4)


def u64(kind, value):
    return attr(kind, struct.pack("=Q", value))


def u32(kind, value):
    return attr(kind, struct.pack("=I", value))


def attrs_of(data):
    found = {}
    while data:
        length, kind = struct.unpack_from("=HH", data)
        found[kind] = data[4:length]
        data = data[(length + 3) & ~3:]
    return found


def message(kind, attributes, parent=0xFFFFFFFF, handle=0x00010000):
    body = struct.pack("=BBHiIII", 0, 0, 0, 1, handle, parent, 0) + attributes
    return struct.pack("=IHHII", 16 + len(body), kind, 0, 0, 0) + body


def command(obj, verb, options):
    where = ["root"] if obj == QDISC else ["parent", "1:", "classid", "1:10"]
    return [obj, verb, "dev", "lo", *where, "gap", *options]


class Requests(unittest.TestCase):
    """From words to bytes."""

    def send(self, obj, verb, options):
        """The captured request, None if there was none; and tc's result."""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "request")
            result = run_tc(command(obj, verb, options), path)
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
            want = ["gap: " + line for line in complaints] + [TRAILER.format(obj)]
            self.assertEqual(result.stderr.splitlines(), want)

    def test_the_capture_takes_a_request_of_any_qdisc(self):
        """Otherwise none of these tests would mean anything."""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "request")
            result = run_tc(["qdisc", "add", "dev", "lo", "root", "pfifo", "limit", "7"], path)
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

    def test_what_is_not_a_rate(self):
        for text in ("nonsense", "", ".", "1.5.5mbit", "1e1e5bit", "1e", "0x10mbit", "inf", "nan",
                     "-1mbit", "+1mbit", " 1mbit", "1 mbit", "10%", "1mbits", "mbit", "1" * 65):
            self.refused(QDISC, "add", ["rate", text],
                         f'rate "{text}": not a rate (such as 1gbit, 312.5mbit)')
            self.refused(CLASS, "add", ["rate", text],
                         f'rate "{text}": not a rate (such as 1gbit, 312.5mbit, unlimited)')

    def test_rates_out_of_range(self):
        for text in ("0", "0bit", "7bit", "8.1tbit", "1000000tibit", "1e30bit", "1e999bit",
                     "18446744073709551615bps", "9" * 60):
            self.refused(QDISC, "add", ["rate", text],
                         f'rate "{text}": rate must be from 8bit to 8tbit')
            self.refused(CLASS, "change", ["rate", text],
                         f'rate "{text}": rate must be from 8bit to 8tbit, or unlimited')

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

    def test_help(self):
        for obj, names in {QDISC: ["rate", "default"], CLASS: ["rate", "linger"]}.items():
            request, result = self.send(obj, "add", ["help"])
            self.assertIsNone(request)
            self.assertEqual(result.returncode, 1)
            self.assertIn(f"Usage: tc {obj} add|change|replace", result.stderr)
            for name in names:
                # Each option has its line, and a default in braces.
                self.assertRegex(result.stderr, rf"(?m)^  {name} [A-Z]+ ")
            self.assertEqual(len(re.findall(r"\{[^}]+\}", result.stderr)), len(names))
            self.assertIn("max(length, 60) + 24", result.stderr)


class Dumps(unittest.TestCase):
    """From bytes to words."""

    def show(self, data, *flags):
        with tempfile.NamedTemporaryFile() as file:
            file.write(data)
            file.flush()
            return run_tc([*flags, "monitor", "file", file.name])

    def qdisc(self, options):
        return message(RTM_NEWQDISC, attr(TCA_KIND, b"gap\0") + attr(TCA_OPTIONS, options))

    def cls(self, options):
        return message(RTM_NEWTCLASS, attr(TCA_KIND, b"gap\0") + attr(TCA_OPTIONS, options),
                       0x10000, 0x10010)

    def shown(self, data, want, *flags):
        with self.subTest(want=want):
            result = self.show(data, *flags)
            self.assertEqual(result.stderr, "")
            self.assertEqual(result.stdout, want)
            self.assertEqual(result.returncode, 0)

    def test_qdisc(self):
        # tc prints "refcnt" because the message packed here says 0.
        start = "qdisc gap 1: dev lo root refcnt 0 "
        self.shown(self.qdisc(b""), start + "\n")
        self.shown(self.qdisc(u64(LINK_RATE64, 125000000)), start + "link_rate 1Gbit \n")
        self.shown(self.qdisc(u64(RATE64, 39062500) + attr(1, b"") + attr(99, b"later") +
                              u32(DEFAULT, 0x10010) + u64(LINK_RATE64, 39062500)),
                   start + "rate 312500Kbit default 1:10 link_rate 312500Kbit \n")
        self.shown(self.qdisc(u32(DEFAULT, 0x10)), start + "default :10 \n")
        self.shown(self.qdisc(u32(DEFAULT, 0)), start + "default none \n")

    def test_class(self):
        start = "class gap 1:10 dev lo parent 1: "
        self.shown(self.cls(u64(CLASS_RATE64, 39062500)), start + "rate 312500Kbit \n")
        self.shown(self.cls(u64(CLASS_RATE64, 39062500) + u64(CLASS_NEXT_RATE64, UNLIMITED)),
                   start + "rate 312500Kbit next_rate unlimited \n")
        self.shown(self.cls(u64(CLASS_RATE64, UNLIMITED) + u64(CLASS_NEXT_RATE64, 10**12)),
                   start + "rate unlimited next_rate 8Tbit \n")

    def test_rates_in_units_of_1024(self):
        self.shown(self.cls(u64(CLASS_RATE64, 2**27)),
                   "class gap 1:10 dev lo parent 1: rate 1Gibit \n", "-iec")

    def test_dumps_cut_off(self):
        cut = [u64(2, 1)[:-1], u64(2, 1) + b"\1", attr(2, b"1234"), b"\3\0\2\0"]
        messages = [self.qdisc(options) for options in cut] + [self.cls(options) for options in cut]
        messages.append(self.qdisc(u64(DEFAULT, 1)))
        messages.append(self.cls(u32(CLASS_NEXT_RATE64, 1)))
        for data in messages:
            with self.subTest(data=data):
                result = self.show(data)
                self.assertEqual(result.stderr, "[gap: the kernel's options cannot be read]")

    def statistics(self, kind, app):
        basic = attr(TCA_STATS_BASIC, struct.pack("=QII", 1000, 10, 0))
        stats = attr(TCA_STATS2, basic + attr(TCA_STATS_APP, app))
        return message(kind, attr(TCA_KIND, b"gap\0") + attr(TCA_OPTIONS, b"") + stats,
                       0xFFFFFFFF if kind == RTM_NEWQDISC else 0x10000,
                       0x10000 if kind == RTM_NEWQDISC else 0x10010)

    QDISC_APP = struct.pack("=II7Q", 0, 0, 1, 2, 3, 4, 5, 6, 7)
    CLASS_APP = struct.pack("=II4QII", 1, 0, 11, 12, 13, 14, 15, 0)
    QDISC_TEXT = ("  wire 1 bytes gaps 2 (3 bytes, failed 4)\n"
                  "  direct 5 pkt (6 bytes) gso_split 7\n")
    CLASS_TEXT = ("  wire 11 bytes late_max 12 bytes credit_lost 13 bytes\n"
                  "  acks_first 14 destinations 15\n")

    def test_statistics(self):
        for kind, app, want in ((RTM_NEWQDISC, self.QDISC_APP, self.QDISC_TEXT),
                                (RTM_NEWTCLASS, self.CLASS_APP, self.CLASS_TEXT)):
            result = self.show(self.statistics(kind, app), "-s")
            self.assertEqual(result.stderr, "")
            self.assertIn(" Sent 1000 bytes 10 pkt\n" + want, result.stdout)
            result = self.show(self.statistics(kind, app))
            self.assertNotIn("wire", result.stdout)

    def test_statistics_of_the_older_attribute(self):
        data = message(RTM_NEWQDISC, attr(TCA_KIND, b"gap\0") + attr(TCA_OPTIONS, b"") +
                       attr(TCA_STATS2, b"") + attr(TCA_XSTATS, self.QDISC_APP))
        self.assertIn(self.QDISC_TEXT, self.show(data, "-s").stdout)

    def test_statistics_of_other_kernels(self):
        longer = self.statistics(RTM_NEWQDISC, self.QDISC_APP + b"\xff" * 40)
        self.assertIn(self.QDISC_TEXT, self.show(longer, "-s").stdout)
        shorter = self.statistics(RTM_NEWTCLASS, self.CLASS_APP[:16])
        self.assertIn("  wire 11 bytes late_max 0 bytes credit_lost 0 bytes\n"
                      "  acks_first 0 destinations 0\n", self.show(shorter, "-s").stdout)

    def test_statistics_that_cannot_be_read(self):
        for app, what in ((b"", "statistics"), (b"\0\0\0", "statistics"),
                          (struct.pack("=II", 2, 0), "kind of statistics")):
            result = self.show(self.statistics(RTM_NEWQDISC, app), "-s")
            self.assertEqual(result.stderr, f"[gap: the kernel's {what} cannot be read]")

    def test_garbage(self):
        """Plausible and random bytes in options and statistics; sanitised."""
        rng = random.Random(20261121)
        data = b""
        for _ in range(3000):
            options = rng.randbytes(rng.randrange(48))
            if rng.random() < 0.7:
                options = b"".join(
                    attr(rng.randrange(7), rng.randbytes(rng.choice((0, 4, 8, 8, 8, 12))))
                    for _ in range(rng.randrange(5)))
                options = options[:len(options) - rng.choice((0, 0, 0, 1, 5))]
            kind = rng.choice((RTM_NEWQDISC, RTM_NEWTCLASS))
            app = rng.randbytes(rng.randrange(4, 80))
            if rng.random() < 0.5:
                app = struct.pack("=I", rng.randrange(3)) + app
            app = app[:rng.randrange(len(app) + 1)]
            data += message(kind, attr(TCA_KIND, b"gap\0") + attr(TCA_OPTIONS, options) +
                            attr(TCA_STATS2, attr(TCA_STATS_APP, app)))
        result = self.show(data, "-s")
        self.assertEqual(result.returncode, 0, result.stderr)
        # Both ends were reached often, and nothing else was said.
        self.assertGreater(result.stderr.count("options cannot be read"), 300)
        self.assertGreater(result.stdout.count("rate "), 100)
        rest = re.sub(r"\[gap: the kernel's (options|statistics|kind of statistics) "
                      r"cannot be read\]", "", result.stderr)
        self.assertEqual(rest, "")


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
