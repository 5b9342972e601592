# SPDX-License-Identifier: Apache-2.0
"""Measures the network of most experiments by `headway measure`: the models are given what it
finds."""

from statistics import median

from headway_reproduce.document import Chapter

from .calls import ms
from .scenes import FRAME_WIRE_BYTES, RACK, SEGMENT_BYTES

SCENE = RACK


def spec(_repetitions):
    return {"scene": SCENE.facts(), "measure": True, "jobs": []}


def span(values, form):
    """Least and most, or that one value."""
    low, high = form.format(min(values)), form.format(max(values))
    return low if low == high else f"{low} to {high}"


def chapter(_ask, found, _network):
    document, scene = found.measured, found.scene
    doc = Chapter("The network", f"""
        {scene["title"]}: two switches joined by a trunk.  Models below are given what `headway measure` found here, once; beside it is
        what the emulation was told.""")
    rows = []
    for is_trunk, title, rate, buffer_bytes in ((False, "a host's link, towards it", scene["host_rate_bps"], scene["port_buffer_bytes"]),
                                                (True, "the trunk", scene["trunk_rate_bps"], scene["trunk_buffer_bytes"])):
        links = [link for link in document["links"] if link["is_trunk"] == is_trunk and (is_trunk or link["direction"] == "down")]
        buffers = [link["buffer_bytes"] for link in links if link["buffer_bytes"]]
        rows.append([title, f"{rate / 1e6:g}", span([link["bps"] / 1e6 for link in links], "{:.1f}"), str(buffer_bytes),
                     f"{span(buffers, '{:d}')} ({len(buffers)} of {len(links)} found)"])
    doc.table(["link", "Mbit/s", "measured", "buffer, bytes", "measured"], rows)
    hosts = document["messages"]["hosts"]
    model = next(model for model in document["models"] if model["model"] == "manytoone")
    doc.table(["of messages over TCP", "measured"], [
        ["C_i of the hosts, us", span([host["C"] * 1e6 for host in hosts], "{:.3g}")],
        ["t_i, ns for a byte", span([host["t"] * 1e9 for host in hosts], "{:.2g}")],
        ["rates of paths, MB/s", span([rate * 1e-6 for rate in model["rates"]], "{:.4g}")],
        ["L within a switch, us", f"{1e6 * median(latencies(document, True)):.3g}"],
        ["L over the trunk, us", f"{1e6 * median(latencies(document, False)):.4g}"],
        ["least retransmission time-out seen, ms", ms(1e3 * (document["messages"]["least_retransmission_timeout_s"] or 0))]])
    return doc


def bandwidth_and_buffer(links):
    """Bytes/s of payload and the seconds that a full buffer takes, the medians of links of one kind."""
    rate = median(link["bps"] for link in links) / 8
    delays = [link["buffer_bytes"] / (link["bps"] / 8) for link in links if link["buffer_bytes"]]
    return rate * SEGMENT_BYTES / FRAME_WIRE_BYTES, median(delays) if delays else None


def latencies(document, within):
    """L of the measured pairs within a switch, or over the trunk."""
    return [pair["L_s"] for pair in document["messages"]["pairs"] if (pair["from"][0] == pair["to"][0]) == within]
