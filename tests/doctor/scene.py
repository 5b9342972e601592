# SPDX-License-Identifier: Apache-2.0
"""What one scene of the test bed for headway doctor consists of."""

from dataclasses import dataclass

SEND = "/tmp/bed/iperf3 -c {address} -n 40M"
SEND_FOR_A_WHILE = "/tmp/bed/timeout 8 /tmp/bed/iperf3 -c {address} -t 1"


@dataclass(frozen=True)
class Scene:
    """A network of two clusters (tests/lib/topology.sh), and a job in its node a0 that sends to another."""

    name: str
    put_in: str = ""                # lines of bash, with the functions of topology.sh, before doctor starts
    job: str = SEND                 # run by doctor in a0; {address} is the other node's
    host: str = "b0"                # the node to which it sends
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
    is_named: bool = True           # False: doctor does not name it first yet; to be removed when it does
