// SPDX-License-Identifier: Apache-2.0
// Preload for emulated machines: MPI libraries wait by polling and yielding,
// and keep a virtual processor busy that a few hundred microseconds of sleep
// would let idle (an idle guest under -icount skips ahead).  Results do not
// change, runs end sooner.
#define _GNU_SOURCE
#include <time.h>

#define NAP_NS 200000

int sched_yield(void);

int sched_yield(void)
{
	const struct timespec nap = { .tv_nsec = NAP_NS };

	clock_nanosleep(CLOCK_MONOTONIC, 0, &nap, NULL);
	return 0;
}
