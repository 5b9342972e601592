// SPDX-License-Identifier: GPL-2.0
/*
 * Where the instructions go: the processor's single-step trap around one
 * enqueue and one dequeue gives the address of every instruction.  Traps that
 * are not ours go their way.
 *
 * Before an instruction runs, the kernel's own decoder says which address in
 * memory it works on: so the cache lines that a packet touches are counted,
 * without those of the stack.
 */
#include <asm/insn.h>
#include <asm/insn-eval.h>
#include <linux/kdebug.h>
#include <linux/kprobes.h>
#include <linux/sched/task_stack.h>
#include <linux/seq_file.h>

#include "bench.h"

#define BENCH_TRACE_MAX		100000
#define BENCH_LINES_MAX		4096

typedef int (*bench_decode_fn)(struct insn *insn, const void *code, int len,
			       enum insn_mode mode);
typedef void __user *(*bench_address_fn)(struct insn *insn, struct pt_regs *regs);

static unsigned long bench_traced[BENCH_TRACE_MAX];
static u32 bench_traced_count;
static bool bench_stepping;

static unsigned long bench_lines[BENCH_LINES_MAX];
static u32 bench_line_count;

static bench_decode_fn bench_decode;		/* insn_decode() */
static bench_address_fn bench_address;		/* insn_get_addr_ref() */

static void bench_note_line(unsigned long address)
{
	unsigned long line = address / L1_CACHE_BYTES;
	u32 i;

	if (address - (unsigned long)task_stack_page(current) < THREAD_SIZE)
		return;
	for (i = 0; i < bench_line_count; i++)
		if (bench_lines[i] == line)
			return;
	if (bench_line_count < BENCH_LINES_MAX)
		bench_lines[bench_line_count++] = line;
}

/* lea computes an address, and 0f 0d to 0f 1f are hints and no-ops. */
static bool bench_works_on_memory(const struct insn *insn)
{
	if (!insn->modrm.nbytes || X86_MODRM_MOD(insn->modrm.value) == 3)
		return false;
	if (insn->opcode.nbytes == 1)
		return insn->opcode.bytes[0] != 0x8d;
	return insn->opcode.bytes[1] < 0x0d || insn->opcode.bytes[1] > 0x1f;
}

static void bench_note_data(struct pt_regs *regs)
{
	struct insn insn;

	if (bench_decode(&insn, (void *)regs->ip, MAX_INSN_SIZE, INSN_MODE_KERN))
		return;
	if (bench_works_on_memory(&insn))
		bench_note_line((unsigned long)bench_address(&insn, regs));
}

static int bench_on_trap(struct notifier_block *nb, unsigned long event,
			 void *data)
{
	struct die_args *args = data;

	if (event != DIE_DEBUG || !READ_ONCE(bench_stepping))
		return NOTIFY_DONE;
	if (bench_traced_count < BENCH_TRACE_MAX)
		bench_traced[bench_traced_count++] = args->regs->ip;
	bench_note_data(args->regs);
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
	bench_line_count = 0;
	b->enqueue = bench_trace_enqueue;
	b->dequeue = bench_trace_dequeue;
}

void bench_trace_end(struct bench *b)
{
	b->enqueue = b->sch->enqueue;
	b->dequeue = b->sch->dequeue;
	b->data_lines = bench_line_count;
}

/* One line an instruction: symbol+offset/size [module] */
void bench_trace_show(struct seq_file *file)
{
	u32 i;

	for (i = 0; i < bench_traced_count; i++)
		seq_printf(file, "%pS\n", (void *)bench_traced[i]);
}

/* Returns the address of a function that the kernel does not export. */
static void *bench_address_of(const char *name)
{
	struct kprobe probe = { .symbol_name = name };

	if (register_kprobe(&probe))
		return NULL;
	unregister_kprobe(&probe);
	return probe.addr;
}

int bench_trace_init(void)
{
	bench_decode = bench_address_of("insn_decode");
	bench_address = bench_address_of("insn_get_addr_ref");
	if (!bench_decode || !bench_address)
		return -ENOENT;
	return register_die_notifier(&bench_trap_notifier);
}

void bench_trace_exit(void)
{
	unregister_die_notifier(&bench_trap_notifier);
}
