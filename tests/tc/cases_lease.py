# SPDX-License-Identifier: Apache-2.0
"""Rates that expire: fallback, expires, and what refreshes them."""

import errno

from gapnl import (CLASS_EXPIRES_NS, CLASS_FALLBACK64, RTM_NEWTCLASS, attr, u32, u64)
from ktap import case, equal
from tcguest import (ADD, CHANGE, DEV, HANDLE, ICOUNT, add_gap, classes, eventually, netlink,
                     netlink_refused, note, refused, tc)

UNLEASED = {"parent": "root", "rate": "10Mbit"}
LEASED = UNLEASED | {"fallback": "1Mbit", "expires": "60s"}


def shown():
    """The class, and how much time it has left in seconds, None: it does not expire."""
    found = classes(DEV)["1:10"]
    left = found.pop("left", None)
    if left is None:
        return found, None
    for unit, factor in (("ns", 1e-9), ("us", 1e-6), ("ms", 1e-3), ("s", 1)):
        if left.endswith(unit):
            return found, float(left.removesuffix(unit)) * factor
    raise AssertionError(f"no unit in {left}")


def add_class(words):
    add_gap()
    tc(f"class add dev {DEV} parent 1: classid 1:10 gap {words}")


def change(words=""):
    tc(f"class change dev {DEV} classid 1:10 gap {words}")


@case
def lease_is_shown_as_given():
    add_class("rate 10mbit fallback 1mbit expires 60s")
    found, left = shown()
    equal(found, LEASED)
    equal(55 < left <= 60, True)
    change("fallback unlimited")
    equal(shown()[0], LEASED | {"fallback": "unlimited"})
    change("expires 86400s")
    equal(shown()[0], LEASED | {"fallback": "unlimited", "expires": "86400s"})
    change("expires 1.5s fallback 8bit")
    equal(shown()[0], LEASED | {"fallback": "8bit", "expires": "1500ms"})


@case
def lease_as_shown_can_be_given_again():
    add_class("rate 10mbit fallback 1mbit expires 60s")
    words = tc(f"class show dev {DEV}").split(" left ")[0].split(" root ")[1]
    tc(f"class del dev {DEV} classid 1:10")
    tc(f"class add dev {DEV} parent 1: classid 1:10 gap {words}")
    equal(shown()[0], LEASED)


@case
def lease_of_a_class_that_exists():
    add_class("rate 10mbit")
    change("fallback 1mbit expires 60s")
    equal(shown()[0], LEASED)
    change("expires off")
    equal(shown(), (UNLEASED, None))
    tc(f"class replace dev {DEV} parent 1: classid 1:10 gap fallback 1mbit expires 60s")
    equal(shown()[0], LEASED)


@case
def lease_is_refreshed_by_any_change():
    lapse_s = 1 if ICOUNT else 8    # a debug kernel takes a while to show a class
    add_class("rate 10mbit fallback 1mbit expires 60s")
    for what, refresh in (
            ("without options", change),
            ("without TCA_OPTIONS",
             lambda: equal(netlink(RTM_NEWTCLASS, CHANGE, DEV, HANDLE | 0x10, HANDLE, None),
                           (0, ""))),
            ("with empty TCA_OPTIONS",
             lambda: equal(netlink(RTM_NEWTCLASS, CHANGE, DEV, HANDLE | 0x10, HANDLE, b""),
                           (0, ""))),
            ("of the rate", lambda: change("rate 10mbit"))):
        note(what)
        eventually(lambda: shown()[1] <= 60 - lapse_s, f"{lapse_s} s")
        refresh()
        found, left = shown()
        equal(found, LEASED)
        equal(left > 60.2 - lapse_s, True, left)


@case
def lease_that_expired_ends_with_a_rate():
    add_class("rate 10mbit fallback 1mbit expires 50ms")
    eventually(lambda: shown()[0].get("expired"), "expiry")
    change()
    equal(shown()[0]["expired"], True)
    change("fallback 2mbit expires 60s")
    equal(shown()[0], {"parent": "root", "rate": "2Mbit", "fallback": "2Mbit", "expires": "60s",
                       "expired": True})
    change("rate 10mbit")
    found, left = shown()
    equal(found, LEASED | {"fallback": "2Mbit"})
    equal(55 < left <= 60, True)


@case
def lease_that_expired_can_be_given_up():
    add_class("rate 10mbit fallback 1mbit expires 50ms")
    eventually(lambda: shown()[0].get("expired"), "expiry")
    change("expires off")
    equal(shown(), (UNLEASED | {"rate": "1Mbit"}, None))
    # a new one starts without what was left of the old
    change("rate 10mbit fallback 1mbit expires 60s")
    equal(shown()[0], LEASED)


@case
def lease_refusals():
    add_gap("rate 100mbit")
    tc(f"class add dev {DEV} parent 1: classid 1:10 gap rate 10mbit")
    for command, sentence in (
            ("change classid 1:10 gap fallback 1mbit", "a fallback needs expires"),
            ("change classid 1:10 gap expires 1s", "expires needs fallback"),
            ("replace parent 1: classid 1:20 gap fallback 1mbit", "a fallback needs expires"),
            ("add parent 1: classid 1:20 gap fallback 101mbit expires 1s",
             "the rate exceeds the link rate; to leave packets unpaced use unlimited")):
        note(command)
        verb, rest = command.split(" ", 1)
        refused(DEV, f"class {verb} dev {DEV} {rest}", sentence)
    change("expires off")


@case
def lease_requests_that_tc_never_sends_are_refused():
    add_gap("rate 100mbit")
    tc(f"class add dev {DEV} parent 1: classid 1:10 gap rate 10mbit")
    time = "a rate expires after 1 ms to 1 day, or with 0 never"
    fallback = u64(CLASS_FALLBACK64, 1000)
    for flags, classid in ((CHANGE, HANDLE | 0x10), (ADD, HANDLE | 0x20)):
        for attributes, error, sentence in (
                (fallback + u64(CLASS_EXPIRES_NS, 1), errno.ERANGE, time),
                (fallback + u64(CLASS_EXPIRES_NS, 10**6 - 1), errno.ERANGE, time),
                (fallback + u64(CLASS_EXPIRES_NS, 86400 * 10**9 + 1), errno.ERANGE, "integer out of range"),
                (u64(CLASS_FALLBACK64, 0), errno.ERANGE, "integer out of range"),
                (u64(CLASS_FALLBACK64, 12500001) + u64(CLASS_EXPIRES_NS, 10**9), errno.EINVAL,
                 "the rate exceeds the link rate"),
                (fallback, errno.EINVAL, "a fallback needs expires"),
                (u64(CLASS_EXPIRES_NS, 10**9), errno.EINVAL, "expires needs fallback"),
                (fallback + u32(CLASS_EXPIRES_NS, 1), errno.EINVAL, "[Aa]ttribute"),
                (attr(CLASS_FALLBACK64, b"1234"), errno.EINVAL, "[Aa]ttribute")):
            note(attributes.hex())
            netlink_refused(DEV, (RTM_NEWTCLASS, flags, classid, HANDLE, attributes), error,
                            sentence)
