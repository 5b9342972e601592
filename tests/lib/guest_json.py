# SPDX-License-Identifier: Apache-2.0
"""Guests that print a JSON object for each result."""

import json
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


class GuestFailed(Exception):
    """A guest failed; the sentence says how."""


def guest_objects(options, command):
    """Yields the objects that a guest of vm-run with virtual time and without devices prints, as
    they come.  It shows other lines, and raises GuestFailed at the end if the guest fails."""
    process = subprocess.Popen(
        [ROOT / "tests/vm/vm-run", "--icount", "1", "--initrd-only",
         *options, "--", *command],
        stdout=subprocess.PIPE, text=True)
    for line in process.stdout:
        if line.startswith("{"):
            yield json.loads(line)
        else:
            print("# " + line, end="", flush=True)
    if process.wait():
        raise GuestFailed(f"the guest ended with status {process.returncode}")
