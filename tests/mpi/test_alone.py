#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Jobs on nodes without a daemon, whose ranks pace themselves as a planner of the job's own says.

  test_alone.py [Class.method ...]
  test_alone.py --list
"""

import json
import os
import subprocess

from mpi_job import NODES, PATIENCE_MS, ComparedTest, main, wait_for

TOTAL = ["alltoall", "alltoallv", "alltoallw"]
ROOTED = ["gather", "gatherv", "scatter", "scatterv"]
FAST_BYTES_PER_S = 5_000_000_000
# Whose links are as fast as ranks can send single frames, and whose buffers hold next to nothing.
NETWORK = """
[[cluster]]
name = "a"
hosts = ["a[0-3]"]
host_rate = "1gbit"
trunk_rate = "1.25gbit"
host_buffer = "1KiB"
trunk_buffer = "2KiB"
[[cluster]]
name = "b"
hosts = ["b[0-3]"]
host_rate = "1gbit"
trunk_rate = "1.25gbit"
host_buffer = "1KiB"
trunk_buffer = "2KiB"
"""
# The R-th rank is on the R-th of these nodes.
ON_NODES = ("sh", "-c", 'rank=${PMIX_RANK:-$PMI_RANK}; nodes=$1; shift; '
            'HEADWAY_NODE=$(echo "$nodes" | cut -d " " -f $((rank + 1))) exec "$@"', "sh")


class AloneTest(ComparedTest):
    """Its jobs have no daemon."""

    def network(self, text):
        """The path of a file with it."""
        path = os.path.join(self.sessions, "network")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def alone_command(self, program, *arguments, nodes=NODES, planner=None, network=None, under=(), **keywords):
        """By the fake planner, unless there is another one; `network`: what that is given."""
        if planner is None:
            planner = os.path.join(os.path.dirname(os.path.abspath(__file__)), "fake_planner.py")
            network = network or json.dumps({"bytes_per_s": FAST_BYTES_PER_S})
        return self.command_of(program, *arguments, ranks=len(nodes), under=[*ON_NODES, " ".join(nodes), *under],
                               HEADWAY_PLANNER=planner, HEADWAY_NETWORK=self.network(network or NETWORK), **keywords)

    def alone_job(self, *arguments, **keywords):
        return self.run_command(self.alone_command(*arguments, **keywords))

    def planners(self):
        """Returns the planners of this test's jobs that still run."""
        return subprocess.run(["pgrep", "-f", f"planner --network {self.sessions}"], check=False, text=True,
                              capture_output=True).stdout.split()

    def assert_paces(self, job):
        self.assertEqual(len(job.told), 1, job.stderr)
        self.assertIn("each rank paces its own", job.told[0])


