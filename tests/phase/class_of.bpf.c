// SPDX-License-Identifier: GPL-2.0
/*
 * The classifier with its result where BPF_PROG_TEST_RUN shows it: the program
 * returns the class that a packet would get, and its entry in the upper half.
 */
#include "../../userspace/phase/phase_classifier.bpf.c"

/* This program does nothing, so its cost is that of running one. */
SEC("tc")
int phase_nothing(struct __sk_buff *skb)
{
	(void)skb;
	return 0;
}

SEC("tc")
int phase_class(struct __sk_buff *skb)
{
	__u32 minor = class_of(skb);

	return minor | skb->tc_index << 16;
}
