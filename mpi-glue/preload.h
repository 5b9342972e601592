/* SPDX-License-Identifier: MIT
 * What libheadway-mpi.so, which is preloaded, and the helper libraries, of which it opens the
 * one for the MPI library and for pacing or recording, know of each other.
 */
#ifndef HEADWAY_PRELOAD_H
#define HEADWAY_PRELOAD_H

#ifdef __cplusplus
extern "C" {
#endif

typedef void headway_function(void);

/* The function of that name that the process would have without Headway: the
 * next behind the preload, or the loaded MPI library's.  NULL: there is none.
 */
typedef headway_function *headway_find(const char *name);

/* The one function that a helper library shows.  What a call of `name` is to run
 * instead (MPI_X also stands for PMPI_X); NULL: this is not wrapped.
 */
typedef headway_function *headway_wrapper_lookup(const char *name, headway_find *find);
headway_wrapper_lookup headway_wrapper_of;

#ifdef __cplusplus
}
#endif

#endif
