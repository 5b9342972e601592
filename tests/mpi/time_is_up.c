// SPDX-License-Identifier: Apache-2.0
// Preload: the time in which the daemon is to answer the helper is up as soon as the file
// $TIME_IS_UP is there, however fast or slow the machine is: who waits for an answer then
// waits no longer, and finds its clock ahead.
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define LOOKS_EVERY_MS 5
/* more than any HEADWAY_TIMEOUT_MS */
#define AHEAD_S 100

static volatile int ahead_s;

int clock_gettime(clockid_t clock, struct timespec *now)
{
	int status = (int)syscall(SYS_clock_gettime, clock, now);

	if (clock == CLOCK_MONOTONIC)
		now->tv_sec += ahead_s;
	return status;
}

static int option_of(int socket, int name)
{
	int value = -1;
	socklen_t bytes = sizeof(value);

	getsockopt(socket, SOL_SOCKET, name, &value, &bytes);
	return value;
}

ssize_t recvmsg(int socket, struct msghdr *message, int flags)
{
	const char *file = getenv("TIME_IS_UP");
	int is_of_daemon = file && option_of(socket, SO_DOMAIN) == AF_UNIX &&
			   option_of(socket, SO_TYPE) == SOCK_SEQPACKET;
	struct pollfd answer = { .fd = socket, .events = POLLIN };

	while (is_of_daemon && poll(&answer, 1, LOOKS_EVERY_MS) == 0) {
		if (access(file, F_OK) == 0) {
			ahead_s = AHEAD_S;
			errno = EAGAIN;
			return -1;
		}
	}
	return syscall(SYS_recvmsg, socket, message, flags);
}
