# SPDX-License-Identifier: GPL-2.0
"""tdc of the kernel's source tree imports this: it needs to know this here."""
import os

ENVIR = os.environ.copy()   # TC_LIB_DIR: where tc finds its plugin
EXTRA_NAMES = {
    "WIRE": "w0",           # the simwire that gap.json makes
    # Virtual time leaps while a program is read from the host; vm-run has a limit.
    "TIMEOUT": 10**6,
}
