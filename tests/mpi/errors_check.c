// SPDX-License-Identifier: Apache-2.0
// Erroneous calls under MPI_ERRORS_RETURN: of each case, which class of error each
// rank gets, and whether the next call on that communicator is right.
//
//   errors_check [--alone] [--ours=OPERATION,...] [CASE...]
//
// prints  CASE: CLASS CLASS ... next right
// for each case, one class for each rank.  Each has a communicator of its own, on which
// its first call is the erroneous one; then a right one, the erroneous one again, and
// another right one.  In cases named "..., one rank" only rank 1 is wrong.  Of the operations
// that the helper carries out the others end all the same; of the MPI library's they would
// wait for ever, so rank 1 repeats its call with right arguments.  Without the helper --alone
// has rank 1 make the wrong call alone.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT 2048
#define SHORT (COUNT - 100) /* as large for whoever rounds sizes up */
#define RANKS_MAX 16

/* The arguments of every operation here; a case spoils some of them. */
struct call {
	int send_count, receive_count, root;
	int *send_counts, *receive_counts, *displs;
	MPI_Datatype send_type, receive_type;
	MPI_Op op;
	MPI_Comm comm;
	void *send, *receive;
};

static int sent[COUNT * RANKS_MAX], received[COUNT * RANKS_MAX];
static int send_counts[RANKS_MAX], receive_counts[RANKS_MAX], displs[RANKS_MAX],
	byte_displs[RANKS_MAX];
static int rank, ranks, alone;
static char ours[1000] = " ";

static int value_of(int from, int to, int at)
{
	return from * 1000003 + to * 10007 + at;
}

/* ---- the operations ---------------------------------------------------------- */

static int alltoall(struct call *c)
{
	return MPI_Alltoall(c->send, c->send_count, c->send_type, c->receive, c->receive_count,
			    c->receive_type, c->comm);
}

static int alltoallv(struct call *c)
{
	return MPI_Alltoallv(c->send, c->send_counts, c->displs, c->send_type, c->receive,
			     c->receive_counts, c->displs, c->receive_type, c->comm);
}

static int alltoallw(struct call *c)
{
	MPI_Datatype send_types[RANKS_MAX], receive_types[RANKS_MAX];

	for (int peer = 0; peer < ranks; peer++) {
		send_types[peer] = c->send_type;
		receive_types[peer] = c->receive_type;
	}
	return MPI_Alltoallw(c->send, c->send_counts, byte_displs, send_types, c->receive,
			     c->receive_counts, byte_displs, receive_types, c->comm);
}

static int gather(struct call *c)
{
	return MPI_Gather(c->send, c->send_count, c->send_type, c->receive, c->receive_count,
			  c->receive_type, c->root, c->comm);
}

static int gatherv(struct call *c)
{
	return MPI_Gatherv(c->send, c->send_count, c->send_type, c->receive, c->receive_counts,
			   c->displs, c->receive_type, c->root, c->comm);
}

static int scatter(struct call *c)
{
	return MPI_Scatter(c->send, c->send_count, c->send_type, c->receive, c->receive_count,
			   c->receive_type, c->root, c->comm);
}

static int scatterv(struct call *c)
{
	return MPI_Scatterv(c->send, c->send_counts, c->displs, c->send_type, c->receive,
			    c->receive_count, c->receive_type, c->root, c->comm);
}

static int allgather(struct call *c)
{
	return MPI_Allgather(c->send, c->send_count, c->send_type, c->receive, c->receive_count,
			     c->receive_type, c->comm);
}

static int allgatherv(struct call *c)
{
	return MPI_Allgatherv(c->send, c->send_count, c->send_type, c->receive, c->receive_counts,
			      c->displs, c->receive_type, c->comm);
}

/* The root sends its first block; everybody's arrives in the receive buffer. */
static int bcast(struct call *c)
{
	memcpy(received, sent, sizeof(int) * COUNT);
	return MPI_Bcast(c->receive, c->send_count, c->send_type, c->root, c->comm);
}

static int reduce(struct call *c)
{
	return MPI_Reduce(c->send, c->receive, c->send_count, c->send_type, c->op, c->root, c->comm);
}

static int allreduce(struct call *c)
{
	return MPI_Allreduce(c->send, c->receive, c->send_count, c->send_type, c->op, c->comm);
}

