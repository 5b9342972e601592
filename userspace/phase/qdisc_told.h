/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/*
 * What the classifier tells the qdisc that is a BPF program of a packet, in the five words of
 * its control block.
 */
#ifndef HEADWAY_QDISC_TOLD_H
#define HEADWAY_QDISC_TOLD_H

#define HEADWAY_QDISC_MAGIC	0x48576264
#define HEADWAY_TURN_ACK	(~0U)

enum headway_told {
	HEADWAY_TOLD_MAGIC,	/* another: the packet has no class */
	HEADWAY_TOLD_CLASS,	/* minor number */
	HEADWAY_TOLD_ENTRY,	/* of the class's table of rates */
	HEADWAY_TOLD_BYTES,	/* on the wire */
	HEADWAY_TOLD_TURN,	/* HEADWAY_TURN_ACK, or a hash of the destination */
};

#endif /* HEADWAY_QDISC_TOLD_H */
