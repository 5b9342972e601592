/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The operations of collectives.c, in both forms, with the arguments of a
 * struct trial.  A part of that file, which includes it once.
 */
/* ---- running a form -------------------------------------------------------- */

static void finish(MPI_Request *request, int how)
{
	int done = 0, index, indices[1];

	switch (how) {
	case 0:
		MPI_Wait(request, MPI_STATUS_IGNORE);
		break;
	case 1:
		MPI_Waitall(1, request, MPI_STATUSES_IGNORE);
		break;
	case 2:
		MPI_Waitany(1, request, &index, MPI_STATUS_IGNORE);
		break;
	case 3:
		MPI_Waitsome(1, request, &index, indices, MPI_STATUSES_IGNORE);
		break;
	case 4:
		while (!done)
			MPI_Test(request, &done, MPI_STATUS_IGNORE);
		break;
	case 5:
		while (!done)
			MPI_Testall(1, request, &done, MPI_STATUSES_IGNORE);
		break;
	case 6:
		while (!done)
			MPI_Testany(1, request, &index, &done, MPI_STATUS_IGNORE);
		break;
	default:
		while (!done)
			MPI_Testsome(1, request, &done, indices, MPI_STATUSES_IGNORE);
	}
}

#define RUN(t, Name, name, ...)							\
	do {									\
		MPI_Request request;						\
										\
		if ((t)->is_nonblocking) {					\
			MPI_I##name(__VA_ARGS__, &request);			\
			finish(&request, (t)->wait_by);				\
		} else {							\
			MPI_##Name(__VA_ARGS__);				\
		}								\
	} while (0)

/* ---- the operations ---------------------------------------------------------- */

static const void *sent(const struct trial *t)
{
	return t->in_place ? MPI_IN_PLACE : (const void *)t->sbuf;
}

static bool is_root(const struct trial *t)
{
	return t->rank == t->root;
}

static int as_received(const struct trial *t, int count)
{
	return count * t->send->ints / t->receive->ints;
}

static void run_alltoall(struct trial *t)
{
	RUN(t, Alltoall, alltoall, sent(t), t->count, t->send->type, t->rbuf,
	    as_received(t, t->count), t->receive->type, t->comm);
}

static void run_alltoallv(struct trial *t)
{
	RUN(t, Alltoallv, alltoallv, sent(t), t->scounts, t->sdispls, t->send->type,
		  t->rbuf, t->rcounts, t->rdispls, t->receive->type, t->comm);
}

static void in_bytes(struct trial *t)
{
	for (int i = 0; i < MAX_RANKS; i++) {
		t->sdispls[i] *= t->send->extent * (int)sizeof(int);
		t->rdispls[i] *= t->receive->extent * (int)sizeof(int);
	}
}

static void run_alltoallw(struct trial *t)
{
	in_bytes(t);
	RUN(t, Alltoallw, alltoallw, sent(t), t->scounts, t->sdispls, t->stypes,
		  t->rbuf, t->rcounts, t->rdispls, t->rtypes, t->comm);
}

static void run_allgather(struct trial *t)
{
	RUN(t, Allgather, allgather, sent(t), t->count, t->send->type, t->rbuf,
	    as_received(t, t->count), t->receive->type, t->comm);
}

/* In the v-forms with one count for each rank, rank r's is count_between(r, 0),
 * which is what everybody gets from r. */
static void run_allgatherv(struct trial *t)
{
	RUN(t, Allgatherv, allgatherv, sent(t), t->scounts[0], t->send->type, t->rbuf,
		  t->rcounts, t->rdispls, t->receive->type, t->comm);
}

static void run_gather(struct trial *t)
{
	const void *from = t->in_place && is_root(t) ? MPI_IN_PLACE : (const void *)t->sbuf;

	RUN(t, Gather, gather, from, t->count, t->send->type, t->rbuf, as_received(t, t->count),
	    t->receive->type, t->root, t->comm);
}

static void run_gatherv(struct trial *t)
{
	const void *from = t->in_place && is_root(t) ? MPI_IN_PLACE : (const void *)t->sbuf;

	RUN(t, Gatherv, gatherv, from, t->scounts[0], t->send->type, t->rbuf,
		  t->rcounts, t->rdispls, t->receive->type, t->root, t->comm);
}

static void run_scatter(struct trial *t)
{
	void *to = t->in_place && is_root(t) ? MPI_IN_PLACE : (void *)t->rbuf;

	RUN(t, Scatter, scatter, t->sbuf, t->count, t->send->type, to, as_received(t, t->count),
	    t->receive->type, t->root, t->comm);
}

static void run_scatterv(struct trial *t)
{
	void *to = t->in_place && is_root(t) ? MPI_IN_PLACE : (void *)t->rbuf;

	/* the root sends what the others receive from it */
	RUN(t, Scatterv, scatterv, t->sbuf, t->scounts, t->sdispls, t->send->type, to,
		  t->rcounts[t->root], t->receive->type, t->root, t->comm);
}

