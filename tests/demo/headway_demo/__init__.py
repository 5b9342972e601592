# SPDX-License-Identifier: Apache-2.0
"""The demo: an MPI all-to-all across two clusters, without and with Headway.

On the host:  driver, guest_run, progress      run guests, show what happens
Pure:         scene, schedule, samples,        decide, count, judge; no I/O
              trace, result, verdict, table
Report:       svg, charts, page                demo.json and traces to HTML
In the guest: the package `guest`              networks, contenders, mpiruns
"""
