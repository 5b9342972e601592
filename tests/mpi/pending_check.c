// SPDX-License-Identifier: Apache-2.0
// Nonblocking collectives and what becomes of their phase, with pending_spy.c preloaded.
//
//   pending_check memory    the helper's n-th allocation in a call fails, for all n: nothing ends
//                           the program, and after its wait nothing is entered
//   pending_check waits     tells how much the helper allocates in waits and tests: "allocated N"
//   pending_check reused    another collective gets a request's handle before the wait for that
//                           returns: it stays entered until its own wait
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pending_spy.h"

#define COUNT 1000
#define RANKS_MAX 64
#define AT_ONCE 3
#define ALLOCATIONS_MAX 100
#define OTHERS 8

static int sent[COUNT * RANKS_MAX], received[1 + OTHERS][COUNT * RANKS_MAX];
static int rank, ranks;

static void (*at)(long n);
static long (*counted)(void);
static unsigned int (*phase)(void);
static void (*after_wait)(void (*then)(MPI_Request completed));

static void *spy(const char *name)
{
	void *function = dlsym(RTLD_DEFAULT, name);

	if (!function)
		MPI_Abort(MPI_COMM_WORLD, 3);
	return function;
}

static void expect(int holds, const char *what)
{
	if (holds)
		return;
	printf("rank %d: %s\n", rank, what);
	MPI_Abort(MPI_COMM_WORLD, 99);
}

static MPI_Request begin(int place)
{
	MPI_Request request;

	memset(received[place], 0, sizeof(received[place]));
	MPI_Ialltoall(sent, COUNT, MPI_INT, received[place], COUNT, MPI_INT, MPI_COMM_WORLD, &request);
	return request;
}

static void check(int place)
{
	for (int i = 0; i < COUNT * ranks; i++)
		expect(received[place][i] == i / COUNT * 100 + rank, "wrong data");
}

/* One call that waits for `requests`, of the form `way`; they are done when it returns. */
static void wait_by(int way, MPI_Request *requests, int count)
{
	int done = 0, index, some[AT_ONCE], number;

	switch (way) {
	case 0:
		for (int i = 0; i < count; i++)
			MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
		return;
	case 1:
		MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
		return;
	case 2:
		while (!done)
			MPI_Testall(count, requests, &done, MPI_STATUSES_IGNORE);
		return;
	case 3:
		for (int i = 0; i < count; i++)
			MPI_Waitany(count, requests, &index, MPI_STATUS_IGNORE);
		return;
	case 4:
		for (; done < count; done += number)
			MPI_Waitsome(count, requests, &number, some, MPI_STATUSES_IGNORE);
		return;
	case 5:
		while (number = 0, MPI_Testsome(count, requests, &number, some, MPI_STATUSES_IGNORE),
		       number != MPI_UNDEFINED)
			;
		return;
	default:
		for (int i = 0; i < count; i++)
			for (done = 0; !done;)
				MPI_Test(&requests[i], &done, MPI_STATUS_IGNORE);
	}
}

#define WAYS 7

/* The helper's allocations, of which the n-th fails; 0: none. */
static long in_turn(int way, long n)
{
	MPI_Request requests[AT_ONCE];
	long all;

	at(n);
	for (int i = 0; i < AT_ONCE; i++)
		requests[i] = begin(i);
	wait_by(way, requests, AT_ONCE);
	all = counted();
	at(0);
	for (int i = 0; i < AT_ONCE; i++) {
		expect(requests[i] == MPI_REQUEST_NULL, "a request is left");
		check(i);
	}
	expect(phase() == 0, "something stays entered");
	return all;
}

static void without_memory(void)
{
	for (int way = 0; way < WAYS; way++) {
		long n = 1;

		while (in_turn(way, n) >= n)
			expect(++n < ALLOCATIONS_MAX, "too many allocations");
		expect(n > 1, "nothing was allocated");
		/* from the last one on */
		for (n = 16; n > 0; n--)
			in_turn(way, n);
	}
}

static void how_much_waits_allocate(void)
{
	MPI_Request requests[AT_ONCE];
	long allocated = 0;

	for (int way = 0; way < WAYS; way++) {
		for (int i = 0; i < AT_ONCE; i++)
			requests[i] = begin(i);
		at(0);
		wait_by(way, requests, AT_ONCE);
		allocated += counted();
	}
	if (rank == 0)
		printf("allocated %ld\n", allocated);
}

/* Another thread could do this between the completion of a request and the return of its wait. */
static MPI_Request others[OTHERS];
static int with_its_handle = -1;

static void begin_others(MPI_Request completed)
{
	for (int i = 0; i < OTHERS; i++) {
		others[i] = begin(1 + i);
		if (others[i] == completed)
			with_its_handle = i;
	}
}

static void reused_handle(void)
{
	MPI_Request last, first = begin(0);

	after_wait(begin_others);
	MPI_Wait(&first, MPI_STATUS_IGNORE);
	expect(with_its_handle >= 0, "the handle was given to no other");
	last = others[with_its_handle];
	others[with_its_handle] = MPI_REQUEST_NULL;
	MPI_Waitall(OTHERS, others, MPI_STATUSES_IGNORE);
	expect(phase() != 0, "the one with the same handle is not entered any more");
	MPI_Wait(&last, MPI_STATUS_IGNORE);
	expect(phase() == 0, "something stays entered");
}

int main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	if (argc < 2 || ranks > RANKS_MAX)
		MPI_Abort(MPI_COMM_WORLD, 2);
	at = (__typeof__(at))spy("spy_at");
	counted = (__typeof__(counted))spy("spy_counted");
	phase = (__typeof__(phase))spy("spy_phase");
	after_wait = (__typeof__(after_wait))spy("spy_after_wait");
	for (int i = 0; i < COUNT * ranks; i++)
		sent[i] = rank * 100 + i / COUNT;
	in_turn(0, 0);	/* all is known from here on */
	if (strcmp(argv[1], "memory") == 0)
		without_memory();
	if (strcmp(argv[1], "waits") == 0)
		how_much_waits_allocate();
	if (strcmp(argv[1], "reused") == 0)
		reused_handle();
	if (rank == 0)
		puts("all data right");
	MPI_Finalize();
	return 0;
}
