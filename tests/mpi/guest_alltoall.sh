#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# In a guest of vm-run --icount --faster 50: real MPI jobs over real TCP between two
# clusters, with sch_gap, headwayd and the MPI helper as a user would run them.
# KTAP on standard output.
#
#   tests/vm/vm-run --icount --faster 50 -- tests/mpi/guest_alltoall.sh ompi|mpich [mpich|ompi]
#
# Everything with the first library; with another one a paced job.
#
# Two nodes a cluster, links of 1 and a trunk of 1.25 Gbit/s with a shallow
# buffer: what is not paced is dropped.
set -euo pipefail

# shellcheck source=tests/lib/topology.sh
. "$HW_ROOT/tests/lib/topology.sh"
# shellcheck source=tests/lib/daemons.sh
. "$HW_ROOT/tests/lib/daemons.sh"
# shellcheck source=tests/lib/containers.sh
. "$HW_ROOT/tests/lib/containers.sh"
# shellcheck source=tests/lib/ktap.sh
. "$HW_ROOT/tests/lib/ktap.sh"

host_mbit=1000 trunk_mbit=1250
trunk_buffer=16384
planned_rate=77343750	# of each node to the other cluster: 1250 Mbit/s x 0.99 / 2
socket=/run/headway/control.sock
work=/tmp/guest_alltoall
ranks=$work/rank_record	# runs each rank and keeps what it writes
# a job whose ranks pace themselves
planned=(HEADWAY_PLANNER="$HW_BUILD/bin/headway" HEADWAY_NETWORK=$work/headway.toml)

# ---- what a user has ---------------------------------------------------------

# use LIBRARY: its programs, which run from memory and do not wait for the host's disk,
# and its mpirun; `sleeps` has its ranks sleep where they would poll
use() {
	local program suffix
	library=$1
	case $library in
	ompi)
		suffix=""
		sleeps=tests/yield_sleep.so
		# a message is with the kernel when MPI returns
		large_buffers=(--mca btl_tcp_sndbuf 4194304 --mca btl_tcp_eager_limit 1048576)
		promise=()
		;;
	mpich)
		suffix=.mpich
		sleeps=tests/ucx_sleep.so
		large_buffers=(UCX_TCP_SNDBUF=4m UCX_RNDV_THRESH=inf)
		# of a job whose ranks do not see Hydra's processes
		promise=(HEADWAY_ALL_RANKS=on)
		;;
	esac
	for program in alltoall_check alltoall_f08 alltoallv_oneway collective_bench; do
		cp "$HW_BUILD/bin/tests/$program$suffix" $work/$program
	done
	cp "$HW_BUILD/bin/tests/rank_record" $work
	(cd "$HW_BUILD/lib" && cp libheadway-mpi.so libheadway-agent.so "libheadway-$library.so" "$sleeps" \
		tests/socket_time_spy.so $work)
	preload=$work/libheadway-mpi.so:$work/${sleeps##*/}
	# all of the libraries is in memory before anything is timed
	ldd $work/alltoall_check | awk '$3 ~ /^\// { print $3 }' | xargs cat >/dev/null
}

set_up() {
	mkdir -p $work
	hw_two_clusters 2 $host_mbit $trunk_mbit 50 32768 $trunk_buffer
	insmod "$HW_BUILD/kmod/$(uname -r)/sch_gap.ko"
	# the one-way exchange is to fit into the sockets
	sysctl -qw net.core.wmem_max=8388608
	hw_config 2 $host_mbit $trunk_mbit >$work/headway.toml
	hw_start_daemons $work/headway.toml $work
}

# job NAME [NAME=VALUE...] [MPIRUN'S OPTION...] -- $ranks PROGRAM [ARGUMENT...]
# Each rank N writes to NAME/N.out and NAME/N.err (rank_record): a launcher loses lines.  What the
# launcher says is in NAME/launcher; the job's status is that of the function.  Only vm-run limits
# its time.
job() {
	local name=$1
	shift
	rm -rf "${work:?}/$name"
	mkdir "$work/$name"
	"$HW_ROOT/tests/lib/mpi-job" "$library" 1 LD_PRELOAD="$preload" HW_RANK_RECORDS="$work/$name" \
		"$@" >"$work/$name/launcher" 2>&1
}

