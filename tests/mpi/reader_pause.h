/* SPDX-License-Identifier: Apache-2.0 */
/* A job that waits while somebody reads counters of a network that is idle. */
#ifndef HEADWAY_READER_PAUSE_H
#define HEADWAY_READER_PAUSE_H

/*
 * Collective.  Rank 0 prints {"pause":"WHEN","bytes":BYTES} and waits for a line on its
 * standard input; the others wait in a barrier.  A rank that went on with its own work
 * would take processor time from those that still are in what was timed, where all share
 * one emulated processor.  Ends the job if standard input has ended.
 */
void pause_for_reader(const char *when, int bytes);

#endif
