/* SPDX-License-Identifier: Apache-2.0 */
/* What pending_spy.c offers to a program that it is preloaded to. */
#pragma once

#include <mpi.h>

/* From now on the helper's n-th allocation fails; 0: none does. */
void spy_at(long n);

/* The helper's allocations since. */
long spy_counted(void);

/* What is in this process's slot now. */
unsigned int spy_phase(void);

/* Once, before the next MPI_Wait returns that the helper hands on. */
void spy_after_wait(void (*then)(MPI_Request completed));
