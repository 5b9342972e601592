// SPDX-License-Identifier: GPL-2.0
/*
 * Keeps a guest's processor awake while somebody waits for a file of the host.
 *
 * Under QEMU's -icount with sleep=off an idle guest skips ahead to its next timer.  That
 * is right where nothing can happen before, and wrong where an answer of the 9p server is
 * on its way: by how much time goes on depends on how busy the host is, and leases,
 * time-outs and watchdogs end that nobody is late for.  With this module the processor
 * polls instead of halting as long as a request is with the server, so that time goes
 * on by the few instructions of that loop.
 *
 * There is no way back: the module cannot be unloaded.
 */

#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/cpumask.h>
#include <linux/err.h>
#include <linux/kprobes.h>
#include <linux/module.h>

/* More than tasks that wait for a file at a time; the next one would not keep awake. */
#define WAITERS_MAX 1024

/* A function of the idle loop, which polls for as long as this was called more often with true. */
static void (*idle_poll)(bool enable);

static int wait_begins(struct kretprobe_instance *instance, struct pt_regs *regs)
{
	idle_poll(true);
	return 0;
}

static int wait_ends(struct kretprobe_instance *instance, struct pt_regs *regs)
{
	idle_poll(false);
	return 0;
}

/* Both send a request and return when the answer is there. */
static struct kretprobe request = {
	.kp.symbol_name = "p9_client_rpc",
	.entry_handler = wait_begins,
	.handler = wait_ends,
	.maxactive = WAITERS_MAX,
};

static struct kretprobe request_without_copy = {
	.kp.symbol_name = "p9_virtio_zc_request",
	.entry_handler = wait_begins,
	.handler = wait_ends,
	.maxactive = WAITERS_MAX,
};

static struct kretprobe *probes[] = { &request, &request_without_copy };

/*
 * cpu_idle_poll_ctrl() is not exported.  A kprobe on it, which is removed again, tells
 * where it is.
 */
static int __init find_idle_poll(void)
{
	struct kprobe probe = { .symbol_name = "cpu_idle_poll_ctrl" };
	int err = register_kprobe(&probe);

	if (err)
		return err;
	idle_poll = (void *)probe.addr;
	unregister_kprobe(&probe);
	return 0;
}

static int __init awake_init(void)
{
	int err;

	/* The idle loop's counter is not atomic: here only preemption would interrupt it. */
	if (num_possible_cpus() != 1) {
		pr_err("this machine has several processors\n");
		return -EOPNOTSUPP;
	}
	err = find_idle_poll();
	if (!err)
		err = register_kretprobes(probes, ARRAY_SIZE(probes));
	if (err)
		pr_err("the kernel's functions were not found: %pe\n", ERR_PTR(err));
	return err;
}
module_init(awake_init);

MODULE_DESCRIPTION("A processor that stays awake while files of the host are waited for");
MODULE_LICENSE("GPL");
