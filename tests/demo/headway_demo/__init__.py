# SPDX-License-Identifier: Apache-2.0
"""The demo: an MPI all-to-all across two clusters, without and with Headway.

On the host:  driver, options, guests,         run guests, keep results, show what happens
              guest_run, store, progress
Pure:         scene, contender, plan,          decide, count, judge, tell; no I/O
              samples, trace, result,
              verdict, felt, table
Report:       svg, charts, page                demo.json and traces to HTML
In the guest: the package `demo_guest`         networks, contenders, mpiruns
"""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2] / "lib"))   # wire_records
