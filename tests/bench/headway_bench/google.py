# SPDX-License-Identifier: Apache-2.0
"""Programs made with Google Benchmark: run, and shown as tables."""
import json
import subprocess
from pathlib import Path

BENCHES = Path(__file__).resolve().parents[3] / "build" / "cmake" / "tests" / "bench"


def table(head, rows):
    widths = [max(len(str(row[i])) for row in [head] + rows) for i in range(len(head))]
    line = "  ".join("=" * width for width in widths)
    for row in [None, head, None] + rows + [None]:
        print(line if row is None else
              "  ".join(str(cell).ljust(width) for cell, width in zip(row, widths)).rstrip())
    print(flush=True)


def runs(name, min_time, keep="."):
    """Returns what Google Benchmark says of each; fails if one of them did."""
    out = subprocess.run([BENCHES / name, "--benchmark_format=json", f"--benchmark_filter={keep}",
                          f"--benchmark_min_time={min_time}"],
                         stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True).stdout
    found = [run for run in json.loads(out)["benchmarks"] if run["run_type"] == "iteration"]
    for run in found:
        if run.get("error_occurred"):
            raise SystemExit(f"{run['name']}: {run['error_message']}")
    return found


def google(name, min_time, keep="."):
    """[(benchmark, seconds, items per second or None)]"""
    unit = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1}
    return [(run["name"], run["cpu_time"] * unit[run["time_unit"]], run.get("items_per_second"))
            for run in runs(name, min_time, keep)]


def show(title, unit, runs):
    print(title)
    table(["benchmark", "ms", unit],
          [[name.removeprefix("BM_"), f"{seconds * 1e3:.3f}",
            "" if rate is None else f"{rate:,.0f}"] for name, seconds, rate in runs])
