# SPDX-License-Identifier: Apache-2.0
"""The demo's part inside the guest: networks, contenders, mpiruns, counters."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2] / "lib"))   # rtnetlink
