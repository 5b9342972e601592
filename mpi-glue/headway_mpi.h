/* SPDX-License-Identifier: MIT */
/*
 * headway_mpi.h: the names of R. Takano et al., "Effects of Packet Pacing for MPI
 * Programs in a Grid Environment", for programs in C that have them.
 *
 *   YAMPI_PSP_MAXRATE   get: headway_maxrate
 *   YAMPI_PSP_MATB      get: headway_matb of this communicator, or headway_maxrate where
 *                       none has been set.  The pointer is to storage that may be written
 *                       to, which has no effect before the value is put.
 *                       put: headway_matb; zero or less: no limit
 *
 * with MPI_Attr_get, MPI_Attr_put, MPI_Comm_get_attr and MPI_Comm_set_attr, which lead to
 * MPI_Comm_get_info and MPI_Comm_set_info for these two keys; Documentation/mpi-records.rst,
 * "A program's own rate", says what the info keys mean.  All are int, in Kbytes/s of 1000
 * bytes.  Without Headway a get says in its flag that nothing is set, and a put has no
 * effect.
 */
#ifndef HEADWAY_MPI_H
#define HEADWAY_MPI_H

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

/* MPI libraries number keys from 0 on (Open MPI), or from 2^30 on (MPICH). */
enum { YAMPI_PSP_MAXRATE = 0x3ead0001, YAMPI_PSP_MATB = 0x3ead0002 };

static inline int headway_get_attr(MPI_Comm comm, int keyval, void *value, int *flag)
{
	static int maxrate, matb;
	int *rate = keyval == YAMPI_PSP_MATB ? &matb : &maxrate;
	char text[16] = "";
	MPI_Info info;
	int status;

	if (keyval != YAMPI_PSP_MAXRATE && keyval != YAMPI_PSP_MATB)
		return MPI_Comm_get_attr(comm, keyval, value, flag);
	status = MPI_Comm_get_info(comm, &info);
	if (status != MPI_SUCCESS)
		return status;
	*flag = 0;
	if (keyval == YAMPI_PSP_MATB)
		MPI_Info_get(info, "headway_matb", sizeof(text) - 1, text, flag);
	if (!*flag)
		MPI_Info_get(info, "headway_maxrate", sizeof(text) - 1, text, flag);
	if (*flag) {
		*rate = atoi(text);
		*(int **)value = rate;
	}
	return MPI_Info_free(&info);
}

static inline int headway_set_attr(MPI_Comm comm, int keyval, void *value)
{
	char text[16];
	MPI_Info info;
	int status;

	if (keyval == YAMPI_PSP_MAXRATE)
		return MPI_SUCCESS;
	if (keyval != YAMPI_PSP_MATB)
		return MPI_Comm_set_attr(comm, keyval, value);
	snprintf(text, sizeof(text), "%d", *(int *)value > 0 ? *(int *)value : 0);
	status = MPI_Info_create(&info);
	if (status != MPI_SUCCESS)
		return status;
	status = MPI_Info_set(info, "headway_matb", text);
	if (status == MPI_SUCCESS)
		status = MPI_Comm_set_info(comm, info);
	MPI_Info_free(&info);
	return status;
}

#define MPI_Attr_get headway_get_attr
#define MPI_Attr_put headway_set_attr
#define MPI_Comm_get_attr headway_get_attr
#define MPI_Comm_set_attr headway_set_attr

#endif
