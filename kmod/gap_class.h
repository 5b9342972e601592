/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _GAP_CLASS_H
#define _GAP_CLASS_H

#include "gap_sched.h"

extern const struct Qdisc_class_ops gap_class_ops;

void gap_class_find_default(struct Qdisc *sch);
void gap_update_bypass(struct Qdisc *sch);
void gap_notify(struct Qdisc *sch, struct gap_class *cl);
void gap_class_notify_expired(struct Qdisc *sch);
void gap_class_destroy_all(struct Qdisc *sch);

#endif /* _GAP_CLASS_H */
