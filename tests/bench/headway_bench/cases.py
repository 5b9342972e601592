# SPDX-License-Identifier: Apache-2.0
"""Lists what is measured: every case is a few lines for qdisc_guest.sh.

All paced cases run at half the link's rate.  Links are so slow that a frame's
interval is about 12 us: then every packet is held back once, whatever the
qdisc, before it may leave.
"""

import sys
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "spacing"))
import spacing_cases  # noqa: E402

DEVICE = "w0"
LINK_BPS = {1514: 2_000_000_000, 60: 100_000_000}
GSO_SEGMENTS = {1: 44, 1000: 8}     # by lanes; 64 KB, and what the leaf's limit lets 1000 have
MANY = 1000
CLASS_COUNTS = [1, 10, 100, 1000, 10000]
PHASES = 16
SPACING_SHARES = [1000, 5000, 9000]     # with all contenders, ten-thousandths of the link
LIMIT = "limit 1000000"     # packets: no queue is ever full


@dataclass(frozen=True)
class Load:
    """The packets: `segments` frames each; a lane is a class or a flow."""
    frame_bytes: int
    segments: int = 1
    lanes: int = 1
    backlog: int = 16

    @property
    def link_bps(self):
        return LINK_BPS[self.frame_bytes]

    @property
    def rate_bps(self):
        return self.link_bps // 2

    @property
    def frame_rate_bps(self):
        """The rate in what qdiscs other than gap count: frames without overhead."""
        return self.rate_bps * self.frame_bytes // (self.frame_bytes + 24)

    @property
    def packets(self):
        return max(2 * self.lanes, 1000 if self.segments == 1 else 100)

    @property
    def name(self):
        gso = "-gso" if self.segments > 1 else ""
        one_by_one = "" if self.backlog else "-single"
        return f"{self.frame_bytes}{gso}-{self.lanes}{one_by_one}"


