// SPDX-License-Identifier: Apache-2.0
// Times a collective: alltoall, alltoallv, alltoallv_skewed, neighbor_alltoall on a
// periodic grid of two dimensions (_ring: one, _cube: three, _open: two that are not periodic),
// allgather, bcast, allreduce, reduce_scatter_block, or gather and reduce to and scatter from rank 0.
//
//   collective_bench --sizes [OPERATION:]16384,65536[:REPETITIONS[:BETWEEN_MS]]
//                    [--operation alltoall] [--repetitions 10] [--warmup 2] [--pause]
//                    [--algorithm library [--lock-step]] [--staged] [--first-cluster RANKS]
//
// With --algorithm an alltoall is not the MPI library's: alltoall_algorithms.h; with --staged
// neither is an alltoallv: staged_alltoallv.h, planned before the calls.  --first-cluster says
// how many ranks the first of two clusters has (half of them).
//
// Of alltoallv_skewed a third of the pairs exchange the bytes of the size and the others a
// quarter of these, so that ranks send and receive different sums, as a mixture of experts does.
//
// For each size (bytes from one rank to another) rank 0 prints one JSON object on a line:
//   {"operation":"alltoall","ranks":8,"bytes":65536,"between_ms":0,"warmup_ms":[...],
//    "samples_ms":[...],"first_through_ms":[...],"starts_s":[...],
//    "slowest_flow_to_mean":0.97,"crossing_bytes":1048576}
// crossing_bytes: of an all-to-all, what goes from one cluster to the other, in the direction
// in which that is more.
// All ranks start a call at the same moment, which rank 0 names after a barrier: out
// of the barrier itself they come as far apart as the network's delay.  A sample is
// the time from then until the last rank is through, first_through_ms until the first
// one is; starts_s are these moments.
// Both are on CLOCK_MONOTONIC, which the ranks have to share: this is for networks
// within one machine.  slowest_flow_to_mean: of the sampled calls the median of what
// flow_times.h tells.  The first call of each size is checked byte by byte; wrong
// data ends the job with status 1.
//
// A size may name its own operation (gather:16384), so that one job has several, its own number
// of repetitions, and BETWEEN_MS: every rank then
// sleeps as long before the barrier of each call, as a program that computes
// leaves the network alone.
//
// The first object also has "first_ms", the time of the first call.  It is the
// job's first collective after MPI_Init but for the barrier and the broadcast of
// eight bytes before it, which open some of the connections, as whatever a program
// does first would.
//
// --pause has nothing to do with BETWEEN_MS: before and after the sampled calls of
// each size the job waits for a reader, as reader_pause.h says, with the size's bytes.
#define _GNU_SOURCE
#include <getopt.h>
#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

#include "alltoall_algorithms.h"
#include "flow_times.h"
#include "reader_pause.h"
#include "staged_alltoallv.h"
#include "bench_parts.h"

#define MAX_SIZES 64
#define MAX_REPETITIONS 10000
#define MAX_BETWEEN_MS 10000
/* The kernel may wake a sleeper so much later, unless it is told otherwise. */
#define TIMER_SLACK_NS 1UL
/* Most pairs of alltoallv_skewed exchange a block divided by this. */
#define SKEW 4

#define MAX_GRID_DIMENSIONS 3

/* All-to-alls come first; from BCAST on a rank ends up with one vector. */
enum operation {
	ALLTOALL, ALLTOALLV, ALLTOALLV_SKEWED, NEIGHBOR_ALLTOALL, NEIGHBOR_RING, NEIGHBOR_CUBE, NEIGHBOR_OPEN, ALLGATHER, GATHER, SCATTER,
	BCAST, REDUCE, ALLREDUCE, REDUCE_SCATTER_BLOCK, OPERATION_COUNT
};

static const char *const operation_names[OPERATION_COUNT] = {
	"alltoall", "alltoallv", "alltoallv_skewed", "neighbor_alltoall", "neighbor_alltoall_ring",
	"neighbor_alltoall_cube", "neighbor_alltoall_open", "allgather", "gather", "scatter", "bcast", "reduce", "allreduce",
	"reduce_scatter_block",
};

