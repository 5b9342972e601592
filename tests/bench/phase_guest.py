# SPDX-License-Identifier: Apache-2.0
"""Runs in the guest: headwayd with phases, and what measures it; JSON lines."""

import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["HW_ROOT"], "tests/daemon"))
from guestdaemon import BIN, DEV, EVERYBODY, SOCKET, Daemon, config, make_device  # noqa: E402
from tcguest import options  # noqa: E402


def main():
    make_device()
    daemon = Daemon(config(phases='phases = "auto"', gap_frames='gap_frames = "auto"'))
    print(json.dumps({"backend": options(DEV)["backend_used"]}), flush=True)
    subprocess.run([f"{BIN}/phase_bench", DEV, SOCKET, "1:11", "10.2.0.1", *EVERYBODY], check=True)
    daemon.stop()
    subprocess.run([f"{BIN}/phase_classifier_test", f"{BIN}/class_of.bpf.o",
                    "--gtest_filter=*.Cost*"], check=True)


if __name__ == "__main__":
    main()
