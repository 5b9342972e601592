# SPDX-License-Identifier: Apache-2.0
"""Results of `make bench-phase`: what was measured, targets, tables."""

WAYS = {"store": "a store into the slot", "request": "headwayd: enter",
        "netlink": "netlink class change", "tc": "tc class change"}
STORE_INSTRUCTIONS_MAX = 100
SPACING_PART = 0.02         # of the interval at the new rate


def document(kernel, measured, host):
    """Everything, from the JSON objects of the guest and of the host."""
    ways = {entry["way"]: entry for entry in measured if "way" in entry}
    missing = [way for way in WAYS if way not in ways]
    costs = [entry for entry in measured if "classifier" in entry]
    if missing or not costs:
        raise ValueError(f"no result for {', '.join(missing) or 'the classifier'}")
    return {"kernel": kernel,
            "backend": next((e["backend"] for e in measured if "backend" in e), None),
            "ways": [ways[way] for way in WAYS], "classifier": costs, "host": host,
            "verified_instructions": next((e["verified_instructions"] for e in measured
                                           if "verified_instructions" in e), None),
            "targets": list(targets(ways))}


def targets(ways):
    store = ways["store"]["switch_ns"]
    yield {"what": f"a store takes fewer than {STORE_INSTRUCTIONS_MAX} instructions",
           "got": store, "met": store < STORE_INSTRUCTIONS_MAX}
    for way, entry in ways.items():
        off = abs(entry["spacing_ns"] - entry["expected_spacing_ns"])
        yield {"what": f"frames sent after a switch by {way} have the new rate",
               "got": entry["spacing_ns"],
               "met": off <= SPACING_PART * entry["expected_spacing_ns"]}


def host_ns(document_, **wanted):
    """The host's time for the same thing, or a dash."""
    for entry in document_["host"]:
        if all(entry.get(key) == value for key, value in wanted.items()):
            return str(entry.get("host_ns", entry.get("ns")))
    return "-"


def report(document_):
    store = document_["ways"][0]["switch_ns"]
    yield f"A change of the rate, Linux {document_['kernel']}, back end {document_['backend']}:"
    yield ""
    yield (f"{'by':24} {'instructions':>13} {'ratio':>8} {'to 1st frame, ns':>17} "
           f"{'spacing, ns':>12} {'host, ns':>9}")
    for entry in document_["ways"]:
        yield (f"{WAYS[entry['way']]:24} {entry['switch_ns']:13} "
               f"{entry['switch_ns'] / max(store, 1):8.1f} {entry['first_frame_ns']:17} "
               f"{entry['spacing_ns']:12} {host_ns(document_, way=entry['way']):>9}")
    yield ""
    yield "The classifier, instructions per packet:"
    yield ""
    base = document_["classifier"][0]["ns"]
    yield f"{'processes':>9} {'':11} {'instructions':>13} {'ratio':>8} {'host, ns':>9}"
    for entry in document_["classifier"]:
        host = host_ns(document_, classifier=entry["classifier"], processes=entry["processes"])
        yield (f"{entry['processes']:9} {entry['classifier']:11} {entry['ns']:13} "
               f"{entry['ns'] / max(base, 1):8.1f} {host:>9}")
    yield f"the verifier followed {document_['verified_instructions']} instructions of it"
    yield ""
    for target in document_["targets"]:
        yield f"{'met' if target['met'] else 'MISSED':6} {target['what']}: {target['got']}"
