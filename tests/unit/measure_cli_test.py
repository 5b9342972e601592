#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""headway measure: what it finds, and what is told if it does not work.  Its agents are computed_agent.py, which sends
nothing; tests/measure/test_agents.py has real ones.

    measure_cli_test.py HEADWAY
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

from hang_limit import HANGS_S

HEADWAY = ""
COMPUTED_AGENT = pathlib.Path(__file__).resolve().parent / "computed_agent.py"
HOSTS = ["--hosts", "x=127.0.0.1", "y=127.0.0.2", "z=127.0.0.3"]


def headway(*arguments, text_in="", verb="measure", **more):
    return subprocess.run([HEADWAY, verb, *arguments], text=True, input=text_in, timeout=HANGS_S,
                          capture_output=True, check=False, **more)


class Computed(unittest.TestCase):
    """With a folder for agents that are computed, and a home for what is kept."""

    @classmethod
    def setUpClass(cls):
        cls.version = json.loads(headway("--agent").stdout)["headway"]

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "version").write_text(self.version)
        self.home = {**os.environ, "HOME": str(self.folder), "XDG_CONFIG_HOME": "", "XDG_STATE_HOME": ""}
        self.kept = self.folder / ".local/state/headway/networks"

    def script(self, name, text):
        file = self.folder / name
        file.write_text(f"#!/bin/bash\n{text}\n")
        file.chmod(0o755)
        return str(file)

    def assert_refused(self, done, status, *words):
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        for word in words:
            self.assertIn(word, done.stderr)


