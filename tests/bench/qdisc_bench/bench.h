/* SPDX-License-Identifier: GPL-2.0 */
/*
 * qdisc_bench: what a qdisc costs, in instructions.
 *
 * bench_main.c	requests and results
 * bench_loop.c	the measurement
 * bench_packet.c	packets as TCP makes them
 * bench_trace.c	which function the instructions belong to, and which cache
 *		lines they work on
 */
#ifndef _QDISC_BENCH_H
#define _QDISC_BENCH_H

#include <linux/netdevice.h>
#include <linux/skbuff.h>
#include <net/sch_generic.h>

#define BENCH_MARK		0x51000000	/* | lane: a packet of ours */
#define BENCH_MARK_MASK		0xff000000

typedef int (*bench_enqueue_fn)(struct sk_buff *skb, struct Qdisc *sch,
				struct sk_buff **to_free);
typedef struct sk_buff *(*bench_dequeue_fn)(struct Qdisc *sch);

enum bench_call {
	BENCH_ENQUEUE,
	BENCH_DEQUEUE,		/* gave a packet */
	BENCH_GAP,		/* a dequeue that gave a frame nobody enqueued */
	BENCH_WAIT,		/* a dequeue that gave nothing: it set a timer */
	BENCH_INTERRUPT,	/* that timer, and the softirq it raised */
	BENCH_CALLS,
};

struct bench_sum {
	u64	calls;
	u64	instructions;
	u64	most;
};

/**
 * struct bench - one run
 * @frame_bytes: of each frame, without FCS
 * @segments: frames in a packet, if more than 1 to be segmented (TCP GSO)
 * @lanes: how many (class, destination) pairs take part
 * @classes: > 0: skb->priority is @priority + lane % @classes; 0: it is 0
 * @told: 1: packets carry what Headway's classifier tells its BPF qdisc
 * @backlog: packets of each lane that the qdisc holds all the time.  0: one
 *	packet goes in and comes out, then one of the next lane
 * @packets: to be measured, after as many to warm up
 * @trace: show where the instructions of one more packet go
 */
struct bench {
	char		dev_name[IFNAMSIZ];
	u32		frame_bytes;
	u32		segments;
	u32		lanes;
	u32		classes;
	u32		priority;
	u32		told;
	u32		backlog;
	u32		packets;
	u32		trace;

	struct net_device *dev;
	struct Qdisc	*sch;
	bench_enqueue_fn enqueue;	/* of @sch, unless traced */
	bench_dequeue_fn dequeue;
	struct page	*payload;
	u32		*frames_out;	/* by lane, since its last packet went in */
	u32		next_lane;
	bool		measuring;

	u64		empty_enqueue;	/* what the measurement itself takes */
	u64		empty_dequeue;
	u64		empty_spin;

	u64		frames;		/* that came out */
	u64		gap_bytes;
	u32		data_lines;	/* that one packet touched, without the stack's */
	struct bench_sum sums[BENCH_CALLS];
};

/* bench_packet.c */
bool bench_packet_fits(const struct bench *b);
struct sk_buff *bench_packet_new(struct bench *b, u32 lane);
void bench_packet_renew(const struct bench *b, struct sk_buff *skb);
void bench_packet_free_payload(struct bench *b);
int bench_packet_alloc_payload(struct bench *b);

/* bench_loop.c */
int bench_loop_run(struct bench *b);

/* bench_trace.c */
struct seq_file;

int bench_trace_init(void);
void bench_trace_exit(void);
void bench_trace_begin(struct bench *b);
void bench_trace_end(struct bench *b);
void bench_trace_show(struct seq_file *file);

#endif /* _QDISC_BENCH_H */
