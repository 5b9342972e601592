# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Headway whose daemons agree through etcd on shares of the trunk: for nodes of several jobs, and for
# traffic that nobody has told Headway of.

DEMO_COORDINATED_FOLDER=/tmp/headway-coordinated

contender_headway_coordinated_up() {
	local node
	rm -rf "$DEMO_COORDINATED_FOLDER"
	mkdir "$DEMO_COORDINATED_FOLDER" || return
	hw_etcd_reach || return
	(hw_etcd_exec "$DEMO_COORDINATED_FOLDER") &
	demo_etcd=$!
	{
		cat "$DEMO_CONFIG"
		hw_etcd_coordination
	} >"$DEMO_COORDINATED_FOLDER/headway.toml" || return
	DEMO_CONFIG=$DEMO_COORDINATED_FOLDER/headway.toml contender_headway_up || return
	for node in $(hw_nodes); do
		hw_wait_for 60 demo_has_agreed "$node" || return
	done
}

# demo_has_agreed NODE: its daemon shares the trunk with the others.
demo_has_agreed() {
	[[ $(hw_status "$1" "s['coordination']['settled'] and s['coordination']['agreed']") == True ]]
}

contender_headway_coordinated_down() {
	contender_headway_down || return
	kill "$demo_etcd" && wait "$demo_etcd"
	hw_etcd_leave
}
