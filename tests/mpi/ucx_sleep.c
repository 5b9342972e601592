// SPDX-License-Identifier: Apache-2.0
// Preload for MPICH over UCX on emulated machines, two things:
//
// UCX waits by polling and never yields; ranks that outnumber the processors
// starve each other, and a busy guest does not skip ahead under -icount.  A poll
// that finds nothing, after others that found nothing, waits for one of the
// sockets here.  What a job does does not change, nor when its messages arrive.
//
// With UCX's TCP, MPI_Finalize often hangs from four ranks on: a rank closes its
// endpoints while its peer already waits for it in the process manager's barrier
// and answers nothing.  Here it does not close them; the end of the process does.
#define _GNU_SOURCE
#include <sys/epoll.h>
#include <stddef.h>

/* Something may happen without any socket: a timer of the library's own. */
#define WAIT_MS 2
/* A rank that computes polls now and then, too: it is not to wait. */
#define POLLS_IN_VAIN 3

void *ucp_disconnect_nb(void *endpoint);

static __thread unsigned int in_vain;

int epoll_wait(int epoll, struct epoll_event *events, int most, int timeout_ms)
{
	int found;

	if (timeout_ms == 0 && in_vain >= POLLS_IN_VAIN)
		timeout_ms = WAIT_MS;
	found = epoll_pwait(epoll, events, most, timeout_ms, NULL);
	in_vain = found ? 0 : in_vain + 1;
	return found;
}

/* NULL: closed at once. */
void *ucp_disconnect_nb(void *endpoint)
{
	(void)endpoint;
	return NULL;
}
