// SPDX-License-Identifier: GPL-2.0
/*
 * qdisc_bench: what a qdisc costs, in instructions; see bench.h.
 *
 * /proc/qdisc_bench
 *	write  dev=NAME [KEY=NUMBER]...  with the numbers of struct bench: runs
 *	read   one line of JSON; instructions of the trace, one a line, follow
 * /proc/qdisc_bench_busy
 *	read   nanoseconds for which the first processor was not idle.  Under
 *	       -icount shift=0 these are instructions
 */
#include <linux/module.h>
#include <linux/proc_fs.h>
#include <linux/rtnetlink.h>
#include <linux/seq_file.h>
#include <linux/tick.h>
#include <linux/vmalloc.h>
#include <net/net_namespace.h>
#include <net/pkt_sched.h>

#include "bench.h"

#define BENCH_LINE_MAX		256
#define BENCH_LANES_MAX		65536

static const char *const bench_call_names[BENCH_CALLS] = {
	"enqueue", "dequeue", "gap", "wait", "interrupt",
};

static const struct bench_key {
	const char	*name;
	size_t		offset;
} bench_keys[] = {
	{ "frame_bytes",	offsetof(struct bench, frame_bytes) },
	{ "segments",		offsetof(struct bench, segments) },
	{ "lanes",		offsetof(struct bench, lanes) },
	{ "classes",		offsetof(struct bench, classes) },
	{ "priority",		offsetof(struct bench, priority) },
	{ "told",		offsetof(struct bench, told) },
	{ "backlog",		offsetof(struct bench, backlog) },
	{ "packets",		offsetof(struct bench, packets) },
	{ "trace",		offsetof(struct bench, trace) },
};

static struct bench bench;	/* RTNL */
static struct proc_dir_entry *bench_entry, *bench_busy_entry;

static int bench_parse_word(struct bench *b, const char *key, const char *value)
{
	int i;

	if (!strcmp(key, "dev"))
		return strscpy(b->dev_name, value, IFNAMSIZ) < 0 ? -EINVAL : 0;
	for (i = 0; i < ARRAY_SIZE(bench_keys); i++)
		if (!strcmp(key, bench_keys[i].name))
			return kstrtou32(value, 0,
					 (void *)b + bench_keys[i].offset);
	return -EINVAL;
}

static int bench_parse(struct bench *b, char *line)
{
	char *word, *key;
	int err = 0;

	b->segments = 1;
	b->lanes = 1;
	b->packets = 1;
	line = strim(line);
	while (!err && (word = strsep(&line, " "))) {
		if (!*word)
			continue;
		key = strsep(&word, "=");
		err = word ? bench_parse_word(b, key, word) : -EINVAL;
	}
	if (!err && (!bench_packet_fits(b) || !b->lanes ||
		     b->lanes > BENCH_LANES_MAX))
		err = -ERANGE;
	return err;
}

/* A qdisc that several transmit queues share would not stop with one. */
static int bench_find_qdisc(struct bench *b)
{
	b->dev = __dev_get_by_name(&init_net, b->dev_name);
	if (!b->dev)
		return -ENODEV;
	b->sch = rtnl_dereference(b->dev->qdisc);
	if (!(b->sch->flags & TCQ_F_ONETXQUEUE) ||
	    b->sch->flags & (TCQ_F_BUILTIN | TCQ_F_NOLOCK))
		return -EOPNOTSUPP;
	b->enqueue = b->sch->enqueue;
	b->dequeue = b->sch->dequeue;
	return 0;
}

static int bench_run(struct bench *b)
{
	int err;

	err = bench_packet_alloc_payload(b);
	if (err)
		return err;
	b->frames_out = vzalloc(array_size(b->lanes, sizeof(u32)));
	err = b->frames_out ? bench_loop_run(b) : -ENOMEM;
	vfree(b->frames_out);
	bench_packet_free_payload(b);
	return err;
}

static ssize_t bench_write(struct file *file, const char __user *from,
			   size_t len, loff_t *pos)
{
	struct bench *b = &bench;
	char *line;
	int err;

	if (len >= BENCH_LINE_MAX)
		return -EINVAL;
	line = memdup_user_nul(from, len);
	if (IS_ERR(line))
		return PTR_ERR(line);
	rtnl_lock();
	memset(b, 0, sizeof(*b));
	err = bench_parse(b, line);
	if (!err)
		err = bench_find_qdisc(b);
	if (!err)
		err = bench_run(b);
	rtnl_unlock();
	kfree(line);
	return err ?: len;
}

static int bench_show(struct seq_file *file, void *unused)
{
	const struct bench *b = &bench;
	int i;

	rtnl_lock();
	seq_printf(file, "{\"packets\":%u,\"frames\":%llu,\"gap_bytes\":%llu,\"data_lines\":%u",
		   b->packets, b->frames, b->gap_bytes, b->data_lines);
	for (i = 0; i < BENCH_CALLS; i++)
		seq_printf(file,
			   ",\"%s\":{\"calls\":%llu,\"instructions\":%llu,\"most\":%llu}",
			   bench_call_names[i], b->sums[i].calls,
			   b->sums[i].instructions, b->sums[i].most);
	seq_puts(file, "}\n");
	if (b->trace)
		bench_trace_show(file);
	rtnl_unlock();
	return 0;
}

static int bench_open(struct inode *inode, struct file *file)
{
	return single_open(file, bench_show, NULL);
}

static const struct proc_ops bench_proc_ops = {
	.proc_open	= bench_open,
	.proc_read	= seq_read,
	.proc_write	= bench_write,
	.proc_lseek	= seq_lseek,
	.proc_release	= single_release,
};

static int bench_busy_show(struct seq_file *file, void *unused)
{
	u64 idle_us = get_cpu_idle_time_us(0, NULL);

	seq_printf(file, "%lld\n",
		   (s64)(ktime_get_ns() - idle_us * NSEC_PER_USEC));
	return 0;
}

static void bench_exit_proc(void)
{
	proc_remove(bench_busy_entry);
	proc_remove(bench_entry);
}

static int __init bench_init(void)
{
	int err;

	bench_entry = proc_create("qdisc_bench", 0600, NULL, &bench_proc_ops);
	bench_busy_entry = proc_create_single("qdisc_bench_busy", 0400, NULL,
					      bench_busy_show);
	err = bench_entry && bench_busy_entry ? bench_trace_init() : -ENOMEM;
	if (err)
		bench_exit_proc();
	return err;
}

static void __exit bench_exit(void)
{
	bench_exit_proc();
	bench_trace_exit();
}

module_init(bench_init);
module_exit(bench_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Instructions per packet of a qdisc");
