#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""headway measure with agents on this host: what works, and what is told if it does not.

    measure_cli_test.py HEADWAY
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import unittest

HEADWAY = ""
HOSTS = ["--hosts", "x=127.0.0.1", "y=127.0.0.2", "z=127.0.0.3"]


def headway(*arguments, text_in=""):
    return subprocess.run([HEADWAY, "measure", *arguments], text=True, input=text_in, timeout=300,
                          capture_output=True, check=False)


class Agents(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def launcher(self, for_z):
        """Of `--launch`: agents, but for host z that command of bash."""
        script = self.folder / "launch"
        script.write_text("#!/bin/bash\nhost=$1\nshift\n"
                          f"echo $$ >{self.folder}/$host.pid\n"
                          f"[[ $host != z ]] || {{ {for_z}; }}\n" 'exec "$@"\n')
        script.chmod(0o755)
        return f"{script} {{host}}"

    def measure(self, for_z=":", *options):
        return headway("--launch", self.launcher(for_z), "--max-load", "100", *HOSTS, *options)

    def assert_refused(self, done, status, *words):
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        for word in words:
            self.assertIn(word, done.stderr)

    def test_a_network_is_measured(self):
        document = self.folder / "found.json"
        done = self.measure(":", "--network-only", "--output", str(document), "--write",
                            str(self.folder / "headway.toml"), str(self.folder / "topology.conf"),
                            str(self.folder / "platform.xml"))
        self.assertEqual(done.returncode, 0, done.stderr)
        found = json.loads(document.read_text())
        self.assertEqual([h["name"] for h in found["hosts"]], ["x", "y", "z"])
        self.assertEqual(len(found["round_trips"]), 3)
        self.assertGreater(found["bytes_sent"], 0)
        self.assertTrue(all(link["bps"] > 1e6 for link in found["links"] if link["bps"]))
        for name, options in (("headway.toml", []), ("topology.conf", ["--default-rate", "1gbit"]),
                              ("platform.xml", [])):
            checked = subprocess.run([HEADWAY, "topology", "check", *options, str(self.folder / name)], text=True,
                                     capture_output=True, check=False)
            self.assertEqual(checked.returncode, 0, checked.stdout + checked.stderr)
        # what was written is what was found, and nothing has changed since
        for option, file in (("--config", self.folder / "headway.toml"), ("--since", document)):
            again = headway("--from", str(document), option, str(file))
            self.assertEqual((again.returncode, again.stdout), (0, ""))
        toml = re.sub(r'rate = ".*"', 'rate = "1mbit"', (self.folder / "headway.toml").read_text())
        (self.folder / "wrong.toml").write_text(toml)
        wrong = headway("--from", str(document), "--config", str(self.folder / "wrong.toml"))
        self.assertEqual(wrong.returncode, 1)
        self.assertIn("too slow", wrong.stdout)

    def test_agents_may_be_started_by_mpirun(self):
        as_root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        done = subprocess.run([HEADWAY, "measure", "--launch", "mpirun --oversubscribe -n 1", "--max-load", "100",
                               "--network-only", "--json", *HOSTS], env=os.environ | as_root, text=True, timeout=300,
                              capture_output=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(len(json.loads(done.stdout)["round_trips"]), 3)

    def test_messages_are_measured(self):
        document = self.folder / "found.json"
        done = self.measure(":", "--output", str(document))
        self.assertEqual(done.returncode, 0, done.stderr)
        found = json.loads(document.read_text())["messages"]
        self.assertEqual(len(found["hosts"]), 3)
        self.assertGreater(found["pairs"][0]["alpha_s"], 0)
        sizes = [trip["bytes"] for trip in found["pairs"][0]["round_trips"]]
        self.assertEqual(sizes, sorted(set(sizes)))
        self.assertLessEqual({share["direction"] for share in found["shares"]}, {"in", "out", "trunk"})
        self.assertLessEqual({"in", "out"}, {share["direction"] for share in found["shares"]})
        for share in found["shares"]:
            self.assertLess(1e6, share["least_bytes_per_s"])
            self.assertLessEqual(share["least_bytes_per_s"], share["most_bytes_per_s"])
        self.assertEqual([all_["hosts"] for all_ in found["all_to_all"]], [2, 3])
        self.assertTrue(all("levels" in time for all_ in found["all_to_all"] for time in all_["times"]))
        ring, = found["neighbours"]
        self.assertEqual(ring["flows"], [[0, 2], [0, 1], [1, 0], [1, 2], [2, 1], [2, 0]])
        self.assertEqual([time["bytes"] for time in ring["times"]], [1024, 4096, 16384, 32768, 65536])
        self.assertEqual(len(found["many_to_one"]), 8)
        self.assertEqual(len(found["one_to_many"]), 8)
        self.assertIsNone(found["two_in_one_out"], "that takes four hosts")

    def test_a_host_that_does_not_answer_is_named(self):
        began = time.monotonic()
        done = self.measure("exec sleep 600", "--patience", "1")
        self.assert_refused(done, 1, "host z: it has not answered within 1 s")
        self.assertNotIn("host x", done.stderr)
        self.assertLess(time.monotonic() - began, 30)
        for host in "xyz":
            pid = int((self.folder / f"{host}.pid").read_text())
            with self.assertRaises(ProcessLookupError):
                os.kill(pid, 0)

    def test_what_a_host_complains_of_is_told(self):
        done = self.measure("echo noise >&2; echo 'Permission denied (publickey).' >&2; exit 255")
        self.assert_refused(done, 1, "host z: it has ended: Permission denied (publickey).")

    def test_another_version_is_refused(self):
        done = self.measure("""echo '{"headway":"0.0.1","node":"z","data":1,"echo":2,"tcp":3}'; exec sleep 600""")
        self.assert_refused(done, 1, "host z: it has headway 0.0.1")

    def test_other_output_is_shown(self):
        self.assert_refused(self.measure("echo Welcome to z; exec sleep 600"), 1,
                            'host z: instead of an answer came "Welcome to z"')

    def test_an_agent_that_dies_is_named(self):
        done = self.measure('exec timeout --signal KILL 0.3 "$@"', "--network-only")
        self.assert_refused(done, 1, "host z: it has ended")

    def test_what_was_found_before_the_limit_is_kept(self):
        document = self.folder / "found.json"
        self.measure(":", "--network-only", "--output", str(document))
        network_bytes = json.loads(document.read_text())["bytes_sent"]
        done = self.measure(":", "--max-bytes", f"{network_bytes}B", "--output", str(document))
        # how much a bulk sends is up to this host, so the limit may come before the messages
        self.assert_refused(done, 1, "--max-bytes allows")

    def test_no_more_is_sent_than_allowed(self):
        self.assert_refused(self.measure(":", "--max-bytes", "1MB"), 1, "--max-bytes allows")

    def test_mistakes_are_told_before_anything_is_done(self):
        for words, options in ((("--hosts", "two hosts"), ["--hosts", "x=127.0.0.1"]),
                               (("x is named twice",), ["--hosts", "x=127.0.0.1", "x=127.0.0.1"]),
                               (("no.such.host.invalid",), ["--hosts", "x=127.0.0.1", "no.such.host.invalid"]),
                               (("--write", ".toml"), [*HOSTS, "--write", "network.txt"]),
                               (("--launch",), [*HOSTS, "--launch", " "]),
                               (("--max-bytes",), [*HOSTS, "--max-bytes", "much"]),
                               (("missing.toml",), [*HOSTS, "--config", "missing.toml"]),
                               (("missing.json",), ["--from", "missing.json"])):
            with self.subTest(options):
                self.assert_refused(headway(*options), 2, *words)

    def test_an_agent_survives_what_it_does_not_understand(self):
        lines = ["no JSON", "[]", "{}", '{"do":"dance"}', '{"do":"bulk","run":1,"to":[7],"duration_ns":1,"bytes_per_s":0}',
                 '{"do":"peers","token":1,"self":0,"list":[["nowhere",1,2,3]]}',
                 '{"do":"rounds","count":1,"steps":[[[[3,1]],[]]],"patience_ms":10}', '{"do":"nothing"}']
        done = headway("--agent", text_in="\n".join(lines) + "\n")
        answers = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual(done.returncode, 0)
        self.assertEqual(len(answers), 1 + len(lines))
        self.assertEqual(set(answers[0]), {"headway", "node", "data", "echo", "tcp"})
        for answer in answers[1:-1]:
            self.assertEqual(list(answer), ["error"])
        self.assertEqual(answers[-1], {})


# Hosts a and b and a router on one bridge; "$1" runs before headway measure, which is the rest.  In namespaces of its own.
NETWORK = """
set -e
mount -t tmpfs tmpfs /run && mkdir /run/netns
ip link set lo up
ip link add br0 type bridge && ip link set br0 up
ip addr add 10.9.0.100/24 dev br0       # without addresses of its own the coordinator would take none for one
ip addr add fd09::100/64 dev br0 nodad
plug() {
    ip link add "$2" netns "$1" type veth peer name "p$1$2"
    ip link set "p$1$2" master br0 up
    ip -n "$1" link set "$2" up
}
number=0
for node in a b router; do
    number=$((number + 1))
    ip netns add $node && ip -n $node link set lo up
    plug $node eth0
    ip -n $node addr add 10.9.0.$number/24 dev eth0
    ip -n $node addr add fd09::$number/64 dev eth0 nodad
done
for setting in ipv4/ip_forward=1 ipv6/conf/all/forwarding=1 ipv4/conf/all/send_redirects=0 ipv4/conf/eth0/send_redirects=0; do
    nsenter --net=/run/netns/router bash -c "echo ${setting#*=} >/proc/sys/net/${setting%=*}"
done
eval "$1"
shift
exec "$@"
"""
APART = ["unshare", "--map-root-user", "--net", "--mount"]


class Routes(unittest.TestCase):
    """Of two hosts with a router beside them."""

    def setUp(self):
        if subprocess.run([*APART, "ip", "link", "add", "type", "veth"], capture_output=True, check=False).returncode:
            self.skipTest("no namespaces here")

    def measure(self, prepared, *addresses):
        with tempfile.TemporaryDirectory() as folder:
            launch = pathlib.Path(folder) / "launch"
            launch.write_text('#!/bin/sh\nhost=$1\nshift\nexec nsenter --net=/run/netns/$host "$@"\n')
            launch.chmod(0o755)
            return subprocess.run([*APART, "bash", "-c", NETWORK, "network", prepared, HEADWAY, "measure", "--launch",
                                   f"{launch} {{host}}", "--max-load", "100", "--network-only", "--hosts",
                                   *(f"{name}={address}" for name, address in zip("ab", addresses))],
                                  text=True, timeout=300, capture_output=True, check=False)

    def test_the_same_there_and_back_are_right(self):
        for prepared in ("", "ip -n a route add 10.9.0.2/32 via 10.9.0.3; ip -n b route add 10.9.0.1/32 via 10.9.0.3"):
            done = self.measure(prepared, "10.9.0.1", "10.9.0.2")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertNotIn("frames from a", done.stdout)

    def test_over_a_router_one_way_is_an_error(self):
        for network, hosts in (("10.9.0.", "/32"), ("fd09::", "/128")):
            done = self.measure(f"ip -n b route add {network}1{hosts} via {network}3", f"{network}1", f"{network}2")
            self.assertEqual(done.returncode, 1, done.stdout)
            self.assertIn("frames from a to b pass no router, those from b to a 1 router", done.stderr)

    def test_another_interface_is_told(self):
        """The address of eth1, which alone answers for it; eth0 has the route."""
        done = self.measure("plug b eth1; ip -n b addr add 10.9.0.22/32 dev eth1; nsenter --net=/run/netns/b bash -c"
                            " 'cd /proc/sys/net/ipv4/conf/all && echo 1 >arp_ignore && echo 2 >arp_announce && echo 0 >rp_filter'",
                            "10.9.0.1", "10.9.0.22")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("frames from a come to b by its interface eth1, but those from b to a leave by eth0", done.stdout)


if __name__ == "__main__":
    HEADWAY = str(pathlib.Path(sys.argv.pop(1)).resolve())
    unittest.main()
