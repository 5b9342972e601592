// SPDX-License-Identifier: Apache-2.0
// Preload for emulated machines.  MPI libraries wait by polling and yielding,
// which keeps a virtual processor busy that could idle: an idle guest under
// -icount skips ahead, and a busy one takes the time from the network's emulation.
// Here a yield after polls that found nothing waits until one of the polled
// sockets has something, and the short sleeps of MPI_Init last longer.  What a
// job does does not change, nor when its messages arrive; runs end sooner.
#define _GNU_SOURCE
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define WATCHED_MAX 256
/* Something may happen without any socket: a timer of the library's own. */
#define WAIT_NS 2000000
/* For a library that neither polls nor has an epoll. */
#define NAP_NS 200000
#define SHORTEST_SLEEP_US 1000
/* Open MPI also polls once and yields where it need not wait.  A program that asks MPI_Test
 * again and again, between what else it does, polls and yields each time: the variable below
 * has the number of polls after which it is believed to wait.
 */
#define ONCE 1
#define POLLS_VARIABLE "YIELD_SLEEP_POLLS"

int sched_yield(void);

/* This thread polled these last without waiting: Open MPI 4 polls sockets, Open MPI 5 an epoll of
 * them.
 */
static __thread struct {
	struct pollfd fds[WATCHED_MAX];
	nfds_t count;
	unsigned int idle;	/* polls in a row that found nothing */
} polled;

static void remember(const struct pollfd *fds, nfds_t count, int found)
{
	polled.idle = found ? 0 : polled.idle + 1;
	polled.count = count <= WATCHED_MAX ? count : 0;
	memcpy(polled.fds, fds, polled.count * sizeof(*fds));
}

int poll(struct pollfd *fds, nfds_t count, int timeout_ms)
{
	const struct timespec timeout = {
		.tv_sec = timeout_ms / 1000,
		.tv_nsec = timeout_ms % 1000 * 1000000L,
	};
	int found = ppoll(fds, count, timeout_ms < 0 ? NULL : &timeout, NULL);

	if (timeout_ms == 0)
		remember(fds, count, found);
	return found;
}

int epoll_wait(int epoll, struct epoll_event *events, int count, int timeout_ms)
{
	int found = epoll_pwait(epoll, events, count, timeout_ms, NULL);

	if (timeout_ms == 0)
		remember(&(struct pollfd){ .fd = epoll, .events = POLLIN }, 1, found);
	return found;
}

static unsigned int polls_that_wait = ONCE;

__attribute__((constructor)) static void read_variable(void)
{
	const char *polls = getenv(POLLS_VARIABLE);

	if (polls)
		polls_that_wait = strtoul(polls, NULL, 10);
}

int sched_yield(void)
{
	const struct timespec wait = { .tv_nsec = WAIT_NS }, nap = { .tv_nsec = NAP_NS };

	if (!polled.count)
		clock_nanosleep(CLOCK_MONOTONIC, 0, &nap, NULL);
	else if (polled.idle > polls_that_wait)
		ppoll(polled.fds, polled.count, &wait, NULL);
	else if (polls_that_wait > ONCE)
		syscall(SYS_sched_yield);
	return 0;
}

int usleep(useconds_t microseconds)
{
	useconds_t longer = microseconds < SHORTEST_SLEEP_US ? SHORTEST_SLEEP_US : microseconds;
	const struct timespec sleep = {
		.tv_sec = longer / 1000000,
		.tv_nsec = longer % 1000000 * 1000L,
	};

	return nanosleep(&sleep, NULL);
}
