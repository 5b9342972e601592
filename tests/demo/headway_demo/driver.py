# SPDX-License-Identifier: Apache-2.0
"""make demo: runs the guests, shows progress, writes demo.json and report.html."""

import argparse
import json
import os
import queue
import shlex
import sys
import threading
import time
from pathlib import Path

import wire_records

from . import guest_run, page, result, table, trace, verdict
from .contender import CONTENDERS, TRANSPORTS
from .progress import Display, Forecast, clock
from .samples import SizeRun
from .scene import SCENES
from .schedule import Effort, Schedule

KIB = 1024
# Samples of one mpirun; large messages take longer and vary less.
REPETITIONS = {16 * KIB: 4, 64 * KIB: 3, 256 * KIB: 2}
WARMUP = 1
# Whose trunk is pictured, and at which size.
TRACED = ("stock", "headway")
TRACED_BYTES = 64 * KIB
GUEST_LIMIT_S = 5400


def parse_arguments(words):
    parser = argparse.ArgumentParser(
        prog="demo", description="An MPI all-to-all across two emulated clusters, without and with Headway.",
        epilog="Without options: both scenes, every contender.")
    parser.add_argument("--scene", default="all", choices=[*SCENES, "all"])
    parser.add_argument("--contenders", default=",".join(CONTENDERS), metavar="A,B,...",
                        help=f"some of {','.join(CONTENDERS)}")
    parser.add_argument("--sizes", metavar="BYTES,...", help="bytes per pair of ranks, instead of the scene's")
    parser.add_argument("--runs", type=positive, default=5, metavar="N",
                        help="fresh mpiruns of a contender that loses packets (default 5)")
    parser.add_argument("--clean-runs", type=positive, default=2, metavar="N",
                        help="mpiruns of one that loses none (default 2)")
    parser.add_argument("--trials", type=positive, default=2, metavar="N",
                        help="mpiruns of each transport setting before the better goes on (default 2)")
    parser.add_argument("--jobs", type=positive, default=os.cpu_count() or 1, metavar="N",
                        help="guests at a time, of one processor and 2 GB each (default: processors here)")
    parser.add_argument("--seed", type=positive, default=1, metavar="N",
                        help="of the emulated machine; another seed is another sample")
    parser.add_argument("--out", type=Path, default=guest_run.ROOT / "build/demo", metavar="FOLDER")
    parser.add_argument("--assert", dest="must_meet", action="store_true",
                        help="end with status 1 if a target is missed")
    options = parser.parse_args(words)
    options.contenders = names(parser, "--contenders", options.contenders, CONTENDERS)
    options.sizes = sizes(parser, options.sizes)
    return options


def positive(text):
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text} is not positive")
    return value


def names(parser, option, text, known):
    chosen = text.split(",")
    for name in chosen:
        if name not in known:
            parser.error(f"{option}: unknown '{name}'; known: {', '.join(known)}")
    return [name for name in known if name in chosen]


def sizes(parser, text):
    if text is None:
        return None
    try:
        return sorted({positive(word) for word in text.split(",")})
    except (ValueError, argparse.ArgumentTypeError):
        parser.error(f"--sizes: '{text}' is no list of numbers of bytes")


def repetitions(size):
    """Of the sizes in the table the nearest one not smaller."""
    return next((count for known, count in sorted(REPETITIONS.items()) if size <= known), 2)


def spec(scene, contenders, options):
    """What the guest is told to do."""
    wanted = options.sizes or list(scene.sizes)
    return {
        "scene": scene.facts(),
        "sizes": wanted,
        "repetitions": {size: repetitions(size) for size in wanted},
        "warmup": WARMUP,
        "effort": vars(effort(options)),
        "contenders": [{"name": name, "transports": CONTENDERS[name].transports}
                       for name in contenders],
        "transports": TRANSPORTS,
        "traced": [name for name in TRACED if name in contenders],
        "traced_bytes": TRACED_BYTES if TRACED_BYTES in wanted else wanted[-1],
    }


