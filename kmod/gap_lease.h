/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Leases: rates that somebody has to keep alive.
 */
#ifndef _GAP_LEASE_H
#define _GAP_LEASE_H

#include "gap_sched.h"

void gap_lease_init(struct gap_sched *q);
u64 gap_lease_left_ns(const struct gap_class *cl);

/* A request has reached the class; tree lock held. */
void gap_lease_refresh(struct gap_sched *q, struct gap_class *cl);

/* Classes whose lease has come to its end fall back; tree lock held. */
void gap_lease_end(struct gap_sched *q);

#endif /* _GAP_LEASE_H */
