// SPDX-License-Identifier: GPL-2.0
/* BPF_PROG_TEST_RUN gives every packet a socket: here is the program for those without. */
#include "../../userspace/phase/fq_pacing.bpf.c"

SEC("tc")
int headway_fq_forwarded(struct __sk_buff *skb)
{
	return pace(skb, 0);
}
