// SPDX-License-Identifier: Apache-2.0
// A program without MPI that opens one with MPI, as Python opens mpi4py: with the
// symbols of the MPI library visible to nobody else.
//
//   open_local FILE [ARGUMENT...]
//
// With SERIAL it also opens that library (serial_mpi.c) before, in the same way, and calls it before and after the
// program; with SERIAL_LATE it opens one afterwards and calls it.
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

static void *function_of(const char *file, const char *name)
{
	void *library = file ? dlopen(file, RTLD_NOW | RTLD_LOCAL) : NULL;
	void *function = library ? dlsym(library, name) : NULL;

	if (!function)
		fprintf(stderr, "open_local: %s\n", file ? dlerror() : "no FILE");
	return function;
}

typedef int simulation(int calls);

static simulation *serial_code(const char *variable)
{
	const char *file = getenv(variable);

	return file ? (simulation *)function_of(file, "simulate") : NULL;
}

/* 0 if it comes to the right result, or there is none. */
static int simulate(simulation *serial)
{
	return serial && serial(2) != 43;
}

int main(int argc, char **argv)
{
	simulation *serial = serial_code("SERIAL");
	int (*module_main)(int, char **), status;

	if (simulate(serial))
		return 3;
	module_main = (int (*)(int, char **))function_of(argv[1], "module_main");
	if (!module_main)
		return 2;
	if (dlsym(RTLD_DEFAULT, "PMPI_Comm_rank")) {
		fprintf(stderr, "open_local: the MPI library is visible to all\n");
		return 2;
	}
	status = module_main(argc - 1, argv + 1);
	return simulate(serial) || simulate(serial_code("SERIAL_LATE")) ? 3 : status;
}
