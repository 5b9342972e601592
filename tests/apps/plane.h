/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A cube that is divided among a grid of ranks in two of its dimensions, without periods.
 * A value has several components; arrays have a layer more on each side of each dimension.
 */
#ifndef HEADWAY_APPS_PLANE_H
#define HEADWAY_APPS_PLANE_H

#include "kernel.h"

#define COMPONENTS 5	/* as in LU, SP and BT */

struct plane {
	MPI_Comm comm;
	int size;		/* of an edge of the cube */
	int begin[2], n[2];	/* this rank's part of the divided dimensions */
	/* neighbours; MPI_PROC_NULL at the border */
	int before[2], after[2];
	double *message;
};

/* Values z, ... of a layer across a divided dimension. */
struct layer {
	int dimension, at;
	int z, z_end;
};

/* As those of struct kernel. */
const char *plane_unfit(int size, int ranks);
struct plane make_plane(const struct team *team, int size);
void free_plane(struct plane *plane);

double *plane_values(const struct plane *plane);

/* Where a value's components begin.  This rank's own begin with 1, 1, 1. */
size_t plane_at(const struct plane *plane, int x, int y, int z);

/* A component's index in the whole cube, the same for any number of ranks. */
uint64_t plane_index(const struct plane *plane, int x, int y, int z, int component);

/* This rank's part of a checksum. */
double plane_checksum(const struct plane *plane, const double *values);

/* Nothing where the neighbour is MPI_PROC_NULL. */
void receive_layer(struct plane *plane, double *values, const struct layer *layer, int from);
void send_layer(struct plane *plane, const double *values, const struct layer *layer, int to);

#endif
