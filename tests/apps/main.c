// SPDX-License-Identifier: Apache-2.0
// Runs a kernel with the communication of a benchmark of the NPB, or of another program, and checks it:
//
//   npb_kernel IS|FT|CG|MG|LU|SP|MOE|FFTW [--size N] [--iterations 10] [--warmup 1] [--pause]
//
// FFTW, a program of Debian's FFTW over MPI, is there where that was when this was built.
// What the size means is told with a size that does not fit.  Rank 0 prints one JSON object:
//   {"kernel":"IS","size":65536,"ranks":8,"warmup_ms":[...],"samples_ms":[...],"verified":true}
// All ranks go from one iteration to the next without a barrier, as the programs do: a sample
// is the time from the end of one iteration to the end of the next, each the moment at which
// the last rank was there, on CLOCK_MONOTONIC, which the ranks have to share.  The
// sampled ones begin after a barrier.  With --pause counters may be read before and after
// them, as reader_pause.h says.
//
// Afterwards rank 0 alone does the same iterations once more.  verified: the checksums of
// all of them are those of the job.  If they are not the exit status is 1.
#include <getopt.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "kernel.h"
#include "reader_pause.h"

#define MAX_ITERATIONS 10000

static const struct kernel *const kernels[] = {
	&is_kernel, &ft_kernel, &cg_kernel, &mg_kernel, &lu_kernel, &sp_kernel, &moe_kernel,
#ifdef HEADWAY_WITH_FFTW
	&fftw_kernel,
#endif
};

#define KERNEL_COUNT ((int)(sizeof(kernels) / sizeof(*kernels)))

struct options {
	const struct kernel *kernel;
	int size;
	int iterations;
	int warmup;
	bool pause;
};

/* The results of a team: a checksum of each iteration, and when it ended. */
struct run {
	double *checksums;
	double *warmup_ends_s, *ends_s;	/* both begin with their start */
};

/* Every rank comes here with the same mistake; rank 0 tells it. */
static void fail(const char *format, const char *detail)
{
	struct team world = team_of(MPI_COMM_WORLD);

	if (world.rank == 0) {
		fprintf(stderr, "npb_kernel: ");
		fprintf(stderr, format, detail);
		fputc('\n', stderr);
	}
	MPI_Finalize();
	exit(2);
}

static int parse_number(const char *text, int least, const char *option)
{
	char *end;
	long value = strtol(text, &end, 10);

	if (end == text || *end || value < least || value > 1 << 30)
		fail("%s: not a number in range; see the head of tests/apps/main.c", option);
	return (int)value;
}

static const struct kernel *parse_kernel(const char *name)
{
	char known[128] = "";

	for (int i = 0; i < KERNEL_COUNT; i++) {
		if (name && !strcmp(name, kernels[i]->name))
			return kernels[i];
		strcat(known, " ");
		strcat(known, kernels[i]->name);
	}
	fail("a kernel is wanted, one of%s", known);
	return NULL;
}

static struct options parse_options(int argc, char **argv)
{
	static const struct option known[] = {
		{ "size", required_argument, NULL, 's' },
		{ "iterations", required_argument, NULL, 'i' },
		{ "warmup", required_argument, NULL, 'w' },
		{ "pause", no_argument, NULL, 'p' },
		{ 0 }
	};
	struct options options = { .iterations = 10, .warmup = 1 };
	int option;

	opterr = 0;
	while ((option = getopt_long(argc, argv, "", known, NULL)) != -1) {
		switch (option) {
		case 's':
			options.size = parse_number(optarg, 1, "--size");
			break;
		case 'i':
			options.iterations = parse_number(optarg, 1, "--iterations");
			break;
		case 'w':
			options.warmup = parse_number(optarg, 0, "--warmup");
			break;
		case 'p':
			options.pause = true;
			break;
		default:
			fail("unknown option, or one without its value: %s", argv[optind - 1]);
		}
	}
	options.kernel = parse_kernel(argv[optind]);
	if (argc > optind + 1)
		fail("one kernel at a time; what is '%s'?", argv[optind + 1]);
	if (options.iterations > MAX_ITERATIONS || options.warmup > MAX_ITERATIONS)
		fail("%s", "--iterations, --warmup: at most 10000");
	if (!options.size)
		options.size = options.kernel->size;
	return options;
}