static int reduce_scatter_block(struct call *c)
{
	return MPI_Reduce_scatter_block(c->send, c->receive, c->send_count, c->send_type, c->op,
					c->comm);
}

/* ---- what is right ----------------------------------------------------------- */

/* From which rank, and to which, block `block` is after that operation. */
enum result { EXCHANGED, AT_ROOT, FROM_ROOT, GATHERED, BROADCAST, REDUCED, REDUCED_AT_ROOT, SCATTERED };

struct operation {
	const char *name;
	int (*run)(struct call *c);
	enum result result;
};

static const struct operation operations[] = {
	{"alltoall", alltoall, EXCHANGED},
	{"alltoallv", alltoallv, EXCHANGED},
	{"alltoallw", alltoallw, EXCHANGED},
	{"gather", gather, AT_ROOT},
	{"gatherv", gatherv, AT_ROOT},
	{"scatter", scatter, FROM_ROOT},
	{"scatterv", scatterv, FROM_ROOT},
	{"allgather", allgather, GATHERED},
	{"allgatherv", allgatherv, GATHERED},
	{"bcast", bcast, BROADCAST},
	{"reduce", reduce, REDUCED_AT_ROOT},
	{"allreduce", allreduce, REDUCED},
	{"reduce_scatter_block", reduce_scatter_block, SCATTERED},
};
#define OPERATIONS (int)(sizeof(operations) / sizeof(operations[0]))

static int expected(enum result result, int root, int block, int at)
{
	int sum = 0;

	switch (result) {
	case EXCHANGED:
		return value_of(block, rank, at);
	case AT_ROOT:
	case GATHERED:
		return value_of(block, 0, at);
	case FROM_ROOT:
		return value_of(root, rank, at);
	case BROADCAST:
		return value_of(root, 0, at);
	default:
		for (int from = 0; from < ranks; from++)
			sum += value_of(from, result == SCATTERED ? rank : 0, at);
		return sum;
	}
}

static int blocks_of(enum result result, int root)
{
	switch (result) {
	case EXCHANGED:
	case GATHERED:
		return ranks;
	case AT_ROOT:
		return rank == root ? ranks : 0;
	case REDUCED_AT_ROOT:
		return rank == root;
	default:
		return 1;
	}
}

static int is_right(const struct operation *operation, int root)
{
	for (int block = 0; block < blocks_of(operation->result, root); block++)
		for (int at = 0; at < COUNT; at++)
			if (received[block * COUNT + at] != expected(operation->result, root, block, at))
				return 0;
	return 1;
}

static struct call right_call(MPI_Comm comm)
{
	struct call c = {COUNT, COUNT, 1, send_counts, receive_counts, displs, MPI_INT, MPI_INT,
			 MPI_SUM, comm, sent, received};

	for (int peer = 0; peer < ranks; peer++) {
		send_counts[peer] = receive_counts[peer] = COUNT;
		displs[peer] = peer * COUNT;
		byte_displs[peer] = displs[peer] * (int)sizeof(int);
		for (int at = 0; at < COUNT; at++)
			sent[peer * COUNT + at] = value_of(rank, peer, at);
	}
	memset(received, 0, sizeof(received));
	return c;
}

/* ---- what is wrong ----------------------------------------------------------- */

static MPI_Datatype uncommitted;
static MPI_Comm freed;

static void negative_count(struct call *c)
{
	c->send_count = c->receive_count = -1;
	c->send_counts[ranks - 1] = c->receive_counts[0] = -1;
}

static void no_type(struct call *c)
{
	c->send_type = c->receive_type = MPI_DATATYPE_NULL;
}

static void no_type_to_receive(struct call *c)
{
	c->receive_type = MPI_DATATYPE_NULL;
}

static void uncommitted_type(struct call *c)
{
	c->send_type = c->receive_type = uncommitted;
}

static void root_beyond(struct call *c)
{
	c->root = ranks;
}

static void root_below(struct call *c)
{
	c->root = -1;
}

static void no_operation(struct call *c)
{
	c->op = MPI_OP_NULL;
}

static void in_place_to_receive(struct call *c)
{
	c->receive = MPI_IN_PLACE;
}

static void no_communicator(struct call *c)
{
	c->comm = MPI_COMM_NULL;
}

static void freed_communicator(struct call *c)
{
	c->comm = freed;
}

