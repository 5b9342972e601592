/* SPDX-License-Identifier: Apache-2.0 */
/* A moment at which all ranks begin, on a clock that they share (CLOCK_MONOTONIC). */
#ifndef HEADWAY_START_TOGETHER_H
#define HEADWAY_START_TOGETHER_H

double monotonic_s(void);

/*
 * Collective: returns at the same moment on all ranks, which rank 0 names after a barrier, far
 * enough ahead for all to hear of it.  The moment, as by monotonic_s().
 */
double start_together(void);

#endif
