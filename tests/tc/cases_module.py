# SPDX-License-Identifier: Apache-2.0
"""The module's life; tc without the plugin; the man page's examples."""

import os
import re

from ktap import case, equal
from tcguest import (DEV, ENVIRONMENT, MODULES, add_gap, classes, fresh_devices, loaded, matches,
                     note, root_qdisc, run, sh, tc)

PHASE_PROGRAM = os.path.join(os.environ["HW_BUILD"], "bin/phase_of_port.bpf.o")


@case
def module_is_loaded_by_the_first_use():
    run("rmmod", "sch_gap")
    equal(loaded(), False)
    folder = f"/lib/modules/{os.uname().release}"
    # The kernel calls modprobe by itself: give it a folder with this module only.
    sh("mount", "-t", "tmpfs", "tmpfs", folder)
    try:
        sh("cp", f"{MODULES}/sch_gap.ko", folder)
        run("depmod", "-a")
        add_gap()
        equal(loaded(), True)
    finally:
        sh("umount", folder)


@case
def tc_without_the_plugin_adds_and_deletes():
    env = dict(ENVIRONMENT, TC_LIB_DIR="/nonexistent")
    result = run("tc", "qdisc", "add", "dev", DEV, "root", "handle", "1:", "gap", env=env)
    equal((result.returncode, result.stderr), (0, ""))
    equal(root_qdisc(DEV)["kind"], "gap")
    result = run("tc", "qdisc", "change", "dev", DEV, "root", "gap", "rate", "1mbit", env=env)
    equal(result.returncode, 1)
    matches(result.stderr, "Unknown qdisc")
    result = run("tc", "qdisc", "show", "dev", DEV, env=env)
    matches(result.stdout, r"^qdisc gap 1: root ")
    result = run("tc", "qdisc", "del", "dev", DEV, "root", env=env)
    equal((result.returncode, result.stderr), (0, ""))


def manual_examples():
    """The commands of tc-gap(8), one list for each section of EXAMPLES."""
    with open(os.path.join(os.environ["HW_ROOT"], "tc-plugin", "tc-gap.8")) as page:
        text = page.read().split(".SH EXAMPLES", 1)[1].split(".SH ", 1)[0]
    for section in text.split(".SS ")[1:]:
        title = section.split("\n", 1)[0]
        lines = "".join(re.findall(r"^\.EX\n(.*?)^\.EE$", section, re.M | re.S))
        yield title, lines.replace("\\e\n", " ").replace("\\-", "-").splitlines()


def check_two_clusters():
    """How the example leaves the device before it is undone."""
    equal({name: shown["rate"] for name, shown in classes(DEV).items()},
          {"1:1": "unlimited", "1:2": "unlimited"})
    filters = tc(f"filter show dev {DEV}")
    equal(filters.count("flowid 1:2") + filters.count("classid 1:2"), 2)


@case
def manual_examples_work():
    count = 0
    for title, commands in manual_examples():
        note(title)
        fresh_devices()
        for command in commands:
            if command.startswith("headway selftest "):
                note("left to tests/daemon: headway selftest")
                continue
            equal(command.split()[0], "tc")
            if title.startswith("Two clusters") and "qdisc del" in command:
                check_two_clusters()
            tc(command[3:].replace("phase.o classid 1:0", f"{PHASE_PROGRAM} section tc classid 1:0"))
            count += 1
    equal(count > 20, True)
