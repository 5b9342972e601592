# SPDX-License-Identifier: Apache-2.0
"""Tables of what was found and predicted, as they stand in Documentation/measure.rst, and what was missed."""

from statistics import median

from headway_bench.decisions import mean_ms
from headway_bench.tables import table
from headway_live import calls

from . import jobs, judged, truth
from check_measured import buffer_is_right     # judged knows where it is

# The results must be as good as this.
MBIT_PCT, DELAY_PCT = 2, 5
TIMES_PCT, LINKS_PCT, LINKS_PART = 5, 10, 0.9
SLOWER = 1.02
# Jobs whose calls are as the plan wants them.
WITH_HELPER = ("paced", "helper")


def rst(headings, rows):
    """A simple table of reStructuredText."""
    lines = list(table(headings, rows))
    columns = [max(len(str(row[i])) for row in [headings, *rows]) for i in range(len(headings))]
    border = "  ".join("=" * width for width in columns)
    return [border, lines[0], border, *lines[1:], border]


def show(store, headway):
    """Prints all tables; what was missed, in sentences."""
    networks = [Report(store, headway, network) for network in jobs.NETWORKS if jobs.measured(store, network)]
    if not networks:
        return ["nothing was measured yet"]
    missed = []
    for title, part in (("What was found", found_table), ("Wrong headway.toml", wrong_table), ("Times", times_table),
                        ("Medians of errors", medians_table), ("Time-outs", steps_table), ("Links of random patterns", links_table),
                        ("Plans", plans_table)):
        lines, wrong = part(networks)
        print("\n".join(["", title, "-" * len(title), "", *lines]))
        missed += wrong
    print("\n".join(["", *(f"missed: {one}" for one in missed)]))
    return missed


class Report:
    """A network's figures, computed once."""

    def __init__(self, store, headway, name):
        self.name, self.found = name, jobs.measured(store, name)
        self.links, self.tree_is_exact = judged.links(self.found)
        self.hosts = jobs.hosts_of(self.found)
        self.jobs = store.found(f"{name}-jobs")
        with headway.of(self.found) as network:
            self.named = self._named(network)
            self.compared = self._compared(network) if self.jobs else {}
            self.patterns = self._patterns(network) if self.jobs else {}

    def _named(self, network):
        """By what is wrong, whether it was named; the right one has to have no sentence."""
        said, status = network.wrongs(truth.toml(self.found["tree"]))
        named = {"right": (not said and not status, said)}
        for what, (config, pattern) in truth.wrong(self.found["tree"]).items():
            said, status = network.wrongs(config)
            named[what] = (status and truth.is_named(said, pattern), said)
        return named

    def _compared(self, network):
        """Rows by job and operation; calls that the plan paces beside what it predicts of them paced."""
        rows, again = {}, {result["bytes"]: judged.usual_median_ms(result) for result in self.jobs.of("again")}
        for job in ("at once", "alone", "shapes", "library", "paced", "helper"):
            for result in self.jobs.of(job):
                operation = next(name for name, of_bench in jobs.OPERATIONS.items() if of_bench == result["operation"])
                plan = self._plan(network, operation, result["bytes"])
                is_paced = job in WITH_HELPER and plan["paced"]
                prediction = plan["predicted_paced" if is_paced else "predicted_unpaced"]
                row = judged.compared(result, prediction)
                if is_paced:
                    row["may_wait"] = prediction["timeouts"] > 0
                if (job, operation) == ("at once", "alltoall") and row["median_ms"] and again.get(result["bytes"]):
                    row["again_error_pct"] = calls.error_pct(row["median_ms"], again[result["bytes"]])
                rows.setdefault((job, operation), []).append(row)
        return rows

    @staticmethod
    def _plan(network, operation, size):
        if operation in jobs.GRIDS:
            return network.asked("plan", *network.matrix(judged.halo_messages(*jobs.GRIDS[operation], size)))
        return network.asked("plan", "--operation", operation, "--bytes", str(size))

    def _patterns(self, network):
        """Errors of links, by how they were sent: (per cent of each, time-outs, patterns)."""
        found = {}
        for job in self.jobs.jobs.values():
            if job["kind"] != "links":
                continue
            for result, pattern in zip(self.jobs.of(job["name"]), job["patterns"]):
                plan = network.asked("plan", *network.matrix([(*link, job["bytes"]) for link in pattern])) if job["config"] else None
                errors, timeouts, patterns = found.setdefault("paced" if job["config"] else "stock", ([], [], []))
                errors += self._errors(result, pattern, plan)
                timeouts.append(result["timeouts"])
                patterns.append(len(pattern))
        return found

    def _errors(self, result, pattern, plan):
        limits = judged.link_limits(self.found["document"], self.hosts, pattern)
        if plan:
            limits += judged.class_limits(plan, self.hosts, pattern)
        predicted = judged.max_min(len(pattern), limits)
        return [calls.error_pct(got, said) for got, said in zip(result["mbps"], predicted)]

    def ratios(self):
        """Paced by the plan of what was measured, to paced by that of the true headway.toml, by size."""
        by_size = {result["bytes"]: result for result in self.jobs.of("true")} if self.jobs else {}
        return {result["bytes"]: (mean_ms(result), mean_ms(by_size[result["bytes"]]))
                for result in (self.jobs.of("paced") if self.jobs else []) if result["bytes"] in by_size}


