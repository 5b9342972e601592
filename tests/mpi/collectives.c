// SPDX-License-Identifier: Apache-2.0
// Runs collectives in both forms with random arguments and prints a digest of
// every rank's buffers for each, so that two runs can be compared.
//
//   collectives [--cases N] [--seed N] [--only OPERATION,...] [--times N]
//
// A case is drawn from: operation; blocking or nonblocking form; communicator; datatypes; counts, some
// zero; root; MPI_IN_PLACE; and for requests the way to wait.  Every rank draws
// the same.  --times multiplies counts that differ from pair to pair.  One line of output
// for each: "NUMBER WHAT... DIGEST".
#include <getopt.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_RANKS 16
#define MAX_COUNT 2000	/* elements of a pair: up to 8000 bytes of int */
#define ROOM (1u << 20)

enum where { WORLD, REVERSED, HALF, CART, GRAPH, INTER, PLACES };

static const char *const where_names[] = { "world", "reversed", "half", "cart", "graph", "inter" };

struct layout {		/* of a datatype: `ints` of int, `extent` of them apart */
	const char *name;
	MPI_Datatype type;
	int ints;
	int extent;
};

struct trial {
	bool is_nonblocking;
	enum where where;
	MPI_Comm comm;
	int rank, ranks;	/* ranks: of the other group, between two */
	int in, out;		/* neighbours */
	const struct layout *send, *receive;
	bool in_place;
	int root;
	int count;
	int scounts[MAX_RANKS], sdispls[MAX_RANKS], rcounts[MAX_RANKS], rdispls[MAX_RANKS];
	MPI_Datatype stypes[MAX_RANKS], rtypes[MAX_RANKS];
	int *sbuf, *rbuf;
	int wait_by;
};

static int world_rank, world_ranks;
static MPI_Comm comms[PLACES];
static struct layout layouts[4];

/* ---- numbers that every rank draws alike ---------------------------------- */

static uint64_t state;

static uint64_t mix(uint64_t value)
{
	value ^= value >> 33;
	value *= 0xff51afd7ed558ccdull;
	value ^= value >> 33;
	value *= 0xc4ceb9fe1a85ec53ull;
	return value ^ value >> 33;
}

static int draw(int below)
{
	state = mix(state + 0x9e3779b97f4a7c15ull);
	return (int)(state % (uint64_t)below);
}

static int times = 1;

/* The count from one rank to another, without drawing. */
static int count_between(uint64_t number, int from, int to)
{
	uint64_t value = mix(number * 4096 + (uint64_t)from * 64 + (uint64_t)to);

	return value % 4 == 0 ? 0 : (int)(value / 4 % MAX_COUNT) * times;
}

#include "collectives_operations.h"

/* ---- drawing a case -------------------------------------------------------------- */

static void set_pair(struct trial *t, uint64_t number, enum counts counts, int peer)
{
	int out, in;

	switch (counts) {
	case BY_PAIR:
		out = count_between(number, t->rank, peer);
		in = count_between(number, peer, t->rank);
		if (t->in_place)	/* what comes is as much as what goes */
			out = in = count_between(number, t->rank < peer ? t->rank : peer,
						 t->rank < peer ? peer : t->rank);
		break;
	case BY_SOURCE:
		out = count_between(number, t->rank, 0);
		in = count_between(number, peer, 0);
		break;
	case BY_TARGET:
		out = in = count_between(number, peer, 0);
		break;
	default:
		out = in = t->count;
	}
	t->scounts[peer] = out;
	t->rcounts[peer] = as_received(t, in);
	t->stypes[peer] = t->send->type;
	t->rtypes[peer] = t->receive->type;
	t->sdispls[peer] = peer == 0 ? 1 : t->sdispls[peer - 1] + t->scounts[peer - 1] + 1;
	t->rdispls[peer] = peer == 0 ? 2 : t->rdispls[peer - 1] + t->rcounts[peer - 1] + 3;
}

