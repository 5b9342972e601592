// SPDX-License-Identifier: GPL-2.0
/*
 * Packets as a TCP socket hands them to the qdisc: headers in the linear part,
 * payload in page fragments, checksum left to the device, flow hash known.
 */
#include <linux/etherdevice.h>
#include <linux/hash.h>
#include <linux/ip.h>
#include <linux/tcp.h>
#include <net/ip.h>
#include <net/tcp.h>

#include "bench.h"
#include "qdisc_told.h"

#define BENCH_HEADER_BYTES	(ETH_HLEN + sizeof(struct iphdr) + sizeof(struct tcphdr))
#define BENCH_PAGE_ORDER	3	/* as TCP's own payload pages */
#define BENCH_PAYLOAD_MAX_BYTES	65000
/* tests/kselftest/phase_of_port.bpf.c makes phases 1 .. 16 of these. */
#define BENCH_PORT		0x1401
#define BENCH_PORTS		16

static u32 bench_payload_bytes(const struct bench *b)
{
	return b->frame_bytes - BENCH_HEADER_BYTES;	/* of one frame */
}

bool bench_packet_fits(const struct bench *b)
{
	return b->segments && b->frame_bytes > BENCH_HEADER_BYTES &&
	       bench_payload_bytes(b) <= BENCH_PAYLOAD_MAX_BYTES / b->segments;
}

int bench_packet_alloc_payload(struct bench *b)
{
	b->payload = alloc_pages(GFP_KERNEL | __GFP_COMP, BENCH_PAGE_ORDER);
	return b->payload ? 0 : -ENOMEM;
}

void bench_packet_free_payload(struct bench *b)
{
	put_page(b->payload);
}

/* Every lane is a connection to a host of its own. */
static void bench_add_headers(const struct bench *b, struct sk_buff *skb,
			      u32 lane)
{
	u32 segment_len = sizeof(struct tcphdr) +
			  bench_payload_bytes(b) * b->segments;
	struct ethhdr *eth = skb_put_zero(skb, BENCH_HEADER_BYTES);
	struct iphdr *iph = (struct iphdr *)(eth + 1);
	struct tcphdr *th = (struct tcphdr *)(iph + 1);

	skb_reset_mac_header(skb);
	skb_set_network_header(skb, ETH_HLEN);
	skb_set_transport_header(skb, ETH_HLEN + sizeof(*iph));
	eth->h_dest[0] = 2;		/* locally administered */
	ether_addr_copy(eth->h_source, b->dev->dev_addr);
	eth->h_proto = htons(ETH_P_IP);
	iph->version = 4;
	iph->ihl = sizeof(*iph) / 4;
	iph->ttl = IPDEFTTL;
	iph->protocol = IPPROTO_TCP;
	iph->tot_len = htons(sizeof(*iph) + segment_len);
	iph->saddr = htonl(0x0a000001);
	iph->daddr = htonl(0x0a010001 + lane);
	ip_send_check(iph);
	th->source = htons(10000 + lane % 50000);
	th->dest = htons(BENCH_PORT + lane % BENCH_PORTS);
	th->doff = sizeof(*th) / 4;
	th->ack = 1;
	th->check = ~tcp_v4_check(segment_len, iph->saddr, iph->daddr, 0);
	skb->ip_summed = CHECKSUM_PARTIAL;
	skb->csum_start = skb_transport_header(skb) - skb->head;
	skb->csum_offset = offsetof(struct tcphdr, check);
}

static void bench_add_payload(struct bench *b, struct sk_buff *skb)
{
	u32 left = bench_payload_bytes(b) * b->segments, part;
	int i;

	for (i = 0; left; i++) {
		part = min_t(u32, left, PAGE_SIZE << BENCH_PAGE_ORDER);
		get_page(b->payload);
		skb_add_rx_frag(skb, i, b->payload, 0, part, part);
		left -= part;
	}
	if (b->segments > 1) {
		skb_shinfo(skb)->gso_size = bench_payload_bytes(b);
		skb_shinfo(skb)->gso_segs = b->segments;
		skb_shinfo(skb)->gso_type = SKB_GSO_TCPV4;
	}
}

/* Writes what the classifier at the device's egress tells the qdisc. */
static void bench_packet_tell(const struct bench *b, struct sk_buff *skb)
{
	u32 *told = (u32 *)qdisc_skb_cb(skb)->data;

	told[HEADWAY_TOLD_MAGIC] = HEADWAY_QDISC_MAGIC;
	told[HEADWAY_TOLD_CLASS] = TC_H_MIN(skb->priority);
	told[HEADWAY_TOLD_ENTRY] = 0;
	told[HEADWAY_TOLD_BYTES] = max(qdisc_pkt_len(skb), 60U) + b->segments * 24;
	told[HEADWAY_TOLD_TURN] = skb->mark & ~BENCH_MARK_MASK;
}

/* Sets what the core sets each time, before a packet reaches the qdisc. */
void bench_packet_renew(const struct bench *b, struct sk_buff *skb)
{
	skb->tstamp = 0;
	memset(skb->cb, 0, sizeof(skb->cb));
	qdisc_skb_cb(skb)->pkt_len = skb->len +
				     (b->segments - 1) * BENCH_HEADER_BYTES;
	if (b->told)
		bench_packet_tell(b, skb);
}

struct sk_buff *bench_packet_new(struct bench *b, u32 lane)
{
	struct sk_buff *skb;

	skb = alloc_skb(LL_RESERVED_SPACE(b->dev) + BENCH_HEADER_BYTES,
			GFP_ATOMIC);
	if (!skb)
		return NULL;
	skb_reserve(skb, LL_RESERVED_SPACE(b->dev));
	bench_add_headers(b, skb, lane);
	bench_add_payload(b, skb);
	skb->dev = b->dev;
	skb->protocol = htons(ETH_P_IP);
	skb->mark = BENCH_MARK | lane;
	skb->priority = b->classes ? b->priority + lane % b->classes : 0;
	__skb_set_sw_hash(skb, hash_32(lane + 1, 32), true);
	bench_packet_renew(b, skb);
	return skb;
}
