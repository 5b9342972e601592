# SPDX-License-Identifier: Apache-2.0
"""Lists what is sent, by whom, at which speed; and the guests that send it.

Links run at their true speed.  The one emulated processor executes an
instruction a nanosecond, which a busy 10 Gbit/s link needs many more of: so the
guest's clock runs slower by a factor, and the processor looks faster by it
(vm-run --faster).
"""

import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/lib"))
from guest_json import guest_objects  # noqa: E402

LINKS_MBIT = [1000, 10000]
SHARES = [1000, 3125, 5000, 9000, 9900]     # ten-thousandths of the link
OWN = ["gap", "timer"]
PEERS = ["tbf", "htb", "fq", "edt"]
INTERRUPT_NS = 20_000       # of another device, at random, every 100 us on average

# Shorter frames, more of them to work on: by how much the processor looks faster.
FASTER = {60: 500, 512: 50, 1514: 10, 9014: 10}
# PREEMPT_RT, where threads do the work of interrupts, costs several times as much.
RT_FACTOR = 4
FASTER_MOST = 1000


@dataclass(frozen=True)
class Case:
    """Lanes: (bytes of a frame without FCS, share) of each class."""
    qdisc: str
    link_mbit: int
    lanes: tuple
    interrupt_ns: int = 0

    @property
    def name(self):
        lanes = "+".join(f"{size}:{share}" for size, share in self.lanes)
        return f"{self.qdisc}-{self.link_mbit}-{lanes}-{self.interrupt_ns}"

    @property
    def faster(self):
        return max(FASTER[size] for size, _ in self.lanes)

    def word(self):
        """As guest.sh reads it."""
        lanes = "+".join(f"{size}:{share}" for size, share in self.lanes)
        return f"{self.name},{self.link_mbit},{self.qdisc},{lanes},{self.interrupt_ns}"


# The guest is still busy with its own start: not judged.
WARM_UP = Case("gap", 1000, ((1514, 5001),))


def one_class(qdiscs, sizes, shares, links=None, interrupt_ns=0):
    for size in sizes:
        for link in links or LINKS_MBIT:
            for share in shares:
                for qdisc in qdiscs:
                    yield Case(qdisc, link, ((size, share),), interrupt_ns)


def lost():
    """On devices that drop gap frames."""
    return one_class(["lost"], [1514], SHARES)


def several_classes():
    yield Case("gap", 1000, ((60, 1000), (1514, 8900)))
    yield Case("gap", 1000, ((512, 4000), (1514, 6000)))
    yield Case("nested", 1000, ((1514, 5000), (1514, 5000)))


def unpaced_frames(result):
    """Data frames that followed gaps which were lost, in a result of lost()."""
    frame = result["frame_bytes"] + 24
    gap_per_frame = frame * 10000 / result["share"] - frame
    return result["stats"]["gap_wire_bytes"] / gap_per_frame


def takes_bpf_qdiscs(kernel):
    """Linux 6.16 and later."""
    release = subprocess.run([ROOT / "tests/vm/kernels", kernel], check=True, text=True, capture_output=True).stdout
    return tuple(int(word) for word in release.split("-")[0].split(".")[:2]) >= (6, 16)


def run(kernel, cases, on_result=lambda done, name: None):
    """A result per class of each case, in any order; one guest for each factor.

    Raises GuestFailed where a guest fails.
    """
    results = []
    for faster in sorted({case.faster for case in cases}):
        words = [case.word() for case in [WARM_UP, *cases] if case is WARM_UP or case.faster == faster]
        if kernel.endswith("-rt"):
            faster = min(RT_FACTOR * faster, FASTER_MOST)
        for result in run_guest(kernel, faster, words):
            if result["name"] != WARM_UP.name:
                results.append(result | {"faster": faster})
                on_result(len(results), result["name"])
    return results


def run_guest(kernel, faster, words):
    files = [ROOT / "build/bin/spacing_stats", ROOT / "build/bin/send_frames",
             ROOT / "build/bin/edt.bpf.o", ROOT / "build/bin/bpf_pacing", ROOT / "build/bin/told_by_priority.bpf.o",
             shutil.which("chrt")]
    options = ["--kernel", kernel, "--faster", str(faster), "--timeout", "1500",
               *[word for file in files for word in ("--file", file)]]
    return guest_objects(options, [ROOT / "tests/spacing/guest.sh", *words])
