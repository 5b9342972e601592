# SPDX-License-Identifier: Apache-2.0
"""What one scene of the test bed for headway doctor consists of."""

from dataclasses import dataclass

SEND = "/tmp/bed/iperf3 -c {address} -n 40M"
SEND_FOR_A_WHILE = "/tmp/bed/timeout 8 /tmp/bed/iperf3 -c {address} -t 1"


@dataclass(frozen=True)
class Scene:
    """A network of two clusters (tests/lib/topology.sh), and a job in its node a0 that sends to another."""

    name: str
    put_in: str = ""                # bash, with the functions of topology.sh and parts.sh, before doctor starts
    take_out: str = ""              # the same, after it: settings that the whole guest has
    job: str = SEND                 # run by doctor in a0; {address} is the other node's
    host: str = "b0"                # the node to which it sends
    address: str = ""               # by which it does; "": the node's
    words: str = ""                 # the hosts that doctor is asked about; "": the node
    others: tuple[str, ...] = ()    # nodes that send to the same node meanwhile
    nodes: int = 2                  # of each cluster
    host_mbit: int = 1000
    trunk_mbit: int = 1000
    trunk_delay_us: int = 10
    port_buffer_bytes: int = 1_000_000
    trunk_buffer_bytes: int = 1_000_000


@dataclass(frozen=True)
class Fault(Scene):
    """A scene in which doctor has to say one thing first."""

    first: str = ""                 # regular expression that the first cause has to match
    remedy: str = ""                # and its command
