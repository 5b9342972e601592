// SPDX-License-Identifier: Apache-2.0
// Preload for MPICH over UCX where ranks outnumber the processors.  MPICH waits by
// polling UCX and never yields, so a rank that waits keeps the one from running that
// it waits for, until the kernel ends its time slice.  Here a rank whose polls found nothing
// naps.  What a job does does not change; it needs half the processor time that it
// would with sched_yield(), and less than that without.
#include <dlfcn.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <time.h>

/* The peer may run on another processor: its answer is then a few polls away. */
#define POLLS_IN_VAIN 20
#define NAP_NS 50000

unsigned int ucp_worker_progress(void *worker);

static void __attribute__((constructor)) wake_in_time(void)
{
	prctl(PR_SET_TIMERSLACK, 1);
}

unsigned int ucp_worker_progress(void *worker)
{
	static unsigned int (*progress)(void *worker);
	static __thread unsigned int in_vain;
	static const struct timespec nap = { .tv_nsec = NAP_NS };
	unsigned int found;

	/* RTLD_NEXT would not find a library that a program has opened for itself */
	if (!progress)
		*(void **)&progress = dlsym(dlopen("libucp.so.0", RTLD_LAZY | RTLD_NOLOAD),
					    "ucp_worker_progress");
	found = progress(worker);
	in_vain = found ? 0 : in_vain + 1;
	if (in_vain > POLLS_IN_VAIN)
		nanosleep(&nap, NULL);
	return found;
}
