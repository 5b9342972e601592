# SPDX-License-Identifier: Apache-2.0
"""The qdisc's options as tc sets and shows them."""

import errno

from gapnl import (BACKEND, BACKEND_USED, DEFAULT, LIMIT, LINK_RATE64, RATE64, REASON,
                   RTM_NEWQDISC, UNUSED, attr, u32, u64)
from ktap import case, equal
from tcguest import (ADD, CHANGE, DEFAULTS, DEV, HANDLE, ROOT, SPEED, add_gap, classes, given,
                     matches, netlink_refused, note, options, refused, root_qdisc, tc)


# How each option can be given, and what JSON and text show of it.
OPTIONS = (
    ("rate 312.5mbit", {"rate": 39062500}, "rate 312500Kbit "),
    ("default 1:10", {"default": "1:10"}, "default 1:10 "),
    ("backend timer", {"backend": "timer"}, "backend timer "),
    ("backend gap", {"backend": "gap"}, "backend gap "),
    ("limit 77", {"limit": 77}, "limit 77 "),
)


@case
def qdisc_without_options_has_the_defaults():
    add_gap()
    shown = root_qdisc(DEV)
    equal((shown["kind"], shown["handle"]), ("gap", "1:"))
    equal(given(), DEFAULTS)
    equal(options()["link_rate"], SPEED)
    matches(tc(f"qdisc show dev {DEV}"),
            r"^qdisc gap 1: root refcnt \d+ backend timer limit 10000 link_rate 1Gbit "
            r"backend_used timer \n$")


@case
def qdisc_without_a_handle_gets_one():
    tc(f"qdisc add dev {DEV} root gap")
    matches(root_qdisc(DEV)["handle"], r"^8[0-9a-f]{3}:$")


@case
def qdisc_options_alone_on_add():
    for words, json, text in OPTIONS:
        note(words)
        add_gap(words)
        equal(given(), DEFAULTS | json)
        matches(tc(f"qdisc show dev {DEV}"), rf" {text}")
        tc(f"qdisc del dev {DEV} root")


@case
def qdisc_options_one_after_the_other_on_change():
    want = dict(DEFAULTS)
    add_gap()
    for words, json, text in OPTIONS:
        note(words)
        tc(f"qdisc change dev {DEV} root gap {words}")
        want |= json
        equal(given(), want)
        matches(tc(f"qdisc show dev {DEV}"), rf" {text}")
    tc(f"qdisc change dev {DEV} root gap")
    equal(given(), want)
    tc(f"qdisc change dev {DEV} root gap default none")
    del want["default"]
    equal(given(), want)


@case
def qdisc_options_as_shown_can_be_given_again():
    add_gap("rate 312.5mbit default 1:1f backend gap limit 5")
    before = given()
    equal(len(before), 4)
    words = tc(f"qdisc show dev {DEV}").split(" link_rate ")[0].split()
    equal(words[:6], ["qdisc", "gap", "1:", "root", "refcnt", words[5]])
    tc(f"qdisc del dev {DEV} root")
    add_gap(" ".join(words[6:]))
    equal(given(), before)


@case
def qdisc_json_is_the_same_however_it_is_asked_for():
    add_gap("backend timer")
    equal(root_qdisc(DEV, "-p"), root_qdisc(DEV))
    equal(root_qdisc(DEV, "-d"), root_qdisc(DEV))
    equal(root_qdisc(DEV, "-s")["options"], options())


@case
def qdisc_default_without_its_major_number():
    for text in ("10", ":10"):
        add_gap(f"default {text}")
        equal(given()["default"], "1:10")
        tc(f"qdisc del dev {DEV} root")


@case
def qdisc_rate_may_exceed_the_speed_that_the_device_reports():
    add_gap("rate 1600gbit")
    equal((options()["rate"], options()["link_rate"]), (2 * 10**11, 2 * 10**11))
    matches(tc(f"qdisc show dev {DEV}"), r" rate 1600Gbit .* link_rate 1600Gbit ")
    tc(f"qdisc change dev {DEV} root gap rate 8bit")
    equal((options()["rate"], options()["link_rate"]), (1, 1))


