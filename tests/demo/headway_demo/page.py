# SPDX-License-Identifier: Apache-2.0
"""report.html: one self-contained file made from demo.json and the traces."""

from html import escape
from pathlib import Path

from . import charts, felt, prediction, verdict
from .contender import CONTENDERS, TRANSPORT
from .table import HEADINGS, row, warnings
from .trace import PARTS

STYLE = Path(__file__).with_name("style.css")


def page(document, traces):
    """`traces`: scene name -> traces, as trace.make returns them."""
    body = [f"<h1>{escape('Headway: an MPI all-to-all across two clusters')}</h1>",
            introduction(document)]
    for part in document["scenes"]:
        body += scene_section(part, traces.get(part["name"], []))
    body += [targets(document), method(document), contenders(document), caveats(document),
             reproduce(document)]
    return ('<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
            "<title>Headway demo</title>\n<style>\n" + STYLE.read_text() + "</style>\n</head>\n"
            "<body><main>\n" + "\n".join(body) + "\n</main></body>\n</html>\n")


def trunk_picture(traces):
    """An image by itself: stock and Headway, at the largest size; None if there are not both."""
    largest = max((trace["bytes"] for trace in traces), default=0)
    shown = {trace["contender"]: trace for trace in traces if trace["bytes"] == largest}
    if not {"stock", "headway"} <= shown.keys():
        return None
    return charts.trunks([shown["stock"], shown["headway"]], picture_style()) + "\n"


def picture_style():
    """The colours, and the rules of what is drawn; an image has no page around it."""
    colours, rules = STYLE.read_text().split("* {", 1)
    return colours + "svg { font-family: sans-serif; }\n" + "".join(line for line in rules.splitlines(True)
                             if line.startswith("svg ") and not line.startswith("svg {"))


def write(folder, document, traces):
    """report.html, and trunk.svg of the last scene that can be drawn; the report's path."""
    target = folder / "report.html"
    target.write_text(page(document, traces))
    for part in document["scenes"]:
        if picture := trunk_picture(traces.get(part["name"], [])):
            (folder / "trunk.svg").write_text(picture)
    return target


def introduction(document):
    return ('<p class="lead">Every rank sends a message to every other. More than half of them must '
            "cross one trunk that is slower than the nodes behind it together, so switches drop packets; "
            "a message that loses its tail waits for a retransmission time-out (RTO), and the other "
            "ranks wait with it. Headway lets each node send exactly its share of the trunk, with gaps "
            "between packets kept to the byte, so that nothing is lost.</p>"
            f'<p class="soft">{escape(document.get("made", ""))}</p>')


def headline(part):
    """Three or four figures that say what happened, at the smallest size where stock lost."""
    message = next((message for message in part["messages"] for run in message["runs"]
                    if run["name"] == "stock" and losses_of(run)), part["messages"][0])
    runs = {run["name"]: run for run in reversed(message["runs"])}     # of the first library
    own, stock = runs.get("headway"), runs.get("stock")
    if not own:
        return ""
    cards = [(f"{own['median_ms'] / message['floor_ms']:.2f} ×",
              f"the least time of an {felt.heading(message)}: {felt.ms(own['median_ms'])}"),
             (f"{losses_of(own)}", f"drops and RTOs with Headway in {own['samples']} all-to-alls")]
    if stock:
        cards += [(felt.times(stock["median_ms"] / own["median_ms"]).replace(" times", " ×"),
                   "as fast as stock in the median, "
                   + felt.times(stock["max_ms"] / own["max_ms"]) + " in the worst case"),
                  (f"{losses_of(stock)}", f"drops and RTOs with the stock kernel in {stock['samples']}"
                                          " all-to-alls")]
    return '<div class="cards">' + "".join(
        f'<div class="card"><b>{escape(figure)}</b><span>{escape(words)}</span></div>'
        for figure, words in cards) + "</div>"


def losses_of(run):
    return run["timeouts"] + run["port_drops"] + run["trunk_drops"]


def scene_section(part, traces):
    yield f"<h2>{escape(part['title'])}</h2>"
    yield headline(part)
    yield figure(charts.network(part),
                 f"Each node is a network name space with its own TCP and an emulated wire; the "
                 f"switches are Linux bridges with small first-in-first-out queues. The nodes of a "
                 f"cluster together are {part['oversubscription']:g} times as fast as the trunk.")
    if traces:
        yield from trunk_section(traces)
    for message in part["messages"]:
        yield from message_section(message)
    yield from prediction_section(part)