struct size {
	bool is_first;
	int operation;		/* -1: that of all */
	int bytes;
	int repetitions;	/* 0: as all */
	int between_ms;
};

struct options {
	struct size sizes[MAX_SIZES];
	int size_count;
	int repetitions;
	int warmup;
	enum operation operation;
	enum alltoall_algorithm algorithm;
	bool lock_step;
	bool staged;
	int first_cluster;	/* 0: half of the ranks */
	bool pause;
};

struct job {
	int rank;
	int ranks;
};

struct exchange {
	unsigned char *send;
	unsigned char *receive;
	/* Each block's peer, the bytes sent to it and received, and where it begins. */
	int blocks;
	int *peers;
	int *sent;
	int *received;
	int *displacements;
	int bytes;		/* of the largest block */
	MPI_Comm grid;		/* of neighbor_alltoall */
	enum alltoall_algorithm algorithm;
	struct alltoall alltoall;
	bool is_staged;
	struct staged_alltoallv staged;
};

/* The place of a name among those that an option knows. */
static int parse_name(const char *name, const char *const *known, int count, const char *option)
{
	for (int at = 0; at < count; at++)
		if (!strcmp(name, known[at]))
			return at;
	fprintf(stderr, "collective_bench: %s %s: there are", option, name);
	for (int at = 0; at < count; at++)
		fprintf(stderr, "%s %s", at ? "," : "", known[at]);
	fputc('\n', stderr);
	MPI_Abort(MPI_COMM_WORLD, 2);
	return 0;
}

static void parse_size(char *word, struct size *size)
{
	char *bytes = strsep(&word, ":");
	char *repetitions;

	if (*bytes < '0' || *bytes > '9') {
		size->operation = parse_name(bytes, operation_names, OPERATION_COUNT, "--sizes");
		bytes = strsep(&word, ":");
		if (!bytes)
			fail("--sizes: %s", "an operation without bytes");
	}
	size->bytes = parse_number(bytes, 1, 1 << 28, "--sizes");
	repetitions = strsep(&word, ":");
	if (repetitions)
		size->repetitions = parse_number(repetitions, 1, MAX_REPETITIONS, "--sizes");
	if (word)
		size->between_ms = parse_number(word, 0, MAX_BETWEEN_MS, "--sizes");
}

static void parse_sizes(char *list, struct options *options)
{
	char *rest = list;

	for (char *word = strsep(&rest, ","); word; word = strsep(&rest, ",")) {
		struct size *size = &options->sizes[options->size_count];

		if (options->size_count == MAX_SIZES)
			fail("--sizes: more than fit: %s", word);
		*size = (struct size){ .is_first = !options->size_count, .operation = -1 };
		options->size_count++;
		parse_size(word, size);
	}
}

static bool has_lists(enum operation operation)
{
	return operation == ALLTOALLV || operation == ALLTOALLV_SKEWED;
}

/* Returns the options that hold for one size. */
static struct options options_of(const struct options *options, const struct size *size)
{
	struct options own = *options;

	if (size->operation >= 0)
		own.operation = size->operation;
	if (own.algorithm && own.operation != ALLTOALL)
		fail("%s", "--algorithm is for --operation alltoall");
	if (own.staged && !has_lists(own.operation))
		fail("%s", "--staged is for --operation alltoallv and alltoallv_skewed");
	return own;
}

static struct options parse_options(int argc, char **argv)
{
	static const struct option known[] = {
		{ "sizes", required_argument, NULL, 's' },
		{ "repetitions", required_argument, NULL, 'r' },
		{ "warmup", required_argument, NULL, 'w' },
		{ "operation", required_argument, NULL, 'o' },
		{ "algorithm", required_argument, NULL, 'a' },
		{ "lock-step", no_argument, NULL, 'l' },
		{ "staged", no_argument, NULL, 'g' },
		{ "first-cluster", required_argument, NULL, 'f' },
		{ "pause", no_argument, NULL, 'p' },
		{ 0 }
	};
	struct options options = { .repetitions = 10, .warmup = 2 };
	int option;

