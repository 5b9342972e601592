#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""headway-exporter as Prometheus sees it, and what is written about it.

    exporter_test.py EXPORTER NODE_HEADWAYDS HEADWAY
"""
import json
import pathlib
import re
import socket
import subprocess
import sys
import tempfile
import unittest
import urllib.request

from hang_limit import HANGS_S

ROOT = pathlib.Path(__file__).resolve().parents[2]
DASHBOARD = ROOT / "packaging/grafana/headway.json"
PAGE = ROOT / "Documentation/monitoring.rst"
EXPORTER = NODES = HEADWAY = ""
CONFIG = '[node]\nname = "a0"\ninterface = "no-such-dev"\n' + "".join(
    f'[[cluster]]\nname = "{name}"\nhosts = ["{name}[0-3]"]\nprefixes = ["10.{number}.0.0/16"]\n'
    f'host_rate = "20mbit"\ntrunk_rate = "25mbit"\n' for name, number in (("a", 1), ("b", 2)))


class Exporter(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.config = self.folder / "headway.toml"
        self.config.write_text(CONFIG)
        self.socket = self.folder / "a0.sock"
        self.process = subprocess.Popen(
            [EXPORTER, "--config", self.config, "--socket", self.socket, "--listen", "127.0.0.1:0"],
            stderr=subprocess.PIPE, text=True)
        self.addCleanup(self.end)
        said = self.process.stderr.readline()
        self.port = int(re.fullmatch(r"headway-exporter: port (\d+) of 127\.0\.0\.1:0\n", said)[1])

    def end(self):
        self.process.terminate()
        self.assertEqual(self.process.wait(HANGS_S), 0)
        self.process.stderr.close()

    def start_daemons(self):
        daemons = subprocess.Popen([NODES, self.config, self.folder], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, text=True)

        def end():
            daemons.stdin.close()
            daemons.wait(HANGS_S)
            daemons.stdout.close()
        self.assertEqual(daemons.stdout.readline(), "ready\n")
        return end

    def scrape(self):
        """{"name{labels}": value}; the labels of headway_info change, so not them."""
        url = f"http://127.0.0.1:{self.port}/metrics"
        with urllib.request.urlopen(url, timeout=HANGS_S) as answer:
            lines = answer.read().decode().splitlines()
        values = {}
        for line in lines:
            if line.startswith("#") or not line.startswith("headway_"):
                continue
            series, value = line.rsplit(" ", 1)
            values["headway_info" if series.startswith("headway_info") else series] = float(value)
        return values

    def test_every_series_is_there_from_the_start(self):
        before = self.scrape()
        self.assertEqual(before["headway_up"], 0)
        end = self.start_daemons()
        self.addCleanup(end)
        now = self.scrape()
        self.assertEqual(set(before), set(now))
        self.assertEqual((now["headway_up"], now["headway_in_step"], now["headway_pacing_off"]), (1, 1, 0))
        self.assertEqual(now["headway_link_bytes_per_second"], 2.5e6)
        self.assertEqual(now['headway_class_in_kernel{class="1:11",cluster="b"}'], 1)
        self.assertEqual(now['headway_class_bytes_per_second{class="1:11",cluster="b"}'], float("inf"))

    def test_values_follow_and_stay_when_the_daemon_goes(self):
        end = self.start_daemons()
        subprocess.run([HEADWAY, "job", "start", "12", "--hosts", "a[0-3],b[0-3]", "--pattern",
                        "alltoall", "--socket", self.socket], check=True, timeout=HANGS_S)
        rate = 'headway_class_bytes_per_second{class="1:11",cluster="b"}'
        now = self.scrape()
        self.assertEqual((now[rate], now["headway_jobs_started"]), (773437, 1))
        end()
        later = self.scrape()
        self.assertEqual((later[rate], later["headway_up"]), (773437, 0))

    def test_as_many_jobs_as_there_are(self):
        """Their list is longer than a datagram."""
        end = self.start_daemons()
        clients = []
        for number in range(1000):
            client = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            clients.append(client)
            client.connect(str(self.socket))
            client.send(json.dumps({"v": 1, "id": 1, "op": "hello", "job": f"{number:0128}"}).encode())
            client.recv(65536)
        self.assertEqual(self.scrape()["headway_jobs"], 1000)
        for client in clients:
            client.close()
        end()

    def test_only_loopback_is_listened_to(self):
        sockets = {str(fd.readlink()) for fd in pathlib.Path(f"/proc/{self.process.pid}/fd").iterdir()}
        listening = [words[1] for table in ("tcp", "tcp6")
                     for words in map(str.split, pathlib.Path(f"/proc/net/{table}").read_text().splitlines())
                     if words[3] == "0A" and f"socket:[{words[9]}]" in sockets]
        self.assertEqual(listening, [f"0100007F:{self.port:04X}"])

    def test_what_is_written_names_what_there_is(self):
        names = {series.split("{")[0] for series in self.scrape()}
        dashboard = json.loads(DASHBOARD.read_text())
        queries = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
        self.assertGreater(len(queries), 10)
        for query in queries + [one["query"] for one in dashboard["templating"]["list"]]:
            self.assertEqual(query.count("("), query.count(")"), query)
            for name in re.findall(r"headway_\w+", query):
                self.assertIn(name, names, query)
        for query in queries:
            self.assertRegex(query, "headway_")
        documented = set(re.findall(r"^``(headway_\w+)``", PAGE.read_text(), re.M))
        self.assertEqual(documented, names)
        self.assertLessEqual(set(re.findall(r"headway_\w+", PAGE.read_text())), names)

    def test_an_address_that_cannot_be_had_is_told(self):
        done = subprocess.run([EXPORTER, "--config", self.config, "--listen", f"127.0.0.1:{self.port}"],
                              text=True, capture_output=True, check=False, timeout=HANGS_S)
        self.assertEqual(done.returncode, 1)
        self.assertIn("listening at 127.0.0.1", done.stderr)


if __name__ == "__main__":
    HEADWAY, NODES, EXPORTER = (str(pathlib.Path(sys.argv.pop()).resolve()) for _ in range(3))
    unittest.main()
