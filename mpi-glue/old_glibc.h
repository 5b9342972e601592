/* SPDX-License-Identifier: MIT
 * The dynamic linker's functions, for libheadway-mpi.so.
 *
 * The C library of a container may be older than this machine's, and a version that it
 * lacks would end every process there.  So these are asked for as of the first glibc, in
 * which they were in libdl.so.2; a newer one has that file as well, with nothing in it.
 */
#ifndef HEADWAY_OLD_GLIBC_H
#define HEADWAY_OLD_GLIBC_H

#include <dlfcn.h>

__asm__(".symver dladdr, dladdr@GLIBC_2.2.5");
__asm__(".symver dlclose, dlclose@GLIBC_2.2.5");
__asm__(".symver dlerror, dlerror@GLIBC_2.2.5");
__asm__(".symver dlopen, dlopen@GLIBC_2.2.5");
__asm__(".symver dlsym, dlsym@GLIBC_2.2.5");

#endif