static bool fits(const struct operation *operation, enum where where)
{
	if (operation->counts == NEIGHBOURS)
		return where == CART || where == GRAPH;
	if (where == INTER)	/* a root between groups is another matter */
		return operation->counts == UNIFORM && !operation->rooted;
	return where != CART && where != GRAPH;
}

static void draw_trial(struct trial *t, const struct operation *operation, uint64_t number)
{
	memset(t, 0, sizeof(*t));
	t->is_nonblocking = draw(2);
	do
		t->where = draw(PLACES);
	while (!fits(operation, t->where));
	t->comm = comms[t->where];
	MPI_Comm_rank(t->comm, &t->rank);
	if (t->where == INTER)
		MPI_Comm_remote_size(t->comm, &t->ranks);
	else
		MPI_Comm_size(t->comm, &t->ranks);
	t->in_place = draw(3) == 0 && operation->in_place && t->where != INTER;
#ifdef OPEN_MPI	/* its own nonblocking all-to-alls in place are wrong or absent */
	if (t->in_place && operation->counts == BY_PAIR && !operation->rooted)
		t->is_nonblocking = false;
#endif
	t->send = &layouts[operation->ints ? 0 : draw(4)];
	t->receive = draw(2) || operation->rooted || t->in_place ? t->send : &layouts[0];
	t->count = draw(5) == 0 ? 0 : draw(MAX_COUNT) * (operation->whole ? 8 : 1);
	t->root = draw(64);
	t->root %= t->ranks;
	t->wait_by = draw(8);
#ifdef MPICH	/* 4.0 is wrong in a reduction in place to another root than 0 */
	if (t->in_place && operation->run == run_reduce)
		t->root = 0;
#endif
	for (int peer = 0; peer < MAX_RANKS && peer < (operation->counts == NEIGHBOURS ? 16 : t->ranks);
	     peer++)
		set_pair(t, number, operation->counts, peer);
}

static void fill(int *buffer, uint64_t seed)
{
	for (size_t i = 0; i < ROOM / sizeof(int); i++)
		buffer[i] = (int)(i * 2654435761u + seed * 40503u) >> 3;
}

/* FNV-1a over words */
static uint64_t digest(const int *buffer, uint64_t hash)
{
	for (size_t i = 0; i < ROOM / sizeof(int); i++)
		hash = (hash ^ (uint32_t)buffer[i]) * 0x100000001b3ull;
	return hash;
}

