/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A kernel's dump of the `gap` qdisc as text or JSON.
 *
 * JSON always has everything, with options under their own names (frame-max)
 * and what is only dumped under names with underscores (link_rate); numbers
 * are raw: bytes/s, ns, bytes.  Text tells the same in fewer words, and leaves
 * out what tc's flags -s and -d ask for.
 */
#ifndef HEADWAY_Q_GAP_SHOW_H
#define HEADWAY_Q_GAP_SHOW_H

#include "tc_plugin_abi.h"

int gap_show_qdisc(struct qdisc_util *qu, FILE *f, struct rtattr *opt);
int gap_show_class(struct qdisc_util *qu, FILE *f, struct rtattr *opt);
int gap_show_xstats(struct qdisc_util *qu, FILE *f, struct rtattr *xstats);

#endif /* HEADWAY_Q_GAP_SHOW_H */
