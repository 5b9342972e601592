// SPDX-License-Identifier: Apache-2.0
// Preloaded after the library: MPI_Init of rank LATE_RANK returns LATE_MS
// milliseconds later than it would, so that the helper has to wait for that rank.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>

static void be_late(void)
{
	const char *rank = getenv("OMPI_COMM_WORLD_RANK"), *late = getenv("LATE_RANK");
	const char *time_ms = getenv("LATE_MS");
	struct timespec time = { 0 };

	if (!rank)
		rank = getenv("PMI_RANK");
	if (!rank || !late || !time_ms || atoi(rank) != atoi(late))
		return;
	time.tv_sec = atoi(time_ms) / 1000;
	time.tv_nsec = atoi(time_ms) % 1000 * 1000000L;
	nanosleep(&time, NULL);
}

// The helper calls this one.  A tool's MPI_Init would be asked before the helper.
int PMPI_Init(int *argc, char ***argv)
{
	int (*next)(int *, char ***) = (int (*)(int *, char ***))dlsym(RTLD_NEXT, "PMPI_Init");
	int status = next(argc, argv);

	be_late();
	return status;
}
