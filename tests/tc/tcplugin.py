# SPDX-License-Identifier: Apache-2.0
"""The installed tc with the plugin under test, for q_gap*_test.py.

The plugin is built with the address and undefined-behaviour sanitisers.

usage: q_gap*_test.py TC CHECKED_PLUGIN_DIR PLUGIN CAPTURE_LIBRARY JSON_LIBRARY ASAN_LIBRARY
"""

import os
import subprocess
import sys

TC, CHECKED_DIR, PLUGIN, CAPTURE, JSON, ASAN = sys.argv[1:7]


def run_tc(args, preload, capture_file="/dev/null"):
    env = dict(
        os.environ,
        TC_LIB_DIR=CHECKED_DIR,
        LD_PRELOAD=f"{ASAN}:{preload}",
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