# Prints what the helper said in a job.
told() {
	cat "$work/$1"/*.err | grep '^headway:' || true
}

# Each node's daemon in one word: paced calls over, nothing left behind.  The one
# client without a job is who asks.
daemon_is_at_rest() {
	hw_status "$1" '"at-rest" if s["enter"]["count"] == s["leave"]["count"]
		and s["enter"]["count"] + s["phase"]["count"] > 0 and not s["active_enters"]
		and not any(c["enters"] or c.get("phase") for c in s["clients"])
		and all(c["bytes_per_s"] is None and c.get("next_bytes_per_s") is None
			for c in s["classes"]) else s'
}

is_at_rest() {
	[[ $(daemon_is_at_rest "$1") == at-rest ]]
}

# expect_rest WHEN NODE...
expect_rest() {
	local when=$1 node
	shift
	for node in "$@"; do
		if hw_wait_for 10 is_at_rest "$node"; then
			ktap_result 0 "$when: $node is at rest"
		else
			ktap_equal "$when: $node is at rest" at-rest "$(daemon_is_at_rest "$node")"
		fi
	done
}

# ---- a paced job ---------------------------------------------------------------

# The program checks its data.  It sends more than 200 kB each way between the
# clusters; without that the test would have seen no network.
test_paced_job() {
	local before after drops
	read -ra before <<<"$(hw_trunk_bytes)"
	drops=$(hw_trunk_drops)
	ktap_check "a Fortran job of $library runs paced" \
		job paced HEADWAY_REPORT=$work/paced.json -- $ranks $work/alltoall_f08
	read -ra after <<<"$(hw_trunk_bytes)"
	ktap_equal "its data is right" "all data right" "$(tail -n 1 $work/paced/0.out)"
	ktap_equal "it says that it is paced" 1 \
		"$(told paced | grep -c 'pacing all-to-all over 4 hosts')"
	ktap_equal "it says nothing else" 1 "$(told paced | wc -l)"
	ktap_between "bytes on the trunk, a to b" 200000 $((after[0] - before[0])) 5000000
	ktap_between "bytes on the trunk, b to a" 200000 $((after[1] - before[1])) 5000000
	ktap_equal "the trunk dropped nothing" "$drops" "$(hw_trunk_drops)"
	ktap_equal "its report counts the ranks' own connections, each to three others, and no loss" \
		"True 0" "$(connections_of $work/paced.json)"
	# shellcheck disable=SC2046 # a list of words
	expect_rest "after the job" $(hw_nodes)
}

# connections_of FILE: whether each node has three at least, and the segments sent again
connections_of() {
	/usr/bin/python3 -c "import json
own = [n['own_connections'] for n in json.load(open('$1'))['nodes']]
print(len(own) == 4 and all(n['count'] >= 3 for n in own), sum(n['retransmitted_segments'] for n in own))"
}

# ---- MPI returns, the tail is still in the socket ---------------------------------

# run_step STEP: of alltoallv_oneway, the running job "tail".  The frames that a0
# sent are then in STEP.records; $left_s is when its MPI call returned.
run_step() {
	hw_wait_for 2000 grep -qs "\"ready\":\"$1\"" $work/tail/0.out
	hw_node a0 sh -c 'echo 100000 >/sys/class/net/eth0/simwire/record_frames'
	echo >&"$job_input"
	hw_wait_for 2000 grep -qs "\"step\":\"$1\"" $work/tail/0.out
	hw_node a0 cat /sys/class/net/eth0/simwire/records >"$work/$1.records"
	left_s=$(sed -n "s/.*\"step\":\"$1\",\"left_s\":\([0-9.]*\),.*/\1/p" $work/tail/0.out)
}

# distances STEP FROM_S UNTIL_S [MOST]: sets what distances.py finds
distances() {
	local records=$work/$1.records
	shift
	read -r frames least median without_gap too_early longest_other < <(
		"$HW_ROOT/tests/mpi/distances.py" "$records" $((host_mbit * 1000000)) "$@")
}

# The planned distance of full frames.  A gap is not shorter than a frame of 84
# byte-times, and a frame that another one delayed is followed on time.
planned_distance=$((1538 * host_mbit * 1000000 / 8 / planned_rate))

expect_paced() {
	ktap_between "$1: full frames keep their distance, byte-times" \
		$((planned_distance - 84 - longest_other)) "$least" 100000
	ktap_equal "$1: there is a gap wherever there is to be one" 0 "$too_early"
}

expect_back_to_back() {
	ktap_equal "$1: full frames follow each other" 1538 "$median"
	ktap_between "$1: no gaps" $((frames / 2)) "$without_gap" "$frames"
}

