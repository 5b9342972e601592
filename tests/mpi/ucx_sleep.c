// SPDX-License-Identifier: Apache-2.0
// Preload for MPICH over UCX on emulated machines, two things:
//
// UCX waits by polling and never yields; ranks that outnumber the processors
// starve each other, and a busy guest does not skip ahead under -icount.  A poll
// that finds nothing, after others that found nothing, waits for one of the
// sockets here.  What a job does does not change, nor when its messages arrive.
//
// In MPI_Finalize MPICH waits for the process manager's barrier by read(), without
// progress of UCX.  A rank that waits there answers no peer that still closes its
// endpoints, and what it has not handed to TCP yet, because its socket was full, is
// never sent: both leave a peer behind that never comes to the barrier, and the job
// hangs.  Here the rank lets UCX work while it waits, as Open MPI does.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Something may happen without any socket: a timer of the library's own. */
#define WAIT_MS 2
/* A rank that computes polls now and then, too: it is not to wait.  One that looks for messages while it waits for a
 * clock of its own polls more often; the variable has the number then, as in yield_sleep.c.
 */
#define POLLS_IN_VAIN 20
#define POLLS_VARIABLE "YIELD_SLEEP_POLLS"

int ucp_worker_create(void *context, const void *parameters, void **created);
void ucp_worker_destroy(void *destroyed);

static __thread unsigned int in_vain;
static void *worker;

static unsigned int polls_in_vain = POLLS_IN_VAIN;

__attribute__((constructor)) static void read_variable(void)
{
	const char *polls = getenv(POLLS_VARIABLE);

	if (polls)
		polls_in_vain = strtoul(polls, NULL, 10);
}

int epoll_wait(int epoll, struct epoll_event *events, int most, int timeout_ms)
{
	int found;

	if (timeout_ms == 0 && in_vain >= polls_in_vain)
		timeout_ms = WAIT_MS;
	found = epoll_pwait(epoll, events, most, timeout_ms, NULL);
	in_vain = found ? 0 : in_vain + 1;
	return found;
}

/* RTLD_NEXT would not find a library that a program has opened for itself. */
static void find(const char *name, void *function)
{
	*(void **)function = dlsym(dlopen("libucp.so.0", RTLD_LAZY | RTLD_NOLOAD), name);
}

int ucp_worker_create(void *context, const void *parameters, void **created)
{
	int (*create)(void *context, const void *parameters, void **created);
	int status;

	find("ucp_worker_create", &create);
	status = create(context, parameters, created);
	worker = status ? NULL : *created;
	return status;
}

void ucp_worker_destroy(void *destroyed)
{
	void (*destroy)(void *destroyed);

	find("ucp_worker_destroy", &destroy);
	worker = NULL;
	destroy(destroyed);
}

/* MPICH finds the process manager's socket by this variable, too. */
static int is_process_manager(int fd)
{
	const char *variable = getenv("PMI_FD");

	return variable && fd == atoi(variable);
}

ssize_t read(int fd, void *buffer, size_t size)
{
	unsigned int (*progress)(void *worker);
	struct pollfd answer = { .fd = fd, .events = POLLIN };

	if (worker && is_process_manager(fd)) {
		find("ucp_worker_progress", &progress);
		while (poll(&answer, 1, WAIT_MS) == 0)
			progress(worker);
	}
	return syscall(SYS_read, fd, buffer, size);
}
