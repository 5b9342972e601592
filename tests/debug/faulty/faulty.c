// SPDX-License-Identifier: GPL-2.0
/*
 * One fault on purpose, for each detector of the debug kernel: a detector that
 * does not find this one would find none in sch_gap either.
 *
 *	insmod faulty.ko fault=NAME	NAME as in faulty_table
 */
#include <linux/list.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/timer.h>

#define FAULTY_BYTES	60

static char *fault = "none";
module_param(fault, charp, 0);
MODULE_PARM_DESC(fault, "the fault to commit");

static void faulty_none(void)
{
}

static void faulty_use_after_free(void)
{
	u8 *bytes = kzalloc(FAULTY_BYTES, GFP_KERNEL);

	if (!bytes)
		return;
	kfree(bytes);
	OPTIMIZER_HIDE_VAR(bytes);
	pr_info("read %u\n", READ_ONCE(bytes[1]));
}

static void faulty_overrun(void)
{
	u8 *bytes = kzalloc(FAULTY_BYTES, GFP_KERNEL);
	u32 at = FAULTY_BYTES;

	if (!bytes)
		return;
	OPTIMIZER_HIDE_VAR(at);
	WRITE_ONCE(bytes[at], 1);
	kfree(bytes);
}

static DEFINE_SPINLOCK(faulty_first);
static DEFINE_SPINLOCK(faulty_second);

static void faulty_sleep_in_atomic(void)
{
	void *bytes;

	spin_lock(&faulty_first);
	bytes = kzalloc(FAULTY_BYTES, GFP_KERNEL);
	spin_unlock(&faulty_first);
	kfree(bytes);
}

static void faulty_lock_inversion(void)
{
	spin_lock(&faulty_first);
	spin_lock(&faulty_second);
	spin_unlock(&faulty_second);
	spin_unlock(&faulty_first);

	spin_lock(&faulty_second);
	spin_lock(&faulty_first);
	spin_unlock(&faulty_first);
	spin_unlock(&faulty_second);
}

static void faulty_shift(void)
{
	u32 bits = 40;

	OPTIMIZER_HIDE_VAR(bits);
	pr_info("shifted %u\n", 1U << bits);
}

static u8 faulty_array[8];

/* The address of what follows the last element would still be none. */
static void faulty_index(void)
{
	u32 at = ARRAY_SIZE(faulty_array) + 1;

	OPTIMIZER_HIDE_VAR(at);
	pr_info("read %u\n", READ_ONCE(faulty_array[at]));
}

static void faulty_list(void)
{
	struct list_head *entry = kzalloc(sizeof(*entry), GFP_KERNEL);
	LIST_HEAD(list);

	if (!entry)
		return;
	list_add(entry, &list);
	list_del(entry);
	list_del(entry);
	kfree(entry);
}

static void faulty_timer_function(struct timer_list *timer)
{
}

static void faulty_object(void)
{
	struct timer_list *timer = kzalloc(sizeof(*timer), GFP_KERNEL);

	if (!timer)
		return;
	timer_setup(timer, faulty_timer_function, 0);
	mod_timer(timer, jiffies + HZ * 3600);
	kfree(timer);
}

/* Several: a stale pointer on some stack may hide one of them. */
static void faulty_lose_blocks(void)
{
	unsigned int i;
	void *bytes;

	for (i = 0; i < 16; i++) {
		bytes = kzalloc(FAULTY_BYTES, GFP_KERNEL);
		OPTIMIZER_HIDE_VAR(bytes);
	}
}

static void faulty_leak(void)
{
	faulty_lose_blocks();
	barrier();	/* no tail call: reports name this function */
}

/* A leak that is known, so that its report tells that older ones were reported. */
static void faulty_sentinel(void)
{
	faulty_lose_blocks();
	barrier();
}

static const struct {
	const char	*name;
	void		(*commit)(void);
} faulty_table[] = {
	{ "none",		faulty_none },
	{ "use-after-free",	faulty_use_after_free },
	{ "overrun",		faulty_overrun },
	{ "sleep-in-atomic",	faulty_sleep_in_atomic },
	{ "lock-inversion",	faulty_lock_inversion },
	{ "shift",		faulty_shift },
	{ "index",		faulty_index },
	{ "list",		faulty_list },
	{ "object",		faulty_object },
	{ "leak",		faulty_leak },
	{ "sentinel",		faulty_sentinel },
};

static int __init faulty_module_init(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(faulty_table); i++) {
		if (strcmp(fault, faulty_table[i].name))
			continue;
		faulty_table[i].commit();
		return 0;
	}
	return -EINVAL;
}

static void __exit faulty_module_exit(void)
{
}

module_init(faulty_module_init);
module_exit(faulty_module_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("One fault on purpose for each detector");