static void check_size(const struct options *options, int ranks)
{
	const char *why = options->kernel->unfit(options->size, ranks);
	char told[256];

	if (!why)
		return;
	snprintf(told, sizeof(told), "%d %s, %d ranks: %s", options->size, options->kernel->size_means,
		 ranks, why);
	fail("--size: %s", told);
}

static double monotonic_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void iterate(const struct options *options, void *state, int first, int count, double *checksums,
		    double *ends_s)
{
	ends_s[0] = monotonic_s();
	for (int i = 0; i < count; i++) {
		checksums[first + i] = options->kernel->iterate(state, first + i);
		ends_s[i + 1] = monotonic_s();
	}
}

/* Sums of the checksums, the latest of the ends: on the team's first rank. */
static void combine(const struct team *team, double *values, int count, MPI_Op operation)
{
	MPI_Reduce(team->rank ? values : MPI_IN_PLACE, values, count, MPI_DOUBLE, operation, 0, team->comm);
}

static struct run run_team(const struct options *options, const struct team *team, bool pause)
{
	int all = options->warmup + options->iterations;
	struct run run = {
		.checksums = allocate(all, sizeof(double)),
		.warmup_ends_s = allocate(options->warmup + 1, sizeof(double)),
		.ends_s = allocate(options->iterations + 1, sizeof(double)),
	};
	void *state = options->kernel->prepare(team, options->size);

	iterate(options, state, 0, options->warmup, run.checksums, run.warmup_ends_s);
	if (pause)
		pause_for_reader("before", options->size);
	MPI_Barrier(team->comm);
	iterate(options, state, options->warmup, options->iterations, run.checksums, run.ends_s);
	if (pause)
		pause_for_reader("after", options->size);
	options->kernel->release(state);
	combine(team, run.checksums, all, MPI_SUM);
	combine(team, run.warmup_ends_s, options->warmup + 1, MPI_MAX);
	combine(team, run.ends_s, options->iterations + 1, MPI_MAX);
	return run;
}

static void free_run(struct run *run)
{
	free(run->checksums);
	free(run->warmup_ends_s);
	free(run->ends_s);
}

/* By rank 0 alone; the others learn of it. */
static int is_right(const struct options *options, const struct team *world, const struct run *run)
{
	int right = 1;

	if (world->rank == 0) {
		const struct team alone = team_of(MPI_COMM_SELF);
		struct run serial = run_team(options, &alone, false);

		for (int i = 0; i < options->warmup + options->iterations; i++) {
			double most = options->kernel->tolerance * fabs(serial.checksums[i]);

			/* not a number is wrong, too */
			if (fabs(run->checksums[i] - serial.checksums[i]) <= most)
				continue;
			fprintf(stderr, "npb_kernel: %s, iteration %d: checksum %.17g instead of %.17g\n",
				options->kernel->name, i + 1, run->checksums[i], serial.checksums[i]);
			right = 0;
		}
		free_run(&serial);
	}
	MPI_Bcast(&right, 1, MPI_INT, 0, MPI_COMM_WORLD);
	return right;
}

static void print_times(const char *name, const double *ends_s, int count)
{
	printf(",\"%s\":[", name);
	for (int i = 0; i < count; i++)
		printf("%s%.3f", i ? "," : "", (ends_s[i + 1] - ends_s[i]) * 1e3);
	printf("]");
}

static void report(const struct options *options, const struct team *world, const struct run *run, int right)
{
	if (world->rank)
		return;
	printf("{\"kernel\":\"%s\",\"size\":%d,\"ranks\":%d", options->kernel->name, options->size,
	       world->ranks);
	print_times("warmup_ms", run->warmup_ends_s, options->warmup);
	print_times("samples_ms", run->ends_s, options->iterations);
	printf(",\"verified\":%s}\n", right ? "true" : "false");
	fflush(stdout);
}

int main(int argc, char **argv)
{
	struct options options;
	struct team world;
	struct run run;
	int right;

	MPI_Init(&argc, &argv);
	options = parse_options(argc, argv);
	world = team_of(MPI_COMM_WORLD);
	check_size(&options, world.ranks);
	run = run_team(&options, &world, options.pause);
	right = is_right(&options, &world, &run);
	report(&options, &world, &run, right);
	free_run(&run);
	MPI_Finalize();
	return right ? 0 : 1;
}
