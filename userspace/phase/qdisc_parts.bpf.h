/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the qdisc that is a BPF program (pacing_qdisc.bpf.c) consists of: the structures of the
 * kernel that it looks into, its own, and the arrays that they lie in.  An instance of the qdisc
 * has a part of each array, which the lock of its qdisc guards.
 */
#ifndef QDISC_PARTS_BPF_H
#define QDISC_PARTS_BPF_H

#include "pacing_classes.bpf.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

/* The program reads these members of the kernel's structures, wherever they are there. */
struct qdisc_skb_cb {
	__u32			pkt_len;
	unsigned char		data[20];
} __attribute__((preserve_access_index));

struct sk_buff {
	char			cb[48];
} __attribute__((preserve_access_index));

/* clang 14 forgets the tag of a pointer to a structure that it knows by its own name */
typedef struct sk_buff		skb_type;

struct ns_common {
	__u32			inum;
} __attribute__((preserve_access_index));

struct net {
	struct ns_common	ns;
} __attribute__((preserve_access_index));

struct net_device {
	int			ifindex;
	struct {
		struct net	*net;
	} nd_net;
} __attribute__((preserve_access_index));

struct netdev_queue {
	struct net_device	*dev;
} __attribute__((preserve_access_index));

struct qdisc_skb_head {
	__u32			qlen;
} __attribute__((preserve_access_index));

struct gnet_stats_queue {
	__u32			backlog;
	__u32			drops;
	__u32			overlimits;
} __attribute__((preserve_access_index));

struct Qdisc {
	__u32			limit;
	struct netdev_queue	*dev_queue;
	struct qdisc_skb_head	q;
	struct gnet_stats_queue	qstats;
} __attribute__((preserve_access_index));

struct nlattr;
struct netlink_ext_ack;

struct bpf_sk_buff_ptr {
	struct sk_buff		*skb;
};

struct Qdisc_ops {
	char			id[16];
	int			(*enqueue)(struct sk_buff *skb, struct Qdisc *sch,
					   struct sk_buff **to_free);
	struct sk_buff *	(*dequeue)(struct Qdisc *sch);
	int			(*init)(struct Qdisc *sch, struct nlattr *arg,
					struct netlink_ext_ack *extack);
	void			(*reset)(struct Qdisc *sch);
	void			(*destroy)(struct Qdisc *sch);
} __attribute__((preserve_access_index));

extern void bpf_qdisc_skb_drop(struct sk_buff *skb, struct bpf_sk_buff_ptr *to_free) __ksym;
extern void bpf_kfree_skb(struct sk_buff *skb) __ksym;
extern void bpf_qdisc_watchdog_schedule(struct Qdisc *sch, __u64 expire, __u64 delta_ns) __ksym;
extern void bpf_qdisc_bstats_update(struct Qdisc *sch, const struct sk_buff *skb) __ksym;

/* Of all links by number, 0 is none. */
struct qdisc_slot {
	skb_type __kptr		*skb;
	__u32			next;
	__u32			wire_bytes;
	__u32			entry;
	__u32			unused;
};

/* Destinations of one hash, and their packets. */
struct qdisc_turn {
	__u32			head;
	__u32			tail;
	__u32			qlen;
	__u32			next;	/* of the class's turns with packets, and 1 */
};

/* The state of a class. */
#define IN_HEAP			1
#define IN_LIST			2	/* of those that wait at a class above */

/* A class in an instance, by the place of its clock; 0: the packets of no class. */
struct qdisc_queue {
	__u32			minor;
	__u32			state;
	__u32			qlen;
	__u32			first_turn;	/* and 1 */
	__u32			last_turn;
	__u32			first_ack;
	__u32			last_ack;
	__u32			acks;
	__s32			ack_room_bytes;	/* for ACKs before the next data */
	__u32			first_waiting;	/* children that it holds up, and 1 */
	__u32			last_waiting;
	__u32			next_waiting;	/* behind it at its parent, and 1 */
	__u64			since_ticks;	/* it has had packets */
};

struct qdisc_due {
	__u64			ticks;
	__u32			class;
	__u32			unused;
};

struct qdisc_heap {
	struct qdisc_due	due[HEADWAY_QDISC_CLASSES + 1];	/* one has a neighbour always */
};

/* headwayd makes all of them as large as the device and the topology need. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct headway_qdisc);
} qdiscs SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct qdisc_slot);
} qdisc_slots SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct qdisc_queue);
} qdisc_queues SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct qdisc_turn);
} qdisc_turns SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct qdisc_heap);
} qdisc_heaps SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct headway_qdisc_device);
} qdisc_device SEC(".maps");

#define TURN_BITS_MAX		7

/* ------------------------------------------------------------ the parts of an instance */

static __always_inline struct headway_qdisc *qdisc(__u32 number)
{
	return bpf_map_lookup_elem(&qdiscs, &number);
}

static __always_inline struct qdisc_slot *slot_at(__u32 slot)
{
	return bpf_map_lookup_elem(&qdisc_slots, &slot);
}

static __always_inline struct qdisc_queue *queue_of(const struct headway_qdisc *q, __u32 class)
{
	__u32 index = q->first_queue + class;

	return bpf_map_lookup_elem(&qdisc_queues, &index);
}

static __always_inline struct qdisc_turn *turn_of(const struct headway_qdisc *q, __u32 class,
						  __u32 turn)
{
	__u32 index = ((q->first_queue + class) << q->turn_bits) + turn;

	return bpf_map_lookup_elem(&qdisc_turns, &index);
}

static __always_inline struct qdisc_heap *heap_of(__u32 number)
{
	return bpf_map_lookup_elem(&qdisc_heaps, &number);
}

#endif /* QDISC_PARTS_BPF_H */
