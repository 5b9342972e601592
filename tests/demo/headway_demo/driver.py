# SPDX-License-Identifier: Apache-2.0
"""make demo: measures what is missing, writes demo.json and report.html."""

import json
import os
import shlex
import sys
import time

import wire_records

from . import guest_run, guests, options as command_line, page, plan, prediction, result, store, table, trace, verdict
from .contender import CONTENDERS
from .progress import Display, Forecast, clock
from .samples import SizeRun, median_ms
from .scene import KIB, SCENES, bound


def kept_results(options):
    """Opens the results of that kernel: another one has other results."""
    return store.Store(options.out / "units" / options.kernel_release)


class Measurement:
    """The units that are missing; each is kept as soon as it is done."""

    def __init__(self, units, options, display):
        self.display, self.folder, self.kept = display, options.out, kept_results(options)
        self.units = {unit.key(): unit for unit in units}
        self.missing = [unit for unit in units if not self.kept.has(unit)]
        self.work = guests.shares(self.missing, options.jobs)
        self.forecast = Forecast({share: share.seconds() for share in self.work}, options.jobs)
        self.partial, self.doing, self.failures = {}, {}, []
        self.pool = guests.Pool(self.work, options.jobs, options.kernel, options.out, self.take)

    def run(self):
        self.display.say(f"{len(self.units)} measurements, {len(self.units) - len(self.missing)} of them"
                         f" kept from before; {len(self.work)} guests, about"
                         f" {clock(self.forecast.seconds_to_go())} minutes in all")
        self.pool.run()

    def take(self, share, event):
        getattr(self, "on_" + event.pop("event"))(share, **event)

    def _show(self, share, what):
        self.doing[share] = f"{share.scene.name} (seed {share.seed}): {what}"
        self.display.show(" | ".join(self.doing.values()), self.forecast.seconds_to_go())

    def on_booting(self, share):
        self._show(share, "boots a guest, builds the network")

    def on_network(self, share):
        self._show(share, "network is up")

    def on_contender(self, share, unit, plan):
        self.partial[unit] = store.Partial()
        self.partial[unit].plan = plan

    def on_start(self, share, unit, setting, number):
        what = self.units[unit]
        most = len(what.launches) + 1
        self._show(share, f"{what.contender}, {what.library}, launch {number} of {most} at most ({setting})")

    def on_result(self, share, unit, setting, sizes):
        self.partial[unit].launches.append({"setting": setting, "sizes": sizes})
        what = self.units[unit]
        self.forecast.done(share, guests.unit_seconds(what) / len(what.launches))

    def on_trace(self, share, unit, cases, records):
        folder = self.folder / "guests" / share.units[0].key()
        directions = {way: wire_records.parse((folder / name).read_bytes())
                      for way, name in records.items()}
        self.partial[unit].traces = [
            trace.make(self.units[unit].contender, case["bytes"], trace.call_of(case), directions,
                       share.scene.trunk_rate_bps, bound(share.scene, case["bytes"])[0])
            for case in cases]

    def on_done(self, share, unit):
        done = self.partial.pop(unit)
        self.kept.keep(self.units[unit], done.result())
        self._say(self.units[unit], done)

    def _say(self, unit, done):
        runs = {}
        for launch in done.launches:
            for event in launch["sizes"]:
                run = SizeRun.from_event(event)
                runs.setdefault((run.message_bytes, run.pauses_ms), []).append(run)
        for (size, pauses), its in sorted(runs.items()):
            worst = max(max(run.samples_ms) for run in its)
            self.display.say(
                f"  {unit.scene:8}{unit.library:6}{CONTENDERS[unit.contender].title:26}{size // KIB:5} KiB"
                f"{' with pauses' if pauses else '':12}  median {median_ms(its):8.3f} ms, worst {worst:8.3f}, "
                f"{sum(run.timeouts for run in its)} RTOs, "
                f"{sum(run.port_drops + run.trunk_drops for run in its)} drops")

    def on_ended(self, share):
        self.forecast.ended(share)
        self.doing.pop(share, None)

    def on_failed(self, share, why, unit=None):
        who = self.units[unit].contender if unit else "+".join(unit.contender for unit in share.units)
        self.failures.append(f"{share.scene.name}, seed {share.seed}: {who}: {why}")
        self.display.say(f"FAILED {self.failures[-1]}")


