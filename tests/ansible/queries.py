#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Ask a Prometheus that has scraped headway-exporter everything that the dashboard asks.

  queries.py URL NODES [SECONDS]     NODES: how many have to be there, each with headway_up 1.
                                     Prints a line for each query, and fails if one finds
                                     nothing, after trying for SECONDS (120)
"""
import json
import pathlib
import re
import sys
import time
import urllib.parse
import urllib.request

DASHBOARD = pathlib.Path(__file__).resolve().parents[2] / "packaging/grafana/headway.json"
# Grafana puts these in: every node, and four times a usual scrape interval.
VARIABLES = {"$instance": ".*", "$__rate_interval": "1m"}
PATIENCE_S = 600


def ask(url, path, **parameters):
    with urllib.request.urlopen(f"{url}/api/v1/{path}?{urllib.parse.urlencode(parameters)}",
                                timeout=PATIENCE_S) as answer:
        return json.load(answer)["data"]


def panel_queries(dashboard):
    for panel in dashboard["panels"]:
        for target in panel["targets"]:
            query = target["expr"]
            for name, value in VARIABLES.items():
                query = query.replace(name, value)
            yield query


def found(url, query):
    """How many series a query of the dashboard finds, or values a variable has."""
    values = re.fullmatch(r"label_values\((\w+), *(\w+)\)", query)
    if values:
        return len(ask(url, f"label/{values[2]}/values", **{"match[]": values[1]}))
    return len(ask(url, "query", query=query)["result"])


def look(url, nodes):
    """{query: how many series}, and the queries that find too few."""
    dashboard = json.loads(DASHBOARD.read_text())
    queries = [*panel_queries(dashboard),
               *(one["query"] for one in dashboard["templating"]["list"] if one["type"] == "query")]
    counts = {query: found(url, query) for query in queries}
    up = "headway_up == 1"
    counts[up] = found(url, up)
    return counts, [query for query, count in counts.items() if count < nodes]


def main():
    url, nodes = sys.argv[1], int(sys.argv[2])
    deadline = time.monotonic() + int(sys.argv[3] if len(sys.argv) > 3 else 120)
    while True:
        try:
            counts, missing = look(url, nodes)
        except OSError as error:
            # it answers 503 until it has read what it has stored
            counts, missing = {}, [f"(Prometheus does not answer: {error})"]
        if not missing or time.monotonic() > deadline:
            break
        time.sleep(2)
    for query, count in counts.items():
        print(f"{count} series: {query}")
    for query in missing:
        print(f"fewer than {nodes} series: {query}")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
