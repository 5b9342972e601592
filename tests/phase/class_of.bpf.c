// SPDX-License-Identifier: GPL-2.0
/*
 * The classifier with its result where BPF_PROG_TEST_RUN shows it: the class
 * that a packet would get is the program's return value.
 */
#include "../../userspace/phase/phase_classifier.bpf.c"

/* What running a program costs by itself. */
SEC("tc")
int phase_nothing(struct __sk_buff *skb)
{
	(void)skb;
	return 0;
}

SEC("tc")
int phase_class(struct __sk_buff *skb)
{
	return class_of(skb);
}
