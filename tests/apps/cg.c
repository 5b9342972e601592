// SPDX-License-Identifier: Apache-2.0
// As CG: power iterations with the method of conjugate gradients on a sparse matrix that is
// divided among a grid of ranks, with as many or twice as many columns as rows.  A product
// with a vector is summed up along the rows (messages between pairs of ranks) and then handed
// to the columns (one message); scalar products are summed up along the rows.
#include <math.h>
#include <stdlib.h>

#include "kernel.h"

#define STEPS 25	/* of conjugate gradients in an iteration, as in CG */
/* Each unknown is coupled with twice so many others. */
#define OFFSETS 6
#define SHIFT 1.0

struct gradients {
	struct team team;
	MPI_Comm row_comm;
	int n, rows, columns, row, column;
	int height, width;		/* of this rank's part of the matrix */
	int *line_begins, *line_columns;	/* its elements, line after line */
	double *elements;
	double *sums, *others;		/* of height; what a product is summed up in */
	double *x, *z, *p, *q, *r;	/* of width */
};

static void grid_of(int ranks, int *rows, int *columns)
{
	*rows = *columns = 1;
	while (*rows * *columns < ranks) {
		if (*columns > *rows)
			*rows *= 2;
		else
			*columns *= 2;
	}
}

static const char *cg_unfit(int size, int ranks)
{
	int rows, columns;

	if (ranks & (ranks - 1))
		return "the number of ranks must be a power of two";
	grid_of(ranks, &rows, &columns);
	return size < 16 || size % columns ? "the ranks of a row must divide the unknowns, of which at least 16 are wanted" : NULL;
}

static int offset_of(int n, int number)
{
	return 1 + (int)(random_of(number) * (n / 2 - 1));
}

static void add_element(struct gradients *cg, int *count, int column, double value)
{
	int at = column - cg->column * cg->width;

	if (at < 0 || at >= cg->width)
		return;
	cg->line_columns[*count] = at;
	cg->elements[(*count)++] = value;
}

/* Returns the element that couples a line with the one that is `offset` further. */
static double coupling(int line, int number)
{
	return 0.1 + random_of((uint64_t)line * OFFSETS + number + 1000);
}

static void add_line(struct gradients *cg, int *count, int line)
{
	double diagonal = SHIFT;

	for (int number = 0; number < OFFSETS; number++) {
		int offset = offset_of(cg->n, number), before = (line + cg->n - offset) % cg->n;
		double to = coupling(line, number), from = coupling(before, number);

		add_element(cg, count, (line + offset) % cg->n, -to);
		add_element(cg, count, before, -from);
		diagonal += to + from;
	}
	add_element(cg, count, line, diagonal);
}

static void make_matrix(struct gradients *cg)
{
	size_t most = (size_t)cg->height * (2 * OFFSETS + 1);
	int count = 0;

	cg->line_begins = allocate(cg->height + 1, sizeof(int));
	cg->line_columns = allocate(most, sizeof(int));
	cg->elements = allocate(most, sizeof(double));
	for (int line = 0; line < cg->height; line++) {
		cg->line_begins[line] = count;
		add_line(cg, &count, cg->row * cg->height + line);
	}
	cg->line_begins[cg->height] = count;
}

static void *cg_prepare(const struct team *team, int size)
{
	struct gradients *cg = allocate(1, sizeof(*cg));

	cg->team = *team;
	cg->n = size;
	grid_of(team->ranks, &cg->rows, &cg->columns);
	cg->row = team->rank / cg->columns;
	cg->column = team->rank % cg->columns;
	cg->height = size / cg->rows;
	cg->width = size / cg->columns;
	MPI_Comm_split(team->comm, cg->row, cg->column, &cg->row_comm);
	make_matrix(cg);
	cg->sums = allocate(cg->height, sizeof(double));
	cg->others = allocate(cg->height, sizeof(double));
	cg->x = allocate(cg->width, sizeof(double));
	cg->z = allocate(cg->width, sizeof(double));
	cg->p = allocate(cg->width, sizeof(double));
	cg->q = allocate(cg->width, sizeof(double));
	cg->r = allocate(cg->width, sizeof(double));
	for (int i = 0; i < cg->width; i++)
		cg->x[i] = 1 + random_of(cg->column * cg->width + i);
	return cg;
}