/* Every rank sends more than it, and each other, receives. */
static void truncating(struct call *c)
{
	c->receive_count = SHORT;
	for (int peer = 0; peer < ranks; peer++)
		c->receive_counts[peer] = SHORT;
}

/* Only what rank 1 receives from another one is too long. */
static void truncating_one(struct call *c)
{
	if (rank == 1)
		c->receive_counts[(rank + 1) % ranks] = SHORT;
}

/* Truncates where sizes differ so much that the ranks of the helper tell them each other. */
static void truncating_a_large_one(struct call *c)
{
	if (rank == 0)
		c->send_counts[1] = 4 * COUNT;
	else if (rank == 1)
		c->receive_counts[0] = SHORT;
}

/* Only the root has more room than anybody fills, and that is nobody's error. */
static void with_room_at_the_root(struct call *c)
{
	if (rank == 1)
		for (int peer = 0; peer < ranks; peer++)
			c->receive_counts[peer] = peer == rank ? COUNT : COUNT + 50;
}

#define ALL_TO_ALL "alltoall alltoallv alltoallw "
#define ROOTED "gather gatherv scatter scatterv "
#define ROUND "allgather allgatherv bcast reduce allreduce reduce_scatter_block "
#define EVERY ALL_TO_ALL ROOTED ROUND

/* Not here are those that end in the libraries' own functions by a crash: Open MPI's
   Scatter of an uncommitted type and Allgather of no communicator, MPICH's Reduce of a
   negative count. */
static const struct wrong {
	const char *name;
	void (*spoil)(struct call *c);
	const char *operations;
} wrongs[] = {
	{"negative count", negative_count, ALL_TO_ALL ROOTED "allgather allgatherv bcast "},
	{"no type", no_type, EVERY},
	{"no type to receive", no_type_to_receive, ALL_TO_ALL "allgather allgatherv "},
	{"uncommitted type", uncommitted_type, ALL_TO_ALL "gather gatherv allgather allgatherv bcast "},
	{"root beyond", root_beyond, ROOTED "bcast reduce "},
	{"root below", root_below, ROOTED "bcast reduce "},
	{"no operation", no_operation, "reduce allreduce reduce_scatter_block "},
	{"in place to receive", in_place_to_receive, ALL_TO_ALL "allgather allgatherv allreduce "},
	{"no communicator", no_communicator, ALL_TO_ALL ROOTED "bcast reduce allreduce "},
	{"freed communicator", freed_communicator, ALL_TO_ALL ROOTED "bcast reduce allreduce "},
	{"truncating", truncating, ALL_TO_ALL},
	{"truncating one", truncating_one, "alltoallv alltoallw "},
	{"truncating the root", truncating_one, "gatherv "},
	{"truncating a large one", truncating_a_large_one, "alltoallv alltoallw "},
	{"with room at the root", with_room_at_the_root, "gatherv "},
};
#define WRONGS (int)(sizeof(wrongs) / sizeof(wrongs[0]))

/* ---- the cases --------------------------------------------------------------- */

static int class_of(int status)
{
	int class = 0;

	if (status != MPI_SUCCESS)
		MPI_Error_class(status, &class);
	/* Where MPICH 4.2.1's all-to-alls truncate, they say that a status has the error, and there is none. */
	return class == MPI_ERR_IN_STATUS ? MPI_ERR_TRUNCATE : class;
}

static int run_right(const struct operation *operation, MPI_Comm comm)
{
	struct call c = right_call(comm);

	return operation->run(&c) == MPI_SUCCESS && is_right(operation, c.root);
}

static int handled;

static void handle(MPI_Comm *comm, int *status, ...)
{
	(void)comm;
	(void)status;
	handled++;
}

/* On the communicator of the call the program's handler hears of an error, once. */
static int run_wrong(const struct operation *operation, const struct wrong *wrong, MPI_Comm comm,
		     int *right)
{
	struct call c = right_call(comm);
	int class;

	handled = 0;
	wrong->spoil(&c);
	class = class_of(operation->run(&c));
	if (strstr(wrong->name, "truncating"))
		*right &= handled == (class != 0);
	return class;
}

static MPI_Comm handled_copy(void)
{
	MPI_Errhandler handler;
	MPI_Comm comm;

	MPI_Comm_dup(MPI_COMM_WORLD, &comm);
	MPI_Comm_create_errhandler(handle, &handler);
	MPI_Comm_set_errhandler(comm, handler);
	MPI_Errhandler_free(&handler);
	return comm;
}

