// SPDX-License-Identifier: Apache-2.0
// As SP and BT: steps of alternating directions.  In each dimension every line of the cube is
// solved, by elimination from its beginning to its end and substitution back.  Where a line
// crosses ranks each hands the values at its border on to the next, a quarter of the lines at a
// time, so that the ranks of a row work as a pipeline.
#include <stdlib.h>

#include "plane.h"

#define CHUNKS 4
/* A line's equations: (1 + 2 WEIGHT) v[i] - WEIGHT (v[i - 1] + v[i + 1]) = u[i] + f[i] */
#define WEIGHT 0.4
#define DIAGONAL (1 + 2 * WEIGHT)

struct directions {
	struct plane plane;
	double *u, *f;
	double *factors;	/* of v[i + 1] after the elimination, by place in the whole line */
};

static void *sp_prepare(const struct team *team, int size)
{
	struct directions *sp = allocate(1, sizeof(*sp));

	sp->plane = make_plane(team, size);
	sp->u = plane_values(&sp->plane);
	sp->f = plane_values(&sp->plane);
	sp->factors = allocate(size + 1, sizeof(double));
	for (int i = 1; i <= size; i++)
		sp->factors[i] = WEIGHT / (DIAGONAL - WEIGHT * sp->factors[i - 1]);
	for (int x = 1; x <= sp->plane.n[0]; x++)
		for (int y = 1; y <= sp->plane.n[1]; y++)
			for (int z = 1; z <= size; z++)
				for (int c = 0; c < COMPONENTS; c++)
					sp->f[plane_at(&sp->plane, x, y, z) + c] =
						random_of(plane_index(&sp->plane, x, y, z, c));
	return sp;
}

/* u becomes (u + WEIGHT times the value before) divided by what is left of the diagonal. */
static void eliminate(struct directions *sp, int x, int y, int z, int place, size_t step)
{
	double *u = &sp->u[plane_at(&sp->plane, x, y, z)];
	double left = DIAGONAL - WEIGHT * sp->factors[place - 1];

	for (int c = 0; c < COMPONENTS; c++)
		u[c] = (u[c] + WEIGHT * (place > 1 ? u[c - (ptrdiff_t)step] : 0)) / left;
}

static void substitute(struct directions *sp, int x, int y, int z, int place, size_t step)
{
	double *u = &sp->u[plane_at(&sp->plane, x, y, z)];

	if (place < sp->plane.size)
		for (int c = 0; c < COMPONENTS; c++)
			u[c] += sp->factors[place] * u[c + step];
}

/* Layer i of a divided dimension, of lines z to z_end of the last one. */
static void solve_layer(struct directions *sp, int d, int i, int z, int z_end, int forwards)
{
	int place = sp->plane.begin[d] + i;
	size_t step = d ? plane_at(&sp->plane, 0, 1, 0) : plane_at(&sp->plane, 1, 0, 0);

	for (int other = 1; other <= sp->plane.n[1 - d]; other++)
		for (int at = z; at < z_end; at++)
			(forwards ? eliminate : substitute)(sp, d ? other : i, d ? i : other, at, place, step);
}

static void solve_chunk(struct directions *sp, int d, int chunk, int forwards)
{
	struct plane *plane = &sp->plane;
	int z = 1 + part_begin(plane->size, CHUNKS, chunk), n = plane->n[d];
	int z_end = 1 + part_begin(plane->size, CHUNKS, chunk + 1);
	struct layer outside = { d, forwards ? 0 : n + 1, z, z_end }, last = { d, forwards ? n : 1, z, z_end };

	receive_layer(plane, sp->u, &outside, forwards ? plane->before[d] : plane->after[d]);
	for (int i = 1; i <= n; i++)
		solve_layer(sp, d, forwards ? i : n + 1 - i, z, z_end, forwards);
	send_layer(plane, sp->u, &last, forwards ? plane->after[d] : plane->before[d]);
}

/* The last dimension is not divided. */
static void solve_last(struct directions *sp)
{
	int size = sp->plane.size;

	for (int x = 1; x <= sp->plane.n[0]; x++)
		for (int y = 1; y <= sp->plane.n[1]; y++) {
			for (int z = 1; z <= size; z++)
				eliminate(sp, x, y, z, z, COMPONENTS);
			for (int z = size; z >= 1; z--)
				substitute(sp, x, y, z, z, COMPONENTS);
		}
}

static void add_sources(struct directions *sp)
{
	for (int x = 1; x <= sp->plane.n[0]; x++)
		for (int y = 1; y <= sp->plane.n[1]; y++) {
			size_t begin = plane_at(&sp->plane, x, y, 1);

			for (int i = 0; i < sp->plane.size * COMPONENTS; i++)
				sp->u[begin + i] += sp->f[begin + i];
		}
}

static double sp_iterate(void *state, int iteration)
{
	struct directions *sp = state;

	(void)iteration;
	add_sources(sp);
	for (int d = 0; d < 2; d++)
		for (int forwards = 1; forwards >= 0; forwards--)
			for (int chunk = 0; chunk < CHUNKS; chunk++)
				solve_chunk(sp, d, chunk, forwards);
	solve_last(sp);
	return plane_checksum(&sp->plane, sp->u);
}

static void sp_release(void *state)
{
	struct directions *sp = state;

	free_plane(&sp->plane);
	free(sp->u);
	free(sp->f);
	free(sp->factors);
	free(sp);
}

const struct kernel sp_kernel = {
	.name = "SP", .size_means = "values along an edge", .size = 12, .tolerance = 1e-10,
	.unfit = plane_unfit, .prepare = sp_prepare, .iterate = sp_iterate, .release = sp_release,
};