def prediction_section(part):
    pairs = list(prediction.pairs(part))
    if not pairs:
        return
    yield "<h3>Predicted and measured</h3>"
    yield ("<p>What <code>headway plan</code> says of these exchanges by the scene's headway.toml, which names rates and "
           "the delay, but no buffers: unpaced from the time without a time-out to that with all that are possible; "
           "as planned for Headway. The stock library takes an algorithm of its own, the prediction is of all messages "
           "at once. The ratio is to the time without time-outs.</p>")
    yield figure(charts.predictions(pairs), "Bar: predicted. Dot: the measured median. Line: to the worst call.")
    yield table(prediction.HEADINGS, prediction.rows(part))


def trunk_section(traces):
    """Shows where the time of an all-to-all goes; every picture has a time scale of its own."""
    yield "<h3>The trunk during one all-to-all</h3>"
    for trace in sorted(traces, key=lambda trace: trace["bytes"]):
        yield figure(charts.trunk(trace),
                     "Share of the time in which the trunk carried a frame, from the exact start of every "
                     f"frame on the wire, in bins of {trace['bin_ms'] * 1e3:.0f} us. A call after a pause, of a "
                     "launch that counts for nothing else.")
    yield ("<p>Where the time of these calls went, by the trunk's two ways, in microseconds. Before the first "
           "frame, messages are handed to the kernel and cross the first link; after the last one it crosses "
           "the trunk and another link, and its rank comes out of the call.</p>")
    yield parts_table(traces)


def parts_table(traces):
    lines = []
    for trace in traces:
        for way, seen in trace["directions"].items():
            parts = seen["parts_us"] or {}
            cells = [CONTENDERS[trace["contender"]].title, f"{trace['bytes'] // 1024} KiB", way,
                     f"{trace['ms'] * 1e3:.0f}",
                     *(f"{parts[name]:.0f}" if parts else "-" for name in PARTS),
                     f"{trace['first_through_ms'] * 1e3:.0f}"]
            lines.append((trace["contender"], cells))
    return table(("contender", "size", "way", "in all", *PARTS, "first rank through"), lines)


def message_section(message):
    heading = felt.heading(message)
    yield f"<h3>{escape(heading[0].upper() + heading[1:])}</h3>"
    yield "<ul>" + "".join(f"<li>{escape(words)}</li>" for words in felt.sentences(message)) + "</ul>"
    yield "".join(f'<p class="missed">{escape(words)}</p>' for words in warnings(message))
    yield figure(charts.times(message),
                 "Bar: median. Dots: every sample. Line to the right: worst. Dashed: the floor.")
    yield figure(charts.losses(message), "Losses per all-to-all.")
    yield result_table(message)


def figure(picture, caption):
    return f"<figure>{picture}<figcaption>{escape(caption)}</figcaption></figure>"


def result_table(message):
    return table(HEADINGS, [(run["name"], row(run, message["floor_ms"])) for run in message["runs"]])


def table(headings, lines):
    """`lines`: the contender, whose name decides the line's look, and its cells."""
    html = "<tr>" + "".join(f"<th>{escape(heading)}</th>" for heading in headings) + "</tr>"
    for name, cells in lines:
        look = ' class="own"' if charts.own_class(name) else ""
        html += f"<tr{look}>" + "".join(f"<td>{escape(cell)}</td>" for cell in cells) + "</tr>"
    return f'<div class="scroll"><table>{html}</table></div>'


def targets(document):
    if not document["verdicts"]:
        return ""
    lines = []
    for judged in document["verdicts"]:
        met = judged["met"]
        relation = "&lt;" if judged["strictly"] else "≤"
        lines.append(
            f'<tr><td class="{"met" if met else "missed"}">{"met" if met else "missed"}</td>'
            f'<td class="words">{escape(verdict.where(judged))}</td>'
            f'<td class="words">{escape(judged["target"])}</td><td>{judged["value"]:g}</td>'
            f"<td>{relation} {judged['limit']:g}</td>"
            f'<td class="wrap words">{escape(verdict.margin(judged).removeprefix(", "))}</td></tr>')
    return ('<h2>Targets</h2><div class="scroll"><table><tr><th></th><th class="words">where</th>'
            '<th class="words">target</th><th>seen</th><th>allowed</th><th></th></tr>'
            f'{"".join(lines)}</table></div>')


