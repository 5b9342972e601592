// SPDX-License-Identifier: GPL-2.0
/*
 * The measurement: enqueue and dequeue of a device's root qdisc, called as the
 * core calls them (root lock held, bottom halves off) and timed one by one.
 *
 * Under QEMU -icount shift=0 the time stamp counter counts instructions, so
 * figures are exact and repeat to the bit; elsewhere they are cycles.  What a
 * function that does nothing takes is subtracted.
 *
 * Each lane has a standing backlog: whenever as many frames of a lane have
 * come out as one of its packets has, its next packet goes in.  A qdisc that
 * paces by timers gives nothing until a packet is due; that call, and the
 * interrupt that ends the wait, are counted apart from the dequeue that then
 * gives the packet.  So are gap frames: they are what waiting costs there.
 *
 * The device sends nothing meanwhile.  Its queue is stopped, and for byte
 * queue limits one frame is on the wire all the time.
 */
#include <linux/netdevice.h>
#include <net/pkt_sched.h>

#include "bench.h"

#define BENCH_LOCKED_PACKETS	64	/* then others may run */
#define BENCH_CALIBRATIONS	64
#define BENCH_INTERRUPT_MIN	150	/* no interrupt takes fewer instructions */
#define BENCH_WAIT_MAX		NSEC_PER_SEC

/* ---- the clock ------------------------------------------------------------ */

static noinline int bench_time_enqueue(bench_enqueue_fn enqueue,
				       struct sk_buff *skb, struct Qdisc *sch,
				       struct sk_buff **to_free, u64 *spent)
{
	u64 start = rdtsc();
	int ret = enqueue(skb, sch, to_free);

	*spent = rdtsc() - start;
	return ret;
}

static noinline struct sk_buff *bench_time_dequeue(bench_dequeue_fn dequeue,
						   struct Qdisc *sch, u64 *spent)
{
	u64 start = rdtsc();
	struct sk_buff *skb = dequeue(sch);

	*spent = rdtsc() - start;
	return skb;
}

/* Since the last call. */
static noinline u64 bench_time_spin(u64 *last)
{
	u64 now = rdtsc();
	u64 spent = now - *last;

	*last = now;
	return spent;
}

static noinline int bench_empty_enqueue(struct sk_buff *skb, struct Qdisc *sch,
					struct sk_buff **to_free)
{
	return 0;
}

static noinline struct sk_buff *bench_empty_dequeue(struct Qdisc *sch)
{
	return NULL;
}

static void bench_calibrate(struct bench *b)
{
	u64 enqueue, dequeue, last;
	int i;

	b->empty_enqueue = U64_MAX;
	b->empty_dequeue = U64_MAX;
	b->empty_spin = U64_MAX;
	local_irq_disable();
	bench_time_spin(&last);
	for (i = 0; i < BENCH_CALIBRATIONS; i++)
		b->empty_spin = min(b->empty_spin, bench_time_spin(&last));
	for (i = 0; i < BENCH_CALIBRATIONS; i++) {
		bench_time_enqueue(bench_empty_enqueue, NULL, b->sch, NULL,
				   &enqueue);
		bench_time_dequeue(bench_empty_dequeue, b->sch, &dequeue);
		b->empty_enqueue = min(b->empty_enqueue, enqueue);
		b->empty_dequeue = min(b->empty_dequeue, dequeue);
	}
	local_irq_enable();
}

static void bench_count(struct bench *b, enum bench_call call, u64 spent,
			u64 empty)
{
	struct bench_sum *sum = &b->sums[call];

	if (!b->measuring)
		return;
	spent -= min(empty, spent);
	sum->calls++;
	sum->instructions += spent;
	sum->most = max(sum->most, spent);
}

/* ---- packets in, packets out ----------------------------------------------- */

static int bench_put(struct bench *b, struct sk_buff *skb)
{
	struct sk_buff *to_free = NULL;
	u64 spent;
	int ret;

	local_irq_disable();
	ret = bench_time_enqueue(b->enqueue, skb, b->sch, &to_free, &spent);
	local_irq_enable();
	bench_count(b, BENCH_ENQUEUE, spent, b->empty_enqueue);
	kfree_skb_list(to_free);
	return ret == NET_XMIT_SUCCESS ? 0 : -ENOBUFS;
}

static int bench_put_new(struct bench *b, u32 lane)
{
	struct sk_buff *skb = bench_packet_new(b, lane);

	return skb ? bench_put(b, skb) : -ENOMEM;
}

static int bench_fill(struct bench *b)
{
	u32 lane, i;
	int err = 0;

	for (i = 0; i < b->backlog; i++)
		for (lane = 0; !err && lane < b->lanes; lane++) {
			spin_lock_bh(qdisc_lock(b->sch));
			err = bench_put_new(b, lane);
			spin_unlock_bh(qdisc_lock(b->sch));
		}
	return err;
}

