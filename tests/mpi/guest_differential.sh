#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# In a guest of vm-run --icount --faster 50: every wrapped operation on random counts and
# datatypes, between 8 nodes of 2 ranks in two clusters, without and with
# Headway.  Both runs must print the same digests.  KTAP on standard output.
#
#   tests/vm/vm-run --icount --faster 50 -- tests/mpi/guest_differential.sh ompi mpich
set -euo pipefail

# shellcheck source=tests/lib/topology.sh
. "$HW_ROOT/tests/lib/topology.sh"
# shellcheck source=tests/lib/daemons.sh
. "$HW_ROOT/tests/lib/daemons.sh"
# shellcheck source=tests/lib/ktap.sh
. "$HW_ROOT/tests/lib/ktap.sh"

nodes_per_cluster=4
ranks_per_node=2
host_mbit=1000 trunk_mbit=1250
c_cases=38 fortran_cases=19	# of each library: multiples of the 19 operations
work=/tmp/guest_differential
declare -A suffix=([ompi]="" [mpich]=.mpich) sleep=([ompi]=yield_sleep.so [mpich]=ucx_sleep.so)

# run OUTPUT LIBRARY PRELOAD PROGRAM ARGUMENT...: leaves OUTPUT and OUTPUT.err, which hold what the
# ranks wrote to files of their own (rank_record).
run() {
	local output=$1 library=$2 preload=$3 program=$4 status=0
	shift 4
	mkdir "$output.ranks"
	"$HW_ROOT/tests/lib/mpi-job" "$library" "$ranks_per_node" LD_PRELOAD="$preload" \
		HW_RANK_RECORDS="$output.ranks" -- "$HW_BUILD/bin/tests/rank_record" \
		"$HW_BUILD/bin/tests/$program${suffix[$library]}" "$@" >"$output.launcher" 2>&1 || status=$?
	cat "$output.ranks"/*.out >"$output"
	cat "$output.ranks"/*.err >"$output.err"
	((status == 0)) || tail -n 20 "$output.launcher" "$output.err"
	return "$status"
}

# Frames of jobs that do not cross the trunk would prove nothing.
trunk_crossed() {
	local before=$1 after
	read -r after _ <<<"$(hw_trunk_bytes)"
	echo $((after - before))
}

# compare LIBRARY PROGRAM CASES ARGUMENT...
compare() {
	local library=$1 program=$2 cases=$3 name="$1 $2" before
	local plain=$work/$1-$2.plain paced=$work/$1-$2.paced rest="$HW_BUILD/lib/tests/${sleep[$1]}"
	shift 3
	ktap_check "$name runs without Headway" \
		run "$plain" "$library" "$rest" "$program" "$@"
	read -r before _ <<<"$(hw_trunk_bytes)"
	ktap_check "$name runs with Headway" \
		run "$paced" "$library" "$HW_BUILD/lib/libheadway-mpi.so:$rest" "$program" "$@"
	ktap_between "$name: bytes over the trunk" 100000 "$(trunk_crossed "$before")" 1000000000
	ktap_equal "$name is paced" 1 "$(grep -c '^headway: pacing' "$paced.err")"
	ktap_equal "$name says nothing else" 1 "$(grep -c '^headway' "$paced.err")"
	ktap_equal "$name: cases" "$cases" "$(wc -l <"$plain")"
	ktap_check "$name: the same digests" diff "$plain" "$paced"
}

main() {
	local library binding
	mkdir -p $work
	hw_two_clusters $nodes_per_cluster $host_mbit $trunk_mbit 50 32768 65536
	insmod "$HW_BUILD/kmod/$(uname -r)/sch_gap.ko"
	hw_config $nodes_per_cluster $host_mbit $trunk_mbit >$work/headway.toml
	hw_start_daemons $work/headway.toml $work
	for library in "$@"; do
		compare "$library" collectives $c_cases --cases $c_cases --seed 5
		for binding in mpif f90 f08; do
			compare "$library" collectives_$binding $fortran_cases $fortran_cases
		done
	done
	hw_stop_daemons
	hw_down
	ktap_end
}

main "$@"
