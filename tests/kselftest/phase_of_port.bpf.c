// SPDX-License-Identifier: GPL-2.0
/* Class 1:10 for all UDP and TCP; of ports 256 and above the lower byte is the phase. */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/pkt_cls.h>
#include <linux/udp.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

SEC("tc")
int phase_of_port(struct __sk_buff *skb)
{
	const struct ethhdr *eth = (void *)(long)skb->data;
	const struct iphdr *ip = (void *)(eth + 1);
	const struct udphdr *udp = (void *)(ip + 1);	/* TCP's ports are there, too */

	if ((void *)(udp + 1) > (void *)(long)skb->data_end ||
	    eth->h_proto != bpf_htons(ETH_P_IP) ||
	    (ip->protocol != IPPROTO_UDP && ip->protocol != IPPROTO_TCP))
		return TC_ACT_UNSPEC;
	if (bpf_ntohs(udp->dest) >= 256)
		skb->tc_index = bpf_ntohs(udp->dest) & 255;
	skb->tc_classid = 0x10;
	return TC_ACT_OK;
}

char phase_license[] SEC("license") = "GPL";
