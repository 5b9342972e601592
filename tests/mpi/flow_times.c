// SPDX-License-Identifier: Apache-2.0
// Both MPI libraries receive from their sockets by readv() or recv().  As the
// program is looked through before any library, these two come here first and note
// when bytes came; see flow_times.h.
#define _GNU_SOURCE
#include "flow_times.h"

#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define MAX_FDS 1024

static struct {
	long long bytes;
	double last_s;
} received[MAX_FDS];

static double started_s;

static double now_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec + now.tv_nsec * 1e-9;
}

static ssize_t note(int fd, ssize_t bytes)
{
	if (bytes > 0 && fd >= 0 && fd < MAX_FDS) {
		received[fd].bytes += bytes;
		received[fd].last_s = now_s();
	}
	return bytes;
}

ssize_t readv(int fd, const struct iovec *parts, int count)
{
	return note(fd, syscall(SYS_readv, fd, parts, count));
}

ssize_t recv(int fd, void *buffer, size_t length, int flags)
{
	return note(fd, syscall(SYS_recvfrom, fd, buffer, length, flags, NULL, NULL));
}

void flow_times_start(void)
{
	memset(received, 0, sizeof(received));
	started_s = now_s();
}

struct flow_times flow_times_end(int message_bytes)
{
	struct flow_times times = { 0 };

	for (int fd = 0; fd < MAX_FDS; fd++) {
		double time_s = received[fd].last_s - started_s;

		if (!received[fd].bytes || received[fd].bytes < message_bytes / 2)
			continue;
		if (time_s > times.longest_s)
			times.longest_s = time_s;
		times.sum_s += time_s;
		times.count += 1;
	}
	return times;
}

static int ascending(const void *a, const void *b)
{
	double first = *(const double *)a, second = *(const double *)b;

	return (first > second) - (first < second);
}

static double median(double *values, int count)
{
	qsort(values, count, sizeof(*values), ascending);
	return (values[(count - 1) / 2] + values[count / 2]) / 2;
}

double flow_times_slowest_to_mean(const struct flow_times *first, unsigned long stride, int calls)
{
	double ratios[calls];

	for (int call = 0; call < calls; call++) {
		const struct flow_times *own = (const void *)((const char *)first + call * stride);
		const double parts[] = { own->sum_s, own->count };
		double longest = 0, sums[2] = { 0 };

		MPI_Reduce(&own->longest_s, &longest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
		MPI_Reduce(parts, sums, 2, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
		ratios[call] = longest > 0 ? sums[0] / sums[1] / longest : 0;
	}
	return median(ratios, calls);
}
