/* SPDX-License-Identifier: Apache-2.0 */
/* A program to which pending_spy.c is preloaded may call these. */
#pragma once

#include <mpi.h>

/* From now on the helper's n-th allocation fails; 0: none does. */
void spy_at(long n);

/* The helper's allocations since. */
long spy_counted(void);

/* Returns what is in this process's slot now. */
unsigned int spy_phase(void);

/* Once, before the next MPI_Wait returns that the helper hands on. */
void spy_after_wait(void (*then)(MPI_Request completed));
