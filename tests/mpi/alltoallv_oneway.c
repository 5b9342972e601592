// SPDX-License-Identifier: Apache-2.0
// One-way exchanges: every rank of the lower half sends to every rank of the
// upper half, nothing comes back.  With send buffers large enough MPI returns
// on the senders while all of it is still in the socket, which is what pacing
// must live with when a collective ends.
//
//   alltoallv_oneway STEP...     a step: BYTES[p]
//
// BYTES go from each sender to each receiver; with p by messages, which the helper
// does not pace.  Before each step, and at the end, rank 0 prints
// {"ready":STEP} and waits for a line on its standard input.  After each call it
// prints when it left it and when all had received everything, on
// CLOCK_MONOTONIC: {"step":"60000","left_s":12.5,"received_s":12.9}
#define _GNU_SOURCE
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MAX_BYTES (1 << 26)

struct side {
	char *buffer;
	int *counts;
	int *displacements;
};

static int rank, ranks;

static double monotonic_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec + now.tv_nsec * 1e-9;
}

static void fail(const char *what)
{
	fprintf(stderr, "alltoallv_oneway: %s\n", what);
	MPI_Abort(MPI_COMM_WORLD, 2);
}

static void wait_for_line(const char *step)
{
	int answer;

	MPI_Barrier(MPI_COMM_WORLD);
	if (rank == 0) {
		printf("{\"ready\":\"%s\"}\n", step);
		fflush(stdout);
		do {
			answer = getchar();
		} while (answer != '\n' && answer != EOF);
		if (answer == EOF)
			fail("standard input has ended");
	}
	MPI_Barrier(MPI_COMM_WORLD);
}

/* Room for BYTES from or to each rank from `first` up to `end`. */
static struct side make_side(int first, int end, int bytes)
{
	struct side side = {
		.buffer = calloc(ranks, bytes),
		.counts = calloc(ranks, sizeof(int)),
		.displacements = calloc(ranks, sizeof(int)),
	};

	if (!side.buffer || !side.counts || !side.displacements)
		fail("out of memory");
	for (int other = 0; other < ranks; other++) {
		side.counts[other] = other >= first && other < end ? bytes : 0;
		side.displacements[other] = other * bytes;
	}
	return side;
}

static void free_side(struct side *side)
{
	free(side->buffer);
	free(side->counts);
	free(side->displacements);
}

static void check_received(const struct side *received)
{
	for (int from = 0; from < ranks; from++)
		for (int at = 0; at < received->counts[from]; at++)
			if (received->buffer[received->displacements[from] + at] != (char)(from + 1))
				fail("wrong data");
}

/* Does what an all-to-allv does, in messages that the helper does not pace. */
static void exchange_by_messages(struct side *sent, struct side *received)
{
	MPI_Request *requests = calloc(2 * (size_t)ranks, sizeof(*requests));
	int count = 0;

	if (!requests)
		fail("out of memory");
	for (int other = 0; other < ranks; other++) {
		if (received->counts[other])
			MPI_Irecv(received->buffer + received->displacements[other],
				  received->counts[other], MPI_CHAR, other, 0, MPI_COMM_WORLD,
				  &requests[count++]);
		if (sent->counts[other])
			MPI_Isend(sent->buffer + sent->displacements[other],
				  sent->counts[other], MPI_CHAR, other, 0, MPI_COMM_WORLD,
				  &requests[count++]);
	}
	MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
	free(requests);
}

static void run_step(const char *step)
{
	int half = ranks / 2, sends = rank < half;
	struct side sent, received;
	double left_s, received_s;
	char *end;
	long bytes = strtol(step, &end, 10);
	int unseen = *end == 'p';

	if (end == step || end[unseen] || bytes < 1 || bytes > MAX_BYTES / ranks)
		fail("a step is BYTES or BYTESp");
	sent = make_side(sends ? half : 0, sends ? ranks : 0, bytes);
	received = make_side(0, sends ? 0 : half, bytes);
	memset(sent.buffer, rank + 1, (size_t)ranks * bytes);
	wait_for_line(step);
	if (unseen)
		exchange_by_messages(&sent, &received);
	else
		MPI_Alltoallv(sent.buffer, sent.counts, sent.displacements, MPI_CHAR,
			      received.buffer, received.counts, received.displacements,
			      MPI_CHAR, MPI_COMM_WORLD);
	left_s = monotonic_s();
	check_received(&received);
	MPI_Barrier(MPI_COMM_WORLD);
	received_s = monotonic_s();
	if (rank == 0) {
		printf("{\"step\":\"%s\",\"left_s\":%.6f,\"received_s\":%.6f}\n", step, left_s,
		       received_s);
		fflush(stdout);
	}
	free_side(&sent);
	free_side(&received);
}

int main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	if (ranks % 2)
		fail("needs an even number of ranks");
	for (int i = 1; i < argc; i++)
		run_step(argv[i]);
	wait_for_line("end");
	MPI_Finalize();
	return 0;
}