/* In PMPI, which is small, and on a communicator that nothing has been done to. */
static void print(const char *name, const char *operation, const char *who, int class, int right)
{
	int own[2] = {class, right}, all[2 * RANKS_MAX], all_right = 1;

	MPI_Gather(own, 2, MPI_INT, all, 2, MPI_INT, 0, MPI_COMM_WORLD);
	if (rank != 0)
		return;
	printf("%s, %s%s:", operation, name, who);
	for (int from = 0; from < ranks; from++) {
		printf(" %d", all[2 * from]);
		all_right &= all[2 * from + 1];
	}
	printf(" next %s\n", all_right ? "right" : "wrong");
	fflush(stdout);
}

/* The last thing before the call, so that nothing else gets its handle. */
static void free_a_communicator(void)
{
	MPI_Comm copy;

	MPI_Comm_dup(MPI_COMM_WORLD, &copy);
	freed = copy;
	MPI_Comm_free(&copy);
}

/* An all-to-allv takes more turns than the ranks of the helper agree for at a time. */
static int turns_of(const struct operation *operation)
{
	return operation->run == alltoallv ? 20 : 2;
}

static void try_all(const struct operation *operation, const struct wrong *wrong)
{
	MPI_Comm comm = handled_copy();
	int class, right = 1, turns = turns_of(operation);

	free_a_communicator();
	class = run_wrong(operation, wrong, comm, &right);
	right &= run_right(operation, comm);
	free_a_communicator();
	right &= run_wrong(operation, wrong, comm, &right) == class;
	for (int turn = 0; turn < turns; turn++)
		right &= run_right(operation, comm);
	print(wrong->name, operation->name, "", class, right);
	MPI_Comm_free(&comm);
}

/* Is `name` one of the words? */
static int is_in(const char *words, const char *name)
{
	size_t length = strlen(name);

	for (const char *at = words; (at = strstr(at, name)); at += length)
		if ((at == words || at[-1] == ' ') && at[length] == ' ')
			return 1;
	return 0;
}

/* Is the wrong call one of the communicator's, by an algorithm of the helper? */
static int is_shared(const struct operation *operation, const struct wrong *wrong)
{
	return wrong->spoil != no_communicator && wrong->spoil != freed_communicator &&
	       is_in(ours, operation->name);
}

static void try_one_rank(const struct operation *operation, const struct wrong *wrong)
{
	MPI_Comm comm = handled_copy();
	int class = 0, right = 1, turns = turns_of(operation);

	for (int turn = 0; turn < turns; turn++) {
		free_a_communicator();
		if (rank == 1)
			class = run_wrong(operation, wrong, comm, &right);
		else if (is_shared(operation, wrong) && !alone)
			run_right(operation, comm);
		right &= run_right(operation, comm);
	}
	print(wrong->name, operation->name, ", one rank", class, right);
	MPI_Comm_free(&comm);
}

static int is_wanted(int argc, char **argv, const char *name)
{
	int cases = 0;

	for (int at = 1; at < argc; at++) {
		if (strcmp(argv[at], name) == 0)
			return 1;
		cases += argv[at][0] != '-';
	}
	return cases == 0;
}

int main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	for (int at = 1; at < argc; at++) {
		alone |= strcmp(argv[at], "--alone") == 0;
		if (strncmp(argv[at], "--ours=", 7) == 0)
			snprintf(ours, sizeof(ours), "%s ", argv[at] + 7);
	}
	for (char *comma = ours; (comma = strchr(comma, ',')); )
		*comma = ' ';
	if (ranks > RANKS_MAX)
		MPI_Abort(MPI_COMM_WORLD, 2);
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
	MPI_Type_vector(COUNT, 1, 2, MPI_INT, &uncommitted);
	for (int at = 0; at < WRONGS; at++) {
		if (!is_wanted(argc, argv, wrongs[at].name))
			continue;
		for (int which = 0; which < OPERATIONS; which++) {
			if (!is_in(wrongs[at].operations, operations[which].name))
				continue;
			try_all(&operations[which], &wrongs[at]);
			if (!strstr(wrongs[at].name, "truncating") && !strstr(wrongs[at].name, "room"))
				try_one_rank(&operations[which], &wrongs[at]);
		}
	}
	MPI_Type_free(&uncommitted);
	MPI_Finalize();
	return 0;
}
