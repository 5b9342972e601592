#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# In a guest of vm-run --icount --faster 50: headway measure finds networks that are known.
# KTAP on standard output.
#
#   tests/vm/vm-run --icount --faster 50 -- tests/measure/guest.sh [NETWORK...]
#
# Agents run in nodes that have a monotonic clock each: nothing compares two of them.
set -euo pipefail

# shellcheck source=tests/lib/topology.sh
. "$HW_ROOT/tests/lib/topology.sh"
# shellcheck source=tests/measure/tree.sh
. "$HW_ROOT/tests/measure/tree.sh"
# shellcheck source=tests/measure/networks.sh
. "$HW_ROOT/tests/measure/networks.sh"
# shellcheck source=tests/lib/ktap.sh
. "$HW_ROOT/tests/lib/ktap.sh"

work=/tmp/measure
check=$HW_ROOT/tests/measure/check_measured.py

# Writes the program that launches an agent: in its node, with a monotonic clock that is off by an
# hour for each.
write_launcher() {
	local node offset=0
	for node in $(hw_nodes); do
		offset=$((offset + 3600))
		echo "$node $(hw_node_pid "$node") $offset"
	done >$work/nodes
	cat >$work/launch <<-'LAUNCH'
		#!/bin/bash
		node=$1
		shift
		while read -r name pid offset <&3; do
			[[ $name != "$node" ]] || exec nsenter --target "$pid" --net --mount --uts -- \
				unshare --time --monotonic "$offset" --fork -- "$@" 3<&-
		done 3</tmp/measure/nodes
		echo "there is no node $node" >&2
		exit 1
	LAUNCH
	chmod +x $work/launch
}

# measure NAME OPTION...
measure() {
	local name=$1
	shift
	$work/headway measure --launch "$work/launch {host}" --patience 120 --max-load 100 ${HW_NETWORK_ONLY:+--network-only} \
		--output "$work/$name.json" "$@"
}

test_network() {
	local name=$1
	"$name" >$work/$name.tree
	hw_tree <$work/$name.tree
	write_launcher
	# what launches agents is in memory, too: measure's patience is of the guest's time
	$work/launch a0 $work/headway --version >/dev/null
	mapfile -t hosts < <(hw_nodes)
	ktap_check "$name: it is measured" measure $name --hosts "${hosts[@]}" --write $work/$name.toml
	ktap_check "$name: what was found is what there is" python3 "$check" $work/$name.tree $work/$name.json
	[[ ! -d ${HW_OUT:-/nonexistent} ]] || cp $work/$name.* "$HW_OUT"
	hw_down
}

# headway.toml of two_clusters, as it should be.
right_toml() {
	local cluster
	for cluster in a b; do
		cat <<-TOML
			[[cluster]]
			name = "$cluster"
			hosts = ["${cluster}[0-3]"]
			host_rate = "1gbit"
			host_buffer = "64KiB"
			trunk_rate = "1250mbit"
			trunk_buffer = "32KiB"
			trunk_delay = "50us"
		TOML
	done
}

compare() {
	$work/headway measure --from $work/two_clusters.json "$@"
}

# names_wrong NAME SED-SCRIPT PATTERN: what is made of the right file is told, and nothing else
names_wrong() {
	local said status=0
	right_toml | sed "$2" >$work/wrong.toml
	said=$(compare --config $work/wrong.toml) || status=$?
	ktap_equal "headway.toml with $1: the status tells" 1 $status
	ktap_equal "headway.toml with $1: it is named" "" "$(grep -vE "$3" <<<"$said")"
}

test_comparisons() {
	right_toml >$work/right.toml
	ktap_check "the right headway.toml is right" compare --config $work/right.toml
	ktap_check "what --write wrote is right" compare --config $work/two_clusters.toml
	ktap_check "headwayd takes what --write wrote" $work/headway check-config $work/two_clusters.toml
	ktap_check "nothing has changed since" compare --since $work/two_clusters.json
	names_wrong "a trunk that is 20 % too fast" 's/1250mbit/1500mbit/' \
		'switch of b.*carries 1\.2.* described with 1.5 Gbit/s, (19|20|21) % too fast'
	names_wrong "buffers that are not there" 's/trunk_buffer = "32KiB"/trunk_buffer = "1MiB"/' \
		'buffer before the link .* described with 1048576'
	names_wrong "two hosts exchanged" 's/"a\[0-3\]"/"a[0-2]", "b2"/; s/"b\[0-3\]"/"a3", "b[0-1]", "b3"/' \
		'^a3 and b2 are exchanged$'
}

mkdir -p $work
# from memory: a guest that waits for the host's disk sees any amount of time go by
cp "$HW_BUILD/bin/headway" $work
mkdir -p $work/lib
ldd $work/headway | awk '$3 ~ /^\// { print $3 }' | xargs cp -Lt $work/lib
export LD_LIBRARY_PATH=$work/lib
networks=("$@")
((${#networks[@]})) || networks=(two_clusters)
for network in "${networks[@]}"; do
	test_network "$network"
	[[ $network != two_clusters ]] || test_comparisons
done
ktap_end