	while ((option = getopt_long(argc, argv, "", known, NULL)) != -1) {
		switch (option) {
		case 's':
			parse_sizes(optarg, &options);
			break;
		case 'r':
			options.repetitions = parse_number(optarg, 1, MAX_REPETITIONS,
							   "--repetitions");
			break;
		case 'w':
			options.warmup = parse_number(optarg, 0, MAX_REPETITIONS, "--warmup");
			break;
		case 'o':
			options.operation = parse_name(optarg, operation_names, OPERATION_COUNT,
						       "--operation");
			break;
		case 'a':
			options.algorithm = parse_name(optarg, alltoall_algorithm_names,
						       ALLTOALL_ALGORITHM_COUNT, "--algorithm");
			break;
		case 'l':
			options.lock_step = true;
			break;
		case 'g':
			options.staged = true;
			break;
		case 'f':
			options.first_cluster = parse_number(optarg, 1, INT32_MAX,
							     "--first-cluster");
			break;
		case 'p':
			options.pause = true;
			break;
		default:
			fail("%s", "see the head of collective_bench.c for its options");
		}
	}
	if (!options.size_count)
		fail("%s", "--sizes is missing");
	if (optind < argc)
		fail("unknown argument %s", argv[optind]);
	for (int i = 0; i < options.size_count; i++)
		options_of(&options, &options.sizes[i]);
	return options;
}

/* Returns byte `at` of the message from one rank to another. */
static unsigned char pattern(int from, int to, int at)
{
	return (unsigned char)(from * 31 + to * 17 + at + at / 251);
}

/* Says whether a pair is one of the heavy ones: a third of the pairs, in no order. */
static bool is_heavy(int from, int to)
{
	uint32_t mixed = (uint32_t)from * 2654435761u + (uint32_t)to * 2246822519u;

	mixed = (mixed ^ (mixed >> 15)) * 2246822519u;
	return (mixed >> 16) % 3 == 0;
}

static int bytes_between(enum operation operation, int bytes, int from, int to)
{
	if (from == MPI_PROC_NULL || to == MPI_PROC_NULL)	/* beyond the edge of a grid */
		return 0;
	return operation != ALLTOALLV_SKEWED || is_heavy(from, to) ? bytes : bytes / SKEW;
}

static int first_cluster(const struct job *job, const struct options *options)
{
	return options->first_cluster ? options->first_cluster : job->ranks / 2;
}

/* Counts the bytes from the ranks of one cluster to those of the other. */
static long long bytes_across(const struct job *job, const struct options *options, int bytes,
			      bool from_first)
{
	int first = first_cluster(job, options);
	long long total = 0;

	for (int from = 0; from < job->ranks; from++)
		for (int to = 0; to < job->ranks; to++)
			if ((from < first) == from_first && (to < first) != from_first)
				total += bytes_between(options->operation, bytes, from, to);
	return total;
}

/* Returns the dimensions of a neighbour collective's grid; 0: the operation has no grid. */
static int grid_dimensions(enum operation operation)
{
	switch (operation) {
	case NEIGHBOR_RING:
		return 1;
	case NEIGHBOR_ALLTOALL:
	case NEIGHBOR_OPEN:
		return 2;
	case NEIGHBOR_CUBE:
		return MAX_GRID_DIMENSIONS;
	default:
		return 0;
	}
}

/* The neighbours in the order in which neighbor_alltoall has their blocks. */
static void make_grid(const struct job *job, enum operation operation, struct exchange *exchange)
{
	int dimension_count = grid_dimensions(operation);
	int dimensions[MAX_GRID_DIMENSIONS] = { 0 }, periodic[MAX_GRID_DIMENSIONS] = { 0 };

	for (int at = 0; operation != NEIGHBOR_OPEN && at < dimension_count; at++)
		periodic[at] = 1;
	MPI_Dims_create(job->ranks, dimension_count, dimensions);
	MPI_Cart_create(MPI_COMM_WORLD, dimension_count, dimensions, periodic, 0, &exchange->grid);
	for (int at = 0; at < dimension_count; at++)
		MPI_Cart_shift(exchange->grid, at, 1, &exchange->peers[2 * at],
			       &exchange->peers[2 * at + 1]);
}

