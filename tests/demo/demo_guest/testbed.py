# SPDX-License-Identifier: Apache-2.0
"""The guest's networks, as the demo uses them; the work is done by shell functions."""

import json
import os
import subprocess
from pathlib import Path

from .counters import Counters, PortDrops
from .shell import Shell
from .softirq import SoftirqMeter

# More frames than an all-to-all of the largest traced size puts on the trunk.
TRUNK_RECORDS = 1 << 18

# Components of Open MPI 4 that a job here never uses, though it would load them.
# Loading is most of what starting a job costs an emulated processor.
UNUSED_COMPONENTS = """
    coll_adapt coll_han coll_monitoring coll_sm coll_sync
    ess_singleton ess_slurm ess_tool errmgr_default_tool iof_tool mpool_hugepage
    odls_pspawn op_avx osc_monitoring osc_rdma osc_sm plm_isolated plm_slurm
    pmix_flux pmix_isolated pstat_linux
    ras_gridengine ras_simulator ras_slurm reachable_netlink regx_reverse
    rmaps_mindist rmaps_ppr rmaps_rank_file rmaps_resilient rmaps_seq
    routed_binomial rtc_hwloc schizo_flux schizo_jsm schizo_slurm
    shmem_posix shmem_sysv state_novm state_tool
""".split()

# mpi-job has these for each MPI library.
PROGRAM_SUFFIX = {"ompi": "", "mpich": ".mpich"}
SLEEP = {"ompi": "yield_sleep.so", "mpich": "ucx_sleep.so"}


class Testbed:
    def __init__(self, scene, out):
        self.scene, self.out = scene, out
        self.root, self.build = Path(os.environ["HW_ROOT"]), Path(os.environ["HW_BUILD"])
        self.config = Path("/etc/headway/headway.toml")
        self.wire_drops = 0

    def up(self):
        """Build the network; afterwards everything else works."""
        same_addresses_in_every_process()
        self.component_words = words_for_components(Path("/tmp/openmpi-components"))
        self.plan = self._plan()
        self.shell = Shell(os.environ | self._for_contenders())
        contenders = self.root / "tests/demo/contenders"
        common = contenders / "common.sh"
        libraries = [*(self.root / f"tests/lib/{name}.sh" for name in ("topology", "daemons", "etcd")), common,
                     *(path for path in sorted(contenders.glob("*.sh")) if path != common)]
        for library in libraries:
            self.shell.run(f". '{library}'")
        self._build_network()
        self.shell.run("demo_forget_history")
        self.nodes = self.shell.run("hw_nodes").split()
        ports = self.shell.run("hw_ports; hw_trunk_ports").split()
        self.pids = {node: int(self.shell.run(f"hw_node_pid {node}")) for node in self.nodes}
        self.counters = Counters(self.pids.values(), PortDrops(ports).read, SoftirqMeter())

    def _build_network(self):
        self.shell.run(
            f"hw_two_clusters {self.scene['nodes_per_cluster']} {self.scene['host_rate_bps'] / 1e6:g}"
            f" {self.scene['trunk_rate_bps'] / 1e6:g} {self.scene['trunk_delay_us']}"
            f" {self.scene['port_buffer_bytes']} {self.scene['trunk_buffer_bytes']}")

    def use_buffers(self, port_bytes, trunk_bytes):
        """Gives the switches other buffers, while no contender is up."""
        self.scene = self.scene | {"port_buffer_bytes": port_bytes, "trunk_buffer_bytes": trunk_bytes}
        self.plan = self._plan()
        for name, value in self._for_contenders().items():
            self.shell.run(f"export {name}='{value}'")
        self.shell.run(f"hw_port_queues bfifo limit {port_bytes} && hw_trunk_queues bfifo limit {trunk_bytes}")

    def _for_contenders(self):
        """The variables that contenders find, see contenders/common.sh."""
        return {
            "DEMO_CONFIG": str(self.config),
            "DEMO_PORT_BUFFER_BYTES": str(self.scene["port_buffer_bytes"]),
            "DEMO_TRUNK_BUFFER_BYTES": str(self.scene["trunk_buffer_bytes"]),
            "DEMO_HOST_RATE_BPS": str(self.scene["host_rate_bps"]),
            "DEMO_TRUNK_RATE_BPS": str(self.scene["trunk_rate_bps"]),
            **rates_for_contenders(self.plan),
            **static_rates(self.scene),
        }

    def _plan(self):
        """Plans this scene by Headway: its rates are the other contenders', too."""
        self.config.parent.mkdir(parents=True, exist_ok=True)
        self.config.write_text(headway_toml(self.root, self.scene, buffers=True))
        done = subprocess.run([self.build / "bin/headway", "plan", "--config", self.config,
                               "--node", "a0", "--json"], capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"headway plan: {done.stderr.strip()}")
        return json.loads(done.stdout)

    # ---- contenders ------------------------------------------------------------

    def contender_up(self, name):
        """Set it up on all nodes; returns what a node then looks like."""
        self.shell.run(f"contender_{name}_up")
        return self.shell.run("demo_show a0")

    def contender_down(self, name):
        self.shell.run(f"contender_{name}_down")
        lost = int(self.shell.run("hw_wire_drops"))
        if lost != self.wire_drops:
            raise RuntimeError(f"the emulated wires themselves lost {lost - self.wire_drops} frames")

    # ---- mpirun ----------------------------------------------------------------

    def mpirun_words(self, library="ompi", ranks_per_node=1):
        """Returns the words that start a job on all nodes, without -- and the program."""
        words = [str(self.root / "tests/lib/mpi-job"), library, str(ranks_per_node)]
        if library == "ompi":
            words += self.component_words
        return words

    def program(self, name, library="ompi"):
        return str(self.build / "bin/tests" / (name + PROGRAM_SUFFIX[library]))

    def helper(self):
        return str(self.build / "lib/libheadway-mpi.so")

    def without_daemon(self):
        """Returns what headway run gives ranks that pace themselves; they look for messages between
        two pieces (yield_sleep.c)."""
        return {"HEADWAY_PLANNER": str(self.build / "bin/headway"), "HEADWAY_NETWORK": str(self.config),
                "YIELD_SLEEP_POLLS": "20"}

    def sleep(self, library="ompi"):
        """Returns the library that makes a waiting rank leave the emulated processor alone."""
        return str(self.build / "lib/tests" / SLEEP[library])

    @staticmethod
    def mpirun_environment():
        return os.environ | {
            "HWLOC_COMPONENTS": "-pci,-opencl,-gl"}     # reads all names of PCI devices

    # ---- the trunk -------------------------------------------------------------

    def trunk_record(self, wanted):
        self.shell.run(f"hw_trunk_record {TRUNK_RECORDS if wanted else 0}")

    def trunk_records(self, name):
        """Stores the records of both directions: direction -> file below HW_OUT."""
        folder = self.out / f"records-{name}"
        folder.mkdir(exist_ok=True)
        self.shell.run(f"hw_trunk_records '{folder}'")
        return {way: f"{folder.name}/{port}.records"
                for way, port in (("a to b", "trka"), ("b to a", "trkb"))}


