# SPDX-License-Identifier: Apache-2.0
"""Back ends, verdicts and the self-test, as tc sets and shows them."""

import re

from ktap import between, case, equal
from tcguest import (DEV, ICOUNT, SLOW, SLOW_SPEED, SPEED, SPEEDLESS, add_gap, eventually,
                     expect_verdict, given, matches, note, options, refused, renegotiate,
                     root_qdisc, sh, simwire, tc, verdict)

NOT_VIRTUAL = "a gap frame takes no time on a virtual device"
ETHERNET = "gap frames need an Ethernet device"


def selftests():
    return root_qdisc(SLOW, "-s")["selftests"]


@case
def selftest_chooses_gap_frames_and_shows_its_evidence():
    add_gap(dev=SLOW)
    expect_verdict(("gap", "passed"))
    shown = options(SLOW)["selftest"]
    equal(sorted(shown), ["counted", "expected_ns", "frames", "took_ns"])
    equal(shown["counted"], shown["frames"])
    # 16 frames of the longest kind and 16 of the shortest
    equal((shown["frames"], shown["expected_ns"]), (32, 16 * (1538 - 84) * 10**9 // SLOW_SPEED))
    between(0.7, shown["took_ns"] / shown["expected_ns"], 2)
    evidence = (rf"\n  selftest frames {shown['frames']} expected_ns {shown['expected_ns']} "
                rf"took_ns {shown['took_ns']} counted {shown['counted']}\n")
    for flag in ("-d", "-s"):
        matches(tc(f"{flag} qdisc show dev {SLOW}"), evidence)
    equal("selftest" in tc(f"qdisc show dev {SLOW}"), False)


@case
def selftest_without_a_counter_of_the_port():
    simwire(SLOW, "pause_stats", 0)
    try:
        add_gap(dev=SLOW)
        expect_verdict(("gap", "passed"))
        equal(sorted(options(SLOW)["selftest"]), ["expected_ns", "frames", "took_ns"])
    finally:
        simwire(SLOW, "pause_stats", 1)


@case
def selftest_on_request():
    add_gap(dev=SLOW)
    verdict(SLOW)
    equal(selftests(), 1)
    tc(f"qdisc change dev {SLOW} root gap")
    equal(selftests(), 1)
    before = given(SLOW)
    tc(f"qdisc change dev {SLOW} root gap selftest")
    equal(selftests(), 2)
    equal(given(SLOW), before)
    expect_verdict(("gap", "passed"))


@case
def verdict_is_the_sentence_of_the_log():
    add_gap(dev=SLOW)
    expect_verdict(("gap", "passed"))
    sentence = re.search(r" verdict passed \((.*)\) ", tc(f"qdisc show dev {SLOW}"))[1]
    told = [line for line in sh("dmesg").splitlines() if f"{SLOW}: gap 1: " in line]
    matches(told[-1], rf"gap 1: paced by gap frames: {re.escape(sentence)} \(")


@case
def verdict_when_the_device_drops_pause_frames():
    simwire(SLOW, "drop_mac_control", 1)
    try:
        add_gap(dev=SLOW)
        expect_verdict(("timer", "lost"))
        tc(f"qdisc change dev {SLOW} root gap frame void")
        expect_verdict(("gap", "passed"))
        tc(f"qdisc change dev {SLOW} root gap frame pause")
        expect_verdict(("timer", "lost"))
    finally:
        simwire(SLOW, "drop_mac_control", 0)


@case
def verdict_with_short_frames_alone():
    speed = SLOW_SPEED if ICOUNT else SLOW_SPEED // 20  # a debug kernel cannot send 30 000 a second
    renegotiate(SLOW, speed)
    try:
        add_gap("frame-max 60", dev=SLOW)
        expect_verdict(("gap", "passed"))
        equal(options(SLOW)["selftest"]["expected_ns"] % ((60 + 24) * 10**9 // speed), 0)
    finally:
        renegotiate(SLOW, SLOW_SPEED)


@case
def verdict_when_the_link_rate_is_wrong():
    add_gap("rate 40mbit", dev=SLOW)
    expect_verdict(("timer", "slow"))
    tc(f"qdisc change dev {SLOW} root gap rate 10mbit")
    expect_verdict(("timer", "lost"))


@case
def verdict_when_the_administrator_knows():
    add_gap("backend gap", dev=SLOW)
    expect_verdict(("gap", "asked"))
    tc(f"qdisc change dev {SLOW} root gap backend timer")
    expect_verdict(("timer", "asked"))
    tc(f"qdisc change dev {SLOW} root gap backend auto")
    expect_verdict(("gap", "passed"))


@case
def verdict_without_carrier():
    add_gap(dev=SLOW)
    sh("ip", "link", "set", f"{SLOW}p", "down")
    try:    # the kernel tells of carrier once a second at most
        eventually(lambda: options(SLOW)["verdict"] == "no_carrier", "the loss of carrier")
        expect_verdict(("timer", "no_carrier"))
        equal(options(SLOW)["link_rate"], SLOW_SPEED)
    finally:
        sh("ip", "link", "set", f"{SLOW}p", "up")
    eventually(lambda: options(SLOW)["verdict"] != "no_carrier", "carrier")
    expect_verdict(("gap", "passed"))


@case
def verdict_on_a_device_of_unknown_speed():
    add_gap(dev=SPEEDLESS)
    expect_verdict(("timer", "no_speed"), SPEEDLESS)
    equal("link_rate" in options(SPEEDLESS), False)
    refused(SPEEDLESS, f"qdisc change dev {SPEEDLESS} root gap backend gap",
            "the device does not report its speed; give the link rate with rate")
    tc(f"qdisc change dev {SPEEDLESS} root gap rate 1gbit")
    equal(options(SPEEDLESS)["link_rate"], SPEED)
    equal(options(SPEEDLESS)["verdict"] == "no_speed", False)


@case
def verdict_elsewhere_than_at_the_root():
    tc(f"qdisc add dev {DEV} root handle 1: htb")
    tc(f"class add dev {DEV} parent 1: classid 1:1 htb rate 10mbit")
    tc(f"qdisc add dev {DEV} parent 1:1 handle 2: gap rate 1mbit")
    matches(tc(f"qdisc show dev {DEV}"),
            r"\nqdisc gap 2: parent 1:1 .*backend_used timer verdict not_root \(")
    refused(DEV, f"qdisc change dev {DEV} parent 1:1 handle 2: gap backend gap",
            "the gap back end works in the root qdisc only")


VIRTUAL = {
    "veth": ("type", "veth", "peer", "name", "virtual1"),
    "bond": ("type", "bond"),
    "team": ("type", "team"),
    "vlan": ("link", DEV, "type", "vlan", "id", "5"),
    "macvlan": ("link", DEV, "type", "macvlan"),
    "dummy": ("type", "dummy"),
    "ifb": ("type", "ifb"),
    "bridge": ("type", "bridge"),
}


def check_virtual(dev, sentence):
    refused(dev, f"qdisc add dev {dev} root gap rate 1gbit backend gap", sentence)
    add_gap("rate 1gbit", dev)
    sh("ip", "link", "set", dev, "up")
    expect_verdict(("timer", "virtual"), dev)
    refused(dev, f"qdisc change dev {dev} root gap backend gap", sentence)
    tc(f"qdisc del dev {dev} root")


@case
def verdict_on_virtual_devices():
    for kind, how in VIRTUAL.items():
        note(kind)
        if "link" in how:
            sh("ip", "link", "add", *how[:2], "name", "virtual0", *how[2:])
        else:
            sh("ip", "link", "add", "virtual0", *how)
        try:
            check_virtual("virtual0", NOT_VIRTUAL)
        finally:
            sh("ip", "link", "del", "virtual0")


@case
def verdict_on_tap_tun_and_loopback():
    for mode, sentence in (("tap", NOT_VIRTUAL), ("tun", ETHERNET)):
        note(mode)
        sh("ip", "tuntap", "add", "dev", "virtual0", "mode", mode)
        try:
            check_virtual("virtual0", sentence)
        finally:
            sh("ip", "link", "del", "virtual0")
    check_virtual("lo", ETHERNET)