static struct staged_alltoallv plan_exchange(const struct job *job, enum operation operation,
					     int bytes)
{
	int *matrix = allocate((size_t)job->ranks * job->ranks * sizeof(int));
	struct staged_alltoallv staged;

	for (int from = 0; from < job->ranks; from++)
		for (int to = 0; to < job->ranks; to++)
			matrix[(size_t)from * job->ranks + to] =
				bytes_between(operation, bytes, from, to);
	staged = plan_stages(matrix, job->rank, job->ranks);
	free(matrix);
	return staged;
}

static void fill_exchange(const struct job *job, enum operation operation,
			  struct exchange *exchange)
{
	int bytes = exchange->bytes;

	memset(exchange->receive, 0xff, (size_t)exchange->blocks * bytes);
	for (int at = 0; job->rank == 0 && at < bytes; at++)	/* of a broadcast */
		exchange->receive[at] = pattern(0, 0, at);
	for (int block = 0; block < exchange->blocks; block++) {
		int peer = exchange->peers[block];

		exchange->sent[block] = bytes_between(operation, bytes, job->rank, peer);
		exchange->received[block] = bytes_between(operation, bytes, peer, job->rank);
		exchange->displacements[block] = block * bytes;
		for (int at = 0; at < bytes; at++)
			exchange->send[(size_t)block * bytes + at] = pattern(job->rank, peer, at);
	}
}

static struct exchange prepare_exchange(const struct job *job, const struct options *options,
					int bytes)
{
	int dimension_count = grid_dimensions(options->operation);
	int blocks = dimension_count ? 2 * dimension_count : job->ranks;
	size_t total = (size_t)blocks * bytes;

	if (total > INT32_MAX)
		fail("%s", "--sizes: too large for so many ranks");

	struct exchange exchange = {
		.send = allocate(total),
		.receive = allocate(total),
		.blocks = blocks,
		.peers = allocate(blocks * sizeof(int)),
		.sent = allocate(blocks * sizeof(int)),
		.received = allocate(blocks * sizeof(int)),
		.displacements = allocate(blocks * sizeof(int)),
		.bytes = bytes,
		.grid = MPI_COMM_NULL,
		.algorithm = options->algorithm,
		.is_staged = options->staged,
	};

	exchange.alltoall = (struct alltoall){
		.send = exchange.send,
		.receive = exchange.receive,
		.bytes = bytes,
		.rank = job->rank,
		.ranks = job->ranks,
		.first_cluster = first_cluster(job, options),
		.in_lock_step = options->lock_step,
	};
	if (exchange.alltoall.first_cluster > job->ranks)
		fail("%s", "--first-cluster: more than there are ranks");
	for (int block = 0; block < blocks; block++)
		exchange.peers[block] = block;
	if (dimension_count)
		make_grid(job, options->operation, &exchange);
	if (options->staged)
		exchange.staged = plan_exchange(job, options->operation, bytes);
	fill_exchange(job, options->operation, &exchange);
	return exchange;
}

static void free_exchange(struct exchange *exchange)
{
	free(exchange->send);
	free(exchange->receive);
	free(exchange->peers);
	free(exchange->sent);
	free(exchange->received);
	free(exchange->displacements);
	free_stages(&exchange->staged);
	if (exchange->grid != MPI_COMM_NULL)
		MPI_Comm_free(&exchange->grid);
}

/* An operation in which a rank has one message for all sends that to rank 0. */
static int addressee(enum operation operation, int rank)
{
	return operation < ALLGATHER || operation == SCATTER ? rank : 0;
}

