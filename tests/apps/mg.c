// SPDX-License-Identifier: Apache-2.0
// As MG: V-cycles for Poisson's equation on a periodic cube that is divided in all three
// dimensions.  Each level exchanges halos (messages to two neighbours in each dimension),
// which are a few bytes on the coarsest one.
#include <stdlib.h>
#include <string.h>

#include "kernel.h"

#define DIMENSIONS 3
#define COARSEST 4		/* values along an edge */
#define MAX_LEVELS 12
#define SMOOTHINGS 2
#define COARSEST_SMOOTHINGS 8
#define DAMPING (6.0 / 7.0 / 6.0)	/* divided by the matrix's diagonal */

struct level {
	int n[DIMENSIONS];	/* this rank's values, without the halo of one */
	double *u, *f, *r;
};

struct grid {
	MPI_Comm comm;
	int begin[DIMENSIONS];
	int before[DIMENSIONS], after[DIMENSIONS];	/* neighbours */
	int size, level_count;
	struct level levels[MAX_LEVELS];	/* from the coarsest on */
	double *face, *their_face;
};

static void divide(int ranks, int *parts)
{
	memset(parts, 0, DIMENSIONS * sizeof(*parts));
	MPI_Dims_create(ranks, DIMENSIONS, parts);
}

static const char *mg_unfit(int size, int ranks)
{
	int parts[DIMENSIONS];

	if (size < COARSEST || size > COARSEST << (MAX_LEVELS - 1) || size & (size - 1))
		return "the edge must be a power of two from 4 to 8192";
	divide(ranks, parts);
	for (int i = 0; i < DIMENSIONS; i++)
		if (COARSEST % parts[i])
			return "the coarsest level has 4 values along an edge; take 1, 2, 4, 8, 16, 32 or 64 ranks";
	return NULL;
}

static size_t values_of(const struct level *level)
{
	return (size_t)(level->n[0] + 2) * (level->n[1] + 2) * (level->n[2] + 2);
}

static size_t at(const struct level *level, int x, int y, int z)
{
	return ((size_t)x * (level->n[1] + 2) + y) * (level->n[2] + 2) + z;
}

static void make_level(struct level *level, int edge, const int *parts)
{
	for (int i = 0; i < DIMENSIONS; i++)
		level->n[i] = edge / parts[i];
	level->u = allocate(values_of(level), sizeof(double));
	level->f = allocate(values_of(level), sizeof(double));
	level->r = allocate(values_of(level), sizeof(double));
}

/* Charges whose sum over all ranks is 0, for each has its opposite beside it. */
static void make_charges(struct grid *grid, const struct level *finest)
{
	const int *n = finest->n;

	for (int x = 0; x < n[0]; x++)
		for (int y = 0; y < n[1]; y++)
			for (int z = 0; z < n[2]; z++) {
				int there = grid->begin[2] + z;
				uint64_t pair = ((uint64_t)(grid->begin[0] + x) * grid->size + grid->begin[1] + y) *
						grid->size + there / 2;

				finest->f[at(finest, x + 1, y + 1, z + 1)] =
					(there % 2 ? -1 : 1) * (random_of(pair) - 0.5);
			}
}

static void *mg_prepare(const struct team *team, int size)
{
	const int periodic[DIMENSIONS] = { 1, 1, 1 };
	struct grid *grid = allocate(1, sizeof(*grid));
	int parts[DIMENSIONS], place[DIMENSIONS];
	struct level *finest;

	grid->size = size;
	divide(team->ranks, parts);
	MPI_Cart_create(team->comm, DIMENSIONS, parts, periodic, 0, &grid->comm);
	MPI_Cart_coords(grid->comm, team->rank, DIMENSIONS, place);
	for (int i = 0; i < DIMENSIONS; i++) {
		MPI_Cart_shift(grid->comm, i, 1, &grid->before[i], &grid->after[i]);
		grid->begin[i] = place[i] * (size / parts[i]);
	}
	for (int edge = COARSEST; edge <= size; edge *= 2)
		make_level(&grid->levels[grid->level_count++], edge, parts);
	finest = &grid->levels[grid->level_count - 1];
	grid->face = allocate(values_of(finest), sizeof(double));
	grid->their_face = allocate(values_of(finest), sizeof(double));
	make_charges(grid, finest);
	return grid;
}

/* Copies layer `layer` across a dimension to `face` or from it; how many values these are. */
static int copy_face(const struct level *level, int dimension, int layer, double *face, int to_face)
{
	int begin[DIMENSIONS] = { 0 }, end[DIMENSIONS], count = 0;

	for (int i = 0; i < DIMENSIONS; i++)
		end[i] = level->n[i] + 2;
	begin[dimension] = layer;
	end[dimension] = layer + 1;
	for (int x = begin[0]; x < end[0]; x++)
		for (int y = begin[1]; y < end[1]; y++)
			for (int z = begin[2]; z < end[2]; z++) {
				double *value = &level->u[at(level, x, y, z)];

				if (to_face)
					face[count++] = *value;
				else
					*value = face[count++];
			}
	return count;
}

