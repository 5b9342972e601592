// SPDX-License-Identifier: Apache-2.0
// Preload, behind the helper (pending_spy.h): lets allocations of the helper fail, and of nobody
// else, and has something done between the completion of a request and the return of its wait.
// SPY_CLOCK_NS=N: the helper's monotonic clock goes on by N at each look, and not otherwise.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "pending_spy.h"
#include "shared_slots.h"

#define EXPORT __attribute__((visibility("default")))

extern void *__libc_malloc(size_t size);

static uintptr_t helper_begin, helper_end;
static long left, counted;
static void (*then)(MPI_Request completed);

static int find_helper(struct dl_phdr_info *info, size_t size, void *unused)
{
	(void)size;
	(void)unused;
	const char *name = strstr(info->dlpi_name, "libheadway-");

	if (!name || strcmp(name, "libheadway-mpi.so") == 0)
		return 0;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *part = &info->dlpi_phdr[i];

		if (part->p_type != PT_LOAD || !(part->p_flags & PF_X))
			continue;
		helper_begin = info->dlpi_addr + part->p_vaddr;
		helper_end = helper_begin + part->p_memsz;
	}
	return 1;
}

/* Makes the helper's allocation number SPY_AT fail at rank SPY_RANK, counted from its first. */
static void read_environment(void)
{
	const char *rank = getenv("OMPI_COMM_WORLD_RANK");
	const char *wanted = getenv("SPY_RANK"), *at = getenv("SPY_AT");

	if (!rank)
		rank = getenv("PMI_RANK");
	if (!rank || !wanted || !at || strcmp(rank, wanted) || helper_begin)
		return;
	dl_iterate_phdr(find_helper, NULL);
	if (helper_begin)
		left = atol(at);
}

static int is_helper(const void *caller)
{
	return helper_begin && (uintptr_t)caller >= helper_begin && (uintptr_t)caller < helper_end;
}

EXPORT int clock_gettime(clockid_t clock, struct timespec *now)
{
	static long ns_at_each_look = -1;
	static long looks;

	if (ns_at_each_look < 0)
		ns_at_each_look = getenv("SPY_CLOCK_NS") ? atol(getenv("SPY_CLOCK_NS")) : 0;
	if (ns_at_each_look > 0 && !helper_begin)
		dl_iterate_phdr(find_helper, NULL);
	if (ns_at_each_look > 0 && clock == CLOCK_MONOTONIC && is_helper(__builtin_return_address(0))) {
		long ns = ++looks * ns_at_each_look;

		now->tv_sec = ns / 1000000000;
		now->tv_nsec = ns % 1000000000;
		return 0;
	}
	return (int)syscall(SYS_clock_gettime, clock, now);
}

EXPORT void *malloc(size_t size)
{
	if (!helper_begin)
		read_environment();
	if (is_helper(__builtin_return_address(0))) {
		counted++;
		if (left > 0 && --left == 0) {
			errno = ENOMEM;
			return NULL;
		}
	}
	return __libc_malloc(size);
}

EXPORT void spy_at(long n)
{
	if (!helper_begin)
		dl_iterate_phdr(find_helper, NULL);
	left = n;
	counted = 0;
}

EXPORT long spy_counted(void)
{
	return counted;
}

EXPORT void spy_after_wait(void (*do_then)(MPI_Request completed))
{
	then = do_then;
}

EXPORT int PMPI_Wait(MPI_Request *request, MPI_Status *status)
{
	__typeof__(&PMPI_Wait) real = (__typeof__(real))dlsym(RTLD_NEXT, "PMPI_Wait");
	void (*now)(MPI_Request) = then;
	MPI_Request completed = *request;
	int result = real(request, status);

	then = NULL;
	if (now)
		now(completed);
	return result;
}

EXPORT unsigned int spy_phase(void)
{
	return shared_phase();
}
