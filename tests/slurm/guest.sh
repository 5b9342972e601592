#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# In a guest of vm-run --icount --faster 50: Slurm on four nodes with prolog, epilog
# and SPANK plugin, and MPI jobs that know nothing of Headway.  KTAP on standard output.
#
#   make check-slurm
#
# Two nodes a cluster, links of 1 and a trunk of 1.25 Gbit/s with a shallow
# buffer: what is not paced is dropped.
set -euo pipefail

# shellcheck source=tests/lib/topology.sh
. "$HW_ROOT/tests/lib/topology.sh"
# shellcheck source=tests/lib/daemons.sh
. "$HW_ROOT/tests/lib/daemons.sh"
# shellcheck source=tests/lib/ktap.sh
. "$HW_ROOT/tests/lib/ktap.sh"
# shellcheck source=tests/slurm/cluster.sh
. "$HW_ROOT/tests/slurm/cluster.sh"

work=/tmp/slurm
user=nobody
patience_s=600	# of the guest's clock; it only ends what hangs
trunk_buffer=16384

set_up() {
	local script
	mkdir -p $work/jobs
	chmod 1777 $work/jobs
	cp "$HW_BUILD"/bin/tests/collective_bench{,.mpich} "$HW_BUILD"/lib/libheadway-{mpi,ompi,mpich}.so \
		"$HW_BUILD"/lib/tests/{yield,ucx}_sleep.so "$HW_BUILD/lib/spank_headway.so" \
		"$HW_BUILD/bin/headway" $work
	for script in prolog epilog; do
		sed "s|@HEADWAY_PREFIX@/bin|$work|" "$HW_ROOT/packaging/slurm/headway-$script" >$work/headway-$script
		chmod +x $work/headway-$script
	done
	hw_two_clusters 2 1000 1250 50 32768 $trunk_buffer
	insmod "$HW_BUILD/kmod/$(uname -r)/sch_gap.ko"
	hw_config 2 1000 1250 >$work/headway.toml
	hw_start_daemons $work/headway.toml $work
	mapfile -t nodes < <(hw_nodes)
	echo "optional $work/spank_headway.so headway=$work/headway preload=$work/libheadway-mpi.so" \
		>$work/plugstack.conf
	slurm_start $work Prolog=$work/headway-prolog Epilog=$work/headway-epilog PrologFlags=Alloc
}

# ---- jobs ------------------------------------------------------------------------

# Prints the beginning of every job's script: the MPI libraries' settings for this network. Sleeping
# ranks leave the one processor to others.
settings() {
	cat <<-SETTINGS
		#!/bin/bash
		export OMPI_MCA_pml=ob1 OMPI_MCA_btl=tcp,self OMPI_MCA_btl_tcp_if_include=10.0.0.0/8
		export OMPI_MCA_oob_tcp_if_include=10.0.0.0/8 OMPI_MCA_mpi_yield_when_idle=1
		export OMPI_MCA_hwloc_base_binding_policy=none
		export UCX_TLS=tcp UCX_NET_DEVICES=eth0
		export HEADWAY_REPORT=summary HOME=$work/jobs
		ompi=$work/yield_sleep.so:\$LD_PRELOAD mpich=$work/ucx_sleep.so:\$LD_PRELOAD
		bench="--sizes 65536 --warmup 0 --repetitions 3 --pause"
	SETTINGS
}

# submit NAME <SCRIPT: on all nodes.  Its number is in $job, what it says will be in
# NAME.out, and what `tell NAME` says is its standard input.  sbatch waits for its end: asking
# for a job's state would start a program, which takes long here, again and again.
declare -A input=() waiting=()
submit() {
	local name=$1 folder=$work/jobs
	{
		settings
		cat
	} >$folder/"$name".sh
	mkfifo -m 666 $folder/"$name".in
	exec {input[$name]}<>$folder/"$name".in
	slurm setpriv --reuid $user --regid nogroup --clear-groups sbatch --wait --parsable --nodes=4 \
		--chdir=/ --input=$folder/"$name".in --output=$folder/"$name".out $folder/"$name".sh \
		>$folder/"$name".id &
	waiting[$name]=$!
	hw_wait_for $patience_s test -s $folder/"$name".id
	job=$(<$folder/"$name".id)
}

# expect_end WHAT NAME STATE
expect_end() {
	wait "${waiting[$2]}" || :
	ktap_equal "$1" "$3" "$(state_of "$(<$work/jobs/"$2".id)")"
}

