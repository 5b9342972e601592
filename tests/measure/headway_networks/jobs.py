# SPDX-License-Identifier: Apache-2.0
"""Which networks there are, and the MPI jobs that run in them."""

import json
import random
from statistics import median

from headway_live import links

from . import truth

NETWORKS = ("two_clusters", "three_levels", "unequal_trunks", "shallow", "deep", "far_away")
SIZES = (1024, 4096, 16384, 65536)
PACED_SIZES = (16384, 65536)
# collective_bench has these operations; halos are neighbour collectives on grids of these numbers
# of hosts, whose edges meet or do not.
OPERATIONS = {"alltoall": "alltoall", "gather": "gather", "halo": "neighbor_alltoall", "ring": "neighbor_alltoall_ring",
              "cube": "neighbor_alltoall_cube", "open": "neighbor_alltoall_open"}
GRIDS = {"halo": ((4, 2), True), "ring": ((8,), True), "cube": ((2, 2, 2), True), "open": ((4, 2), False)}
# Open MPI's that send everything at once, as `headway measure` does; else it takes others for some sizes.
# Plans are for jobs with the helper, which sets the eager limit so that messages of 64 KiB do not ask the receiver first.
AT_ONCE = {"coll_tuned_use_dynamic_rules": 1, "coll_tuned_alltoall_algorithm": 1, "coll_tuned_gather_algorithm": 1,
           "btl_tcp_eager_limit": 131072}
MEASURED, TRUE = "measured.toml", "true.toml"
PATTERNS, PATTERNS_FAR, PACED_PATTERNS = 6, 2, 3
# A window has to be long beside a round trip, and what is under way has to fill it.
LINKS = {"bytes": 1 << 16, "lead_ms": 15, "window_ms": 30}
LINKS_FAR = {"bytes": 1 << 20, "lead_ms": 250, "window_ms": 100}


def measured(store, network):
    """The tree that there is, the document and the headway.toml that were made of it; None: not yet."""
    kept = store.experiments.get(f"{network}-measured")
    return next((event for event in kept["events"] if event["event"] == "measured"), None) if kept else None


def patterns(network):
    """Other ones for each network, the same each time."""
    chance = random.Random(NETWORKS.index(network) + 1)
    return [links.random_pattern(chance, links.DEGREES[i % len(links.DEGREES)]) for i in range(PATTERNS)]


def hosts_of(found):
    return [name for name, _, _ in truth.rows(found["tree"])[1]]


def collectives(name, operations, sizes, repetitions, config=None, mca=None):
    named = [[f"{OPERATIONS[operation]}:{size}", repetitions] for operation in operations for size in sizes]
    return {"name": name, "kind": "collectives", "operation": "alltoall", "warmup": 2, "config": config, "mca": mca or {},
            "sizes": named}


def spec(network, found, repetitions):
    """Returns what the guest of its jobs is told."""
    parameters, drawn = LINKS, patterns(network)
    if network == "far_away":
        parameters, drawn = LINKS_FAR, drawn[:PATTERNS_FAR]

    def of_links(name, some, config=None):
        return {"name": name, "kind": "links", "config": config, "patterns": some, **parameters}

    jobs = [collectives("at once", ["alltoall", "gather", "halo"], SIZES, repetitions, mca=AT_ONCE),
            # its connections have not lost anything before
            collectives("alone", ["halo"], SIZES, repetitions, mca=AT_ONCE),
            collectives("shapes", ["ring", "cube", "open"], SIZES, repetitions, mca=AT_ONCE),
            # how much one job says of another one
            collectives("again", ["alltoall"], SIZES, 2 * repetitions, mca=AT_ONCE),
            collectives("true", ["alltoall"], PACED_SIZES, repetitions, TRUE),
            collectives("paced", ["alltoall"], PACED_SIZES, repetitions, MEASURED),
            collectives("helper", ["gather"], SIZES, repetitions, MEASURED),
            *(of_links(f"paced-{i}", [pattern], MEASURED) for i, pattern in enumerate(drawn[:PACED_PATTERNS])),
            # the least comes last: time may be over
            of_links("random", drawn),
            collectives("library", ["alltoall", "gather"], SIZES, repetitions)]
    files = {MEASURED: found["config"], "measured.json": json.dumps(found["document"]), TRUE: truth.toml(found["tree"])}
    return {"scene": network, "jobs": [job | {"hosts": hosts_of(found)} for job in jobs], "files": files}


def told(event):
    """An event as a line of progress."""
    if "samples_ms" in event:
        return (f"{event['job']}: {event['operation']} of {event['bytes']}: median {median(event['samples_ms']):.3f} ms, most"
                f" {max(event['samples_ms']):.3f}, {event['timeouts']} time-outs")
    if "mbps" in event:
        return f"{event['job']}: pattern {event['pattern']} of {len(event['links'])} links, {sum(event['mbps']):.0f} Mbit/s"
    return event.get("what", event["event"])
