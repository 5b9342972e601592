// SPDX-License-Identifier: GPL-2.0
/* simwire's attributes, in /sys/class/net/DEV/simwire/. */
#include <linux/netdevice.h>
#include <linux/rtnetlink.h>
#include <linux/vmalloc.h>

#include "simwire.h"
#include "simwire_compat.h"

#define SIMWIRE_RATE_MIN_BPS	1000ULL
#define SIMWIRE_RATE_MAX_BPS	1000000000000ULL
#define SIMWIRE_DELAY_MAX_NS	(10 * NSEC_PER_SEC)
#define SIMWIRE_RING_MAX	4096
#define SIMWIRE_FIFO_MAX_BYTES	(16U << 20)
#define SIMWIRE_RECORDS_MAX	(4U << 20)

static struct simwire *simwire_of(struct device *d)
{
	return netdev_priv(to_net_dev(d));
}

/* A u64 of struct simwire as a file; the limits are for writing. */
struct simwire_attribute {
	struct device_attribute	attr;
	size_t			offset;
	u64			min;
	u64			max;
};

static u64 *simwire_value(struct device *d,
			  const struct simwire_attribute *attribute)
{
	return (void *)simwire_of(d) + attribute->offset;
}

static ssize_t simwire_show(struct device *d, struct device_attribute *attr,
			    char *buf)
{
	struct simwire_attribute *attribute =
		container_of(attr, struct simwire_attribute, attr);

	return sysfs_emit(buf, "%llu\n", READ_ONCE(*simwire_value(d, attribute)));
}

static int simwire_parse(const struct simwire_attribute *attribute,
			 const char *buf, u64 *value)
{
	int err;

	err = kstrtou64(buf, 0, value);
	if (err)
		return err;
	if (*value < attribute->min || *value > attribute->max)
		return -ERANGE;
	return 0;
}

static ssize_t simwire_store(struct device *d, struct device_attribute *attr,
			     const char *buf, size_t len)
{
	struct simwire_attribute *attribute =
		container_of(attr, struct simwire_attribute, attr);
	u64 value;
	int err;

	err = simwire_parse(attribute, buf, &value);
	if (err)
		return err;
	simwire_set(simwire_of(d), simwire_value(d, attribute), value);
	return len;
}

#define SIMWIRE_PARAMETER(field, low, high)				\
	static struct simwire_attribute simwire_##field = {		\
		.attr = __ATTR(field, 0644, simwire_show, simwire_store), \
		.offset = offsetof(struct simwire, field),		\
		.min = (low),						\
		.max = (high)						\
	}

#define SIMWIRE_COUNTER(field)						\
	static struct simwire_attribute simwire_##field = {		\
		.attr = __ATTR(field, 0444, simwire_show, NULL),	\
		.offset = offsetof(struct simwire, field)		\
	}

SIMWIRE_PARAMETER(rate_bps, SIMWIRE_RATE_MIN_BPS, SIMWIRE_RATE_MAX_BPS);
SIMWIRE_PARAMETER(delay_ns, 0, SIMWIRE_DELAY_MAX_NS);
SIMWIRE_PARAMETER(ring_frames, 1, SIMWIRE_RING_MAX);
SIMWIRE_PARAMETER(speed_known, 0, 1);
SIMWIRE_PARAMETER(drop_mac_control, 0, 1);
SIMWIRE_PARAMETER(stall_ns, 0, SIMWIRE_DELAY_MAX_NS);
SIMWIRE_PARAMETER(bql, 0, 1);
SIMWIRE_PARAMETER(pause_stats, 0, 1);
SIMWIRE_PARAMETER(clock_ppm, SIMWIRE_PPM / 2, 2 * SIMWIRE_PPM);
SIMWIRE_PARAMETER(xmit_stall_ns, 0, NSEC_PER_MSEC);
SIMWIRE_PARAMETER(tx_busy, 0, SIMWIRE_RING_MAX);
SIMWIRE_PARAMETER(tx_pause, 0, 1);
SIMWIRE_PARAMETER(slow_ethtool, 0, 1);
SIMWIRE_PARAMETER(half_duplex, 0, 1);
SIMWIRE_PARAMETER(moderation_ns, 0, SIMWIRE_DELAY_MAX_NS);
SIMWIRE_PARAMETER(fifo_bytes, 0, SIMWIRE_FIFO_MAX_BYTES);
SIMWIRE_PARAMETER(late_ns, 0, SIMWIRE_DELAY_MAX_NS);
SIMWIRE_PARAMETER(tx_queues, 0, 0);

static ssize_t simwire_interrupt_store(struct device *d,
				       struct device_attribute *attr,
				       const char *buf, size_t len);

static struct simwire_attribute simwire_interrupt_ns = {
	.attr = __ATTR(interrupt_ns, 0644, simwire_show, simwire_interrupt_store),
	.offset = offsetof(struct simwire, interrupt_ns),
	.max = NSEC_PER_MSEC,
};

