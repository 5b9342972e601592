// SPDX-License-Identifier: Apache-2.0
#include "plane.h"

#include <stdlib.h>
#include <string.h>

struct plane make_plane(const struct team *team, int size)
{
	const int periodic[2] = { 0, 0 };
	struct plane plane = { .size = size };
	int parts[2] = { 0, 0 }, place[2];

	MPI_Dims_create(team->ranks, 2, parts);
	MPI_Cart_create(team->comm, 2, parts, periodic, 0, &plane.comm);
	MPI_Cart_coords(plane.comm, team->rank, 2, place);
	for (int i = 0; i < 2; i++) {
		plane.begin[i] = part_begin(size, parts[i], place[i]);
		plane.n[i] = part_begin(size, parts[i], place[i] + 1) - plane.begin[i];
		MPI_Cart_shift(plane.comm, i, 1, &plane.before[i], &plane.after[i]);
	}
	plane.message = allocate((size_t)size * size * COMPONENTS, sizeof(double));
	return plane;
}

void free_plane(struct plane *plane)
{
	MPI_Comm_free(&plane->comm);
	free(plane->message);
}

const char *plane_unfit(int size, int ranks)
{
	int parts[2] = { 0, 0 };

	MPI_Dims_create(ranks, 2, parts);
	if (size < 1 || size > 1024)
		return "the edge must be from 1 to 1024";
	return size < parts[0] ? "the edge must not be less than the ranks along it" : NULL;
}

double *plane_values(const struct plane *plane)
{
	size_t values = (size_t)(plane->n[0] + 2) * (plane->n[1] + 2) * (plane->size + 2);

	return allocate(values * COMPONENTS, sizeof(double));
}

size_t plane_at(const struct plane *plane, int x, int y, int z)
{
	return (((size_t)x * (plane->n[1] + 2) + y) * (plane->size + 2) + z) * COMPONENTS;
}

uint64_t plane_index(const struct plane *plane, int x, int y, int z, int component)
{
	uint64_t whole_x = plane->begin[0] + x, whole_y = plane->begin[1] + y;

	return ((whole_x * plane->size + whole_y) * plane->size + z) * COMPONENTS + component;
}

double plane_checksum(const struct plane *plane, const double *values)
{
	double sum = 0;

	for (int x = 1; x <= plane->n[0]; x++)
		for (int y = 1; y <= plane->n[1]; y++)
			for (int z = 1; z <= plane->size; z++)
				for (int c = 0; c < COMPONENTS; c++)
					sum += weighted(plane_index(plane, x, y, z, c),
							values[plane_at(plane, x, y, z) + c]);
	return sum;
}

static size_t row_begin(const struct plane *plane, const struct layer *layer, int row)
{
	return layer->dimension ? plane_at(plane, row, layer->at, layer->z) :
				  plane_at(plane, layer->at, row, layer->z);
}

void receive_layer(struct plane *plane, double *values, const struct layer *layer, int from)
{
	int rows = plane->n[1 - layer->dimension], length = (layer->z_end - layer->z) * COMPONENTS;

	if (from == MPI_PROC_NULL)
		return;
	MPI_Recv(plane->message, rows * length, MPI_DOUBLE, from, layer->dimension, plane->comm,
		 MPI_STATUS_IGNORE);
	for (int row = 0; row < rows; row++)
		memcpy(&values[row_begin(plane, layer, row + 1)], &plane->message[row * length],
		       length * sizeof(*values));
}

void send_layer(struct plane *plane, const double *values, const struct layer *layer, int to)
{
	int rows = plane->n[1 - layer->dimension], length = (layer->z_end - layer->z) * COMPONENTS;

	if (to == MPI_PROC_NULL)
		return;
	for (int row = 0; row < rows; row++)
		memcpy(&plane->message[row * length], &values[row_begin(plane, layer, row + 1)],
		       length * sizeof(*values));
	MPI_Send(plane->message, rows * length, MPI_DOUBLE, to, layer->dimension, plane->comm);
}
