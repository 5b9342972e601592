// SPDX-License-Identifier: Apache-2.0
// A 3-D field decays in its spectrum, by FFTW's own transforms over MPI: each iteration there
// and back, with a transposition by FFTW each way.
#include <complex.h>
#include <fftw3-mpi.h>
#include <math.h>
#include <stdlib.h>

#include "kernel.h"

#define DECAY 1e-4

struct field {
	ptrdiff_t n;
	/* this rank's planes of the field, and of the spectrum, which FFTW leaves transposed */
	ptrdiff_t begin, planes, spectrum_begin, spectrum_planes;
	double complex *values;
	fftw_plan there, back;
};

static const char *fftw_unfit(int size, int ranks)
{
	if (size < 2 || size > 1024)
		return "the edge must be from 2 to 1024";
	return size < ranks ? "the edge must not be less than the ranks" : NULL;
}

static void *fftw_prepare(const struct team *team, int size)
{
	struct field *field = allocate(1, sizeof(*field));
	ptrdiff_t held;

	field->n = size;
	fftw_mpi_init();
	held = fftw_mpi_local_size_3d_transposed(size, size, size, team->comm, &field->planes, &field->begin,
						 &field->spectrum_planes, &field->spectrum_begin);
	field->values = allocate(held, sizeof(*field->values));
	/* a plan by estimation: it is the same in every job */
	field->there = fftw_mpi_plan_dft_3d(size, size, size, field->values, field->values, team->comm,
					    FFTW_FORWARD, FFTW_ESTIMATE | FFTW_MPI_TRANSPOSED_OUT);
	field->back = fftw_mpi_plan_dft_3d(size, size, size, field->values, field->values, team->comm,
					   FFTW_BACKWARD, FFTW_ESTIMATE | FFTW_MPI_TRANSPOSED_IN);
	for (ptrdiff_t i = 0; i < field->planes * size * size; i++)
		field->values[i] = random_of(field->begin * size * size + i);
	return field;
}

static double decay_of(ptrdiff_t n, ptrdiff_t place)
{
	ptrdiff_t frequency = place < n / 2 ? place : place - n;

	return exp(-DECAY * (double)(frequency * frequency));
}

/* FFTW's transforms do not divide by the number of values. */
static void decay(const struct field *field)
{
	ptrdiff_t n = field->n;

	for (ptrdiff_t plane = 0; plane < field->spectrum_planes; plane++)
		for (ptrdiff_t row = 0; row < n; row++) {
			double factor = decay_of(n, field->spectrum_begin + plane) * decay_of(n, row) /
					(double)(n * n * n);

			for (ptrdiff_t i = 0; i < n; i++)
				field->values[(plane * n + row) * n + i] *= factor;
		}
}

static double fftw_iterate(void *state, int iteration)
{
	struct field *field = state;
	double sum = 0;

	(void)iteration;
	fftw_execute(field->there);
	decay(field);
	fftw_execute(field->back);
	for (ptrdiff_t i = 0; i < field->planes * field->n * field->n; i++)
		sum += weighted(field->begin * field->n * field->n + i, creal(field->values[i]));
	return sum;
}

static void fftw_release(void *state)
{
	struct field *field = state;

	fftw_destroy_plan(field->there);
	fftw_destroy_plan(field->back);
	free(field->values);
	free(field);
}

const struct kernel fftw_kernel = {
	.name = "FFTW", .size_means = "values along an edge", .size = 32, .tolerance = 1e-10,
	.unfit = fftw_unfit, .prepare = fftw_prepare, .iterate = fftw_iterate, .release = fftw_release,
};