def same_addresses_in_every_process():
    """QEMU finds translated code by virtual address: without address space
    randomisation it finds it in half the time."""
    Path("/proc/sys/kernel/randomize_va_space").write_text("0")


def words_for_components(folder):
    """mpirun takes Open MPI 4's components from a folder of links to all but the unused ones; Open
    MPI 5 has them in its library."""
    found = sorted(Path("/usr/lib").glob("*/openmpi/lib/openmpi3/mca_*.so"))
    if not found:
        return []
    folder.mkdir()
    for component in found:
        if component.stem.removeprefix("mca_") not in UNUSED_COMPONENTS:
            (folder / component.name).symlink_to(component)
    return ["--mca", "mca_base_component_path", str(folder)]


def headway_toml(root, scene, buffers=False):
    """Writes the file as hw_config of daemons.sh does; `buffers`: by somebody who knows those of
    the switches."""
    words = [scene["nodes_per_cluster"], scene["host_rate_bps"] / 1e6, scene["trunk_rate_bps"] / 1e6,
             scene["trunk_delay_us"]]
    if buffers:
        words += [scene["port_buffer_bytes"], scene["trunk_buffer_bytes"]]
    return subprocess.run(["/bin/bash", "-c", '. "$0" && hw_config "$@"', root / "tests/lib/daemons.sh",
                           *(f"{word:g}" for word in words)],
                          capture_output=True, text=True, check=True).stdout


def rates_for_contenders(plan):
    """Returns Headway's plan of an all-to-all."""
    own, remote = (next(cls["bytes_per_s"] for cls in plan["nodes"][0]["classes"] if cls["cluster"] == name)
                   for name in ("a", "b"))
    return {"DEMO_OWN_BYTES_PER_S": str(own), "DEMO_REMOTE_BYTES_PER_S": str(remote),
            "DEMO_PAIR_BYTES_PER_S": str(plan["pair_bits_per_s"] // 8)}


def static_rates(scene):
    """Returns what an administrator would set by hand, once: a node's part of the trunk, for the
    own cluster the rest of its link; for one flow, the trunk divided among all pairs."""
    share = scene["trunk_rate_bps"] // scene["nodes_per_cluster"]
    return {"DEMO_STATIC_REMOTE_BYTES_PER_S": str(share // 8),
            "DEMO_STATIC_OWN_BYTES_PER_S": str((scene["host_rate_bps"] - share) // 8),
            "DEMO_STATIC_PAIR_BYTES_PER_S": str(share // scene["nodes_per_cluster"] // 8)}
