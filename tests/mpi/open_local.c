// SPDX-License-Identifier: Apache-2.0
// A program without MPI that opens one with MPI, as Python opens mpi4py: with the
// symbols of the MPI library visible to nobody else.
//
//   open_local FILE [ARGUMENT...]
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	int (*module_main)(int, char **) = NULL;
	void *module = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;

	if (module)
		module_main = (int (*)(int, char **))dlsym(module, "module_main");
	if (!module_main) {
		fprintf(stderr, "open_local: %s\n", argc > 1 ? dlerror() : "no FILE");
		return 2;
	}
	if (dlsym(RTLD_DEFAULT, "PMPI_Comm_rank")) {
		fprintf(stderr, "open_local: the MPI library is visible to all\n");
		return 2;
	}
	return module_main(argc - 1, argv + 1);
}
