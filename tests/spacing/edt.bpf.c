// SPDX-License-Identifier: GPL-2.0
/*
 * Earliest departure times for fq, as hosts that pace with BPF set them: the
 * next frame leaves when the rate allows it.  skb->priority is the rate in
 * kilobytes of wire time per second.
 */
#include <linux/bpf.h>
#include <linux/pkt_cls.h>

#include <bpf/bpf_helpers.h>

#define WIRE_OVERHEAD_BYTES	24
#define NSEC_PER_MSEC		1000000ULL

__u64 next_ns;

SEC("tc")
int departure_time(struct __sk_buff *skb)
{
	__u64 now_ns = bpf_ktime_get_ns();

	if (!skb->priority)
		return TC_ACT_OK;
	if (next_ns < now_ns)
		next_ns = now_ns;
	skb->tstamp = next_ns;
	next_ns += (skb->len + WIRE_OVERHEAD_BYTES) * NSEC_PER_MSEC / skb->priority;
	return TC_ACT_OK;
}

char edt_license[] SEC("license") = "GPL";
