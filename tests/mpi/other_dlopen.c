// SPDX-License-Identifier: Apache-2.0
// Preload, behind libheadway-mpi.so: a dlopen() before the C library's, as UCX 1.18 has, to which $ORIGIN is this
// library's folder.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>

__attribute__((visibility("default"))) void *dlopen(const char *path, int flags)
{
	static __typeof__(&dlopen) real;
	void *opened;

	if (!real)
		real = (__typeof__(real))dlsym(RTLD_NEXT, "dlopen");
	if (!real)
		abort();
	opened = real(path, flags);
	__asm__ volatile("" : : "r"(opened));	/* no sibling call, in which the caller would be another one */
	return opened;
}