def collected_scenes(units, kept, folder):
    """The results that are there, scene by scene; writes the traces."""
    found = {}
    for unit in units:
        if not kept.has(unit):
            continue
        part = found.setdefault(unit.scene, result.Collected(SCENES[unit.scene]))
        held = kept.read(unit)
        store.collect(part, unit, held)
        for made in held["traces"]:
            part.traces.append(f"trace-{unit.scene}-{unit.contender}-{made['bytes']}.json")
            (folder / part.traces[-1]).write_text(json.dumps(made))
    return list(found.values())


def about(options, words, units, elapsed_s):
    launches = options.plan.launches
    sampled = ", ".join(f"{count} at {size // KIB} KiB" for size, count in plan.REPETITIONS.items())
    return {
        "made": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime())
                + f", in {clock(elapsed_s)} minutes, Linux {options.kernel_release} under QEMU with -icount and --faster",
        "command": shlex.join(["tests/demo/demo", *words]),
        "launches": list(launches),
        "sampling": f"Every contender is launched {sum(launches)} times"
                    f" ({' + '.join(map(str, launches))} with seed{'s' if len(launches) > 1 else ''}"
                    f" {', '.join(str(i + 1) for i in range(len(launches)))}), whether it loses packets or"
                    f" not; where a contender has two settings, each is. A launch runs two sizes, and"
                    f" launches begin with either in turn. Samples of a launch and way: {sampled}; before"
                    f" them {plan.WARMUP} call that does not count. \"First\" is the first collective after"
                    " MPI_Init, of those launches that began with the size, the slowest of them.",
    }


def write(document, folder):
    wrong = result.complaints(document)
    if wrong:
        raise SystemExit("demo: the results make no valid demo.json: " + "; ".join(wrong))
    path = folder / "demo.json"
    path.write_text(json.dumps(document, indent=1) + "\n")
    traces = {part["name"]: [json.loads((folder / name).read_text()) for name in part["traces"]]
              for part in document["scenes"]}
    page.write(folder, document, traces)


def clear(options):
    """A failed run must not leave an older one's results to be taken for its own."""
    folder = options.out
    folder.mkdir(parents=True, exist_ok=True)
    for old in (folder / "demo.json", folder / "report.html", folder / "trunk.svg", *folder.glob("trace-*.json")):
        old.unlink(missing_ok=True)
    if options.fresh:
        kept_results(options).clear()


def report(document, options, display):
    write(document, options.out)
    display.say("\n" + table.text(document) + "\n")
    for judged in document["verdicts"]:
        display.say(verdict.sentence(judged))
    where = os.path.relpath(options.out)
    display.say(f"\n{where}/demo.json, {where}/report.html, after {clock(display.elapsed_s())} minutes")


def main(words):
    options = command_line.parse(words)
    try:
        options.kernel_release = guest_run.kernel_release(options.kernel)
    except guest_run.GuestError as error:
        sys.exit(f"demo: --kernel: {error}")
    clear(options)
    units = plan.units(options.plan)
    display = Display()
    measurement = Measurement(units, options, display)
    try:
        measurement.run()
    finally:
        display.close()
    document = result.document(collected_scenes(units, measurement.kept, options.out),
                               about(options, words, units, display.elapsed_s()))
    prediction.add_to(document)
    if document["scenes"]:
        report(document, options, display)
    for failure in measurement.failures:
        print(f"demo: {failure}", file=sys.stderr)
    if measurement.failures:
        return 2
    missed = any(not judged["met"] for judged in document["verdicts"])
    return 1 if options.must_meet and missed else 0
