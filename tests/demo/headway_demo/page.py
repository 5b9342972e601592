# SPDX-License-Identifier: Apache-2.0
"""report.html: one self-contained file made from demo.json and the traces."""

from html import escape
from pathlib import Path

from . import charts, verdict
from .contender import CONTENDERS
from .table import HEADINGS, row

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


def introduction(document):
    return ('<p class="lead">Every rank sends a message to every other. More than half of them must '
            "cross one trunk that is slower than the nodes behind it together, so switches drop packets; "
            "a message that loses its tail waits for a retransmission time-out (RTO), and the other "
            "ranks wait with it. Headway lets each node send exactly its share of the trunk, with gaps "
            "between packets kept to the byte, so that nothing is lost.</p>"
            f'<p class="soft">{escape(document.get("made", ""))}</p>')


def headline(part):
    """Three figures that say what happened, at the middle message size."""
    message = part["messages"][len(part["messages"]) // 2]
    runs = {run["name"]: run for run in message["runs"]}
    own, stock = runs.get("headway"), runs.get("stock")
    if not own:
        return ""
    size = f"{message['bytes'] // 1024} KiB"
    cards = [(f"{own['bound_ratio']:.2f} ×", f"the bandwidth bound at {size}: {own['median_ms']:.0f} ms "
                                             f"of at least {message['bound_ms']:.0f}"),
             (f"{losses_of(own)}", f"drops and RTOs with Headway in {own['samples']} all-to-alls")]
    if stock:
        cards += [(f"{stock['median_ms'] / own['median_ms']:.2f} ×",
                   f"as fast as stock in the median, {stock['max_ms'] / own['max_ms']:.2f} × in the worst case"),
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
        yield "<h3>The trunk over time</h3>"
        yield figure(charts.trunk(traces),
                     f"Share of the time in which the trunk carried a frame, in bins of "
                     f"{traces[0]['bin_ms']:g} ms, from the exact start of every frame on the wire. "
                     "Shaded: an all-to-all is running. Taken in mpiruns of their own that count for "
                     "nothing else.")
    yield "<h3>Times</h3>"
    for message in part["messages"]:
        yield figure(charts.times(message),
                     f"All-to-all of {message['bytes'] // 1024} KiB per pair of ranks. Bar: median. "
                     "Dots: every sample. Line to the right: worst. Dashed: what the data frames alone "
                     f"need on the {message['bound_limit']}.")
    yield "<h3>Losses per all-to-all</h3>"
    for message in part["messages"]:
        yield figure(charts.losses(message), f"{message['bytes'] // 1024} KiB per pair of ranks.")
    yield "<h3>All figures</h3>"
    for message in part["messages"]:
        yield result_table(message)


def figure(picture, caption):
    return f"<figure>{picture}<figcaption>{escape(caption)}</figcaption></figure>"


def result_table(message):
    headings = "".join(heading_cell(i, heading) for i, heading in enumerate(HEADINGS))
    lines = []
    for run in message["runs"]:
        own = ' class="own"' if run["name"] == "headway" else ""
        cells = "".join(f"<td>{escape(cell)}</td>" for cell in row(run))
        lines.append(f"<tr{own}>{cells}</tr>")
    return (f"<p><b>{message['bytes'] // 1024} KiB</b>, bound {message['bound_ms']:.1f} ms</p>"
            f'<div class="scroll"><table><tr>{headings}</tr>{"".join(lines)}</table></div>')


def heading_cell(i, heading):
    return f"<th>{escape(heading)}</th>"


def targets(document):
    if not document["verdicts"]:
        return ""
    lines = []
    for judged in document["verdicts"]:
        met = judged["met"]
        relation = "&lt;" if judged["strictly"] else "≤"
        lines.append(
            f'<tr><td class="{"met" if met else "missed"}">{"met" if met else "missed"}</td>'
            f'<td class="words">{escape(judged["scene"])}</td><td>{judged["bytes"] // 1024} KiB</td>'
            f'<td class="words">{escape(judged["target"])}</td><td>{judged["value"]:g}</td>'
            f"<td>{relation} {judged['limit']:g}</td>"
            f"<td>{escape(verdict.margin(judged).removeprefix(', '))}</td></tr>")
    return ('<h2>Targets</h2><div class="scroll"><table><tr><th></th><th class="words">scene</th>'
            '<th>size</th><th class="words">target</th><th>seen</th><th>allowed</th><th></th></tr>'
            f'{"".join(lines)}</table></div>')


def method(document):
    points = [
        f"<b>Bound</b> = {escape(document['bound_formula'])}. Data frames only; acknowledgements of the "
        "opposite direction's data share the wire and cost at least 3.1 % more.",
        "<b>Time</b> of an all-to-all is that of the slowest rank, after a barrier. The machine is "
        "emulated and its clock counts instructions, so the host's own load changes nothing.",
        "<b>Median and worst</b> are over all samples of all mpiruns. Each mpirun opens new connections "
        "and runs all sizes; the first all-to-all of each size is a warm-up that does not count.",
        "<b>RTOs</b> are TCPTimeouts, <b>retransmissions</b> RetransSegs, summed over the nodes; drops "
        "are those of the switch ports' queues. All are read before and after the sampled calls while "
        "the network is idle. Sums over unequal numbers of samples: compare per all-to-all.",
        escape(document.get("sampling", "")),
        "<b>softirq</b> is the part of the time that the one emulated processor spent in network "
        "interrupts: every node, switch and TCP together. Far below 100 % means that the network, "
        "not the processor, sets the times.",
    ]
    return "<h2>How it was measured</h2><ul>" + "".join(f"<li>{p}</li>" for p in points if p) + "</ul>"


def contenders(document):
    names = [name for name in CONTENDERS
             if any(run["name"] == name for part in document["scenes"]
                    for message in part["messages"] for run in message["runs"])]
    parts = ["<h2>Who took part</h2>",
             "<p>Every contender runs the same all-to-all algorithm: each rank posts all its messages, "
             "then waits (Open MPI's “linear”). Each takes the better of two transport settings at each "
             "size: Open MPI's default and <code>btl_tcp_flags=1</code> (no PUT protocol). Headway's "
             "helper library sets algorithm and transport itself.</p>"]
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
    points = [
        "Time constants are not dilated. The links are 50 or 100 times slower than 1 Gbit/s with the same "
        "frames and bytes, but TCP still waits 200 ms (or 5 ms) before it retransmits. On real links an RTO "
        "costs 50 to 100 times more all-to-alls than here: these tables flatter everyone who has RTOs.",
        "Every contender but Headway is our own best setting of what Linux offers; a specialist may "
        "find better ones.",
        "RED stands for a switch that marks ECN: like some real switches it drops packets that do not carry "
        "ECN, pure acknowledgements among them.",
        "Lossy contenders are chaotic: their medians move by several per cent from run to run, their "
        "worst cases by much more. Headway's repeat to about one per cent.",
        "With few senders and deep buffers a short rto_min is nearly as good in the median. Shallow "
        "buffers and many senders are what separate the methods, and what oversubscribed switches have.",
    ]
    if document.get("two_samplings"):
        points.append("Loss-free contenders ran fewer mpiruns than lossy ones; a worst case over fewer "
                      "samples is the smaller for it.")
    return "<h2>Read with care</h2><ul>" + "".join(f"<li>{escape(p)}</li>" for p in points) + "</ul>"


def reproduce(document):
    return ("<h2>Reproduce</h2><p>On Debian 12, in Headway's source tree, as root:</p>"
            "<pre>make demo        # the first scene, three contenders\n"
            "make demo-full   # both scenes, every contender</pre>"
            f"<p>This report: <code>{escape(document.get('command', ''))}</code>. All figures are in "
            "<code>demo.json</code> beside it; <code>tests/demo/report</code> makes this page from it "
            "again.</p>")
