// SPDX-License-Identifier: Apache-2.0
// As training of a mixture of experts, one of them on each rank.  Each iteration routes every
// token to an expert, tells the other ranks how many tokens come (alltoall), sends the tokens to
// their experts (alltoallv), which work on them, and sends them back (alltoallv).
//
// Experts are chosen by Zipf's law, and in each iteration others are the popular ones.  Tokens are
// whole numbers, so that results are exact.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernel.h"

/* The first one says which expert; 1 KiB in all. */
#define TOKEN_WORDS 256
/* The most popular of 8 experts gets 3.4 times the mean, of 16 5.8 times. */
#define ZIPF_EXPONENT 1.2
/* The sums of more would not be exact. */
#define MOST_TOKENS (1 << 15)

struct mixture {
	struct team team;
	int experts;			/* of the job: a rank alone has all of them */
	int first_token, token_count;	/* of this rank */
	uint32_t *tokens;
	uint32_t *by_rank;		/* the tokens, in the order of where they go */
	int *place;			/* of a token there */
	uint32_t *received;
	int received_size;		/* in tokens */
	int *popular;			/* the experts, the most popular one first */
	double *up_to;			/* the part of all tokens that goes to this one of them and those before */
	int *send_counts, *send_at, *receive_counts, *receive_at;	/* in words */
};

static const char *moe_unfit(int size, int ranks)
{
	if (size > MOST_TOKENS)
		return "at most 32768 tokens can be summed up exactly";
	return size < ranks ? "each rank needs a token" : NULL;
}

static void set_popularity(struct mixture *moe)
{
	double sum = 0;

	for (int i = 0; i < moe->experts; i++) {
		sum += pow(i + 1, -ZIPF_EXPONENT);
		moe->up_to[i] = sum;
	}
	for (int i = 0; i < moe->experts; i++)
		moe->up_to[i] /= sum;
}

static void *moe_prepare(const struct team *team, int size)
{
	struct mixture *moe = allocate(1, sizeof(*moe));

	moe->team = *team;
	MPI_Comm_size(MPI_COMM_WORLD, &moe->experts);
	moe->first_token = part_begin(size, team->ranks, team->rank);
	moe->token_count = part_begin(size, team->ranks, team->rank + 1) - moe->first_token;
	moe->tokens = allocate((size_t)moe->token_count * TOKEN_WORDS, sizeof(*moe->tokens));
	moe->by_rank = allocate((size_t)moe->token_count * TOKEN_WORDS, sizeof(*moe->by_rank));
	moe->place = allocate(moe->token_count, sizeof(int));
	moe->popular = allocate(moe->experts, sizeof(int));
	moe->up_to = allocate(moe->experts, sizeof(double));
	moe->send_counts = allocate(team->ranks, sizeof(int));
	moe->send_at = allocate(team->ranks, sizeof(int));
	moe->receive_counts = allocate(team->ranks, sizeof(int));
	moe->receive_at = allocate(team->ranks, sizeof(int));
	set_popularity(moe);
	for (int i = 0; i < moe->token_count * TOKEN_WORDS; i++)
		moe->tokens[i] = (uint32_t)(moe->first_token * TOKEN_WORDS + i) * 2654435761u;
	return moe;
}

/* A number for each iteration and thing of it, no matter which rank asks. */
static double drawn(int iteration, int thing)
{
	return random_of((uint64_t)(iteration + 1) << 32 | (uint32_t)thing);
}

static void shuffle_experts(struct mixture *moe, int iteration)
{
	for (int i = 0; i < moe->experts; i++) {
		int other = (int)(drawn(iteration, MOST_TOKENS + i) * (i + 1));

		moe->popular[i] = moe->popular[other];
		moe->popular[other] = i;
	}
}

static int choose_expert(const struct mixture *moe, int iteration, int token)
{
	double where = drawn(iteration, token);
	int i = 0;

	while (i + 1 < moe->experts && where >= moe->up_to[i])
		i++;
	return moe->popular[i];
}

static int rank_of(const struct mixture *moe, int expert)
{
	return expert * moe->team.ranks / moe->experts;
}