@case
def qdisc_replace_makes_changes_and_replaces():
    tc(f"qdisc replace dev {DEV} root handle 1: gap rate 100mbit")
    tc(f"class add dev {DEV} parent 1: classid 1:10 gap rate 10mbit")
    tc(f"qdisc replace dev {DEV} root handle 1: gap default 1:10")
    equal(given(), DEFAULTS | {"rate": 12500000, "default": "1:10"})
    equal(list(classes(DEV)), ["1:10"])
    tc(f"qdisc replace dev {DEV} root handle 2: gap")
    equal(root_qdisc(DEV)["handle"], "2:")
    equal(classes(DEV), {})
    tc(f"qdisc replace dev {DEV} root handle 3: pfifo limit 9")
    equal(root_qdisc(DEV)["kind"], "pfifo")
    tc(f"qdisc replace dev {DEV} root handle 1: gap")
    equal(root_qdisc(DEV)["kind"], "gap")


@case
def qdisc_del_brings_the_usual_one_back():
    before = root_qdisc(DEV)["kind"]
    add_gap()
    tc(f"qdisc del dev {DEV} root")
    equal(root_qdisc(DEV)["kind"], before)


@case
def qdisc_add_twice_is_refused():
    add_gap("rate 1mbit")
    refused(DEV, f"qdisc add dev {DEV} root handle 1: gap rate 2mbit", "Exclusivity flag on")


@case
def qdisc_change_of_none_is_refused():
    refused(DEV, f"qdisc change dev {DEV} root gap rate 1mbit", "Qdisc not found|No such file")


@case
def qdisc_mistakes_stop_in_the_plugin():
    add_gap("rate 1mbit")
    refused(DEV, f"qdisc change dev {DEV} root gap rate fast default 1:",
            r'^gap: rate "fast": not a rate', status=1)


@case
def qdisc_default_of_another_qdisc_is_refused():
    sentence = "the default class belongs to another qdisc"
    refused(DEV, f"qdisc add dev {DEV} root handle 1: gap default 2:10", sentence)
    add_gap("default 1:10")
    refused(DEV, f"qdisc change dev {DEV} root gap rate 1mbit default 2:10", sentence)


@case
def qdisc_requests_that_tc_never_sends_are_refused():
    number = "integer out of range"
    for attributes, error, sentence in (
            (u64(RATE64, 0), errno.ERANGE, number),
            (u64(RATE64, 2 * 10**11 + 1), errno.ERANGE, number),
            (u64(RATE64, 2**64 - 1), errno.ERANGE, number),
            (u32(BACKEND, 2), errno.ERANGE, number),
            (u32(UNUSED, 0), errno.EINVAL, "[Aa]ttribute"),
            (u32(LIMIT, 0), errno.ERANGE, number),
            (u32(LIMIT, 1), errno.ERANGE, number),
            (attr(RATE64, b"1234"), errno.EINVAL, "[Aa]ttribute"),
            (attr(DEFAULT, b"12"), errno.EINVAL, "[Aa]ttribute"),
            (u64(BACKEND, 1), errno.EINVAL, "[Aa]ttribute"),
            (attr(77, b"1234"), errno.EINVAL, "[Aa]ttribute"),
            (b"\x02\0\x02\0", errno.EINVAL, "")):
        note(attributes.hex())
        netlink_refused(DEV, (RTM_NEWQDISC, ADD, HANDLE, ROOT, attributes), error, sentence)
    add_gap("rate 1mbit")
    netlink_refused(DEV, (RTM_NEWQDISC, CHANGE, HANDLE, ROOT,
                          u64(RATE64, 1000) + u32(DEFAULT, 0x00020001)),
                    errno.EINVAL, "the default class belongs to another qdisc")


@case
def qdisc_attributes_of_dumps_are_refused():
    for attribute in (u32(BACKEND_USED, 1), u32(REASON, 1), u64(LINK_RATE64, 1)):
        netlink_refused(DEV, (RTM_NEWQDISC, ADD, HANDLE, ROOT, attribute),
                        errno.EINVAL, "[Aa]ttribute")
