// SPDX-License-Identifier: Apache-2.0
/*
 * Sends a netlink request and lets the Nth memory allocation of that system
 * call fail; for failslab, which loads it into Python.  In C, because nothing
 * else of the process may allocate between arming and sending.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

/* 1: an allocation failed; 0: there are fewer than nth of them; < 0: -errno. */
int hw_send_fail_nth(int sock, const void *request, size_t len, unsigned int nth)
{
	static int fd = -1;
	char text[16];
	int digits = snprintf(text, sizeof(text), "%u", nth);
	int left;

	if (fd < 0)
		fd = open("/proc/thread-self/fail-nth", O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (pwrite(fd, text, digits, 0) != digits)
		return -errno;
	send(sock, request, len, 0);	/* what became of it shows elsewhere */
	if (pread(fd, text, sizeof(text), 0) <= 0)
		return -errno;
	left = atoi(text);		/* a line, so there is an end */
	if (left && pwrite(fd, "0", 1, 0) != 1)
		return -errno;
	return left == 0;
}
