# SPDX-License-Identifier: Apache-2.0
"""Uses the trunk in the guest machine of tests/bench/apps while a job is timed, by nothing, another
job of the same program, or a flood of TCP, and records the trunk's traffic.  A job that pauses
before and after its timed iterations (mpirun.run) calls `ready`, `go` and `over`.

A job that pauses before and after its timed iterations (mpirun.run) calls `ready`, `go` and `over`.
"""

import subprocess
import time
from pathlib import Path

from demo_guest import mpirun
from headway_bench import apps
import wire_records     # demo_guest knows where it is

# Bytes go over the trunk for so many one-way delays before the job is timed, and for no less than so long.
FLOOD_DELAYS, FLOOD_S = 40, 0.2
RECORDED_FRAMES = 1 << 20
START_S = 60


class Hosts:
    """Some of the testbed's nodes."""

    def __init__(self, testbed, nodes, folder):
        self.nodes, self.pids, self.state = nodes, [testbed.pids[node] for node in nodes], mpirun.state_of(nodes, folder)

    def environment(self):
        return {"MPI_JOB_STATE": self.state}


def halves(testbed, folder=Path("/tmp")):
    """Returns the first half of each cluster's nodes, for a job, and the second, for its company.
    """
    clusters = [[node for node in testbed.nodes if node.startswith(name)] for name in "ab"]
    return (Hosts(testbed, [node for nodes in clusters for node in nodes[:len(nodes) // 2]], folder),
            Hosts(testbed, [node for nodes in clusters for node in nodes[len(nodes) // 2:]], folder))


class SecondJob:
    """Runs the same program by the same contender on other nodes, timed from the same moment on."""

    def __init__(self, words, environment, log):
        self.job = subprocess.Popen(words, text=True, bufsize=1, env=environment, stdin=subprocess.PIPE,
                                    stdout=subprocess.PIPE, stderr=log)
        self.words = words

    def ready(self):
        self._await(lambda said: said.get("pause") == "before")

    def go(self):
        mpirun.answer(self.job)

    def over(self):
        self._await(lambda said: said.get("pause") == "after")
        mpirun.answer(self.job)
        result = self._await(lambda said: "samples_ms" in said)
        return {"beside_samples_ms": result["samples_ms"], "beside_verified": result["verified"]}

    def _await(self, wanted):
        for line in self.job.stdout:
            said = mpirun.parse(line)
            if said and wanted(said):
                return said
        raise mpirun.MpirunError(f"ended early: {' '.join(self.words)}")

    def end(self):
        self.job.stdin.close()
        if self.job.wait():
            raise mpirun.MpirunError(f"status {self.job.returncode} of: {' '.join(self.words)}")


class Flood:
    """One TCP connection of iperf3 from cluster a to cluster b that sends as fast as it can."""

    def __init__(self, testbed, hosts, log):
        self.receiver = hosts.pids[len(hosts.pids) // 2]
        self.address = testbed.shell.run(f"hw_node_address {hosts.nodes[len(hosts.nodes) // 2]}").strip()
        self.warmup_s = max(FLOOD_S, FLOOD_DELAYS * testbed.scene["trunk_delay_us"] / 1e6)
        self.sender, self.log = hosts.pids[0], log
        self.programs = [self._start(self.receiver, "-s")]
        self._wait_for_listener()

    def _start(self, pid, *words):
        return subprocess.Popen(["nsenter", "--target", str(pid), "--net", "--mount", "--uts", "--", "iperf3", *words],
                                stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log)

    def _wait_for_listener(self):
        until = time.monotonic() + START_S
        while " 0A " not in Path(f"/proc/{self.receiver}/net/tcp6").read_text() and \
                " 0A " not in Path(f"/proc/{self.receiver}/net/tcp").read_text():
            if time.monotonic() > until:
                raise RuntimeError("iperf3 does not listen")
            time.sleep(0.05)

    def ready(self):
        self.programs.append(self._start(self.sender, "-c", self.address, "-t", "86400"))
        until = time.monotonic() + START_S
        before = self._received()
        while self._received() < before + 100000:
            if time.monotonic() > until:
                raise RuntimeError("iperf3 sends nothing")
            time.sleep(0.01)
        time.sleep(self.warmup_s)

    def go(self):
        self.began = time.monotonic(), self._received()

    def over(self):
        now, received = time.monotonic(), self._received()
        self._stop()
        return {"beside_mbps": round((received - self.began[1]) * 8 / (now - self.began[0]) / 1e6, 3)}

    def _received(self):
        """By the receiving node's interface, headers of Ethernet and IP included."""
        for line in Path(f"/proc/{self.receiver}/net/dev").read_text().splitlines():
            name, _, counts = line.partition(":")
            if name.strip() == "eth0":
                return int(counts.split()[0])
        raise RuntimeError("the flood's receiver has no eth0")

    def _stop(self):
        while self.programs:
            program = self.programs.pop()
            program.kill()
            program.wait()

    def end(self):
        self._stop()


class Traffic:
    """The record of the trunk over the timed iterations, beside nothing."""

    def __init__(self, testbed, bin_ms):
        self.testbed, self.bin_ms = testbed, bin_ms

    def ready(self):
        self.testbed.shell.run(f"hw_trunk_record {RECORDED_FRAMES}")

    def go(self):
        self.start_s = time.monotonic()

    def over(self):
        end_s = time.monotonic()
        folder = Path("/tmp/records")
        folder.mkdir(exist_ok=True)
        self.testbed.shell.run(f"hw_trunk_records '{folder}'; hw_trunk_record 0")
        return {"traffic": {"bin_ms": self.bin_ms, "bytes": {
            way: apps.bytes_in_bins(wire_records.parse((folder / f"{port}.records").read_bytes()), self.start_s, end_s,
                                    self.bin_ms) for way, port in (("a to b", "trka"), ("b to a", "trkb"))}}}

    def end(self):
        self.testbed.trunk_record(False)
