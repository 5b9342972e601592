/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How fast the TCP connections of an MPI job were during one collective.
 *
 * A flow is a connection on which a rank received at least half a message during
 * the call.  Its rate is a message's bytes, divided by the time from the rank's
 * entry into the call to its last byte.  Where every rank has a message for every
 * other, each flow carries as much, so that the slowest flow to the mean of all
 * says how evenly the network was shared: 1 if all ended at once.
 */
#ifndef FLOW_TIMES_H
#define FLOW_TIMES_H

struct flow_rates {
	double slowest;		/* bytes/s; of no flow at all: infinite */
	double sum;
	double count;
};

/* Just before the call. */
void flow_times_start(void);

/* Just after it: this rank's flows that carried a message of so many bytes. */
struct flow_rates flow_times_end(int message_bytes);

/*
 * The median over calls of slowest / mean over the flows of all ranks; 0 if there
 * were none.  The rates of the calls lie stride bytes apart.  Collective; valid on
 * rank 0.
 */
double flow_times_slowest_to_mean(const struct flow_rates *first, unsigned long stride, int calls);

#endif