def worst(pairs):
    """The largest error of (truth, found), with its sign."""
    return f"{max((judged.off_pct(pair) for pair in pairs), key=abs):+.2f}" if pairs else "-"


def found_table(networks):
    rows, missed = [], []
    for one in networks:
        delays = [link["delay_us"] for link in one.links if link["delay_us"]]
        buffers = [link["buffer"] for link in one.links if link["buffer"]]
        wrong = [f"{name} of {len(bad)} links" for name, bad in (
            ("capacity", [link for link in one.links if not link["exact"] or abs(judged.off_pct(link["mbit"])) > MBIT_PCT]),
            ("delay", [pair for pair in delays if abs(judged.off_pct(pair)) > DELAY_PCT]),
            ("buffer", [pair for pair in buffers if not buffer_is_right(pair)])) if bad]
        if not one.tree_is_exact:
            wrong.append("the tree")
        missed += [f"{one.name}: {what}" for what in wrong]
        document = one.found["document"]
        rows.append([one.name, "exact" if one.tree_is_exact else "WRONG", worst([link["mbit"] for link in one.links]), worst(delays),
                     worst(buffers), f"{len(buffers)} of {len(one.links)}", f"{document['seconds']:.0f}", f"{document['bytes_sent'] / 1e6:.0f}"])
    return rst(["network", "tree", "capacity, %", "delay, %", "buffer, %", "buffers found", "s", "MB"], rows), missed


def wrong_table(networks):
    kinds = list(networks[0].named)
    missed = [f"{one.name}: {what}: {' / '.join(said) or 'nothing is said'}"
              for one in networks for what, (is_named, said) in one.named.items() if not is_named]
    return rst(["network", *kinds], [[one.name, *("yes" if one.named[kind][0] else "NO" for kind in kinds)] for one in networks]), missed


def times_table(networks):
    rows = [[one.name, job, operation, f"{row['bytes'] // 1024} KiB", f"{row['predicted_ms']:.3g}", f"{row['mean_ms']:.3g}",
             calls.signed(row["error_pct"]), f"{row['usual_ms']:.3g}", *of_usual(row), f"{100 * row['predicted_part']:.0f} %", f"{row['late']} of {row['calls']}"]
            for one in networks for (job, operation), of in one.compared.items() for row in of]
    return rst(["network", "sent", "operation", "size", "predicted mean, ms", "mean, ms", "error, %", "usual, ms", "median, ms",
                "error, %", "to wait", "waited"], rows), []


def of_usual(row):
    return [f"{row['median_ms']:.3g}", calls.signed(row["usual_error_pct"])] if row["median_ms"] else ["-", "-"]


