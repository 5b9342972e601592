# SPDX-License-Identifier: Apache-2.0
"""One sentence for each contender: what somebody who waits for the program would have felt."""

from .contender import CONTENDERS, LIBRARIES
from .scene import KIB



def sentences(message):
    """Writes a sentence for each run of one message size and way of calling, Headway's first."""
    found = []
    for library in dict.fromkeys(run["library"] for run in message["runs"]):
        runs = [run for run in message["runs"] if run["library"] == library]
        own = next((run for run in runs if run["name"] == "headway"), None)
        if own:
            found.append(own_sentence(message, own))
        found += [sentence(message, run, own) for run in runs if run is not own]
    return found


def own_sentence(message, own):
    return (f"With Headway and {LIBRARIES[own['library']]} an exchange took {ms(own['median_ms'])},"
            f" {own['median_ms'] / message['floor_ms']:.2f} times the least it can take, and the worst"
            f" {ms(own['max_ms'])}: {losses(own)}.")


def sentence(message, run, own):
    """Compared with Headway if it is there, with the floor otherwise."""
    name = CONTENDERS[run["name"]].title
    least, of_what = (own["median_ms"], "Headway's") if own else (message["floor_ms"], "the least possible")
    return (f"With {name} and {LIBRARIES[run['library']]} an exchange took {ms(run['median_ms'])}, "
            f"{times(run['median_ms'] / least)} {of_what} {ms(least)}, and the worst {ms(run['max_ms'])}"
            f" ({times(run['max_ms'] / least)} that): {waits(message, run)}{losses(run)}.")


def times(ratio):
    return f"{ratio:.0f} times" if ratio >= 10 else f"{ratio:.2f} times"


def ms(value):
    return f"{value:.0f} ms" if value >= 100 else f"{value:.3g} ms"


def waits(message, run):
    """Returns those of the sampled calls that must have waited for one of the timers of TCP."""
    rto_ms = CONTENDERS[run["name"]].rto_min_ms
    values = [value for launch in run["samples_ms"] for value in launch]
    waited = sum(value >= message["floor_ms"] + rto_ms for value in values)
    if not waited or not run["retransmits"]:
        return ""
    return f"{waited} of {len(values)} calls waited {rto_ms:g} ms or more for a retransmission, "


def losses(run):
    drops = run["port_drops"] + run["trunk_drops"]
    if not run["timeouts"] and not drops and not run["retransmits"]:
        return "nothing was lost"
    return (f"{counted(run['timeouts'], 'time-out')} and {counted(drops, 'dropped frame')} in"
            f" {counted(run['samples'], 'call')}")


def counted(number, what):
    return f"{number} {what}{'' if number == 1 else 's'}"


def heading(message):
    way = f"{message['pauses_ms']} ms between calls" if message["pauses_ms"] else "back to back"
    return (f"all-to-all of {message['bytes'] // KIB} KiB a pair, {way}; bound {message['bound_ms']:.3g} ms"
            f" ({message['bound_limit']}), floor {message['floor_ms']:.3g} ms")