static void multiply_part(struct gradients *cg, const double *vector)
{
	for (int line = 0; line < cg->height; line++) {
		double sum = 0;

		for (int i = cg->line_begins[line]; i < cg->line_begins[line + 1]; i++)
			sum += cg->elements[i] * vector[cg->line_columns[i]];
		cg->sums[line] = sum;
	}
}

/* Each with the rank whose column differs in one bit, bit after bit. */
static void sum_along_row(struct gradients *cg)
{
	for (int bit = 1; bit < cg->columns; bit *= 2) {
		int other = cg->column ^ bit;

		MPI_Sendrecv(cg->sums, cg->height, MPI_DOUBLE, other, 0, cg->others, cg->height,
			     MPI_DOUBLE, other, 0, cg->row_comm, MPI_STATUS_IGNORE);
		for (int line = 0; line < cg->height; line++)
			cg->sums[line] += cg->others[line];
	}
}

/*
 * All ranks of a row have its sums; each hands a part to one of those that need it, which has
 * what this one needs.
 */
static void hand_to_column(struct gradients *cg, double *product)
{
	int parts = cg->columns / cg->rows, part = cg->column % parts;
	int other = cg->column / parts * cg->columns + cg->row * parts + part;

	MPI_Sendrecv(cg->sums + part * cg->width, cg->width, MPI_DOUBLE, other, 1, product, cg->width,
		     MPI_DOUBLE, other, 1, cg->team.comm, MPI_STATUS_IGNORE);
}

static void multiply(struct gradients *cg, const double *vector, double *product)
{
	multiply_part(cg, vector);
	sum_along_row(cg);
	hand_to_column(cg, product);
}

/* The ranks of a row have all parts of a vector. */
static double scalar_product(const struct gradients *cg, const double *a, const double *b)
{
	double own = 0, all;

	for (int i = 0; i < cg->width; i++)
		own += a[i] * b[i];
	MPI_Allreduce(&own, &all, 1, MPI_DOUBLE, MPI_SUM, cg->row_comm);
	return all;
}

/* z so that the matrix times z is about x. */
static void solve(struct gradients *cg)
{
	double rho, before;

	for (int i = 0; i < cg->width; i++) {
		cg->z[i] = 0;
		cg->p[i] = cg->r[i] = cg->x[i];
	}
	rho = scalar_product(cg, cg->r, cg->r);
	for (int step = 0; step < STEPS; step++) {
		double length;

		multiply(cg, cg->p, cg->q);
		length = rho / scalar_product(cg, cg->p, cg->q);
		for (int i = 0; i < cg->width; i++) {
			cg->z[i] += length * cg->p[i];
			cg->r[i] -= length * cg->q[i];
		}
		before = rho;
		rho = scalar_product(cg, cg->r, cg->r);
		for (int i = 0; i < cg->width; i++)
			cg->p[i] = cg->r[i] + rho / before * cg->p[i];
	}
}

static double cg_iterate(void *state, int iteration)
{
	struct gradients *cg = state;
	double length, sum = 0;

	(void)iteration;
	solve(cg);
	length = sqrt(scalar_product(cg, cg->z, cg->z));
	for (int i = 0; i < cg->width; i++) {
		cg->x[i] = cg->z[i] / length * sqrt(cg->n);
		/* all rows have the same */
		sum += weighted(cg->column * cg->width + i, cg->x[i]) / cg->rows;
	}
	return sum;
}

static void cg_release(void *state)
{
	struct gradients *cg = state;

	MPI_Comm_free(&cg->row_comm);
	free(cg->line_begins);
	free(cg->line_columns);
	free(cg->elements);
	free(cg->sums);
	free(cg->others);
	free(cg->x);
	free(cg->z);
	free(cg->p);
	free(cg->q);
	free(cg->r);
	free(cg);
}

const struct kernel cg_kernel = {
	.name = "CG", .size_means = "unknowns", .size = 1408, .tolerance = 1e-8,
	.unfit = cg_unfit, .prepare = cg_prepare, .iterate = cg_iterate, .release = cg_release,
};
