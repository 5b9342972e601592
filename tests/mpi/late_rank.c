// SPDX-License-Identifier: Apache-2.0
// Preloaded after the library: MPI_Init of rank LATE_RANK returns when the file LATE_UNTIL is
// there, so that the helper has to wait for that rank.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>

static void be_late(void)
{
	const char *rank = getenv("PMIX_RANK"), *late = getenv("LATE_RANK");
	const char *file = getenv("LATE_UNTIL");

	if (!rank)
		rank = getenv("PMI_RANK");
	if (!rank || !late || !file || atoi(rank) != atoi(late))
		return;
	while (access(file, F_OK) != 0)
		usleep(1000);
}

// The helper calls this one.  A tool's MPI_Init would be asked before the helper.
int PMPI_Init(int *argc, char ***argv)
{
	int (*next)(int *, char ***) = (int (*)(int *, char ***))dlsym(RTLD_NEXT, "PMPI_Init");
	int status = next(argc, argv);

	be_late();
	return status;
}
