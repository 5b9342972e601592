// SPDX-License-Identifier: Apache-2.0
// As IS: keys are sorted by buckets.  Each iteration counts keys, tells all ranks the
// counts (allreduce), the other ranks how many keys come (alltoall) and sends each key to
// the rank that ranks its bucket (alltoallv).
#include <limits.h>
#include <math.h>
#include <stdlib.h>

#include "kernel.h"

#define BUCKETS 1024
/* As in classes W to C there are so many times fewer values than keys. */
#define KEYS_OF_A_VALUE 16
#define LEAST_KEYS (BUCKETS * KEYS_OF_A_VALUE)

struct sort {
	struct team team;
	int values;
	int bucket_shift;		/* what is above so many bits of a key is its bucket */
	int key_count;			/* of this rank */
	int *keys;
	int *by_bucket;			/* the keys, bucket after bucket */
	int *received;
	int received_size;
	int own[BUCKETS], all[BUCKETS];	/* keys in each bucket: this rank's, all ranks' */
	int first_bucket[2];		/* this rank's, the next one's */
	int *send_counts, *send_at, *receive_counts, *receive_at;
	int *occurrences;		/* of a value */
};

static const char *is_unfit(int size, int ranks)
{
	if (size < LEAST_KEYS || size & (size - 1))
		return "the number of keys must be a power of two, at least 16384";
	return ranks > BUCKETS ? "there are 1024 buckets, and so at most as many ranks" : NULL;
}

/* Values in the middle are the most frequent, as sums of four random numbers are. */
static int key_of(int values, uint64_t index)
{
	double sum = 0;

	for (int i = 0; i < 4; i++)
		sum += random_of(4 * index + i);
	return (int)(sum / 4 * values);
}

static void *is_prepare(const struct team *team, int size)
{
	struct sort *sort = allocate(1, sizeof(*sort));
	int begin = part_begin(size, team->ranks, team->rank);

	sort->team = *team;
	sort->values = size / KEYS_OF_A_VALUE;
	while (BUCKETS << sort->bucket_shift < sort->values)
		sort->bucket_shift++;
	sort->key_count = part_begin(size, team->ranks, team->rank + 1) - begin;
	sort->keys = allocate(sort->key_count, sizeof(int));
	sort->by_bucket = allocate(sort->key_count, sizeof(int));
	sort->occurrences = allocate(sort->values, sizeof(int));
	sort->send_counts = allocate(team->ranks, sizeof(int));
	sort->send_at = allocate(team->ranks, sizeof(int));
	sort->receive_counts = allocate(team->ranks, sizeof(int));
	sort->receive_at = allocate(team->ranks, sizeof(int));
	for (int i = 0; i < sort->key_count; i++)
		sort->keys[i] = key_of(sort->values, begin + i);
	return sort;
}

static int bucket_of(const struct sort *sort, int key)
{
	return key >> sort->bucket_shift;
}

static void fill_buckets(struct sort *sort)
{
	int next[BUCKETS], sum = 0;

	for (int bucket = 0; bucket < BUCKETS; bucket++)
		sort->own[bucket] = 0;
	for (int i = 0; i < sort->key_count; i++)
		sort->own[bucket_of(sort, sort->keys[i])]++;
	for (int bucket = 0; bucket < BUCKETS; bucket++) {
		next[bucket] = sum;
		sum += sort->own[bucket];
	}
	for (int i = 0; i < sort->key_count; i++)
		sort->by_bucket[next[bucket_of(sort, sort->keys[i])]++] = sort->keys[i];
}

/* Whole buckets, so that each rank gets about as many keys. */
static void divide_buckets(struct sort *sort, int total)
{
	int to = 0, before = 0;

	for (int rank = 0; rank < sort->team.ranks; rank++)
		sort->send_counts[rank] = 0;
	sort->first_bucket[0] = sort->first_bucket[1] = BUCKETS;
	for (int bucket = 0; bucket < BUCKETS; bucket++) {
		while (to + 1 < sort->team.ranks && before >= part_begin(total, sort->team.ranks, to + 1))
			to++;
		sort->send_counts[to] += sort->own[bucket];
		for (int i = 0; i < 2; i++)
			if (to >= sort->team.rank + i && sort->first_bucket[i] == BUCKETS)
				sort->first_bucket[i] = bucket;
		before += sort->all[bucket];
	}
}

/* How many keys have come. */
static int exchange_keys(struct sort *sort)
{
	int ranks = sort->team.ranks, count;

	MPI_Alltoall(sort->send_counts, 1, MPI_INT, sort->receive_counts, 1, MPI_INT, sort->team.comm);
	add_up(ranks, sort->send_counts, sort->send_at);
	count = add_up(ranks, sort->receive_counts, sort->receive_at);
	if (count > sort->received_size) {
		free(sort->received);
		sort->received = allocate(count, sizeof(int));
		sort->received_size = count;
	}
	MPI_Alltoallv(sort->by_bucket, sort->send_counts, sort->send_at, MPI_INT, sort->received,
		      sort->receive_counts, sort->receive_at, MPI_INT, sort->team.comm);
	return count;
}

/* Sums up the sorted keys and their places; it is a whole number, so that sums are exact. */
static double rank_keys(struct sort *sort, int count)
{
	int first = sort->first_bucket[0] << sort->bucket_shift, end = sort->first_bucket[1] << sort->bucket_shift;
	long long place = 0, sum = 0;

	for (int bucket = 0; bucket < sort->first_bucket[0]; bucket++)
		place += sort->all[bucket];
	for (int value = 0; value < sort->values; value++)
		sort->occurrences[value] = 0;
	for (int i = 0; i < count; i++) {
		int key = sort->received[i];

		if (key < first || key >= end)
			return NAN;	/* somebody else's */
		sort->occurrences[key]++;
	}
	for (int value = 0; value < sort->values; value++)
		for (int i = 0; i < sort->occurrences[value]; i++)
			sum += (value + 1) * (place++ % 1021 + 1);
	return (double)sum;
}

static double is_iterate(void *state, int iteration)
{
	struct sort *sort = state;
	int total = 0;

	/* no two iterations are the same */
	if (sort->team.rank == 0)
		sort->keys[iteration % sort->key_count] = iteration % sort->values;
	fill_buckets(sort);
	MPI_Allreduce(sort->own, sort->all, BUCKETS, MPI_INT, MPI_SUM, sort->team.comm);
	for (int bucket = 0; bucket < BUCKETS; bucket++)
		total += sort->all[bucket];
	divide_buckets(sort, total);
	return rank_keys(sort, exchange_keys(sort));
}

static void is_release(void *state)
{
	struct sort *sort = state;

	free(sort->keys);
	free(sort->by_bucket);
	free(sort->received);
	free(sort->send_counts);
	free(sort->send_at);
	free(sort->receive_counts);
	free(sort->receive_at);
	free(sort->occurrences);
	free(sort);
}

const struct kernel is_kernel = {
	.name = "IS", .size_means = "keys", .size = 1 << 16, .tolerance = 0,
	.unfit = is_unfit, .prepare = is_prepare, .iterate = is_iterate, .release = is_release,
};