/* Puts the tokens in the order of the ranks that they go to. */
static void route(struct mixture *moe, int iteration)
{
	int ranks = moe->team.ranks;

	shuffle_experts(moe, iteration);
	memset(moe->send_counts, 0, ranks * sizeof(int));
	for (int i = 0; i < moe->token_count; i++) {
		uint32_t *token = &moe->tokens[i * TOKEN_WORDS];

		token[0] = choose_expert(moe, iteration, moe->first_token + i);
		moe->send_counts[rank_of(moe, token[0])] += TOKEN_WORDS;
	}
	add_up(ranks, moe->send_counts, moe->send_at);
	memset(moe->send_counts, 0, ranks * sizeof(int));
	for (int i = 0; i < moe->token_count; i++) {
		const uint32_t *token = &moe->tokens[i * TOKEN_WORDS];
		int rank = rank_of(moe, token[0]);

		moe->place[i] = moe->send_at[rank] + moe->send_counts[rank];
		moe->send_counts[rank] += TOKEN_WORDS;
		memcpy(&moe->by_rank[moe->place[i]], token, TOKEN_WORDS * sizeof(*token));
	}
}

/* How many tokens have come. */
static int dispatch(struct mixture *moe)
{
	int ranks = moe->team.ranks, count;

	MPI_Alltoall(moe->send_counts, 1, MPI_INT, moe->receive_counts, 1, MPI_INT, moe->team.comm);
	count = add_up(ranks, moe->receive_counts, moe->receive_at) / TOKEN_WORDS;
	if (count > moe->received_size) {
		free(moe->received);
		moe->received = allocate((size_t)count * TOKEN_WORDS, sizeof(*moe->received));
		moe->received_size = count;
	}
	MPI_Alltoallv(moe->by_rank, moe->send_counts, moe->send_at, MPI_UINT32_T, moe->received,
		      moe->receive_counts, moe->receive_at, MPI_UINT32_T, moe->team.comm);
	return count;
}

/* An expert's work depends on the expert, so a token that another one got comes back different. */
static void work(struct mixture *moe, int count)
{
	for (int i = 0; i < count; i++) {
		uint32_t *token = &moe->received[i * TOKEN_WORDS];
		/* a rank's only expert needs no telling */
		uint32_t expert = moe->team.ranks == moe->experts ? (uint32_t)moe->team.rank : token[0];

		for (int word = 1; word < TOKEN_WORDS; word++)
			token[word] = token[word] * (2 * expert + 3) + expert + word;
	}
}

/* Returns the part of the checksum. */
static double fetch_back(struct mixture *moe)
{
	long long sum = 0;

	MPI_Alltoallv(moe->received, moe->receive_counts, moe->receive_at, MPI_UINT32_T, moe->by_rank,
		      moe->send_counts, moe->send_at, MPI_UINT32_T, moe->team.comm);
	for (int i = 0; i < moe->token_count; i++) {
		uint32_t *token = &moe->tokens[i * TOKEN_WORDS];
		int weight = (moe->first_token + i) % 127 + 1;

		memcpy(token, &moe->by_rank[moe->place[i]], TOKEN_WORDS * sizeof(*token));
		for (int word = 0; word < TOKEN_WORDS; word++)
			sum += (long long)(token[word] >> 10) * weight;
	}
	return (double)sum;
}

static double moe_iterate(void *state, int iteration)
{
	struct mixture *moe = state;

	route(moe, iteration);
	work(moe, dispatch(moe));
	return fetch_back(moe);
}

static void moe_release(void *state)
{
	struct mixture *moe = state;

	free(moe->tokens);
	free(moe->by_rank);
	free(moe->place);
	free(moe->received);
	free(moe->popular);
	free(moe->up_to);
	free(moe->send_counts);
	free(moe->send_at);
	free(moe->receive_counts);
	free(moe->receive_at);
	free(moe);
}

const struct kernel moe_kernel = {
	.name = "MOE", .size_means = "tokens", .size = 1 << 10, .tolerance = 0,
	.unfit = moe_unfit, .prepare = moe_prepare, .iterate = moe_iterate, .release = moe_release,
};
