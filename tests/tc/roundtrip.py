#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The gap qdisc through the installed tc and its plugin, on a real kernel.

Runs in a guest as root; tests/tc/run starts it.  Arguments name the cases to
run, all without any.
"""

import sys

from tcguest import fresh_devices, make_devices
import cases_module     # each adds its cases, in this order
import cases_qdisc
import cases_backend
import cases_class
import cases_lease
import cases_queue
import cases_traffic
from ktap import run_cases

if __name__ == "__main__":
    make_devices()
    sys.exit(run_cases(fresh_devices, sys.argv[1:]))