test_tail() {
	local short=60000 long=1000000 status=0 step drops
	mkfifo $work/input
	job tail "${large_buffers[@]}" -- $ranks $work/alltoallv_oneway $short $long ${short}p <$work/input &
	local running=$!
	exec {job_input}>$work/input

	drops=$(hw_trunk_drops)
	for step in $short $long; do
		run_step $step
		distances $step "$left_s" inf
		ktap_between "a tail of $step bytes: full frames after MPI has returned" \
			$((step == short ? 40 : 500)) "$frames" $((2 * step / 1448 + 1))
		distances $step 0 inf
		expect_paced "a tail of $step bytes"
		ktap_equal "a tail of $step bytes: the trunk drops nothing" "$drops" "$(hw_trunk_drops)"
		expect_rest "after a tail of $step bytes" a0
	done

	drops=$(hw_trunk_drops)
	run_step ${short}p
	distances ${short}p 0 inf 20
	expect_back_to_back "an exchange that the helper does not see"
	ktap_between "for it the trunk drops frames" 1 $(($(hw_trunk_drops) - drops)) 1000

	hw_wait_for 2000 grep -qs '"ready":"end"' $work/tail/0.out
	echo >&"$job_input"
	exec {job_input}>&-
	wait $running || status=$?
	ktap_equal "the job ends well" 0 "$status"
}

# ---- in containers -----------------------------------------------------------------

# One rank in a container on each node, with processes of its own; MPI finds the
# others by the containers' addresses.
job_in_containers() {
	local name=$1
	MPI_JOB_STATE=$hw_containers_state job "$name" "${promise[@]}" HEADWAY_REPORT=$work/"$name".json \
		-- "${hw_own_processes[@]}" $ranks $work/collective_bench --sizes 65536:6:20
}

# paced_calls FILE: of all-to-alls, and those that were not
paced_calls() {
	/usr/bin/python3 -c "import json
rows = [r for r in json.load(open('$1'))['collectives'] if r['operation'] == 'alltoall']
print(sum(r['calls'] for r in rows if r['paced']), sum(r['calls'] for r in rows if not r['paced']))"
}

# The node forwards what its container sends.  With addresses of the cluster the other
# nodes' daemons know where it goes.
test_containers_of_the_cluster() {
	local drops
	drops=$(hw_trunk_drops)
	hw_containers routed 0
	ktap_check "in containers with addresses of the cluster a job runs" job_in_containers known
	ktap_equal "it says that it is paced" "1 1" \
		"$(told known | grep -c 'pacing all-to-all over 4 hosts') $(told known | wc -l)"
	ktap_equal "its calls are" "8 0" "$(paced_calls $work/known.json)"
	ktap_equal "the trunk drops nothing of it" "$drops" "$(hw_trunk_drops)"
	hw_containers_down
}

# A bridge instead, and addresses of which headway.toml knows nothing.
test_containers_elsewhere() {
	local drops
	drops=$(hw_trunk_drops)
	hw_containers bridged 100
	ktap_check "in containers with other addresses a job runs" job_in_containers unknown
	ktap_equal "it says that it is not paced, and why" "1 headway: not pacing: this process is in a \
network namespace of its own, and headwayd would not know its packets: its addresses (10.101.0.101) are \
not in the cluster's prefixes (10.1.0.0/16)" "$(told unknown | wc -l) $(told unknown | cut -d ';' -f 1)"
	ktap_equal "its calls are not" "0 8" "$(paced_calls $work/unknown.json)"
	ktap_between "of it the trunk drops frames" 1 $(($(hw_trunk_drops) - drops)) 100000
	hw_containers_down
}

# ---- without a daemon ------------------------------------------------------------

test_no_daemon() {
	local status=0
	hw_stop_daemons
	job unpaced -- $ranks $work/alltoall_check --exit-status 3 || status=$?
	ktap_equal "without a daemon the job has its own exit status" 3 "$status"
	ktap_equal "without a daemon the data is right" "all data right" \
		"$(tail -n 1 $work/unpaced/0.out)"
	ktap_equal "without a daemon the helper says so, once" \
		"1 headway: not pacing: no headwayd at $socket, which systemctl start headwayd starts" \
		"$(told unpaced | wc -l) $(told unpaced | cut -d ';' -f 1)"
}

# alone NAME [NAME=VALUE...]: eight calls, of which two do not count; below the command `under`
alone() {
	local name=$1
	shift
	job "$name" HEADWAY_REPORT=$work/"$name".json YIELD_SLEEP_POLLS=20 "$@" \
		-- "${under[@]}" $ranks $work/collective_bench --sizes 65536:6:20
}

# The nodes are as the kernel makes them, which for our own connections is one that takes shorter waits.
test_ranks_that_pace_themselves() {
	local drops under=() preload=$preload:$work/socket_time_spy.so
	drops=$(hw_trunk_drops)
	ktap_check "a job of $library without anything runs" alone bare
	ktap_between "of it the trunk drops frames" 1 $(($(hw_trunk_drops) - drops)) 100000
	drops=$(hw_trunk_drops)
	ktap_check "a job of $library whose ranks pace themselves runs" \
		alone alone "${planned[@]}" SPY_FILE=$work/alone/times
	ktap_equal "it says so, and nothing else" "1 1" \
		"$(told alone | grep -c 'each rank paces its own all-to-alls') $(told alone | wc -l)"
	ktap_equal "no connection waits longer than 8 ms" "45 8000 46 8000" "$(sort -u $work/alone/times | xargs)"
	ktap_between "that is of both ends of six, at least" 12 "$(grep -c ^45 $work/alone/times)" 1000
	ktap_equal "its calls are paced" "8 0" "$(paced_calls $work/alone.json)"
	ktap_equal "the trunk drops nothing of it" "$drops" "$(hw_trunk_drops)"
	ktap_check "and its planner ends with it" hw_wait_for 10 no_planner
}