def kinds_of(networks):
    return sorted({key for one in networks for key in one.compared})


def medians_table(networks):
    """Writes a row for each operation in each job, and for all jobs together."""
    rows, missed = [], []
    of_operations = {"all-to-alls": ("alltoall",), "gathers": ("gather",), "halos": tuple(jobs.GRIDS)}
    together = {f"all {name}": [key for key in kinds_of(networks) if key[1] in of] for name, of in of_operations.items()}
    for title, keys in ({f"{operation}, {job}": [(job, operation)] for job, operation in kinds_of(networks)} | together).items():
        for which, error, lost, is_asked in (
                ("means", "error_pct", (False, True), True), ("without a time-out", "usual_error_pct", (False, True), True),
                ("lost nothing", "usual_error_pct", (False,), True), ("lost frames", "usual_error_pct", (True,), False),
                ("lost frames, by another job", "again_error_pct", (True,), False)):
            errors = [[abs(row[error]) for key in keys for row in one.compared.get(key, []) if row["lost"] in lost and error in row]
                      for one in networks]
            every = [error for of in errors for error in of]
            if not every:
                continue
            rows.append([f"{which}: {title}", *(f"{median(of):.1f}" if of else "-" for of in errors), f"{median(every):.1f}"])
            if is_asked and title not in together and median(every) >= TIMES_PCT:
                missed.append(f"median error of {which} of {title}: {median(every):.1f} %")
    return rst(["median error, %", *(one.name for one in networks), "all"], rows), missed


def steps_table(networks):
    """Without the rows of which no time-out was expected, none was seen, and every part is right."""
    rows, missed, right, sizes = [], [], [], []
    for one in networks:
        for (job, operation), of in one.compared.items():
            if job not in WITH_HELPER:
                may, expected, took = (judged.first(of, holds) for holds in (
                    lambda row: row["may_wait"], judged.is_expected_to_wait, lambda row: row["waits"]))
                parts = [judged.is_part_right(row) for row in of]
                sizes += parts
                right.append(expected == took)
                if expected or took or not all(parts):
                    rows.append([one.name, job, operation, *(size and calls.kib(size) or "none" for size in (may, expected, took)),
                                 sum(parts), len(of)])
                if expected != took:
                    missed.append(f"{one.name}: first time-out of {operation}, {job}, at {took}, expected at {expected}")
    rows.append(["all", "", "", "", f"{sum(right)} as expected", f"of {len(right)}", sum(sizes), len(sizes)])
    return rst(["network", "sent", "operation", "may wait from", "expected from", "waits from", "parts right", "of"], rows), missed


def links_table(networks):
    rows, missed, every = [], [], {}
    for one in networks:
        for how, (errors, timeouts, patterns) in one.patterns.items():
            every.setdefault(how, []).extend(errors)
            rows.append([one.name, how, len(patterns), *links_row(errors), sum(timeouts)])
    for how, errors in every.items():
        rows.append(["all", how, "", *links_row(errors), ""])
        if calls.within(errors, LINKS_PCT) < LINKS_PART:
            missed.append(f"links, {how}: {100 * calls.within(errors, LINKS_PCT):.0f} % are within {LINKS_PCT} %")
    return rst(["network", "sent", "patterns", "links", f"within {LINKS_PCT} %", "median error, %", "time-outs"], rows), missed


def links_row(errors):
    return [len(errors), f"{100 * calls.within(errors, LINKS_PCT):.0f} %", f"{median(map(abs, errors)):.1f}"]


def plans_table(networks):
    rows, missed = [], []
    for one in networks:
        for size, (ours, true) in one.ratios().items():
            rows.append([one.name, calls.kib(size), f"{ours:.3f}", f"{true:.3f}", f"{ours / true:.3f}"])
            if ours / true > SLOWER:
                missed.append(f"{one.name}: the plan for {calls.kib(size)} takes {ours / true:.3f} times as long as that of the true file")
    return rst(["network", "size", "by the measured, ms", "by the true file, ms", "ratio"], rows), missed
