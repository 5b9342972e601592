// SPDX-License-Identifier: GPL-2.0
/*
 * Where the instructions go: the processor's single-step trap around one
 * enqueue and one dequeue gives the address of every instruction.  Traps that
 * are not ours go their way.
 */
#include <linux/kdebug.h>
#include <linux/seq_file.h>

#include "bench.h"

#define BENCH_TRACE_MAX		100000

static unsigned long bench_traced[BENCH_TRACE_MAX];
static u32 bench_traced_count;
static bool bench_stepping;

static int bench_on_trap(struct notifier_block *nb, unsigned long event,
			 void *data)
{
	struct die_args *args = data;

	if (event != DIE_DEBUG || !READ_ONCE(bench_stepping))
		return NOTIFY_DONE;
	if (bench_traced_count < BENCH_TRACE_MAX)
		bench_traced[bench_traced_count++] = args->regs->ip;
	return NOTIFY_STOP;
}

static struct notifier_block bench_trap_notifier = {
	.notifier_call	= bench_on_trap,
	.priority	= INT_MAX,
};

static __always_inline void bench_step(bool on)
{
	unsigned long flags = native_save_fl() & ~X86_EFLAGS_TF;

	WRITE_ONCE(bench_stepping, true);
	if (on)
		flags |= X86_EFLAGS_TF;
	asm volatile("push %0; popf" : : "r" (flags) : "memory", "cc");
	WRITE_ONCE(bench_stepping, on);
}

static int bench_trace_enqueue(struct sk_buff *skb, struct Qdisc *sch,
			       struct sk_buff **to_free)
{
	int ret;

	bench_step(true);
	ret = sch->enqueue(skb, sch, to_free);
	bench_step(false);
	return ret;
}

static struct sk_buff *bench_trace_dequeue(struct Qdisc *sch)
{
	struct sk_buff *skb;

	bench_step(true);
	skb = sch->dequeue(sch);
	bench_step(false);
	return skb;
}

void bench_trace_begin(struct bench *b)
{
	bench_traced_count = 0;
	b->enqueue = bench_trace_enqueue;
	b->dequeue = bench_trace_dequeue;
}

void bench_trace_end(struct bench *b)
{
	b->enqueue = b->sch->enqueue;
	b->dequeue = b->sch->dequeue;
}

/* One line an instruction: symbol+offset/size [module] */
void bench_trace_show(struct seq_file *file)
{
	u32 i;

	for (i = 0; i < bench_traced_count; i++)
		seq_printf(file, "%pS\n", (void *)bench_traced[i]);
}

int bench_trace_init(void)
{
	return register_die_notifier(&bench_trap_notifier);
}

void bench_trace_exit(void)
{
	unregister_die_notifier(&bench_trap_notifier);
}