# In containers with a network of their own, without any capability: by the name that a container
# says it has.
test_ranks_in_containers_that_pace_themselves() {
	local drops under no_right=(setpriv --bounding-set=-all --inh-caps=-all --no-new-privs)
	hw_containers bridged 100
	under=("${hw_own_processes[@]}" "${no_right[@]}")
	MPI_JOB_STATE=$hw_containers_state ktap_check "in containers a job of $library runs" \
		alone nameless "${promise[@]}" "${planned[@]}"
	ktap_equal "it says that it knows their hosts by no name" \
		"1 headway: not pacing: host ca0 is in no cluster of $work/headway.toml" \
		"$(told nameless | wc -l) $(told nameless | cut -d ';' -f 1)"
	# shellcheck disable=SC2016 # for the shell in the container
	under+=(sh -c 'name=$(hostname); HEADWAY_NODE=${name#c} exec "$@"' sh)
	drops=$(hw_trunk_drops)
	MPI_JOB_STATE=$hw_containers_state ktap_check "where they have names, too" \
		alone named "${promise[@]}" "${planned[@]}"
	ktap_equal "its calls are paced" "8 0" "$(paced_calls $work/named.json)"
	ktap_equal "the trunk drops nothing of it" "$drops" "$(hw_trunk_drops)"
	ktap_check "and its planner ends with it" hw_wait_for 10 no_planner
	hw_containers_down
}

# run_by_headway NAME [OPTION...]: the same calls, as a user starts them who has a home
run_by_headway() {
	local name=$1
	shift
	rm -rf "${work:?}/$name"
	mkdir "$work/$name"
	env HOME="$work/home" LD_PRELOAD="$work/${sleeps##*/}" \
		MPI_JOB_THROUGH="$HW_BUILD/bin/headway run --library-dir $work $* --" \
		"$HW_ROOT/tests/lib/mpi-job" "$library" 1 HW_RANK_RECORDS="$work/$name" \
		HEADWAY_REPORT="$work/$name.json" YIELD_SLEEP_POLLS=20 \
		-- $ranks $work/collective_bench --sizes 65536:6:20 >"$work/$name/launcher" 2>&1
}

# From then on the user's home has what measuring finds; measuring fills the trunk itself.
test_a_network_that_is_measured() {
	local drops kept="$work/home/.local/state/headway/networks/a[0-1],b[0-1].toml"
	rm -rf "$work/home"
	ktap_check "a job of $library whose network is measured first runs" run_by_headway measured --measure
	ktap_equal "it says so" "headway run: measures the network between 4 hosts" \
		"$(grep '^headway run:' "$work/measured/launcher" | cut -d , -f 1)"
	ktap_equal "its calls are paced" "8 0" "$(paced_calls $work/measured.json)"
	ktap_between "the trunk's rate is found, in Mbit/s" $((trunk_mbit * 98 / 100)) \
		"$(sed -n 's/^trunk_rate = "\([0-9]*\)mbit"/\1/p' "$kept" | sort -n | head -n 1)" $((trunk_mbit * 102 / 100))
	drops=$(hw_trunk_drops)
	ktap_check "the next job of $library runs" run_by_headway kept
	ktap_equal "its ranks pace themselves by what was found" "1" "$(told kept | grep -cF "hosts, by $kept;")"
	ktap_equal "its calls are paced, too" "8 0" "$(paced_calls $work/kept.json)"
	ktap_equal "the trunk drops nothing of it" "$drops" "$(hw_trunk_drops)"
	ktap_check "no agent is left" hw_wait_for 10 no_agent
}

no_agent() {
	! pgrep -f "headway measure --agent" >/dev/null
}

no_planner() {
	! pgrep -f "headway planner" >/dev/null
}

set_up
use "$1"
test_paced_job
test_tail
test_containers_of_the_cluster
test_containers_elsewhere
for other in "${@:2}"; do
	use "$other"
	test_paced_job
done
use "$1"
test_no_daemon
for each in "$@"; do
	use "$each"
	test_ranks_that_pace_themselves
	test_a_network_that_is_measured
	test_ranks_in_containers_that_pace_themselves
done
hw_down
ktap_end