tell() {
	echo >&"${input[$1]}"
}

# expect_pause NAME COUNT: its ranks wait at the COUNTth pause
expect_pause() {
	hw_wait_for $patience_s is_at_pause "$@" || {
		ktap_comment "$(cat $work/jobs/"$1".out $work/slurmd.*.log)"
		return 1
	}
}

# Starts no program.
is_at_pause() {
	local line count=0
	while read -r line; do
		[[ $line != '{"pause":'* ]] || count=$((count + 1))
	done <$work/jobs/"$1".out
	((count >= $2))
}

# jobs_on NODE: its headwayd's, in one line
jobs_on() {
	hw_status "$1" '" ".join(sorted(j["job"] for j in s["jobs"]))'
}

# The jobs that were seen last are in $seen.
has_jobs() {
	seen=$(jobs_on "$1")
	[[ $seen == "$2" ]]
}

# expect_jobs WHAT "JOB...": on every node, within some time
expect_jobs() {
	local node found="" seen
	for node in "${nodes[@]}"; do
		slurm_wait_for $patience_s has_jobs "$node" "$2" || true
		found+="$node: $seen; "
	done
	ktap_equal "$1" "$(printf "%s: $2; " "${nodes[@]}")" "$found"
}

# Nothing is left of any job: no name, no process, no rate, in daemon or kernel.
is_at_rest() {
	[[ $(hw_status "$1" 'not s["jobs"] and s["client_count"] == 1 and not s["active_enters"]
		and all(c["bytes_per_s"] is None and c.get("next_bytes_per_s") is None
			for c in s["classes"])') == True ]]
}

expect_rest() {
	local node status
	for node in "${nodes[@]}"; do
		status=0
		slurm_wait_for $patience_s is_at_rest "$node" || status=1
		ktap_result $status "$1: nothing is left on $node"
		((!status)) || ktap_comment "$(hw_status "$node" s)"
	done
}

# parts NODE JOB: what it has of the links, by cluster
parts() {
	hw_status "$1" "next(j['parts'] for j in s['jobs'] if j['job'] == '$2')"
}

# trunk_part NODE JOB: of the links towards cluster b
trunk_part() {
	hw_status "$1" "next('%.3f' % j['parts']['b'] for j in s['jobs'] if j['job'] == '$2')"
}

# process_on NODE PROGRAM: the number of one that runs there
process_on() {
	local process pid
	pid=$(hw_node_pid "$1")
	for process in $(pgrep -f "^$work/$2"); do
		[[ ! /proc/$process/ns/net -ef /proc/$pid/ns/net ]] || echo "$process"
	done | head -n 1
}

state_of() {
	slurm scontrol show job "$1" | sed -n 's/.*JobState=\([A-Z]*\).*/\1/p'
}

# expect_paced NAME COUNT: so many of its MPI programs were, by what rank 0 says and
# by the table of what they did
expect_paced() {
	ktap_equal "$1: paced" "$2 lines, $2 rows" "$(grep -c 'headway: pacing all-to-all over 4 hosts' \
		$work/jobs/"$1".out) lines, $(grep -cE '^MPI_COMM_WORLD, 4 ranks +alltoall +64 KiB .* linear +yes' \
		$work/jobs/"$1".out) rows"
}

# ---- tests -----------------------------------------------------------------------

test_slurm() {
	ktap_equal "Slurm runs a program on every node" "${nodes[*]}" "$(slurm srun -N 4 hostname | sort | xargs)"
}

test_steps() {
	local first drops
	drops=$(hw_trunk_drops)
	submit steps <<-'SCRIPT'
		LD_PRELOAD=$ompi srun --mpi=pmix /tmp/slurm/collective_bench $bench
		LD_PRELOAD=$mpich srun --mpi=pmi2 /tmp/slurm/collective_bench.mpich $bench
	SCRIPT
	first=$job
	expect_pause steps 1
	expect_jobs "a step of Open MPI is a job beside its allocation's" "$first $first.0"
	ktap_equal "it has all of the links" None "$(parts a0 "$first.0")"
	tell steps
	tell steps
	expect_pause steps 3
	expect_jobs "the next, of MPICH, is another, and the first is gone" "$first $first.1"
	ktap_equal "it has all of the links" None "$(parts b1 "$first.1")"
	tell steps
	tell steps
	expect_end "the job with both steps ends well" steps COMPLETED
	expect_paced steps 2
	ktap_equal "the trunk drops nothing" "$drops" "$(hw_trunk_drops)"
	expect_rest "after the job"
}

# Two jobs on the same nodes; one is cancelled, and of the other a process is killed.
test_two_jobs() {
	local one two rank
	submit one <<<'LD_PRELOAD=$ompi exec srun --mpi=pmix /tmp/slurm/collective_bench $bench'
	one=$job
	submit two <<<'LD_PRELOAD=$ompi exec srun --kill-on-bad-exit=1 --mpi=pmix /tmp/slurm/collective_bench $bench'
	two=$job
	expect_pause one 1
	expect_pause two 1
	expect_jobs "two jobs are on the same nodes" "$one $one.0 $two $two.0"
	ktap_equal "each has half of the trunk" "0.500 0.500" \
		"$(trunk_part a0 "$one.0") $(trunk_part a0 "$two.0")"

	slurm scancel "$one"
	expect_end "one is cancelled" one CANCELLED
	expect_jobs "nothing is left of it on any node" "$two $two.0"
	ktap_equal "the other has all of the trunk" None "$(parts a0 "$two.0")"

	rank=$(process_on b1 collective_bench)
	kill -KILL "$rank"
	expect_end "the other has failed when one of its ranks was killed" two FAILED
	expect_rest "after both"
}

# mpirun runs one rank itself, and starts the others by srun: as a step of its own.
test_mpirun() {
	local names drops
	drops=$(hw_trunk_drops)
	submit mpirun <<<'LD_PRELOAD=$ompi mpirun.openmpi /tmp/slurm/collective_bench $bench'
	expect_pause mpirun 1
	names=$(jobs_on a0)
	ktap_check "mpirun in an allocation is a job of the allocation: $names" \
		grep -qE "^$job $job\\.[0-9]+$" <<<"$names"
	expect_jobs "on every node the same" "$names"
	ktap_equal "it counts once: it has all of the trunk" None "$(parts a0 "${names#* }")"
	tell mpirun
	tell mpirun
	expect_end "mpirun ends well" mpirun COMPLETED
	expect_paced mpirun 1
	ktap_equal "after two jobs that were killed the trunk drops nothing" "$drops" "$(hw_trunk_drops)"
	expect_rest "after mpirun"
}

# Without the scripts the plugin starts and ends jobs; it knows a pattern, too.
test_plugin_alone() {
	local node told='next([j["started"], j["lasting"], j["hosts"]] for j in s["jobs"])'
	local paced='any(c["bytes_per_s"] is not None for c in s["classes"])'
	cp $work/slurm.conf $work/slurm.conf.scripts
	sed -i '/^Prolog=/d; /^Epilog=/d' $work/slurm.conf
	slurm scontrol reconfigure
	slurm srun -N 4 --headway-pattern=alltoall sh -c \
		"$work/headway status --json >$work/jobs/status.\$SLURMD_NODENAME"
	for node in "${nodes[@]}"; do
		ktap_equal "by the plugin alone, with a pattern, on $node: the job and its rates" \
			"[True, True, 4] True" \
			"$(/usr/bin/python3 -c "import json; s = json.load(open('$work/jobs/status.$node'))
print($told, $paced)")"
	done
	expect_rest "after the plugin's job"
	cp $work/slurm.conf.scripts $work/slurm.conf
	slurm scontrol reconfigure
}

test_no_daemon() {
	kill "${hw_daemons[3]}"
	wait "${hw_daemons[3]}" || true
	unset "hw_daemons[3]"
	submit partly <<<'LD_PRELOAD=$ompi srun --mpi=pmix /tmp/slurm/collective_bench --sizes 65536 --repetitions 1'
	expect_end "with headwayd away on one node a job runs" partly COMPLETED
	ktap_check "and says so" grep -q 'headway: pacing only 3 of 4 ranks: rank 3 on b1: no headwayd at' \
		$work/jobs/partly.out
	ktap_equal "prolog and epilog have not failed: no node is out of service" "4" \
		"$(slurm sinfo --noheader --states=idle --format=%D)"
}

set_up
test_slurm
test_steps
test_two_jobs
test_mpirun
test_plugin_alone
test_no_daemon
slurm_stop
hw_stop_daemons
hw_down
ktap_end
