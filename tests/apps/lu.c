// SPDX-License-Identifier: Apache-2.0
// As LU: symmetric successive over-relaxation.  Each sweep goes through the cube as a
// wavefront: for each plane a rank waits for a small message of two neighbours, works, and
// sends one to the other two; first from one corner, then back from the opposite one.
#include <stdlib.h>

#include "plane.h"

#define RELAXATION 1.2
#define DIAGONAL 6.5	/* of six neighbours and the coupling of components */
#define COUPLING 0.25

struct relaxation {
	struct plane plane;
	double *u, *f;
};

static void *lu_prepare(const struct team *team, int size)
{
	struct relaxation *lu = allocate(1, sizeof(*lu));

	lu->plane = make_plane(team, size);
	lu->u = plane_values(&lu->plane);
	lu->f = plane_values(&lu->plane);
	for (int x = 1; x <= lu->plane.n[0]; x++)
		for (int y = 1; y <= lu->plane.n[1]; y++)
			for (int z = 1; z <= size; z++)
				for (int c = 0; c < COMPONENTS; c++)
					lu->f[plane_at(&lu->plane, x, y, z) + c] =
						random_of(plane_index(&lu->plane, x, y, z, c));
	return lu;
}

static void relax(struct relaxation *lu, int x, int y, int z)
{
	size_t i = plane_at(&lu->plane, x, y, z), dx = plane_at(&lu->plane, 1, 0, 0);
	size_t dy = plane_at(&lu->plane, 0, 1, 0), dz = plane_at(&lu->plane, 0, 0, 1);
	double *u = lu->u;

	for (int c = 0; c < COMPONENTS; c++) {
		double others = u[i + c - dx] + u[i + c + dx] + u[i + c - dy] + u[i + c + dy] +
				u[i + c - dz] + u[i + c + dz] + COUPLING * u[i + (c + 1) % COMPONENTS];

		u[i + c] += RELAXATION * ((lu->f[i + c] + others) / DIAGONAL - u[i + c]);
	}
}

/* In the order of the coordinates, or against it, as one process alone would. */
static void relax_plane(struct relaxation *lu, int z, int forwards)
{
	const int *n = lu->plane.n;

	for (int i = 1; i <= n[0]; i++)
		for (int j = 1; j <= n[1]; j++) {
			if (forwards)
				relax(lu, i, j, z);
			else
				relax(lu, n[0] + 1 - i, n[1] + 1 - j, z);
		}
}

static void sweep(struct relaxation *lu, int forwards)
{
	struct plane *plane = &lu->plane;
	const int *from = forwards ? plane->before : plane->after;
	const int *to = forwards ? plane->after : plane->before;

	for (int i = 1; i <= plane->size; i++) {
		int z = forwards ? i : plane->size + 1 - i;

		for (int d = 0; d < 2; d++) {
			struct layer outside = { d, forwards ? 0 : plane->n[d] + 1, z, z + 1 };

			receive_layer(plane, lu->u, &outside, from[d]);
		}
		relax_plane(lu, z, forwards);
		for (int d = 0; d < 2; d++) {
			struct layer last = { d, forwards ? plane->n[d] : 1, z, z + 1 };

			send_layer(plane, lu->u, &last, to[d]);
		}
	}
}

static double lu_iterate(void *state, int iteration)
{
	struct relaxation *lu = state;

	(void)iteration;
	sweep(lu, 1);
	sweep(lu, 0);
	return plane_checksum(&lu->plane, lu->u);
}

static void lu_release(void *state)
{
	struct relaxation *lu = state;

	free_plane(&lu->plane);
	free(lu->u);
	free(lu->f);
	free(lu);
}

const struct kernel lu_kernel = {
	.name = "LU", .size_means = "values along an edge", .size = 12, .tolerance = 1e-10,
	.unfit = plane_unfit, .prepare = lu_prepare, .iterate = lu_iterate, .release = lu_release,
};