/* Byte `at` that a rank has after a broadcast or a reduction (exclusive or). */
static unsigned char combined(const struct job *job, enum operation operation, int at)
{
	int block = operation == REDUCE_SCATTER_BLOCK ? job->rank : 0;
	unsigned char value = 0;

	if (operation == BCAST)
		return pattern(0, 0, at);
	for (int rank = 0; rank < job->ranks; rank++)
		value ^= pattern(rank, block, at);
	return value;
}

static void check_combined(const struct job *job, const struct exchange *exchange,
			   enum operation operation)
{
	if (operation == REDUCE && job->rank)
		return;
	for (int at = 0; at < exchange->bytes; at++) {
		if (exchange->receive[at] == combined(job, operation, at))
			continue;
		fprintf(stderr, "collective_bench: rank %d: wrong byte %d\n", job->rank, at);
		MPI_Abort(MPI_COMM_WORLD, 1);
	}
}

/* How many blocks this rank has got. */
static int blocks_received(const struct job *job, const struct exchange *exchange,
			   enum operation operation)
{
	if (operation == SCATTER)
		return 1;
	return operation == GATHER && job->rank ? 0 : exchange->blocks;
}

static void check_exchange(const struct job *job, const struct exchange *exchange,
			   enum operation operation)
{
	int to = addressee(operation, job->rank);

	if (operation >= BCAST) {
		check_combined(job, exchange, operation);
		return;
	}
	for (int block = 0; block < blocks_received(job, exchange, operation); block++) {
		int from = exchange->peers[block];

		for (int at = 0; at < exchange->received[block]; at++) {
			if (exchange->receive[exchange->displacements[block] + at] ==
			    pattern(from, to, at))
				continue;
			fprintf(stderr, "collective_bench: rank %d: wrong byte %d from rank %d\n",
				job->rank, at, from);
			MPI_Abort(MPI_COMM_WORLD, 1);
		}
	}
}

static void call_with_lists(const struct exchange *exchange)
{
	if (exchange->is_staged)
		run_stages(&exchange->staged, exchange->send, exchange->receive,
			   exchange->displacements);
	else
		MPI_Alltoallv(exchange->send, exchange->sent, exchange->displacements, MPI_BYTE,
			      exchange->receive, exchange->received, exchange->displacements,
			      MPI_BYTE, MPI_COMM_WORLD);
}

