# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Headway on nodes that have no module of ours: the kernel's own fq paces, by the times
# that a BPF program gives packets.

DEMO_FQ_CONFIG=/etc/headway/fq.toml

contender_headway_fq_up() {
	{
		printf '[kernel]\nbackend = "fq"\n'
		cat "$DEMO_CONFIG"
	} >"$DEMO_FQ_CONFIG" || return
	hw_start_daemons "$DEMO_FQ_CONFIG" "$HW_OUT"
}

contender_headway_fq_down() {
	hw_stop_daemons
}
