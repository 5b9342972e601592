# SPDX-License-Identifier: Apache-2.0
"""The two scenes, and the least time an all-to-all can take in them."""

from dataclasses import asdict, dataclass

# Ethernet, TCP over IPv4 with time stamps: a full frame carries 1448 bytes and
# holds the wire for 1514 + FCS 4 + preamble 8 + inter-frame gap 12.
SEGMENT_BYTES = 1448
FRAME_WIRE_BYTES = 1538


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
    sizes: tuple  # bytes per pair of ranks

    @property
    def nodes(self):
        return 2 * self.nodes_per_cluster

    @property
    def oversubscription(self):
        return self.nodes_per_cluster * self.host_rate_bps / self.trunk_rate_bps

    def facts(self):
        return asdict(self) | {"nodes": self.nodes}


AMPLE = Scene(
    name="ample",
    title="4 + 4 nodes, ample buffers",
    nodes_per_cluster=4,
    host_rate_bps=20_000_000,
    trunk_rate_bps=25_000_000,
    trunk_delay_us=100,
    port_buffer_bytes=32 * 1024,
    trunk_buffer_bytes=64 * 1024,
    sizes=(16 * 1024, 64 * 1024, 256 * 1024),
)

SHALLOW = Scene(
    name="shallow",
    title="8 + 8 nodes, shallow buffers",
    nodes_per_cluster=8,
    host_rate_bps=10_000_000,
    trunk_rate_bps=25_000_000,
    trunk_delay_us=100,
    port_buffer_bytes=16 * 1024,
    trunk_buffer_bytes=32 * 1024,
    sizes=(64 * 1024,),
)

SCENES = {scene.name: scene for scene in (AMPLE, SHALLOW)}

BOUND_FORMULA = (
    "messages that must cross the slowest link x bytes per message "
    f"x {FRAME_WIRE_BYTES}/{SEGMENT_BYTES} / link rate; "
    "trunk, one way: (nodes/2)^2 messages; host link: nodes - 1 messages"
)


def wire_ms(messages, message_bytes, rate_bps):
    """Time on the wire of the data frames alone, headers and gaps included."""
    payload = messages * message_bytes
    return payload * FRAME_WIRE_BYTES / SEGMENT_BYTES * 8 / rate_bps * 1e3


def bound(scene, message_bytes):
    """(milliseconds, name of the link that sets them).

    Data frames only: acknowledgements of the other direction's data share the
    trunk and cost at least 3.1 % more when traffic is equal both ways.
    """
    links = {
        "trunk": wire_ms(scene.nodes_per_cluster ** 2, message_bytes, scene.trunk_rate_bps),
        "host link": wire_ms(scene.nodes - 1, message_bytes, scene.host_rate_bps),
    }
    limit = max(links, key=links.get)
    return links[limit], limit
