// SPDX-License-Identifier: Apache-2.0
// Sets its own rate as a program would, by info and by the paper's own fragment, and
// prints on rank 0 what it finds.  After each step every rank sends itself a message, so
// that phase_spy.c tells in which phase the process is then.
#include <headway_mpi.h>
#include <stdio.h>

static int rank;

static void send_in_phase(void)
{
	int sent = rank, received;
	MPI_Request request;

	MPI_Isend(&sent, 1, MPI_INT, rank, 0, MPI_COMM_WORLD, &request);
	MPI_Recv(&received, 1, MPI_INT, rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void show(const char *what, MPI_Comm comm, const char *key)
{
	char value[32] = "none";
	MPI_Info info;
	int known;

	MPI_Comm_get_info(comm, &info);
	MPI_Info_get(info, key, sizeof(value) - 1, value, &known);
	MPI_Info_free(&info);
	if (rank == 0)
		printf("%s %s\n", what, value);
}

static void show_matb(const char *what, MPI_Comm comm)
{
	show(what, comm, "headway_matb");
}

static void set_matb(MPI_Comm comm, const char *value)
{
	MPI_Info info;

	MPI_Info_create(&info);
	MPI_Info_set(info, "headway_matb", value);
	MPI_Comm_set_info(comm, info);
	MPI_Info_free(&info);
	send_in_phase();
}

static void show_attribute(const char *what, int keyval)
{
	int *value = NULL, known = 0;

	MPI_Comm_get_attr(MPI_COMM_WORLD, keyval, &value, &known);
	if (rank == 0)
		printf("%s %d\n", what, known ? *value : -1);
}

/* Takano's psp_set_limit, with the communicator by value and a return. */
static int psp_set_limit(MPI_Comm comm, int n)
{
	int *rate, *matb, flag;

	MPI_Attr_get(comm, YAMPI_PSP_MAXRATE, (void *)&rate, &flag);
	if (flag) {	/* if the attribute is given */
		MPI_Attr_get(comm, YAMPI_PSP_MATB, (void *)&matb, &flag);
		*matb = *rate / n;
		MPI_Attr_put(comm, YAMPI_PSP_MATB, (void *)matb);
	}
	return flag;
}

static void of_the_paper(void)
{
	int nothing = -1, flag;

	show_attribute("paper_maxrate", YAMPI_PSP_MAXRATE);
	show_attribute("paper_first", YAMPI_PSP_MATB);
	flag = psp_set_limit(MPI_COMM_WORLD, 4);
	if (rank == 0)
		printf("paper %d\n", flag);
	send_in_phase();
	show_attribute("paper_quarter", YAMPI_PSP_MATB);
	show_matb("quarter", MPI_COMM_WORLD);
	MPI_Comm_set_attr(MPI_COMM_WORLD, YAMPI_PSP_MATB, &nothing);
	send_in_phase();
	show_matb("ended", MPI_COMM_WORLD);
	psp_set_limit(MPI_COMM_WORLD, 4);
	MPI_Comm_set_attr(MPI_COMM_WORLD, YAMPI_PSP_MAXRATE, &nothing);
	send_in_phase();
}

/* The rate ends with the communicator on which it was set last, and with no other. */
static void of_communicators(void)
{
	MPI_Comm copy, split;

	MPI_Comm_dup(MPI_COMM_WORLD, &copy);
	show_matb("dup", copy);
	MPI_Comm_split(MPI_COMM_WORLD, 0, rank, &split);
	show_matb("split", split);
	set_matb(copy, "777");
	show_matb("set", copy);
	show_matb("world", MPI_COMM_WORLD);
	MPI_Comm_free(&copy);
	send_in_phase();
	set_matb(split, "777");
	set_matb(split, "0");
	show_matb("zero", split);
	set_matb(split, "777");
	set_matb(MPI_COMM_WORLD, "500");
	MPI_Comm_free(&split);
	send_in_phase();
	MPI_Comm_dup(MPI_COMM_WORLD, &copy);
	set_matb(copy, "777");
	MPI_Comm_disconnect(&copy);
	send_in_phase();
	/* a new communicator may have the handle of one that was freed */
	MPI_Comm_dup(MPI_COMM_WORLD, &copy);
	show_matb("anew", copy);
	MPI_Comm_free(&copy);
}

static void of_other_attributes(void)
{
	int own = 4711, keyval, known = 0, *value;

	MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &keyval, NULL);
	MPI_Comm_set_attr(MPI_COMM_WORLD, keyval, &own);
	MPI_Comm_get_attr(MPI_COMM_WORLD, keyval, &value, &known);
	if (rank == 0)
		printf("ordinary %d\n", known && value == &own);
	MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &value, &known);
	if (rank == 0)
		printf("tag_ub %d\n", known && *value >= 32767);
}

int main(int argc, char **argv)
{
	static const char *const no_numbers[] = { "fast", "5.0", "500x", "-1", "99999999999" };

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	show("maxrate", MPI_COMM_WORLD, "headway_maxrate");
	show_matb("first", MPI_COMM_WORLD);
	of_the_paper();
	of_communicators();
	of_other_attributes();
	set_matb(MPI_COMM_WORLD, "500");
	for (size_t i = argc > 1 ? 0 : 5; i < 5; i++)
		set_matb(MPI_COMM_WORLD, no_numbers[i]);
	show_matb("last", MPI_COMM_WORLD);
	MPI_Finalize();
	return 0;
}