static ssize_t simwire_interrupt_store(struct device *d,
				       struct device_attribute *attr,
				       const char *buf, size_t len)
{
	u64 busy_ns;
	int err;

	err = simwire_parse(&simwire_interrupt_ns, buf, &busy_ns);
	if (err)
		return err;
	simwire_interrupt_for(simwire_of(d), busy_ns);
	return len;
}

SIMWIRE_COUNTER(tx_frames);
SIMWIRE_COUNTER(tx_wire_bytes);
SIMWIRE_COUNTER(tx_mac_control_frames);
SIMWIRE_COUNTER(tx_filtered_frames);
SIMWIRE_COUNTER(tx_changed_frames);
SIMWIRE_COUNTER(tx_tso_packets);
SIMWIRE_COUNTER(rx_frames);
SIMWIRE_COUNTER(rx_mac_control_frames);
SIMWIRE_COUNTER(rx_mac_control_wire_bytes);

static ssize_t renegotiate_store(struct device *d,
				 struct device_attribute *attr,
				 const char *buf, size_t len)
{
	u64 rate_bps;
	int err;

	err = simwire_parse(&simwire_rate_bps, buf, &rate_bps);
	if (err)
		return err;
	if (!rtnl_trylock())
		return restart_syscall();
	simwire_renegotiate(to_net_dev(d), rate_bps);
	rtnl_unlock();
	return len;
}
static DEVICE_ATTR_WO(renegotiate);

static ssize_t record_frames_show(struct device *d,
				  struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%u\n", READ_ONCE(simwire_of(d)->record_frames));
}

static ssize_t record_frames_store(struct device *d,
				   struct device_attribute *attr,
				   const char *buf, size_t len)
{
	struct simwire_record *records = NULL, *old;
	struct simwire *sw = simwire_of(d);
	u32 frames;
	int err;

	err = kstrtou32(buf, 0, &frames);
	if (err)
		return err;
	if (frames > SIMWIRE_RECORDS_MAX)
		return -ERANGE;
	if (frames) {
		records = vmalloc(array_size(frames, sizeof(*records)));
		if (!records)
			return -ENOMEM;
	}
	spin_lock_bh(&sw->lock);
	old = sw->records;
	sw->records = records;
	sw->record_frames = frames;
	sw->record_count = 0;
	spin_unlock_bh(&sw->lock);
	vfree(old);
	return len;
}
static DEVICE_ATTR_RW(record_frames);

static ssize_t records_read(struct file *file, struct kobject *kobj,
			    SIMWIRE_BIN_CONST struct bin_attribute *attr,
			    char *buf, loff_t off, size_t len)
{
	struct simwire *sw = simwire_of(kobj_to_dev(kobj));
	ssize_t copied;

	spin_lock_bh(&sw->lock);
	copied = memory_read_from_buffer(buf, len, &off, sw->records,
					 sw->record_count * sizeof(*sw->records));
	spin_unlock_bh(&sw->lock);
	return copied;
}
static BIN_ATTR_RO(records, 0);

static struct attribute *simwire_attrs[] = {
	&simwire_rate_bps.attr.attr,
	&simwire_delay_ns.attr.attr,
	&simwire_ring_frames.attr.attr,
	&simwire_speed_known.attr.attr,
	&simwire_drop_mac_control.attr.attr,
	&simwire_stall_ns.attr.attr,
	&simwire_bql.attr.attr,
	&simwire_pause_stats.attr.attr,
	&simwire_clock_ppm.attr.attr,
	&simwire_xmit_stall_ns.attr.attr,
	&simwire_tx_busy.attr.attr,
	&simwire_tx_pause.attr.attr,
	&simwire_slow_ethtool.attr.attr,
	&simwire_half_duplex.attr.attr,
	&simwire_moderation_ns.attr.attr,
	&simwire_fifo_bytes.attr.attr,
	&simwire_late_ns.attr.attr,
	&simwire_tx_queues.attr.attr,
	&simwire_interrupt_ns.attr.attr,
	&simwire_tx_frames.attr.attr,
	&simwire_tx_wire_bytes.attr.attr,
	&simwire_tx_mac_control_frames.attr.attr,
	&simwire_tx_filtered_frames.attr.attr,
	&simwire_tx_changed_frames.attr.attr,
	&simwire_tx_tso_packets.attr.attr,
	&simwire_rx_frames.attr.attr,
	&simwire_rx_mac_control_frames.attr.attr,
	&simwire_rx_mac_control_wire_bytes.attr.attr,
	&dev_attr_renegotiate.attr,
	&dev_attr_record_frames.attr,
	NULL
};

static SIMWIRE_BIN_CONST struct bin_attribute *SIMWIRE_BIN_CONST simwire_bin_attrs[] = {
	&bin_attr_records,
	NULL
};

const struct attribute_group simwire_group = {
	.name		= "simwire",
	.attrs		= simwire_attrs,
	.bin_attrs	= simwire_bin_attrs,
};

