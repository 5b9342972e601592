// SPDX-License-Identifier: GPL-2.0
/*
 * Makes the processor of a guest look FACTOR times faster.
 *
 * Under QEMU's -icount an instruction takes one nanosecond of virtual time: too
 * slow a processor for a network of many nodes at 1 Gbit/s.  This module lets the
 * guest's own clock run FACTOR times slower than virtual time, so that FACTOR times
 * as many instructions fit into a second of the guest.  It changes two things:
 *
 *  - A clocksource that reads the TSC and claims FACTOR times its frequency.  All
 *    of timekeeping follows: clock_gettime() by vdso and by syscall, jiffies,
 *    hrtimers, the timer wheel, ktime_get() in drivers and in BPF.
 *  - The clock event device, which counts FACTOR times as many of its ticks for a
 *    nanosecond, so that timers expire when that clock says so.
 *
 * sched_clock() still reads the TSC at its true rate: the scheduler's time slices,
 * its accounting of processes, and udelay() are FACTOR times shorter in the guest's
 * time, and the same number of instructions as ever.
 *
 * Time dilation, as the literature calls it: Gupta et al., "To infinity and beyond:
 * time-warped network emulation", NSDI 2006.
 *
 * There is no way back: the module cannot be unloaded.
 */

#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/clockchips.h>
#include <linux/clocksource.h>
#include <linux/cpumask.h>
#include <linux/kprobes.h>
#include <linux/kvm_para.h>
#include <linux/module.h>
#include <linux/smp.h>
#include <asm/tsc.h>

#define FACTOR_MIN 2
/* The clock event device's longest delay is 34 s of virtual time: 34 ms at 1000. */
#define FACTOR_MAX 1000

static unsigned int factor;
module_param(factor, uint, 0444);
MODULE_PARM_DESC(factor, "how many times faster the processor looks, 2 to 1000");

/* The beginning of the kernel's own struct, which no header of its shows. */
struct tick_device {
	struct clock_event_device *evtdev;
};

static u64 faster_read(struct clocksource *clocksource)
{
	return rdtsc_ordered();
}

static struct clocksource faster_clocksource = {
	.name = "faster",
	.rating = 1000,		/* better than any other */
	.read = faster_read,
	.mask = CLOCKSOURCE_MASK(64),
	.flags = CLOCK_SOURCE_IS_CONTINUOUS | CLOCK_SOURCE_VALID_FOR_HRES,
	.vdso_clock_mode = VDSO_CLOCKMODE_TSC,
	.owner = THIS_MODULE,
};

/*
 * tick_get_device() is not exported.  A kprobe on it, which is removed again,
 * tells where it is.
 */
static struct clock_event_device *clock_event_device(void)
{
	struct kprobe probe = { .symbol_name = "tick_get_device" };
	struct tick_device *(*get_device)(int cpu);
	int err = register_kprobe(&probe);

	if (err)
		return ERR_PTR(err);
	get_device = (void *)probe.addr;
	unregister_kprobe(&probe);
	return get_device(0)->evtdev;
}

/*
 * As clockevents_update_freq() does, whose argument holds no more than 4 GHz.  What
 * the device has been programmed for expires early now; whoever waits for it finds
 * nothing due and programs it again.
 */
static void faster_events(struct clock_event_device *device)
{
	u64 mult = (u64)device->mult * factor;
	unsigned long flags;

	local_irq_save(flags);
	for (; mult > U32_MAX; mult >>= 1)
		device->shift--;
	device->mult = mult;
	device->min_delta_ns = DIV_ROUND_UP_ULL(device->min_delta_ns, factor);
	device->max_delta_ns = div_u64(device->max_delta_ns, factor);
	local_irq_restore(flags);
}

static int __init faster_init(void)
{
	struct clock_event_device *device;
	int err;

	if (factor < FACTOR_MIN || factor > FACTOR_MAX) {
		pr_err("factor=%u is not between %u and %u\n", factor, FACTOR_MIN, FACTOR_MAX);
		return -EINVAL;
	}
	if (num_possible_cpus() != 1) {
		pr_err("this machine has several processors; the clock of one only can be changed\n");
		return -EOPNOTSUPP;
	}
	if (kvm_para_available()) {
		pr_err("under KVM time does not follow instructions; use QEMU's -icount\n");
		return -EOPNOTSUPP;
	}
	device = clock_event_device();
	if (IS_ERR(device)) {
		pr_err("the clock event device was not found: %pe\n", device);
		return PTR_ERR(device);
	}
	/* The clock first: timers that expire early are harmless, late ones are not. */
	err = clocksource_register_khz(&faster_clocksource, tsc_khz * factor);
	if (err) {
		pr_err("the clocksource was refused: %pe\n", ERR_PTR(err));
		return err;
	}
	faster_events(device);
	pr_info("the processor looks %u times faster\n", factor);
	return 0;
}
module_init(faster_init);

MODULE_DESCRIPTION("A faster processor for an emulated machine");
MODULE_LICENSE("GPL");
