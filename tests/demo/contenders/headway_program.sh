# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Headway on nodes that have no module of ours: a BPF program paces, with the kernel's own fq or as a qdisc itself.

DEMO_PROGRAM_CONFIG=/etc/headway/program.toml

start_with_backend() {
	{
		printf '[kernel]\nbackend = "%s"\n' "$1"
		cat "$DEMO_CONFIG"
	} >"$DEMO_PROGRAM_CONFIG" || return
	hw_start_daemons "$DEMO_PROGRAM_CONFIG" "$HW_OUT"
}

contender_headway_fq_up() {
	start_with_backend fq
}

contender_headway_fq_down() {
	hw_stop_daemons
}

contender_headway_bpf_up() {
	start_with_backend bpf
}

contender_headway_bpf_down() {
	hw_stop_daemons
}