static void call(const struct exchange *exchange, enum operation operation)
{
	unsigned char *send = exchange->send, *receive = exchange->receive;
	int bytes = exchange->bytes;

	switch (operation) {
	case ALLTOALLV:
	case ALLTOALLV_SKEWED:
		call_with_lists(exchange);
		break;
	case NEIGHBOR_ALLTOALL:
	case NEIGHBOR_RING:
	case NEIGHBOR_CUBE:
	case NEIGHBOR_OPEN:
		MPI_Neighbor_alltoall(send, bytes, MPI_BYTE, receive, bytes, MPI_BYTE,
				      exchange->grid);
		break;
	case ALLGATHER:
		MPI_Allgather(send, bytes, MPI_BYTE, receive, bytes, MPI_BYTE, MPI_COMM_WORLD);
		break;
	case GATHER:
		MPI_Gather(send, bytes, MPI_BYTE, receive, bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
		break;
	case SCATTER:
		MPI_Scatter(send, bytes, MPI_BYTE, receive, bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
		break;
	case BCAST:
		MPI_Bcast(receive, bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
		break;
	case REDUCE:
		MPI_Reduce(send, receive, bytes, MPI_BYTE, MPI_BXOR, 0, MPI_COMM_WORLD);
		break;
	case ALLREDUCE:
		MPI_Allreduce(send, receive, bytes, MPI_BYTE, MPI_BXOR, MPI_COMM_WORLD);
		break;
	case REDUCE_SCATTER_BLOCK:
		MPI_Reduce_scatter_block(send, receive, bytes, MPI_BYTE, MPI_BXOR, MPI_COMM_WORLD);
		break;
	default:
		run_alltoall(exchange->algorithm, &exchange->alltoall);
	}
}

/* One call: what rank 0 keeps of it, and each rank of its own flows. */
struct sample {
	double ms;		/* of the slowest rank, on rank 0 */
	double first_ms;	/* of the fastest one, likewise */
	double start_s;
	struct flow_times flows;
};

static void run_once(const struct exchange *exchange, enum operation operation,
		     struct sample *sample)
{
	double own;

	sample->start_s = start_together();
	flow_times_start();
	call(exchange, operation);
	own = (monotonic_s() - sample->start_s) * 1e3;
	sample->flows = flow_times_end(exchange->bytes);
	MPI_Reduce(&own, &sample->ms, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
	MPI_Reduce(&own, &sample->first_ms, 1, MPI_DOUBLE, MPI_MIN, 0, MPI_COMM_WORLD);
}

static void sleep_ms(int ms)
{
	const struct timespec time = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L };

	if (ms)
		nanosleep(&time, NULL);
}

/* `member`: where in a sample the time is. */
static void print_times(const char *name, const struct sample *samples, int count, size_t member,
			int decimals)
{
	printf(",\"%s\":[", name);
	for (int i = 0; i < count; i++)
		printf("%s%.*f", i ? "," : "", decimals,
		       *(const double *)((const char *)&samples[i] + member));
	printf("]");
}

static void report(const struct job *job, const struct options *options,
		   const struct size *size, const struct sample *samples, int repetitions)
{
	double slowest = flow_times_slowest_to_mean(&samples[options->warmup].flows,
						    sizeof(*samples), repetitions);

	if (job->rank)
		return;
	printf("{\"operation\":\"%s\",\"ranks\":%d,\"bytes\":%d,\"between_ms\":%d",
	       operation_names[options->operation], job->ranks, size->bytes, size->between_ms);
	if (size->is_first)
		printf(",\"first_ms\":%.3f", samples->ms);
	print_times("warmup_ms", samples, options->warmup, offsetof(struct sample, ms), 3);
	samples += options->warmup;
	print_times("samples_ms", samples, repetitions, offsetof(struct sample, ms), 3);
	print_times("first_through_ms", samples, repetitions, offsetof(struct sample, first_ms), 3);
	print_times("starts_s", samples, repetitions, offsetof(struct sample, start_s), 6);
	printf(",\"slowest_flow_to_mean\":%.4f", slowest);
	if (options->operation < NEIGHBOR_ALLTOALL) {
		long long there = bytes_across(job, options, size->bytes, true);
		long long back = bytes_across(job, options, size->bytes, false);

		printf(",\"crossing_bytes\":%lld", there > back ? there : back);
	}
	printf("}\n");
	fflush(stdout);
}

static void bench_size(const struct job *job, const struct options *options,
		       const struct size *size)
{
	int repetitions = size->repetitions ? size->repetitions : options->repetitions;
	int calls = options->warmup + repetitions;
	struct exchange exchange = prepare_exchange(job, options, size->bytes);
	struct sample *samples = calloc(calls, sizeof(*samples));

	if (!samples)
		fail("%s", "out of memory");
	for (int call = 0; call < calls; call++) {
		if (options->pause && call == options->warmup)
			pause_for_reader("before", size->bytes);
		sleep_ms(size->between_ms);
		run_once(&exchange, options->operation, &samples[call]);
		if (call == 0)
			check_exchange(job, &exchange, options->operation);
	}
	if (options->pause)
		pause_for_reader("after", size->bytes);
	report(job, options, size, samples, repetitions);
	free(samples);
	free_exchange(&exchange);
}

int main(int argc, char **argv)
{
	struct options options;
	struct job job;

	prctl(PR_SET_TIMERSLACK, TIMER_SLACK_NS);
	MPI_Init(&argc, &argv);
	options = parse_options(argc, argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &job.rank);
	MPI_Comm_size(MPI_COMM_WORLD, &job.ranks);
	for (int i = 0; i < options.size_count; i++) {
		const struct options own = options_of(&options, &options.sizes[i]);

		bench_size(&job, &own, &options.sizes[i]);
	}
	MPI_Finalize();
	return 0;
}