def effort(options):
    return Effort(trials=options.trials, runs_clean=options.clean_runs, runs_lossy=options.runs)


def mpiruns(name, options):
    """About how many a contender needs."""
    schedule = Schedule(CONTENDERS[name].transports, [0], effort(options))
    return schedule.most_left() + (name in TRACED)


def shares(options):
    """The contenders divided among guests that run beside each other, with
    about the same number of mpiruns each."""
    parts = [[] for _ in range(min(options.jobs, len(options.contenders)))]
    for name in sorted(options.contenders, key=lambda name: -mpiruns(name, options)):
        least = min(parts, key=lambda part: sum(mpiruns(other, options) for other in part))
        least.append(name)
    return [[name for name in options.contenders if name in part] for part in parts]


class SceneRun:
    """One scene: its guests' events become results and lines on the terminal."""

    def __init__(self, scene, options, display):
        self.scene, self.options, self.display = scene, options, display
        self.collected = result.Collected(scene)
        self.failures = []
        self.parts = [GuestPart(self, number, names)
                      for number, names in enumerate(shares(options), start=1)]

    def seconds_to_go(self):
        return max(part.forecast.seconds_to_go() for part in self.parts)

    def run(self, later_s):
        """`later_s`: what the scenes after this one will take."""
        self.later_s = later_s
        self.display.say(f"scene {self.scene.name}: {self.scene.title}")
        self.show()
        reports = queue.SimpleQueue()
        try:
            for part in self.parts:
                part.start(reports)
            for _ in self.parts:
                for part, event in iter(reports.get, END_OF_PART):
                    part.take(event)
        finally:
            for part in self.parts:
                part.stop()

    def show(self):
        doing = " | ".join(part.doing for part in self.parts)
        self.display.show(f"{self.scene.name}: {doing}", self.seconds_to_go() + self.later_s)

    def failed(self, why):
        self.failures.append(f"{self.scene.name}: {why}")
        self.display.say(f"FAILED {self.failures[-1]}")


END_OF_PART = object()


class GuestPart:
    """Some contenders of a scene in a guest of their own."""

    def __init__(self, scene_run, number, names):
        self.scene_run, self.names = scene_run, names
        self.scene, self.options = scene_run.scene, scene_run.options
        self.display, self.collected = scene_run.display, scene_run.collected
        self.folder = self.options.out / f"{self.scene.name}-{number}"
        self.forecast = Forecast({name: mpiruns(name, self.options) for name in names})
        self.mpirun_began = 0.0
        self.doing = "boots a guest, builds the network"
        self.guest = None

    def start(self, reports):
        self.guest = guest_run.Guest(spec(self.scene, self.names, self.options), self.folder,
                                     self.options.seed, GUEST_LIMIT_S)
        threading.Thread(target=self._listen, args=(reports,), daemon=True).start()

    def _listen(self, reports):
        try:
            for event in self.guest.events():
                reports.put((self, event))
        except (guest_run.GuestError, OSError, ValueError) as error:
            reports.put((self, {"event": "failed", "contender": "+".join(self.names),
                                "why": str(error)}))
        reports.put(END_OF_PART)

    def stop(self):
        if self.guest is not None:
            self.guest.stop()

    def take(self, event):
        getattr(self, "on_" + event["event"])(event)

    def _show(self, what):
        self.doing = what
        self.scene_run.show()

    def on_network(self, event):
        self.forecast.booted()
        self._show("network is up")

    def on_contender(self, event):
        self.collected.plans[event["contender"]] = event["plan"]

    def on_start(self, event):
        self.mpirun_began = time.monotonic()
        name = event["contender"]
        self.forecast.left(name, event["left"])
        self._show(f"{name}, mpirun {event['number']} of about {event['number'] + max(event['left'], 1) - 1}"
                   f" ({event['transport']})")

    def on_result(self, event):
        self.forecast.took(time.monotonic() - self.mpirun_began)
        self.forecast.left(event["contender"], event["left"])
        for size in event["sizes"]:
            self.collected.add(event["contender"], event["transport"], SizeRun.from_event(size))

    def on_chosen(self, event):
        self.forecast.left(event["contender"], 0)
        for size, transport in event["transports"].items():
            self.collected.choose(event["contender"], int(size), transport)
        self._say_contender(event["contender"])

    def _say_contender(self, name):
        for message in self.collected.document()["messages"]:
            for run in message["runs"]:
                if run["name"] == name:
                    self.display.say(
                        f"  {CONTENDERS[name].title:13} {message['bytes'] // KIB:4d} KiB  median "
                        f"{run['median_ms']:7.1f} ms, worst {run['max_ms']:7.1f}, "
                        f"{run['bound_ratio']:.3f} x bound, {run['timeouts']} RTOs, "
                        f"{run['port_drops']} + {run['trunk_drops']} drops")

    def on_trace(self, event):
        calls = list(zip(event["starts_s"], event["samples_ms"]))
        directions = {way: wire_records.parse((self.folder / name).read_bytes())
                      for way, name in event["records"].items()}
        made = trace.make(event["contender"], event["bytes"], calls, directions,
                          self.scene.trunk_rate_bps)
        name = f"trace-{self.scene.name}-{event['contender']}.json"
        (self.options.out / name).write_text(json.dumps(made))
        self.collected.traces.append(name)

    def on_failed(self, event):
        self.forecast.expected = {}
        self.scene_run.failed(f"{event['contender']}: {event['why']}")