def share_rates(total, lanes):
    """Rates of some variety for so many classes, `total` together."""
    weights = [500 + i * 7919 % 10007 % 1000 for i in range(lanes)]
    return [total * weight // sum(weights) for weight in weights]


def root(words):
    return [f"qdisc add dev {DEVICE} root handle 1: {words}"]


def classes(kind, load, total, options=""):
    return [f"class add dev {DEVICE} parent 1: classid 1:{i:x} {kind} rate {rate}bit {options}"
            for i, rate in enumerate(share_rates(total, load.lanes), 1)]


def pfifo(_load):
    return root(f"pfifo {LIMIT}")


def fq_codel(_load):
    return root(f"fq_codel {LIMIT} flows 32768 memory_limit 1000mb")


def fq(_load):
    return root(f"fq {LIMIT} orphan_mask 65535")


def fq_paced(load):
    quantum = load.frame_bytes
    return root(f"fq {LIMIT} orphan_mask 65535 quantum {quantum} initial_quantum {quantum} "
                f"maxrate {load.frame_rate_bps // load.lanes}bit")


def tbf(load):
    return root(f"tbf rate {load.frame_rate_bps}bit limit 1000mb "
                f"burst {max(1600, load.frame_bytes * load.segments)}")


def tbf_frames(load):
    """A burst that lets no GSO packet pass whole: tbf segments, as gap does."""
    return root(f"tbf rate {load.frame_rate_bps}bit limit 1000mb burst 1600")


def htb(load):
    default = "default 1" if load.lanes == 1 else ""
    burst = load.frame_bytes
    return root(f"htb {default}") + classes("htb", load, load.frame_rate_bps,
                                            f"burst {burst} cburst {burst} quantum 1514")


def gap(options="backend gap"):
    def lines(load):
        default = "default 1:1" if load.lanes == 1 else ""
        return root(f"gap {default} {options}") + classes("gap", load, load.rate_bps)
    return lines


def gap_burst(options, frames=None):
    """A burst of so many frames, to which longer GSO packets are cut; None: that lets each pass whole."""
    def lines(load):
        return root(f"gap default 1:1 {options}") + classes(
            "gap", load, load.rate_bps, f"burst {(load.frame_bytes + 24) * (frames or load.segments)}")
    return lines


def gap_direct(_load):
    return root("gap backend gap")


def gap_unlimited(_load):
    return root("gap backend gap default 1:1") + [
        f"class add dev {DEVICE} parent 1: classid 1:1 gap rate unlimited"]


def gap_one_class(load):
    """All lanes are destinations of one class."""
    return root("gap backend gap default 1:1") + [
        f"class add dev {DEVICE} parent 1: classid 1:1 gap rate {load.rate_bps}bit"]


def and_pfifo(lines):
    return lambda load: lines(load) + [f"qdisc add dev {DEVICE} parent 1:1 {LIMIT_PFIFO}"]


LIMIT_PFIFO = f"pfifo {LIMIT}"
FILTERS = {"u32": "u32 match ip dst 10.1.0.0/16", "flower": "flower dst_ip 10.1.0.0/16"}


def filtered(lines, kind):
    return lambda load: [line.replace("default 1:1", "").replace("default 1", "")
                         for line in lines(load)] + [
        f"filter add dev {DEVICE} parent 1: protocol ip {FILTERS[kind]} classid 1:1"]


def phased(phases):
    """A BPF filter names the class and one of 16 phases; `phases` of them have a rate."""
    def lines(load):
        table = " ".join(f"phase {i} {load.rate_bps - i}bit" for i in range(1, phases + 1))
        return root("gap backend gap") + [
            f"class add dev {DEVICE} parent 1: classid 1:10 gap rate {load.rate_bps}bit {table}",
            f"filter add dev {DEVICE} parent 1: protocol ip bpf direct-action object-file "
            "@BUILD@/bin/phase_of_port.bpf.o section tc classid 1:"]
    return lines


TIMER = "backend timer"


@dataclass(frozen=True)
class Contender:
    """`own`: the back end, for gap.  `many`: what 1000 lanes are to it.  `program`: bpf_pacing makes the qdisc."""
    key: str
    title: str
    lines: object
    paced: bool = True
    own: bool = False
    many: str = ""
    program: bool = False


CONTENDERS = [
    Contender("pfifo", "pfifo", pfifo, paced=False, many="flows"),
    Contender("fq_codel", "fq_codel", fq_codel, paced=False, many="flows"),
    Contender("fq", "fq", fq, paced=False, many="flows"),
    Contender("gap-direct", "gap, direct", gap_direct, paced=False, own=True, many="flows"),
    Contender("gap-unlimited", "gap, class without limit", gap_unlimited, paced=False, own=True),
    Contender("fq-paced", "fq maxrate", fq_paced, many="flows"),
    Contender("tbf", "tbf", tbf, many="flows"),
    Contender("tbf-frames", "tbf, burst of one frame", tbf_frames),
    Contender("gap", "gap, default class", gap(), own=True, many="classes"),
    Contender("gap-pfifo", "gap, default class, pfifo leaf", and_pfifo(gap()), own=True),
    Contender("gap-flows", "gap, one class", gap_one_class, own=True, many="flows"),
    Contender("timer", "gap timer, default class", gap(TIMER), own=True, many="classes"),
    Contender("gap-parts", "gap, burst of 6 frames", gap_burst("backend gap", 6), own=True),
    Contender("gap-whole", "gap, burst of 44 frames", gap_burst("backend gap"), own=True),
    Contender("timer-whole", "gap timer, burst of 44 frames", gap_burst(TIMER), own=True),
    Contender("bpf", "BPF qdisc (Linux 6.16 on)", lambda load: [], own=True, many="classes", program=True),
    Contender("htb", "htb, default class", htb, many="classes"),
    Contender("htb-u32", "htb, u32 filter", filtered(htb, "u32")),
    Contender("gap-u32", "gap, u32 filter", filtered(gap(), "u32"), own=True),
    Contender("timer-u32", "gap timer, u32 filter", filtered(gap(TIMER), "u32"), own=True),
    Contender("gap-bpf", "gap, BPF filter", phased(0), own=True),
    Contender("gap-phases", f"gap, BPF filter, {PHASES} phases", phased(PHASES), own=True),
    Contender("htb-flower", "htb, flower filter", filtered(htb, "flower")),
    Contender("gap-flower", "gap, flower filter", filtered(gap(), "flower"), own=True),
]
ONE_BY_ONE = ["pfifo", "fq_codel", "fq", "gap-direct", "tbf", "gap", "timer", "htb"]
BY_KEY = {contender.key: contender for contender in CONTENDERS}


@dataclass
class Case:
    """One measurement: who, with which packets, in which table."""
    group: str
    contender: Contender
    load: Load
    extra: dict = field(default_factory=dict)

    @property
    def name(self):
        return f"{self.group}/{self.contender.key}/{self.load.name}"

    def script(self):
        load = self.load
        count = {"dev": DEVICE, "frame_bytes": load.frame_bytes, "segments": load.segments,
                 "lanes": load.lanes, "backlog": load.backlog, "packets": load.packets, **self.extra}
        if self.contender.program or (self.contender.many == "classes" and load.lanes > 1):
            count |= {"classes": load.lanes, "priority": 0x10001, "told": int(self.contender.program)}
        return [f"case {self.name}", f"link {load.link_bps}",
                *(f"tc {line}" for line in self.contender.lines(load)),
                *(["pace " + " ".join(f"{i}={load.rate_bps // load.lanes}" for i in range(1, load.lanes + 1))] if self.contender.program else []),
                "count " + " ".join(f"{key}={value}" for key, value in count.items())]


def cost_loads():
    """Every kind of load: for one lane and for many, without and with GSO."""
    for frame_bytes in LINK_BPS:
        yield Load(frame_bytes, 1, 1, backlog=16)
        yield Load(frame_bytes, 1, MANY, backlog=2)
        yield Load(frame_bytes, GSO_SEGMENTS[1], 1, backlog=2)
        yield Load(frame_bytes, GSO_SEGMENTS[MANY], MANY, backlog=1)


def takes_part(contender, load):
    if load.lanes > 1:
        return contender.many
    if contender.key in ("tbf-frames", "gap-parts", "gap-whole", "timer-whole"):
        return load.segments > 1
    return contender.key not in ("gap-flows", "gap-bpf", "gap-phases")


def cost_cases():
    for load in cost_loads():
        for contender in CONTENDERS:
            if takes_part(contender, load):
                yield Case("cost", contender, load)
    for key in ONE_BY_ONE:
        yield Case("cost", BY_KEY[key], Load(1514, backlog=0))


def phase_cases():
    """16 flows, each in a phase of its own, and the same where no phase has a rate."""
    for key in ("gap-bpf", "gap-phases"):
        yield Case("phases", BY_KEY[key], Load(1514, 1, PHASES, backlog=2))


def class_count_cases():
    for key, most in (("gap", 10000), ("timer", 10000), ("bpf", 1000), ("htb", 1000)):
        for lanes in CLASS_COUNTS:
            if lanes <= most:
                yield Case("classes", BY_KEY[key], Load(1514, lanes=lanes, backlog=2))


# ---- with a wire ------------------------------------------------------------------

@dataclass(frozen=True)
class Drive:
    """Real frames on a wire: gap frames and instructions per data frame."""
    group: str
    key: str
    title: str
    link_bps: int
    lines: list
    seconds: float
    frames: int = 1000

    @property
    def name(self):
        return f"{self.group}/{self.key}"

    def script(self):
        return [f"case {self.name}", f"link {self.link_bps}",
                *(f"tc {line}" for line in self.lines), f"drive 1514 {self.frames} {self.seconds}"]


def drives():
    """One per cent of 1 Gbit/s, a frame every 1.23 ms: gap sleeps the most of it."""
    link, rate = 1_000_000_000, 10_000_000
    frame_rate = rate * 1514 // 1538

    def own(back_end):
        return root(f"gap default 1:1 backend {back_end}") + [
            f"class add dev {DEVICE} parent 1: classid 1:1 gap rate {rate}bit"]

    yield Drive("slow", "wire", "a wire of 1 %, no pacing", rate, pfifo(None), 0.8)
    yield Drive("slow", "gap", "gap", link, own("gap"), 0.8)
    yield Drive("slow", "timer", "gap timer", link, own("timer"), 0.8)
    yield Drive("slow", "tbf", "tbf", link,
                root(f"tbf rate {frame_rate}bit burst 1600 limit 100mb"), 0.8)
    yield Drive("slow", "htb", "htb", link, root("htb default 1") + [
        f"class add dev {DEVICE} parent 1: classid 1:1 htb rate {frame_rate}bit quantum 1514"], 0.8)
    yield Drive("slow", "fq", "fq maxrate", link,
                root(f"fq {LIMIT} flow_limit 100000 quantum 1514 initial_quantum 1514 "
                     f"maxrate {frame_rate}bit"), 0.8)


def spacing(with_bpf):
    """Both back ends with every frame and rate; all contenders with long frames, the
    processor idle and not."""
    cases = [*spacing_cases.one_class(spacing_cases.OWN, spacing_cases.FASTER, spacing_cases.SHARES)]
    extra = ["bpf"] if with_bpf else []
    for interrupt_ns in (0, spacing_cases.INTERRUPT_NS):
        cases += spacing_cases.one_class([*spacing_cases.OWN, *extra, *spacing_cases.PEERS], [1514],
                                         SPACING_SHARES, interrupt_ns=interrupt_ns)
    return list(dict.fromkeys(cases))
