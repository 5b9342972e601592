/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How fast the TCP connections of an MPI job were during one collective.
 *
 * A flow is a connection on which a rank received at least half a message during
 * the call.  Its time is that from the rank's entry into the call to its last byte.
 * Where every rank has a message for every other, each flow carries as much, so that
 * the mean of all times / the longest says how the rate of the slowest flow compares
 * with that of the mean flow, or how evenly the network was shared: 1 if all ended at
 * once.  (The mean of rates would say nothing: a rank that enters late finds messages
 * that are there already, and infinitely fast flows.)
 */
#ifndef FLOW_TIMES_H
#define FLOW_TIMES_H

struct flow_times {
	double longest_s;	/* 0 if there was no flow */
	double sum_s;
	double count;
};

/* Just before the call. */
void flow_times_start(void);

/* Just after it: this rank's flows that carried a message of so many bytes. */
struct flow_times flow_times_end(int message_bytes);

/*
 * The median over calls of mean time / longest time over the flows of all ranks; 0 if
 * there were none.  The times of the calls lie stride bytes apart.  Collective; valid
 * on rank 0.
 */
double flow_times_slowest_to_mean(const struct flow_times *first, unsigned long stride, int calls);

#endif