def method(document):
    points = [
        f"<b>Bound</b> = {escape(document['bound_formula'])}. Data frames only.",
        f"<b>Floor</b> = {escape(document['floor_formula'])}. Acknowledgements of the opposite direction's"
        " data share the wire and cost about 3 %.",
        "<b>Time</b> of an all-to-all is that of the slowest rank, after a barrier. The machine is "
        "emulated and its clock counts instructions, so the host's own load changes nothing.",
        "<b>Median and worst</b> are over all samples of all launches. Each launch opens new connections; "
        "the first all-to-all of each size and way is a warm-up that does not count.",
        "<b>With pauses</b> every rank sleeps before each call, as a program that computes leaves the "
        "network alone. The kernel then forgets how large its windows were.",
        "<b>RTOs</b> are TCPTimeouts, <b>retransmissions</b> RetransSegs, summed over the nodes; drops "
        "are those of the switch ports' queues. All are read before and after the sampled calls while "
        "the network is idle.",
        "<b>Slowest flow</b>: its rate to that of the mean flow, which is the mean time from a rank's entry "
        "to the last byte of a connection that carried a message, divided by the longest; median over the "
        "calls.",
        escape(document.get("sampling", "")),
        "<b>softirq</b> is the part of the time (pauses left out) that the one emulated processor spent "
        "in network interrupts: every node, switch and TCP together; <b>busy</b> is all it did. Where "
        f"softirq is above {verdict.SOFTIRQ_MOST * 100:.0f} % the processor may set the times, and a "
        "warning says so.",
    ]
    return "<h2>How it was measured</h2><ul>" + "".join(f"<li>{p}</li>" for p in points if p) + "</ul>"


def settings_of(library):
    return ", ".join(f"<code>{name}={value}</code>" for name, value in TRANSPORT[library].items())


def contenders(document):
    names = [name for name in CONTENDERS
             if any(run["name"] == name for part in document["scenes"]
                    for message in part["messages"] for run in message["runs"])]
    parts = ["<h2>Who took part</h2>",
             "<p>Unless it is their point, contenders run the all-to-all that Headway's helper chooses: each "
             "rank posts all its messages, then waits. So they do the transport: Open MPI with "
             f"{settings_of('ompi')} (no PUT protocol), MPICH with {settings_of('mpich')}."
             "</p>"]
    for name in names:
        contender = CONTENDERS[name]
        parts.append(f"<h3>{escape(contender.title)}</h3><p>{escape(contender.what)}.</p>")
        for part in document["scenes"]:
            plan = part["plans"].get(name)
            if plan:
                parts.append(f"<details><summary>{escape(part['title'])}: as set up on node a0</summary>"
                             f"<pre>{escape(plan)}</pre></details>")
    return "".join(parts)


def caveats(document):
    factors = ", ".join(f"{part['factor']} times in {part['name']}" for part in document["scenes"])
    points = [
        "Links have the rates they are said to have, and TCP its real time constants: 200 ms until it"
        " retransmits, 40 ms for a delayed acknowledgement. The emulated processor looks faster than the"
        f" one emulated ({factors}), so that it keeps up with the links. What programs and kernels compute"
        " therefore costs next to nothing; there is no network card, and its interrupts are not moderated.",
        "Every contender but Headway is our own best setting of what Linux offers; a specialist may "
        "find better ones.",
        "RED stands for a switch that marks ECN: like some real switches it drops packets that do not carry "
        "ECN, pure acknowledgements among them.",
        "Lossy contenders are chaotic: their medians move by several per cent from launch to launch, their "
        "worst cases by much more. Headway's repeat to about one per cent.",
    ]
    return "<h2>Read with care</h2><ul>" + "".join(f"<li>{escape(p)}</li>" for p in points) + "</ul>"


def reproduce(document):
    return ("<h2>Reproduce</h2><p>On Debian 12, in Headway's source tree, as root:</p>"
            "<pre>make demo        # two scenes, four contenders, two sizes\n"
            "make demo-full   # everything; goes on where it was interrupted</pre>"
            f"<p>This report: <code>{escape(document.get('command', ''))}</code>. All figures are in "
            "<code>demo.json</code> beside it; <code>tests/demo/report</code> makes this page from it "
            "again.</p>")
