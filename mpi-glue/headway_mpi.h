/* SPDX-License-Identifier: MIT */
/*
 * headway_mpi.h: an MPI program sets its own sending rate.
 *
 * Two attributes of communicators, both in Kbytes/s (1 Kbyte = 1000 bytes), with
 * the usual MPI_Comm_get_attr and MPI_Comm_set_attr (or MPI_Attr_get and
 * MPI_Attr_put).  Their values are int.
 *
 *   HEADWAY_MAXRATE   get: the bandwidth that the clusters of the job share, as
 *                     the environment variable HEADWAY_MAXRATE says, or else
 *                     headwayd.  A put does nothing.
 *   HEADWAY_MATB      "maximum allowable transmission bandwidth".
 *                     get: at first HEADWAY_MAXRATE, then what was put last on
 *                          this communicator.  The pointer is to storage that
 *                          the library owns; it may be written to, which has no
 *                          effect before the value is put.
 *                     put: this process sends to other clusters at no more than
 *                          that rate from now on; zero or less: no limit.
 *
 * YAMPI_PSP_MAXRATE and YAMPI_PSP_MATB are other names of the two, those of R.
 * Takano et al., "Effects of Packet Pacing for MPI Programs in a Grid
 * Environment".
 *
 * The rate is the process's, whatever communicator it was put on: the last put
 * holds.  Collectives that Headway paces have their own rate meanwhile, the
 * stricter of the two.  It ends when the attribute is deleted, when the
 * communicator it was put on last is freed, and with MPI_Finalize.
 *
 * MPI_Comm_dup copies the value of HEADWAY_MATB to the new communicator, in
 * storage of its own, without putting it; every other new communicator begins
 * with HEADWAY_MAXRATE.
 *
 * Without the library (not preloaded, or HEADWAY=off) the attributes are not set:
 * a get says so in its flag, a put has no effect.  The program needs nothing of
 * Headway's to be linked.
 *
 * C, a phase in which n nodes of each cluster send to the other at once:
 *
 *   #include <headway_mpi.h>
 *
 *   int set_limit(MPI_Comm comm, int n)
 *   {
 *           int *max, *limit, known;
 *
 *           MPI_Comm_get_attr(comm, HEADWAY_MAXRATE, &max, &known);
 *           if (!known)
 *                   return 0;
 *           MPI_Comm_get_attr(comm, HEADWAY_MATB, &limit, &known);
 *           *limit = *max / n;
 *           return MPI_Comm_set_attr(comm, HEADWAY_MATB, limit);
 *   }
 *
 * Fortran: see headway_mpif.h.
 */
#ifndef HEADWAY_MPI_H
#define HEADWAY_MPI_H

#include <mpi.h>

#define HEADWAY_MAXRATE headway_maxrate_keyval()
#define HEADWAY_MATB headway_matb_keyval()

#define YAMPI_PSP_MAXRATE HEADWAY_MAXRATE
#define YAMPI_PSP_MATB HEADWAY_MATB

/* An extra state by which the library knows whose keyval is to be created. */
#define HEADWAY_MAXRATE_STATE ((MPI_Aint)0x4845414457415901)
#define HEADWAY_MATB_STATE ((MPI_Aint)0x4845414457415902)

static inline int headway_keyval(int *keyval, MPI_Aint state)
{
	if (*keyval == MPI_KEYVAL_INVALID)
		MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, keyval,
				       (void *)state);
	return *keyval;
}

static inline int headway_maxrate_keyval(void)
{
	static int keyval = MPI_KEYVAL_INVALID;

	return headway_keyval(&keyval, HEADWAY_MAXRATE_STATE);
}

static inline int headway_matb_keyval(void)
{
	static int keyval = MPI_KEYVAL_INVALID;

	return headway_keyval(&keyval, HEADWAY_MATB_STATE);
}

#endif