static void run_case(uint64_t number, const struct operation *operation, int *sbuf, int *rbuf)
{
	struct trial t;
	uint64_t hash, all[MAX_RANKS], together = 0;

	draw_trial(&t, operation, number);
	t.sbuf = sbuf;
	t.rbuf = rbuf;
	fill(sbuf, number * 64 + (uint64_t)world_rank);
	fill(rbuf, number * 64 + (uint64_t)world_rank + 7777);
	operation->run(&t);
	hash = digest(rbuf, digest(sbuf, 0xcbf29ce484222325ull));
	PMPI_Gather(&hash, 1, MPI_UINT64_T, all, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
	if (world_rank != 0)
		return;
	for (int rank = 0; rank < world_ranks; rank++)
		together = mix(together ^ all[rank]);
	printf("%d %s %s %s %s>%s%s root %d count %d wait %d %016llx\n", (int)number,
	       operation->name, t.is_nonblocking ? "nonblocking" : "blocking", where_names[t.where],
	       t.send->name, t.receive->name, t.in_place ? " in_place" : "", t.root, t.count,
	       t.wait_by, (unsigned long long)together);
	fflush(stdout);
}

/* ---- what the cases draw from ------------------------------------------------------ */

static void make_layouts(void)
{
	int lengths[2] = { 1, 2 }, places[2] = { 3, 0 };
	MPI_Datatype raw;

	layouts[0] = (struct layout){ "int", MPI_INT, 1, 1 };
	MPI_Type_contiguous(3, MPI_INT, &layouts[1].type);
	layouts[1] = (struct layout){ "three", layouts[1].type, 3, 3 };
	MPI_Type_vector(2, 1, 2, MPI_INT, &raw);
	MPI_Type_create_resized(raw, 0, 4 * sizeof(int), &layouts[2].type);
	layouts[2] = (struct layout){ "strided", layouts[2].type, 2, 4 };
	MPI_Type_free(&raw);
	MPI_Type_indexed(2, lengths, places, MPI_INT, &layouts[3].type);
	layouts[3] = (struct layout){ "indexed", layouts[3].type, 3, 4 };
	for (int i = 1; i < 4; i++)
		MPI_Type_commit(&layouts[i].type);
}

static void make_comms(void)
{
	int dims[2] = { 0, 0 }, periods[2] = { 1, 0 };
	int next[2] = { (world_rank + 1) % world_ranks, (world_rank + 3) % world_ranks };
	int last[2] = { (world_rank + world_ranks - 1) % world_ranks,
			(world_rank + 3 * world_ranks - 3) % world_ranks };

	comms[WORLD] = MPI_COMM_WORLD;
	MPI_Comm_split(MPI_COMM_WORLD, 0, -world_rank, &comms[REVERSED]);
	MPI_Comm_split(MPI_COMM_WORLD, world_rank % 2, world_rank, &comms[HALF]);
	MPI_Dims_create(world_ranks, 2, dims);
	MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &comms[CART]);
	MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 2, last, MPI_UNWEIGHTED, 2, next,
				       MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &comms[GRAPH]);
	MPI_Intercomm_create(comms[HALF], 0, MPI_COMM_WORLD, world_rank % 2 ? 0 : 1, 1,
			     &comms[INTER]);
}

static void free_all(void)
{
	for (int where = REVERSED; where < PLACES; where++)
		MPI_Comm_free(&comms[where]);
	for (int i = 1; i < 4; i++)
		MPI_Type_free(&layouts[i].type);
}

/* NULL is a list of all. */
static bool is_listed(const char *name, const char *list)
{
	size_t length = strlen(name);

	while (list && (strncmp(list, name, length) != 0 || !strchr(",", list[length]))) {
		list = strchr(list, ',');
		if (!list)
			return false;
		list++;
	}
	return true;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "cases", required_argument, NULL, 'n' },
		{ "seed", required_argument, NULL, 's' },
		{ "only", required_argument, NULL, 'o' },
		{ "times", required_argument, NULL, 't' },
		{ NULL, 0, NULL, 0 },
	};
	const char *only = NULL;
	int cases = 100, choice;
	int *sbuf = malloc(ROOM), *rbuf = malloc(ROOM);

	MPI_Init(&argc, &argv);
	while ((choice = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (choice == 'n')
			cases = atoi(optarg);
		else if (choice == 's')
			state = strtoull(optarg, NULL, 10);
		else if (choice == 'o')
			only = optarg;
		else if (choice == 't')
			times = atoi(optarg);
		else
			return 2;
	}
	MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
	MPI_Comm_size(MPI_COMM_WORLD, &world_ranks);
	if (world_ranks < 4 || world_ranks > MAX_RANKS || !sbuf || !rbuf ||
	    (times > 1 && (size_t)world_ranks * times * MAX_COUNT * 4 * sizeof(int) > ROOM))
		MPI_Abort(MPI_COMM_WORLD, 2);
	make_layouts();
	make_comms();
	for (int number = 0; number < cases; number++) {
		const struct operation *operation = &operations[number % OPERATIONS];

		if (is_listed(operation->name, only))
			run_case((uint64_t)number, operation, sbuf, rbuf);
	}
	free_all();
	free(sbuf);
	free(rbuf);
	MPI_Finalize();
	return 0;
}