class Both:
    """Tests that hold for either MPI library; they are mixed into a class for each."""

    def test_every_operation(self):
        """On nodes of two ranks each, and of one."""
        for nodes in (self.nodes, NODES):
            arguments = ("collectives", "--cases", "150", "--seed", "3")
            plain = self.run_job(*arguments, helper=False, ranks=len(nodes))
            job = self.alone_job(*arguments, nodes=nodes)
            self.assert_same_output(job, plain)
            self.assert_paces(job)

    def test_pieces_of_several_frames(self):
        arguments = ("collectives", "--cases", "100", "--seed", "9")
        plain = self.run_job(*arguments, helper=False)
        network = json.dumps({"bytes_per_s": FAST_BYTES_PER_S, "piece_frames": 3})
        job = self.alone_job(*arguments, network=network)
        self.assert_same_output(job, plain)
        self.assert_paces(job)

    def test_alltoalls_of_told_sizes(self):
        """As in test_algorithms.py; nobody is asked for a plan of a call."""
        network = json.dumps({"bytes_per_s": FAST_BYTES_PER_S // 10})
        job = self.alone_job("told_check", "60", nodes=["a0", "a1", "a0", "b0", "b1"], network=network,
                             preload=[self.pending_spy], SPY_CLOCK_NS="10000", HEADWAY_VERBOSE="1")
        self.assertEqual((job.status, job.stdout), (0, "all data right\n"), job.stderr)
        for form in ("alltoallv", "alltoallw"):
            self.assertEqual([line.removeprefix("headway: ") for line in job.told if f"{form} of" in line],
                             [f"{form} of 5 ranks: linear, by sizes that they tell each other",
                              f"{form} of 5 ranks: linear"], "until a rank would need copies")

    def test_a_mixture_of_experts(self):
        job = self.alone_job("npb_kernel", "MOE", "--size", "1024", "--iterations", "12", "--warmup", "1",
                             network=json.dumps({"bytes_per_s": FAST_BYTES_PER_S // 100}), HEADWAY_VERBOSE="1")
        self.assertEqual(job.status, 0, job.stderr)
        self.assertIn('"verified":true', job.stdout)
        self.assertIn("by sizes that they tell each other", job.stderr)

    def test_one_rank_that_deviates(self):
        """As in test_algorithms.py."""
        operations = TOTAL + ROOTED
        alone = self.run_job("deviations", "--alone", *operations, helper=False)
        job = self.alone_job("deviations", *operations, HEADWAY_VERBOSE="1")
        self.assert_deviations_end(job, alone, operations, "linear")

    def test_no_allocation_s_failure_is_a_job_s(self):
        """The test covers an exchange and an operation with a root; the others are made of the same
        parts."""
        job = self.alone_job("deviations", "--memory", "alltoallv", "gather", preload=[self.pending_spy])
        self.assertEqual(job.status, 0, job.stdout[-2000:] + job.stderr)
        lines = job.stdout.splitlines()
        self.assertEqual([line for line in lines if not line.endswith(": 0 0 0 0 next right")], [])
        self.assertGreater(len(lines), 200)

    def test_by_the_planner_itself(self):
        job = self.alone_job("alltoall_check", planner=self.headway()[0], network=NETWORK, HEADWAY_VERBOSE="1")
        self.assert_succeeded(job)
        self.assertIn("alltoall of 4 ranks: linear", job.stderr)

    def test_links_that_are_too_fast_for_a_rank(self):
        """Where no buffer holds pieces of several frames, calls are the MPI library's."""
        network = NETWORK.replace("1gbit", "40gbit").replace("1.25gbit", "50gbit")
        report = os.path.join(self.sessions, "report.json")
        job = self.alone_job("alltoall_check", planner=self.headway()[0], network=network, HEADWAY_REPORT=report)
        self.assert_succeeded(job)
        with open(report, encoding="utf-8") as file:
            calls = json.load(file)["collectives"]
        self.assertEqual({(call["algorithm"], call["paced"]) for call in calls}, {("native", False)})
        self.assertTrue(any("single frames" in call.get("reason", "") for call in calls), calls)

    def test_what_is_wrong_with_a_planner(self):
        """One line says it, and the job does what it does without."""
        wrongs = {
            ("/nowhere/headway", NETWORK): "cannot be started: /nowhere/headway: No such file or directory",
            ("/bin/true", NETWORK): "closed the connection|is gone",
            (self.headway()[0], "[[cluster]]\n"): "network:1: ",
            (self.headway()[0], NETWORK.replace("b[0-3]", "b0")): "host b1 is in no cluster of ",
        }
        arguments = ("collectives", "--cases", "5", "--seed", "5", "--only", "alltoall")
        plain = self.run_job(*arguments, helper=False)
        for (planner, network), said in wrongs.items():
            with self.subTest(planner=planner, said=said):
                job = self.alone_job(*arguments, planner=planner, network=network)
                self.assert_same_output(job, plain)
                self.assertEqual(len(job.told), 1, job.stderr)
                self.assertRegex(job.told[0], f"not pacing: .*({said})")

    def test_a_planner_that_does_not_answer(self):
        """A shell takes a socket for its standard input, reads what it is asked, and says nothing."""
        silent = self.network("#!/bin/sh\nexec sleep 1000\n")
        os.chmod(silent, 0o755)
        arguments = ("collectives", "--cases", "5", "--seed", "5", "--only", "alltoall")
        job = self.run_job(*arguments, under=[*ON_NODES, " ".join(NODES)], HEADWAY_PLANNER=silent,
                           HEADWAY_NETWORK="/nowhere", HEADWAY_TIMEOUT_MS="200")
        self.assert_same_output(job, self.run_job(*arguments, helper=False))
        self.assert_one_line(job, "not pacing", "within 200 ms")

    def test_a_planner_that_ends(self):
        """The planner's answers hold on; whatever it was not asked is not paced."""
        arguments = ("collectives", "--cases", "60", "--seed", "5")
        plain = self.run_job(*arguments, helper=False)
        for answers in (1, 2, 3):
            with self.subTest(answers=answers):
                job = self.alone_job(*arguments, network=json.dumps({"bytes_per_s": FAST_BYTES_PER_S, "answers": answers}))
                self.assert_same_output(job, plain)

    def test_a_program_s_children_are_its_own(self):
        """It waits for all that it has, and hears of each that ends: of none."""
        job = self.alone_job("no_children")
        self.assertEqual((job.status, job.stdout), (0, "no child, no signal\n" * len(NODES)), job.stderr)
        self.assert_paces(job)

    def test_a_rank_that_is_killed(self):
        """In the middle of a call: the job ends as without us, and its planner with it.  Here mpirun is to end those
        that are left."""
        self.mpirun_options = {name: value for name, value in self.mpirun_options.items() if "orte" not in name}
        stop_file = os.path.join(self.sessions, "stop")
        for command in (self.command_of("outcome_check", "until", stop_file, helper=False, ranks=len(NODES)),
                        self.alone_command("outcome_check", "until", stop_file)):
            job = self.start_command(command, PRTE_MCA_state_base_error_non_zero_exit="1")
            job.wait_for(lambda job=job: job.stderr.count("turn ") > 2, "turns")
            job.kill_rank(2)
            job.wait()
            self.assertEqual((job.statuses[2], job.stdout), (None, ""), job.stderr)
            self.assertNotIn(0, job.statuses)
        wait_for(lambda: not self.planners(), "the planner's end")

    def test_a_job_that_aborts(self):
        spy = "tests/abort_spy.mpich.so" if self.library == "mpich" else "tests/abort_spy.so"
        job = self.alone_job("outcome_check", "fail", "5", preload=[spy])
        self.assertEqual([line for line in job.stderr.splitlines() if line.startswith("abort")], ["abort 5"], job.stderr)
        self.assertNotIn(0, job.statuses)
        wait_for(lambda: not self.planners(), "the planner's end")

    def test_intercommunicators(self):
        job = self.alone_job("outcome_check", "intercommunicator")
        self.assertEqual((job.status, job.stdout), (0, "all data right\n"), job.stderr)

    def test_two_jobs_at_once(self):
        """Each has a planner of its own, and neither knows of the other."""
        stop_file = os.path.join(self.sessions, "stop")
        commands = [self.alone_command("outcome_check", "until", stop_file) for _ in range(2)]
        if self.library == "ompi":
            self.assertNotEqual(*commands, "both have one folder of sessions")
        jobs = [self.start_command(command) for command in commands]
        for job in jobs:
            job.wait_for(lambda job=job: job.stderr.count("turn ") > 2, "turns")
        self.assertEqual(len(self.planners()), 2)
        with open(stop_file, "w", encoding="ascii"):
            for job in jobs:
                job.wait()
                self.assertEqual((job.status, job.stdout), (0, "all data right\n"), job.stderr)
                self.assert_paces(job)
        wait_for(lambda: not self.planners(), "the planners' end")

    def test_a_network_without_a_name_for_this_host(self):
        job = self.run_job("collectives", "--cases", "5", "--seed", "5", "--only", "alltoall",
                           HEADWAY_PLANNER=self.headway()[0], HEADWAY_NETWORK=self.network(NETWORK))
        self.assertEqual(job.status, 0, job.stderr)
        self.assert_one_line(job, "nothing to pace: the job is on one host")

    def run_by_command(self, *options, home="/nowhere", program="alltoall_check"):
        """A job by headway run, of a user with that home."""
        ranks = self.ranks_of(len(NODES), *ON_NODES, " ".join(NODES), self.program(program))
        variables = self.variables({"HEADWAY_SOCKET": self.socket})
        return self.headway("run", "--library-dir", os.environ["HW_LIB"], *options, "--", ranks[0], *variables, *ranks[1:]), \
            {"HOME": home, "XDG_CONFIG_HOME": "", "HEADWAY_TIMEOUT_MS": str(PATIENCE_MS)}

    def test_by_the_command_line(self):
        """With a file that is named, and with the user's own; not if the user does not want it."""
        own = os.path.join(self.sessions, ".config", "headway")
        os.makedirs(own)
        with open(os.path.join(own, "headway.toml"), "w", encoding="utf-8") as file:
            file.write(NETWORK)
        for options, home, paces in ((("--config", self.network(NETWORK)), "/nowhere", True), ((), self.sessions, True),
                                     (("--user",), self.sessions, True), (("--no-user",), self.sessions, False),
                                     ((), "/nowhere", False)):
            with self.subTest(options=options, home=home):
                command, environment = self.run_by_command(*options, home=home)
                job = self.run_command(command, **environment)
                self.assert_succeeded(job)
                self.assert_one_line(job, "each rank paces its own" if paces else "not pacing: no headwayd at")

    def test_by_a_line(self):
        """Which has blanks and other signs on its way to the ranks."""
        line = "a[0-3] 1gbit | b[0-3] 1gbit : 1.25gbit"
        command, environment = self.run_by_command("--network", line)
        job = self.run_command(command, **environment)
        self.assert_succeeded(job)
        self.assert_one_line(job, "each rank paces its own", f"hosts, by {line};")

    def test_by_what_was_measured(self):
        """The folder has it, or says of which hosts it has none."""
        kept = os.path.join(self.sessions, ".local", "state", "headway", "networks")
        os.makedirs(kept)
        for network, said in ((NETWORK.replace("b[0-3]", "b0"), "not pacing: .*no network that was measured.*run --measure"),
                              (NETWORK, f"each rank paces its own.*by {kept}/2.toml")):
            with self.subTest(said):
                with open(os.path.join(kept, f"{len(os.listdir(kept)) + 1}.toml"), "w", encoding="utf-8") as file:
                    file.write(network)
                command, environment = self.run_by_command(home=self.sessions)
                job = self.run_command(command, **environment, XDG_STATE_HOME="")
                self.assert_succeeded(job)
                self.assertRegex("".join(job.told), said)

    def test_ranks_become_agents(self):
        """And nothing else does; where there is no agent the program runs."""
        library = os.path.join(os.environ["HW_LIB"], "libheadway-agent.so")
        agent = os.path.join(self.sessions, "agent")
        with open(agent, "w", encoding="utf-8") as file:
            file.write('#!/bin/sh\necho "$* $LD_PRELOAD" >>"$0.ran"\n')
        os.chmod(agent, 0o755)
        ranks = self.ranks_of(3, "sh", "-c", f"echo program >>{agent}.ran")
        for path, ran in ((agent, "measure --agent --call \n" * 3), ("/nowhere/headway", "program\n" * 3)):
            with self.subTest(path):
                variables = self.variables({"LD_PRELOAD": library, "HEADWAY_AGENT": path})
                done = self.run_alone([ranks[0], *variables, *ranks[1:]], LD_PRELOAD=library, HEADWAY_AGENT=path)
                self.assertEqual(done.returncode, 0, done.stderr)
                with open(f"{agent}.ran", encoding="utf-8") as file:
                    self.assertEqual(file.read(), ran)
                os.remove(f"{agent}.ran")

    def test_mistakes_on_the_command_line(self):
        """A wish that cannot be met is refused before anything starts."""
        broken = self.network("[[cluster]]\n")
        for options, said in ((("--user",), "--user: no network is described; say --network or --config"),
                              (("--config", "/nowhere/network"), "/nowhere/network"), (("--config", broken), "network:1: "),
                              (("--user", "--no-user"), "excludes")):
            with self.subTest(options=options):
                command, environment = self.run_by_command(*options)
                done = self.run_alone(command, **environment)
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertIn(said, done.stderr)

    def test_lost_tails_wait_less_where_all_kernels_allow_that(self):
        """And only if the user leaves the transport to us.  Here by Open MPI over TCP, at both ends of each connection;
        MPICH's connections are those of guest_alltoall.sh, for on one machine UCX may hang over TCP without us."""
        told = "a lost tail is sent again after 8 ms"
        for environment, shortens in (({}, True), ({"SPY_OLD_RANK": 2}, False), ({"HEADWAY_TRANSPORT": "off"}, False)):
            with self.subTest(**environment):
                record = os.path.join(self.sessions, "socket-times")
                job = self.alone_job("collectives", "--cases", "5", "--seed", "5", "--only", "alltoall",
                                     preload=["tests/socket_time_spy.so"], SPY_FILE=record, **self.over_tcp, **environment)
                self.assertEqual(job.status, 0, job.stderr)
                self.assert_paces(job)
                shortens = shortens and self.library == "ompi"  # and nobody tells of what was not done
                self.assertEqual(told in job.told[0], shortens, job.told)
                self.assertEqual(os.path.exists(record), shortens)
                if os.path.exists(record):
                    with open(record, encoding="ascii") as file:
                        lines = file.read().splitlines()
                    self.assertEqual((set(lines), lines.count("45 8000")), ({"45 8000", "46 8000"}, len(lines) // 2))
                    self.assertGreaterEqual(len(lines), 2 * len(NODES))
                    os.remove(record)

    def test_with_a_daemon_nothing_changes(self):
        with self.daemon() as daemon:
            job = self.run_job("alltoall_check", HEADWAY_PLANNER="/nowhere/headway", HEADWAY_NETWORK="/nowhere")
        self.assert_succeeded(job)
        self.assert_one_line(job, "pacing all-to-all over 4 hosts")
        self.assertIn("alltoall", self.entered(daemon))

    def test_a_report_names_what_is_paced(self):
        report = os.path.join(self.sessions, "report.json")
        job = self.alone_job("alltoall_check", HEADWAY_REPORT=report)
        self.assert_succeeded(job)
        with open(report, encoding="utf-8") as file:
            calls = json.load(file)["collectives"]
        self.assertTrue(any(call["paced"] and call["algorithm"] == "linear" for call in calls), calls)


class AloneOpenMpi(Both, AloneTest):
    library = "ompi"

    def test_over_libfabric(self):
        arguments = ("collectives", "--cases", "20", "--seed", "5", "--only", "alltoall,alltoallv,gather")
        job = self.alone_job(*arguments, mpirun=("--mca", "pml", "cm", "--mca", "mtl", "ofi",
                                                 "--mca", "mtl_ofi_provider_include", "tcp;ofi_rxm"))
        self.assert_same_output(job, self.run_job(*arguments, helper=False, ranks=len(NODES)))
        self.assert_paces(job)

    over_tcp = {"mpirun": ("--mca", "btl", "tcp,self", "--mca", "pml", "ob1")}

    def test_spawn(self):
        """Spawned processes are another job, here on one host."""
        job = self.alone_job("outcome_check", "spawn", nodes=["a0", "b0"])
        self.assertEqual((job.status, job.stdout), (0, "all data right\n"), job.stderr)
        self.assertIn("each rank paces its own", job.told[0])
        wait_for(lambda: not self.planners(), "the planners' end")


class AloneMpich(Both, AloneTest):
    library = "mpich"
    over_tcp = {}


if __name__ == "__main__":
    main()
