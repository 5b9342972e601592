// SPDX-License-Identifier: Apache-2.0
/*
 * Preloaded into tc by q_gap_test.py: the request that would change something
 * is written to the file $HW_CAPTURE_FILE instead of being sent, and tc ends
 * with status 0.  Requests that only read pass.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <linux/netlink.h>
#include <linux/rtnetlink.h>

static bool changes_something(const struct nlmsghdr *n)
{
	return n->nlmsg_type == RTM_NEWQDISC || n->nlmsg_type == RTM_DELQDISC ||
	       n->nlmsg_type == RTM_NEWTCLASS || n->nlmsg_type == RTM_DELTCLASS;
}

static void capture(const struct nlmsghdr *n)
{
	const char *path = getenv("HW_CAPTURE_FILE");
	FILE *f = path ? fopen(path, "wb") : NULL;

	if (!f || fwrite(n, 1, n->nlmsg_len, f) != n->nlmsg_len || fclose(f)) {
		fputs("capture_request: cannot write HW_CAPTURE_FILE\n", stderr);
		_exit(99);
	}
	_exit(0);
}

ssize_t sendmsg(int fd, const struct msghdr *msg, int flags)
{
	static ssize_t (*next)(int fd, const struct msghdr *msg, int flags);
	const struct nlmsghdr *n;

	if (msg->msg_iovlen == 1 &&
	    msg->msg_iov[0].iov_len >= sizeof(*n)) {
		n = msg->msg_iov[0].iov_base;
		if (changes_something(n))
			capture(n);
	}
	if (!next)
		*(void **)&next = dlsym(RTLD_NEXT, "sendmsg");
	return next(fd, msg, flags);
}
