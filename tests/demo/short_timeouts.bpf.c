// SPDX-License-Identifier: GPL-2.0
/*
 * Gives each TCP connection, as it is made, the shortest least retransmission
 * time-out and the shortest delay of acknowledgments that the kernel takes:
 * two jiffies.  A program gets the same for its own sockets by TCP_RTO_MIN_US
 * and TCP_DELACK_MAX_US, from Linux 6.15 on; a BPF program can on older ones.
 */
#include <linux/bpf.h>
#include <linux/in.h>

#include <bpf/bpf_helpers.h>

/* Two jiffies where a second has 1000, 250 or 100 of them. */
static const int two_jiffies_us[] = { 2000, 8000, 20000 };

static __always_inline void set_least(struct bpf_sock_ops *ops, int option)
{
	int at;

#pragma unroll
	for (at = 0; at < 3; at++) {
		int us = two_jiffies_us[at];

		if (!bpf_setsockopt(ops, IPPROTO_TCP, option, &us, sizeof(us)))
			return;
	}
}

SEC("sockops")
int short_timeouts(struct bpf_sock_ops *ops)
{
	if (ops->op == BPF_SOCK_OPS_ACTIVE_ESTABLISHED_CB ||
	    ops->op == BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB) {
		set_least(ops, TCP_BPF_RTO_MIN);
		set_least(ops, TCP_BPF_DELACK_MAX);
	}
	return 1;
}

char short_timeouts_license[] SEC("license") = "GPL";
