// SPDX-License-Identifier: Apache-2.0
// As FT: a 3-D field decays in its spectrum.  Each iteration multiplies the spectrum and
// transforms it back, two dimensions on each rank's planes, then a transposition (alltoall),
// then the third; and adds up a few of the values (reduce).
#include <complex.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernel.h"

#define DECAY 1e-4
#define LARGEST 1024

struct transform {
	struct team team;
	int n, planes;
	/* [planes][n][n]; of the spectrum the last dimension is the one that is divided in the field */
	double complex *spectrum, *field;
	double complex *sent, *received;	/* a block for each rank */
	double complex *roots;			/* of unity, half of them */
	double *decay;				/* of a frequency's square in one dimension */
};

static const char *ft_unfit(int size, int ranks)
{
	if (size < 2 || size > LARGEST || size & (size - 1))
		return "the edge must be a power of two from 2 to 1024";
	return size % ranks ? "the number of ranks must divide the edge" : NULL;
}

static void swap(double complex *a, double complex *b)
{
	double complex kept = *a;

	*a = *b;
	*b = kept;
}

static void reverse_bits(double complex *line, int n)
{
	for (int i = 1, j = 0; i < n; i++) {
		int bit = n >> 1;

		for (; j & bit; bit >>= 1)
			j ^= bit;
		j |= bit;
		if (i < j)
			swap(&line[i], &line[j]);
	}
}

/* In place, without the division by n; forwards or back. */
static void transform_line(const struct transform *ft, double complex *line, int back)
{
	int n = ft->n;

	reverse_bits(line, n);
	for (int half = 1; half < n; half *= 2)
		for (int begin = 0; begin < n; begin += 2 * half)
			for (int i = begin; i < begin + half; i++) {
				double complex root = ft->roots[(i - begin) * (n / 2 / half)];
				double complex other = line[i + half] * (back ? conj(root) : root);

				line[i + half] = line[i] - other;
				line[i] += other;
			}
}

static void transform_rows(const struct transform *ft, double complex *planes, int back)
{
	for (int row = 0; row < ft->planes * ft->n; row++)
		transform_line(ft, &planes[row * ft->n], back);
}

static void transform_columns(const struct transform *ft, double complex *planes, int back)
{
	double complex column[LARGEST];
	int n = ft->n;

	for (int plane = 0; plane < ft->planes; plane++)
		for (int x = 0; x < n; x++) {
			double complex *top = &planes[plane * n * n + x];

			for (int y = 0; y < n; y++)
				column[y] = top[y * n];
			transform_line(ft, column, back);
			for (int y = 0; y < n; y++)
				top[y * n] = column[y];
		}
}

/* The dimension that is divided among the ranks becomes the last one, and the last one is divided. */
static void transpose(struct transform *ft, double complex *planes)
{
	int n = ft->n, own = ft->planes, block = own * n * own;
	double complex *to = ft->sent;

	for (int rank = 0; rank < ft->team.ranks; rank++)
		for (int plane = 0; plane < own; plane++)
			for (int y = 0; y < n; y++, to += own)
				memcpy(to, &planes[(plane * n + y) * n + rank * own], own * sizeof(*to));
	MPI_Alltoall(ft->sent, block, MPI_C_DOUBLE_COMPLEX, ft->received, block, MPI_C_DOUBLE_COMPLEX,
		     ft->team.comm);
	for (int at = 0; at < ft->team.ranks * block; at++) {
		int plane = at / (n * own), y = at / own % n, x = at % own;

		planes[(x * n + y) * n + plane] = ft->received[at];
	}
}

static void *ft_prepare(const struct team *team, int size)
{
	struct transform *ft = allocate(1, sizeof(*ft));
	size_t values;

	ft->team = *team;
	ft->n = size;
	ft->planes = size / team->ranks;
	values = (size_t)ft->planes * size * size;
	ft->spectrum = allocate(values, sizeof(*ft->spectrum));
	ft->field = allocate(values, sizeof(*ft->field));
	ft->sent = allocate(values, sizeof(*ft->sent));
	ft->received = allocate(values, sizeof(*ft->received));
	ft->roots = allocate(size / 2, sizeof(*ft->roots));
	ft->decay = allocate(size, sizeof(*ft->decay));
	for (int i = 0; i < size / 2; i++)
		ft->roots[i] = cexp(-2 * M_PI * I * i / size);
	for (int i = 0; i < size; i++) {
		int frequency = i < size / 2 ? i : i - size;

		ft->decay[i] = exp(-DECAY * frequency * frequency);
	}
	for (size_t i = 0; i < values; i++)
		ft->spectrum[i] = random_of(team->rank * values + i);
	transform_rows(ft, ft->spectrum, 0);
	transform_columns(ft, ft->spectrum, 0);
	transpose(ft, ft->spectrum);
	transform_rows(ft, ft->spectrum, 0);
	return ft;
}

static void evolve(struct transform *ft)
{
	int n = ft->n, first = ft->team.rank * ft->planes;

	for (int plane = 0; plane < ft->planes; plane++)
		for (int y = 0; y < n; y++) {
			double complex *row = &ft->spectrum[(plane * n + y) * n];
			double decay = ft->decay[first + plane] * ft->decay[y];

			for (int z = 0; z < n; z++)
				row[z] *= decay * ft->decay[z];
		}
}

static double ft_iterate(void *state, int iteration)
{
	struct transform *ft = state;
	size_t values = (size_t)ft->planes * ft->n * ft->n;
	double scale = 1.0 / ft->n / ft->n / ft->n, sum = 0, few, all;

	(void)iteration;
	evolve(ft);
	memcpy(ft->field, ft->spectrum, values * sizeof(*ft->field));
	transform_rows(ft, ft->field, 1);
	transform_columns(ft, ft->field, 1);
	transpose(ft, ft->field);
	transform_rows(ft, ft->field, 1);
	few = creal(ft->field[0]);
	MPI_Reduce(&few, &all, 1, MPI_DOUBLE, MPI_SUM, 0, ft->team.comm);
	for (size_t i = 0; i < values; i++)
		sum += weighted(ft->team.rank * values + i, creal(ft->field[i]) + 2 * cimag(ft->field[i]));
	return sum * scale;
}

static void ft_release(void *state)
{
	struct transform *ft = state;

	free(ft->spectrum);
	free(ft->field);
	free(ft->sent);
	free(ft->received);
	free(ft->roots);
	free(ft->decay);
	free(ft);
}

const struct kernel ft_kernel = {
	.name = "FT", .size_means = "values along an edge", .size = 32, .tolerance = 1e-10,
	.unfit = ft_unfit, .prepare = ft_prepare, .iterate = ft_iterate, .release = ft_release,
};
