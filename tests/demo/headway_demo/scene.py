# SPDX-License-Identifier: Apache-2.0
"""The scenes, and the least time an all-to-all can take in them."""

from dataclasses import asdict, dataclass

# Ethernet, TCP over IPv4 with time stamps: a full frame carries 1448 bytes and
# holds the wire for 1514 + FCS 4 + preamble 8 + inter-frame gap 12.
SEGMENT_BYTES = 1448
FRAME_WIRE_BYTES = 1538
# Delayed acknowledgements of the data of the other direction share every wire: one
# minimal frame of 84 + 12 bytes of options for two full frames, 3.1 %, of which
# those that travel with data are free.
ACKNOWLEDGED = 1.03
KIB = 1024
MBIT, GBIT = 10 ** 6, 10 ** 9


@dataclass(frozen=True)
class Scene:
    name: str
    title: str
    nodes_per_cluster: int
    host_rate_bps: int
    trunk_rate_bps: int
    trunk_delay_us: int
    port_buffer_bytes: int
    trunk_buffer_bytes: int
    # How many times faster the guest's one processor looks (vm-run --faster).  It does the
    # work of all nodes, one after the other, so that at the start of an exchange the last
    # node sends when all others have handed over their messages: 100 us late with eight nodes
    # at 50, a twentieth of an exchange of 16 KiB.  Hence more for a scene with more nodes.
    factor: int

    @property
    def nodes(self):
        return 2 * self.nodes_per_cluster

    @property
    def oversubscription(self):
        return self.nodes_per_cluster * self.host_rate_bps / self.trunk_rate_bps

    def facts(self):
        return asdict(self) | {"nodes": self.nodes}


RACK = Scene(
    name="rack",
    title="4 + 4 nodes at 1 Gbit/s, ample buffers",
    nodes_per_cluster=4,
    host_rate_bps=GBIT,
    trunk_rate_bps=1250 * MBIT,
    trunk_delay_us=100,
    port_buffer_bytes=32 * KIB,
    trunk_buffer_bytes=64 * KIB,
    factor=100,
)

SHALLOW = Scene(
    name="shallow",
    title="8 + 8 nodes at 1 Gbit/s, shallow buffers",
    nodes_per_cluster=8,
    host_rate_bps=GBIT,
    trunk_rate_bps=2500 * MBIT,
    trunk_delay_us=100,
    port_buffer_bytes=16 * KIB,
    trunk_buffer_bytes=32 * KIB,
    factor=200,
)

# The switch is an Arista 7124SX (24 ports of 10 Gbit/s; Intel's FM4000): of its 2 MB
# of shared memory 1.7 MB hold packets, says Arista, which is 72 KiB for each port.
# One port alone may take more of it; in an all-to-all all of them ask at once.
# Source: its data sheet, and the collection of switch buffers that J. Warner keeps at
# people.ucsc.edu/~warner/buffer.html.
TEN = Scene(
    name="ten",
    title="4 + 4 nodes at 10 Gbit/s, a port's part of the memory of an Arista 7124SX",
    nodes_per_cluster=4,
    host_rate_bps=10 * GBIT,
    trunk_rate_bps=12500 * MBIT,
    trunk_delay_us=5,
    port_buffer_bytes=72 * KIB,
    trunk_buffer_bytes=72 * KIB,
    factor=500,
)

SITES = Scene(
    name="sites",
    title="4 + 4 nodes at 1 Gbit/s, two sites 10 ms apart",
    nodes_per_cluster=4,
    host_rate_bps=GBIT,
    trunk_rate_bps=GBIT,
    trunk_delay_us=10_000,
    port_buffer_bytes=64 * KIB,
    trunk_buffer_bytes=128 * KIB,
    factor=50,
)

SCENES = {scene.name: scene for scene in (RACK, SHALLOW, TEN, SITES)}

BOUND_FORMULA = (
    "messages that must cross the slowest link x bytes per message "
    f"x {FRAME_WIRE_BYTES}/{SEGMENT_BYTES} / link rate; "
    "trunk, one way: (nodes/2)^2 messages; host link: nodes - 1 messages"
)
FLOOR_FORMULA = (
    f"{ACKNOWLEDGED} x bound + delay of the trunk "
    f"+ the time of one full frame ({FRAME_WIRE_BYTES} bytes) on a host link and of one on the trunk"
)


def wire_ms(messages, message_bytes, rate_bps):
    """Time on the wire of the data frames alone, headers and gaps included."""
    payload = messages * message_bytes
    return payload * FRAME_WIRE_BYTES / SEGMENT_BYTES * 8 / rate_bps * 1e3


def bound(scene, message_bytes):
    """(milliseconds, name of the link that sets them): data frames only."""
    links = {
        "trunk": wire_ms(scene.nodes_per_cluster ** 2, message_bytes, scene.trunk_rate_bps),
        "host link": wire_ms(scene.nodes - 1, message_bytes, scene.host_rate_bps),
    }
    limit = max(links, key=links.get)
    return links[limit], limit


def frame_ms(rate_bps):
    return FRAME_WIRE_BYTES * 8 / rate_bps * 1e3


def floor_ms(scene, message_bytes):
    """No exchange can be faster than this: the acknowledgements, the way of the last frame."""
    return (ACKNOWLEDGED * bound(scene, message_bytes)[0] + scene.trunk_delay_us / 1e3
            + frame_ms(scene.host_rate_bps) + frame_ms(scene.trunk_rate_bps))
