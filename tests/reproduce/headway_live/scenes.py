# SPDX-License-Identifier: Apache-2.0
"""The networks of the experiments: the demo's, and one without a trunk that limits."""

import sys
from dataclasses import replace
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2] / "demo"))
from headway_demo.scene import FRAME_WIRE_BYTES, GBIT, KIB, RACK, SEGMENT_BYTES, SHALLOW  # noqa: E402

# Two switches whose trunk carries all that their hosts can send, without a delay of its own, and
# never has to queue more than a frame of each: to TCP one switch.
SWITCH = replace(SHALLOW, name="switch", title="16 nodes at 1 Gbit/s on what is one switch to them", trunk_rate_bps=8 * GBIT,
                 trunk_delay_us=0, port_buffer_bytes=32 * KIB, trunk_buffer_bytes=256 * KIB)

__all__ = ["FRAME_WIRE_BYTES", "RACK", "SEGMENT_BYTES", "SWITCH", "hosts_of"]


def hosts_of(scene, of_each=None):
    """Names of all hosts, or of the first so many of each cluster."""
    return [f"{cluster}{i}" for cluster in "ab" for i in range(of_each or scene.nodes_per_cluster)]
