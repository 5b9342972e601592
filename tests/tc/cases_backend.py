# SPDX-License-Identifier: Apache-2.0
"""Back ends, and why one is used, as tc sets and shows them."""

from ktap import case, equal
from tcguest import (DEV, SLOW, SLOW_SPEED, SPEED, SPEEDLESS, add_gap, matches, note, options,
                     paced_by, refused, sh, tc)

NOT_VIRTUAL = "a gap frame takes no time on a virtual device"
ETHERNET = "gap frames need an Ethernet device"


@case
def backend_is_what_was_asked_for():
    add_gap(dev=SLOW)
    equal(paced_by(SLOW), ("timer", "asked"))
    tc(f"qdisc change dev {SLOW} root gap backend gap")
    equal(paced_by(SLOW), ("gap", "asked"))
    tc(f"qdisc change dev {SLOW} root gap backend timer")
    equal(paced_by(SLOW), ("timer", "asked"))


@case
def backend_without_carrier():
    add_gap("backend gap", dev=SLOW)
    sh("ip", "link", "set", f"{SLOW}p", "down")
    try:
        equal(paced_by(SLOW), ("gap", "asked"))
        equal(options(SLOW)["link_rate"], SLOW_SPEED)
    finally:
        sh("ip", "link", "set", f"{SLOW}p", "up")


@case
def backend_on_a_device_of_unknown_speed():
    add_gap(dev=SPEEDLESS)
    equal("link_rate" in options(SPEEDLESS), False)
    refused(SPEEDLESS, f"qdisc change dev {SPEEDLESS} root gap backend gap",
            "the device does not report its speed; give the link rate with rate")
    tc(f"qdisc change dev {SPEEDLESS} root gap rate 1gbit backend gap")
    equal(options(SPEEDLESS)["link_rate"], SPEED)
    equal(paced_by(SPEEDLESS), ("gap", "asked"))


@case
def backend_elsewhere_than_at_the_root():
    tc(f"qdisc add dev {DEV} root handle 1: htb")
    tc(f"class add dev {DEV} parent 1: classid 1:1 htb rate 10mbit")
    tc(f"qdisc add dev {DEV} parent 1:1 handle 2: gap rate 1mbit")
    matches(tc(f"qdisc show dev {DEV}"), r"\nqdisc gap 2: parent 1:1 .*backend_used timer \n")
    refused(DEV, f"qdisc change dev {DEV} parent 1:1 handle 2: gap backend gap",
            "they work in the root qdisc only")


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
    equal(paced_by(dev), ("timer", "asked"))
    refused(dev, f"qdisc change dev {dev} root gap backend gap", sentence)
    tc(f"qdisc del dev {dev} root")


@case
def backend_on_virtual_devices():
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
def backend_on_tap_tun_and_loopback():
    for mode, sentence in (("tap", NOT_VIRTUAL), ("tun", ETHERNET)):
        note(mode)
        sh("ip", "tuntap", "add", "dev", "virtual0", "mode", mode)
        try:
            check_virtual("virtual0", sentence)
        finally:
            sh("ip", "link", "del", "virtual0")
    check_virtual("lo", ETHERNET)