def about(options, words, elapsed_s):
    once = options.runs == options.clean_runs
    return {
        "made": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime())
                + f", in {clock(elapsed_s)} minutes, Linux 6.1 under QEMU with -icount, seed {options.seed}",
        "command": shlex.join(["tests/demo/demo", *words]),
        "seed": options.seed,
        "two_samplings": not once,
        "sampling": f"Each mpirun gives {', '.join(f'{count} samples at {size // KIB} KiB' for size, count in REPETITIONS.items())}. "
                    f"Each transport setting gets {options.trials} mpiruns, then the one with the lower median goes on "
                    + (f"until it has {options.runs}." if once else
                       f"until it has {options.runs}, or {options.clean_runs} if nothing was lost at that size."),
    }


def write(document, options):
    wrong = result.complaints(document)
    if wrong:
        raise SystemExit("demo: the results make no valid demo.json: " + "; ".join(wrong))
    path = options.out / "demo.json"
    path.write_text(json.dumps(document, indent=1) + "\n")
    traces = {part["name"]: [json.loads((options.out / name).read_text()) for name in part["traces"]]
              for part in document["scenes"]}
    (options.out / "report.html").write_text(page.page(document, traces))


def clear(folder):
    """A failed run must not leave an older one's results to be taken for its own."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("demo.json", "report.html"):
        (folder / name).unlink(missing_ok=True)
    for old in folder.glob("trace-*.json"):
        old.unlink()


def run_scenes(options, display):
    chosen = list(SCENES.values()) if options.scene == "all" else [SCENES[options.scene]]
    runs = [SceneRun(scene, options, display) for scene in chosen]
    for i, scene_run in enumerate(runs):
        scene_run.run(sum(later.seconds_to_go() for later in runs[i + 1:]))
    display.close()
    return ([scene_run.collected for scene_run in runs],
            [failure for scene_run in runs for failure in scene_run.failures])


def main(words):
    options = parse_arguments(words)
    clear(options.out)
    display = Display()
    collected, failures = run_scenes(options, display)
    document = result.document(collected, about(options, words, display.elapsed_s()))
    if document["scenes"]:
        write(document, options)
        display.say("\n" + table.text(document) + "\n")
        for judged in document["verdicts"]:
            display.say(verdict.sentence(judged))
        where = os.path.relpath(options.out)
        display.say(f"\n{where}/demo.json, {where}/report.html, after {clock(display.elapsed_s())} minutes")
    for failure in failures:
        print(f"demo: {failure}", file=sys.stderr)
    if failures:
        return 2
    missed = any(not judged["met"] for judged in document["verdicts"])
    return 1 if options.must_meet and missed else 0