static void exchange_faces(struct grid *grid, const struct level *level, int dimension, int forwards)
{
	int n = level->n[dimension];
	int to = forwards ? grid->after[dimension] : grid->before[dimension];
	int from = forwards ? grid->before[dimension] : grid->after[dimension];
	int count = copy_face(level, dimension, forwards ? n : 1, grid->face, 1);

	MPI_Sendrecv(grid->face, count, MPI_DOUBLE, to, forwards, grid->their_face, count, MPI_DOUBLE,
		     from, forwards, grid->comm, MPI_STATUS_IGNORE);
	copy_face(level, dimension, forwards ? 0 : n + 1, grid->their_face, 0);
}

/* r = f - A u, the matrix A of seven points with 6 on its diagonal. */
static void find_residual(struct grid *grid, const struct level *level)
{
	size_t dx = at(level, 1, 0, 0), dy = at(level, 0, 1, 0);
	const double *u = level->u;

	for (int dimension = 0; dimension < DIMENSIONS; dimension++)
		for (int forwards = 0; forwards < 2; forwards++)
			exchange_faces(grid, level, dimension, forwards);
	for (int x = 1; x <= level->n[0]; x++)
		for (int y = 1; y <= level->n[1]; y++)
			for (int z = 1; z <= level->n[2]; z++) {
				size_t i = at(level, x, y, z);

				level->r[i] = level->f[i] - 6 * u[i] + u[i - dx] + u[i + dx] +
					      u[i - dy] + u[i + dy] + u[i - 1] + u[i + 1];
			}
}

static void smooth(struct grid *grid, const struct level *level, int times)
{
	for (int time = 0; time < times; time++) {
		find_residual(grid, level);
		for (size_t i = 0; i < values_of(level); i++)
			level->u[i] += DAMPING * level->r[i];
	}
}

/* The mean of eight residuals; a step of the coarser grid is twice as long, hence times 4. */
static void restrict_residual(const struct level *fine, const struct level *coarse)
{
	memset(coarse->u, 0, values_of(coarse) * sizeof(double));
	memset(coarse->f, 0, values_of(coarse) * sizeof(double));
	for (int x = 0; x < fine->n[0]; x++)
		for (int y = 0; y < fine->n[1]; y++)
			for (int z = 0; z < fine->n[2]; z++)
				coarse->f[at(coarse, x / 2 + 1, y / 2 + 1, z / 2 + 1)] +=
					fine->r[at(fine, x + 1, y + 1, z + 1)] * 4 / 8;
}

static void add_correction(const struct level *fine, const struct level *coarse)
{
	for (int x = 0; x < fine->n[0]; x++)
		for (int y = 0; y < fine->n[1]; y++)
			for (int z = 0; z < fine->n[2]; z++)
				fine->u[at(fine, x + 1, y + 1, z + 1)] +=
					coarse->u[at(coarse, x / 2 + 1, y / 2 + 1, z / 2 + 1)];
}

static void cycle(struct grid *grid, int number)
{
	const struct level *level = &grid->levels[number];

	if (number == 0) {
		smooth(grid, level, COARSEST_SMOOTHINGS);
		return;
	}
	smooth(grid, level, SMOOTHINGS);
	find_residual(grid, level);
	restrict_residual(level, level - 1);
	cycle(grid, number - 1);
	add_correction(level, level - 1);
	smooth(grid, level, SMOOTHINGS);
}

static double mg_iterate(void *state, int iteration)
{
	struct grid *grid = state;
	const struct level *finest = &grid->levels[grid->level_count - 1];
	double sum = 0;

	(void)iteration;
	cycle(grid, grid->level_count - 1);
	for (int x = 0; x < finest->n[0]; x++)
		for (int y = 0; y < finest->n[1]; y++)
			for (int z = 0; z < finest->n[2]; z++) {
				uint64_t index = ((uint64_t)(grid->begin[0] + x) * grid->size + grid->begin[1] + y) *
						 grid->size + grid->begin[2] + z;

				sum += weighted(index, finest->u[at(finest, x + 1, y + 1, z + 1)]);
			}
	return sum;
}

static void mg_release(void *state)
{
	struct grid *grid = state;

	for (int i = 0; i < grid->level_count; i++) {
		free(grid->levels[i].u);
		free(grid->levels[i].f);
		free(grid->levels[i].r);
	}
	free(grid->face);
	free(grid->their_face);
	MPI_Comm_free(&grid->comm);
	free(grid);
}

const struct kernel mg_kernel = {
	.name = "MG", .size_means = "values along an edge", .size = 16, .tolerance = 1e-9,
	.unfit = mg_unfit, .prepare = mg_prepare, .iterate = mg_iterate, .release = mg_release,
};