class Agents(Computed):
    def setUp(self):
        super().setUp()
        self.agent = self.script("agent", f'exec {COMPUTED_AGENT} {self.folder} "$@"')

    def measure(self, *options, for_z=":", launch=None, patience_s=HANGS_S, env=None, **more):
        """By computed agents, but for host z that command of bash before."""
        launch = launch or self.script("launch", f'host=$1\nshift\n[[ $host != z ]] || {{ {for_z}; }}\nexec "$@"') + " {host}"
        return headway("--launch", launch, "--program", self.agent, "--patience", str(patience_s), "--max-load", "100",
                       *HOSTS, *options, env=self.home | (env or {}), **more)

    def test_a_network_is_measured(self):
        document = self.folder / "found.json"
        done = self.measure("--network-only", "--output", str(document), "--write", str(self.folder / "headway.toml"),
                            str(self.folder / "topology.conf"), str(self.folder / "platform.xml"))
        self.assertEqual(done.returncode, 0, done.stderr)
        found = json.loads(document.read_text())
        self.assertEqual([h["name"] for h in found["hosts"]], ["x", "y", "z"])
        self.assertEqual(len(found["round_trips"]), 3)
        self.assertGreater(found["bytes_sent"], 0)
        self.assertEqual([round(link["bps"] / 1e6, 3) for link in found["links"]], [10] * 6)
        for name, options in (("headway.toml", []), ("topology.conf", ["--default-rate", "1gbit"]),
                              ("platform.xml", [])):
            checked = subprocess.run([HEADWAY, "topology", "check", *options, str(self.folder / name)], text=True,
                                     capture_output=True, check=False)
            self.assertEqual(checked.returncode, 0, checked.stdout + checked.stderr)
            self.assertIn(f"{self.folder / name} is written", done.stderr)
        taken = subprocess.run([HEADWAY, "check-config", str(self.folder / "headway.toml")], check=False,
                               capture_output=True, text=True)
        self.assertEqual(taken.stderr != "", "headwayd would refuse it: " in done.stderr)
        for mistake in taken.stderr.splitlines():
            self.assertIn(f"headwayd would refuse it: {mistake}", done.stderr)
        # what was written is what was found, and nothing has changed since
        for option, file in (("--config", self.folder / "headway.toml"), ("--since", document)):
            again = headway("--from", str(document), option, str(file))
            self.assertEqual((again.returncode, again.stdout),
                             (0, "nothing differs by more than what can be told apart\n"))
        toml = re.sub(r'rate = ".*"', 'rate = "1mbit"', (self.folder / "headway.toml").read_text())
        (self.folder / "wrong.toml").write_text(toml)
        wrong = headway("--from", str(document), "--config", str(self.folder / "wrong.toml"))
        self.assertEqual(wrong.returncode, 1)
        self.assertIn("too slow", wrong.stdout)

    def test_agents_may_be_started_by_mpirun(self):
        as_root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        done = self.measure("--network-only", "--json", launch="mpirun --oversubscribe -n 1", env=as_root)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(len(json.loads(done.stdout)["round_trips"]), 3)

    def test_messages_are_measured(self):
        document = self.folder / "found.json"
        done = self.measure("--output", str(document))
        self.assertEqual(done.returncode, 0, done.stderr)
        found = json.loads(document.read_text())["messages"]
        self.assertEqual(len(found["hosts"]), 3)
        self.assertGreater(found["pairs"][0]["alpha_s"], 0)
        sizes = [trip["bytes"] for trip in found["pairs"][0]["round_trips"]]
        self.assertEqual(sizes, sorted(set(sizes)))
        self.assertEqual({share["direction"] for share in found["shares"]}, {"in", "out"})
        for share in found["shares"]:
            self.assertLess(0, share["least_bytes_per_s"])
            self.assertLessEqual(share["least_bytes_per_s"], share["most_bytes_per_s"])
        self.assertEqual([all_["hosts"] for all_ in found["all_to_all"]], [2, 3])
        self.assertTrue(all("levels" in time for all_ in found["all_to_all"] for time in all_["times"]))
        ring, = found["neighbours"]
        self.assertEqual(ring["flows"], [[0, 2], [0, 1], [1, 0], [1, 2], [2, 1], [2, 0]])
        self.assertEqual([time["bytes"] for time in ring["times"]], [1024, 4096, 16384, 32768, 65536])
        self.assertEqual(len(found["many_to_one"]), 8)
        self.assertEqual(len(found["one_to_many"]), 8)
        self.assertIsNone(found["two_in_one_out"], "that takes four hosts")

    def test_what_is_found_is_kept_for_the_next_job(self):
        """With the times of messages where they were measured, and only whole."""
        self.measure("--network-only", "--no-keep")
        self.assertFalse(self.kept.exists())
        self.measure("--network-only", "--max-bytes", "1MB")
        self.assertFalse(self.kept.exists())
        done = self.measure("--network-only")
        toml = self.kept / "x,y,z.toml"
        self.assertIn(f"{toml} keeps it for headway run", done.stderr)
        self.assertEqual([file.name for file in self.kept.iterdir()], ["x,y,z.toml"])
        self.measure()
        self.assertEqual(sorted(file.name for file in self.kept.iterdir()), ["x,y,z.json", "x,y,z.toml"])
        self.assertIn('measured = "x,y,z.json"', toml.read_text())
        planned = headway("--config", str(toml), verb="plan")
        self.assertEqual(planned.returncode, 0, planned.stderr)

    def test_what_cannot_be_kept_is_no_failure(self):
        (self.folder / ".local").write_text("no folder")
        done = self.measure("--network-only")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("cannot make", done.stderr)

    def test_a_host_that_does_not_answer_is_named(self):
        """And nothing is left of any agent: each has the end of a pipe that this process reads."""
        read, write = os.pipe()
        with open(read, "rb") as ends:
            done = self.measure(patience_s=1, for_z="exec sleep infinity", pass_fds=[write])
            os.close(write)
            self.assert_refused(done, 1, "host z: it has not answered within 1 s")
            os.set_blocking(read, False)
            self.assertEqual(ends.read(), b"")

    def test_what_a_host_complains_of_is_told(self):
        done = self.measure(for_z="echo noise >&2; echo 'Permission denied (publickey).' >&2; exit 255")
        self.assert_refused(done, 1, "host z: it has ended: Permission denied (publickey).")
        self.assertNotIn("host x", done.stderr)

    def test_another_version_is_refused(self):
        (self.folder / "other").mkdir()
        (self.folder / "other/version").write_text("0.0.1")
        self.assert_refused(self.measure(for_z=f"exec {COMPUTED_AGENT} {self.folder}/other"), 1,
                            "host z: it has headway 0.0.1")

    def test_other_output_is_shown(self):
        self.assert_refused(self.measure(for_z="echo Welcome to z"), 1,
                            'host z: instead of an answer came "Welcome to z"')

    def test_an_agent_that_dies_is_named(self):
        for command in ("peers", "routes", "bulk", "arrivals"):
            with self.subTest(command):
                self.assert_refused(self.measure("--network-only", for_z=f"export DIES_AT={command}"), 1,
                                    "host z: it has ended")

    def test_routes_that_differ_are_an_error(self):
        (self.folder / "routes.json").write_text(json.dumps({0: [[2, 0, "eth0", "eth0"]], 2: [[0, 1, "eth0", "eth0"]]}))
        self.assert_refused(self.measure(), 1, "frames from x to z pass 1 router, those from z to x no router")

    def test_another_interface_is_told(self):
        (self.folder / "routes.json").write_text(json.dumps({0: [[2, 0, "eth0", "eth0"]], 2: [[0, 0, "eth1", "eth0"]]}))
        done = self.measure("--network-only")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("frames from x come to z by its interface eth1, but those from z to x leave by eth0", done.stdout)

    def test_what_was_found_before_the_limit_is_kept(self):
        document = self.folder / "found.json"
        self.measure("--network-only", "--output", str(document))
        network = json.loads(document.read_text())
        done = self.measure("--max-bytes", f"{network['bytes_sent']}B", "--output", str(document))
        self.assert_refused(done, 1, "--max-bytes allows")
        kept = json.loads(document.read_text())
        self.assertEqual(kept["links"], network["links"])
        self.assertEqual(kept["messages"]["pairs"], [])

    def test_the_tree_is_written_though_its_buffers_were_not_measured(self):
        """The limit is reached after the rates, of which nothing is thrown away."""
        toml, document = self.folder / "headway.toml", self.folder / "found.json"
        self.measure("--network-only", "--output", str(document))
        all_bytes = json.loads(document.read_text())["bytes_sent"]
        for part in (0.7, 0.4):
            document.unlink()
            toml.unlink(missing_ok=True)
            done = self.measure("--network-only", "--max-bytes", f"{round(part * all_bytes)}B", "--output", str(document),
                                "--write", str(toml))
            self.assert_refused(done, 1, "--max-bytes allows", f"{toml} is written: 1 cluster, 3 hosts; its first lines")
            self.assertEqual(len(json.loads(document.read_text())["links"]), 6)
            self.assertIn("# The measurement ended early: ", toml.read_text())
            self.assertEqual(headway("check", str(toml), verb="topology").returncode, 0)

    def test_no_more_is_sent_than_allowed(self):
        self.assert_refused(self.measure("--max-bytes", "1MB"), 1, "--max-bytes allows")

    def test_mistakes_are_told_before_anything_is_done(self):
        for words, options in ((("--hosts", "two hosts"), ["--hosts", "x=127.0.0.1"]),
                               (("x is named twice",), ["--hosts", "x=127.0.0.1", "x=127.0.0.1"]),
                               (("y is named twice",), ["--hosts", "x=127.0.0.1,y=127.0.0.1,y=127.0.0.1"]),
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


class Jobs(Computed):
    """headway run --measure.  The launcher is a script: of computed agents while it is to start agents, then of
    a job that tells what network it was given."""

    JOB = 'echo "job: $HEADWAY_NETWORK; $HEADWAY_AGENT$HEADWAY_MEASURE_AT"; exit 5'

    def launcher(self, *agents, after="wait"):
        """`agents`: what each computed agent is told, perhaps behind a setting of its environment."""
        calls = []
        for agent in agents:
            setting, _, call = agent.rpartition(": ")
            calls.append(f"{setting} {COMPUTED_AGENT} {self.folder} call {call} &")
        lines = ["if [[ -n ${HEADWAY_AGENT-} ]]; then", *calls, after, "exit", "fi", self.JOB]
        self.script("mpirun", "\n".join(lines))

    def run_job(self, *options, **environment):
        for file in self.folder.glob("called-*"):
            file.unlink()
        path = f"{self.folder}:{os.environ['PATH']}"
        (self.folder / "libheadway-mpi.so").touch()
        return headway("--library-dir", str(self.folder), "--measure", *options, "--", "mpirun", verb="run",
                       env={**self.home, "PATH": path, "LD_PRELOAD": "", **environment})

    def assert_ran(self, done, network):
        """Once, as without us, with that network and no trace of the measurement."""
        self.assertEqual((done.returncode, done.stdout), (5, f"job: {network}; \n"), done.stderr)

    def test_the_network_between_its_nodes_is_measured_and_kept(self):
        """One of two ranks on a node is an agent."""
        self.launcher("n1 4", "n0 4", "n1 4", "n2 4")
        done = self.run_job()
        self.assert_ran(done, self.kept / "n[0-2].toml")
        self.assertIn("measures the network between 3 hosts", done.stderr)
        kept = (self.kept / "n[0-2].toml").read_text()
        self.assertIn('host_rate = "10mbit"', kept)
        self.assertIn('hosts = ["n[0-2]"]', kept, "in the order of their names")

    def test_a_stranger_is_nobody(self):
        """Who does not know the token, or says what nobody understands."""
        self.launcher("n0 2 wrong", "n1 2", "n2 2")
        done = self.run_job()
        self.assert_ran(done, self.kept / "n[1-2].toml")

    def test_where_nothing_is_found_out_the_job_runs_as_it_is(self):
        for agents, said in ((["n0 2", "n0 2"], "the job is on one host, n0"),
                             (["n0 0", "n1 0"], "the launcher does not tell its ranks how many they are"),
                             (["n0 3"], "the launcher has ended before all of the job's ranks have called"),
                             (["n0 2", "DIES_AT=bulk: n1 2"], "host n1: it has ended")):
            with self.subTest(said):
                self.launcher(*agents, after="wait" if "3" not in agents[0] else f"until [[ -e {self.folder}/called-n0 ]]; do sleep 0.01; done")
                done = self.run_job()
                self.assert_ran(done, "")
                self.assertIn(f"--measure: nothing is measured: {said}", done.stderr)
                asked_for = self.run_job("--user")
                self.assert_refused(asked_for, 2, said)
                self.assertEqual(asked_for.stdout, "")

    def test_a_job_whose_ranks_become_no_agents_has_run(self):
        """It is not run again."""
        self.script("mpirun", 'echo "$*ran"; exit 7')
        done = self.run_job()
        self.assertEqual((done.returncode, done.stdout), (7, "ran\n"), done.stderr)

    def test_what_is_no_launcher_is_not_run_twice(self):
        script = self.script("job.sh", "echo ran")
        (self.folder / "libheadway-mpi.so").touch()
        done = headway("--library-dir", str(self.folder), "--measure", "--", script, verb="run", env=self.home)
        self.assert_refused(done, 2, "--measure: the command has to be the job's launcher")
        self.launcher("n0 2", "n1 2")
        self.assert_refused(self.run_job(PMI_RANK="0"), 2, "--measure: the command has to be the job's launcher")

    def test_a_launcher_that_is_not_there(self):
        (self.folder / "libheadway-mpi.so").touch()
        done = headway("--library-dir", str(self.folder), "--measure", "--", "/nowhere/mpirun", verb="run", env=self.home)
        self.assert_refused(done, 127, "/nowhere/mpirun: No such file or directory")


# Hosts a and b and a router on one bridge, in namespaces of its own; "$1" is done before the rest.
NETWORK = """
set -e
mount -t tmpfs tmpfs /run && mkdir /run/netns
ip link add br0 type bridge && ip link set br0 up
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
ROUTES_OF = "routes-of"


def routes_of(addresses):
    """Within NETWORK: what the agents of a and b tell of each other's frames, after a has sent some that b answers."""
    agents = [subprocess.Popen(["nsenter", f"--net=/run/netns/{node}", HEADWAY, "measure", "--agent"], text=True,
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE) for node in "ab"]

    def ask(agent, **command):
        print(json.dumps(command), file=agent.stdin, flush=True)
        return json.loads(agent.stdout.readline())

    greetings = [json.loads(agent.stdout.readline()) for agent in agents]
    peers = [[address, *(greeting[port] for port in ("data", "echo", "tcp"))]
             for address, greeting in zip(addresses, greetings)]
    for number, agent in enumerate(agents):
        ask(agent, do="peers", token=1, self=number, list=peers)
    while not ask(agents[0], do="probe", run=1, to=1, count=1, full=False, interval_ns=0)["round_trip_s"]:
        pass    # a busy host answers late
    told = [ask(agent, do="routes")["from"] for agent in agents]
    for agent in agents:
        agent.communicate()
    return told


class Routes(unittest.TestCase):
    """Returns the routes of two real agents with a router beside them: who, over how many routers,
    by which interface there and back."""

    def setUp(self):
        if subprocess.run([*APART, "ip", "link", "add", "type", "veth"], capture_output=True, check=False).returncode:
            self.skipTest("no namespaces here")

    def assert_routes(self, prepared, addresses, *wanted):
        done = subprocess.run([*APART, "bash", "-c", NETWORK, "network", prepared, sys.executable, __file__, HEADWAY,
                               ROUTES_OF, *addresses], text=True, timeout=HANGS_S, capture_output=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(json.loads(done.stdout), [[list(one)] for one in wanted])

    def test_without_a_router_and_over_one(self):
        for routers, prepared in ((0, ""), (1, "ip -n a route add 10.9.0.2/32 via 10.9.0.3; "
                                               "ip -n b route add 10.9.0.1/32 via 10.9.0.3")):
            self.assert_routes(prepared, ("10.9.0.1", "10.9.0.2"), (1, routers, "eth0", "eth0"), (0, routers, "eth0", "eth0"))

    def test_over_a_router_one_way(self):
        for network, hosts in (("10.9.0.", "/32"), ("fd09::", "/128")):
            self.assert_routes(f"ip -n b route add {network}1{hosts} via {network}3", (f"{network}1", f"{network}2"),
                               (1, 1, "eth0", "eth0"), (0, 0, "eth0", "eth0"))

    def test_by_another_interface(self):
        """The address of eth1, which alone answers for it; eth0 has the route."""
        self.assert_routes("plug b eth1; ip -n b addr add 10.9.0.22/32 dev eth1; nsenter --net=/run/netns/b bash -c 'cd "
                           "/proc/sys/net/ipv4/conf/all && echo 1 >arp_ignore && echo 2 >arp_announce && echo 0 >rp_filter'",
                           ("10.9.0.1", "10.9.0.22"), (1, 0, "eth0", "eth0"), (0, 0, "eth1", "eth0"))


if __name__ == "__main__":
    HEADWAY = str(pathlib.Path(sys.argv.pop(1)).resolve())
    if sys.argv[1:2] == [ROUTES_OF]:
        print(json.dumps(routes_of(sys.argv[2:])))
    else:
        unittest.main()