static void run_bcast(struct trial *t)
{
	if (is_root(t))
		memcpy(t->rbuf, t->sbuf, ROOM);
	RUN(t, Bcast, bcast, t->rbuf, t->count, t->send->type, t->root, t->comm);
}

static void run_reduce(struct trial *t)
{
	const void *from = t->in_place && is_root(t) ? MPI_IN_PLACE : (const void *)t->sbuf;

	RUN(t, Reduce, reduce, from, t->rbuf, t->count, MPI_INT, MPI_SUM, t->root, t->comm);
}

static void run_allreduce(struct trial *t)
{
	RUN(t, Allreduce, allreduce, sent(t), t->rbuf, t->count, MPI_INT, MPI_BXOR, t->comm);
}

static void run_reduce_scatter(struct trial *t)
{
	RUN(t, Reduce_scatter, reduce_scatter, sent(t), t->rbuf, t->rcounts, MPI_INT,
		  MPI_MAX, t->comm);
}

static void run_reduce_scatter_block(struct trial *t)
{
	RUN(t, Reduce_scatter_block, reduce_scatter_block, sent(t), t->rbuf, t->count, MPI_INT,
	    MPI_SUM, t->comm);
}

static void run_neighbor_allgather(struct trial *t)
{
	RUN(t, Neighbor_allgather, neighbor_allgather, t->sbuf, t->count, t->send->type, t->rbuf,
	    as_received(t, t->count), t->receive->type, t->comm);
}

static void run_neighbor_allgatherv(struct trial *t)
{
	RUN(t, Neighbor_allgatherv, neighbor_allgatherv, t->sbuf, t->count,
		  t->send->type, t->rbuf, t->rcounts, t->rdispls, t->receive->type, t->comm);
}

static void run_neighbor_alltoall(struct trial *t)
{
	RUN(t, Neighbor_alltoall, neighbor_alltoall, t->sbuf, t->count, t->send->type, t->rbuf,
	    as_received(t, t->count), t->receive->type, t->comm);
}

static void run_neighbor_alltoallv(struct trial *t)
{
	RUN(t, Neighbor_alltoallv, neighbor_alltoallv, t->sbuf, t->scounts,
		  t->sdispls, t->send->type, t->rbuf, t->rcounts, t->rdispls,
		  t->receive->type, t->comm);
}

static void run_neighbor_alltoallw(struct trial *t)
{
	MPI_Aint sdispls[MAX_RANKS], rdispls[MAX_RANKS];

	in_bytes(t);
	for (int i = 0; i < MAX_RANKS; i++) {
		sdispls[i] = t->sdispls[i];
		rdispls[i] = t->rdispls[i];
	}
	RUN(t, Neighbor_alltoallw, neighbor_alltoallw, t->sbuf, t->scounts, sdispls,
		  t->stypes, t->rbuf, t->rcounts, rdispls, t->rtypes, t->comm);
}

enum counts { UNIFORM, BY_PAIR, BY_SOURCE, BY_TARGET, NEIGHBOURS };

static const struct operation {
	const char *name;
	void (*run)(struct trial *t);
	enum counts counts;
	bool in_place;		/* MPI_IN_PLACE is allowed */
	bool rooted;
	bool ints;		/* reductions: plain ints only */
	bool whole;		/* one message for all: larger, for rings cut it in parts */
} operations[] = {
	{ "alltoall", run_alltoall, UNIFORM, true, false, false, false },
	{ "alltoallv", run_alltoallv, BY_PAIR, true, false, false, false },
	{ "alltoallw", run_alltoallw, BY_PAIR, true, false, false, false },
	{ "allgather", run_allgather, UNIFORM, true, false, false, false },
	{ "allgatherv", run_allgatherv, BY_SOURCE, true, false, false, false },
	{ "gather", run_gather, UNIFORM, true, true, false, false },
	{ "gatherv", run_gatherv, BY_SOURCE, true, true, false, false },
	{ "scatter", run_scatter, UNIFORM, true, true, false, false },
	{ "scatterv", run_scatterv, BY_PAIR, true, true, false, false },
	{ "bcast", run_bcast, UNIFORM, false, true, false, true },
	{ "reduce", run_reduce, UNIFORM, true, true, true, true },
	{ "allreduce", run_allreduce, UNIFORM, true, false, true, true },
	{ "reduce_scatter", run_reduce_scatter, BY_TARGET, true, false, true, false },
	{ "reduce_scatter_block", run_reduce_scatter_block, UNIFORM, true, false, true, false },
	{ "neighbor_allgather", run_neighbor_allgather, NEIGHBOURS, false, false, false, false },
	{ "neighbor_allgatherv", run_neighbor_allgatherv, NEIGHBOURS, false, false, false, false },
	{ "neighbor_alltoall", run_neighbor_alltoall, NEIGHBOURS, false, false, false, false },
	{ "neighbor_alltoallv", run_neighbor_alltoallv, NEIGHBOURS, false, false, false, false },
	{ "neighbor_alltoallw", run_neighbor_alltoallw, NEIGHBOURS, false, false, false, false },
};

#define OPERATIONS ((int)(sizeof(operations) / sizeof(operations[0])))