/*
 * Let interrupts and softirqs in until there was one, and measure it by the
 * hole it leaves in a spin.  The timer of the tick makes a few of them longer.
 */
static void bench_wait(struct bench *b)
{
	u64 start = rdtsc(), last, spent;

	spin_unlock_bh(qdisc_lock(b->sch));
	bench_time_spin(&last);
	do
		spent = bench_time_spin(&last);
	while (spent < BENCH_INTERRUPT_MIN && last - start < BENCH_WAIT_MAX);
	spin_lock_bh(qdisc_lock(b->sch));
	bench_count(b, BENCH_INTERRUPT, spent, b->empty_spin);
}

/* The next packet of ours, waited for if need be. */
static struct sk_buff *bench_get(struct bench *b)
{
	u64 deadline = rdtsc() + BENCH_WAIT_MAX, spent;
	struct sk_buff *skb;

	while (rdtsc() < deadline) {
		local_irq_disable();
		skb = bench_time_dequeue(b->dequeue, b->sch, &spent);
		local_irq_enable();
		if (!skb) {
			bench_count(b, BENCH_WAIT, spent, b->empty_dequeue);
			bench_wait(b);
			continue;
		}
		if ((skb->mark & BENCH_MARK_MASK) == BENCH_MARK) {
			bench_count(b, BENCH_DEQUEUE, spent, b->empty_dequeue);
			return skb;
		}
		bench_count(b, BENCH_GAP, spent, b->empty_dequeue);
		if (b->measuring)
			b->gap_bytes += skb->len;
		consume_skb(skb);
	}
	return NULL;
}

static u32 bench_frames(const struct sk_buff *skb)
{
	return max_t(u32, skb_shinfo(skb)->gso_segs, 1);
}

/* A lane's next packet goes in once all frames of one have come out. */
static int bench_turn(struct bench *b, struct sk_buff *skb)
{
	u32 lane = skb->mark & ~BENCH_MARK_MASK;
	bool whole = b->segments == 1;

	b->frames_out[lane] += bench_frames(skb);
	if (b->frames_out[lane] < b->segments) {
		consume_skb(skb);
		return 0;
	}
	b->frames_out[lane] = 0;
	if (whole && b->backlog) {
		bench_packet_renew(b, skb);
		return bench_put(b, skb);
	}
	consume_skb(skb);
	return b->backlog ? bench_put_new(b, lane) : 0;
}

/* As many frames as one packet has. */
static int bench_packet(struct bench *b)
{
	struct sk_buff *skb;
	u32 frames = 0;
	int err = 0;

	if (!b->backlog)
		err = bench_put_new(b, b->next_lane++ % b->lanes);
	while (!err && frames < b->segments) {
		skb = bench_get(b);
		if (!skb)
			return -ETIMEDOUT;
		frames += bench_frames(skb);
		err = bench_turn(b, skb);
	}
	if (b->measuring)
		b->frames += frames;
	return err;
}

static int bench_packets(struct bench *b, u32 count)
{
	int err = 0;
	u32 i = 0;

	while (!err && i < count) {
		spin_lock_bh(qdisc_lock(b->sch));
		do
			err = bench_packet(b);
		while (!err && ++i % BENCH_LOCKED_PACKETS && i < count);
		spin_unlock_bh(qdisc_lock(b->sch));
		cond_resched();
	}
	return err;
}

static int bench_measure(struct bench *b)
{
	u32 drops = b->sch->qstats.drops;
	int err;

	err = bench_fill(b);
	if (!err)
		err = bench_packets(b, b->packets);
	b->measuring = true;
	if (!err)
		err = bench_packets(b, b->packets);
	b->measuring = false;
	if (!err) {
		bench_trace_begin(b);
		err = bench_packets(b, 1);
		bench_trace_end(b);
	}
	if (!err && b->sch->qstats.drops != drops)
		err = -EIO;
	return err;
}

int bench_loop_run(struct bench *b)
{
	struct netdev_queue *txq = netdev_get_tx_queue(b->dev, 0);
	int err;

	netif_tx_stop_queue(txq);
	netdev_tx_sent_queue(txq, b->frame_bytes);
	bench_calibrate(b);
	err = bench_measure(b);
	spin_lock_bh(qdisc_lock(b->sch));
	qdisc_reset(b->sch);
	spin_unlock_bh(qdisc_lock(b->sch));
	netdev_tx_completed_queue(txq, 1, b->frame_bytes);
	netif_tx_wake_queue(txq);
	return err;
}
