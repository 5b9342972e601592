// SPDX-License-Identifier: Apache-2.0
// An MPI library of another family, as far as other_mpi_program.c needs one: that a
// call arrives here with all its arguments is what it is for.
#include <stdarg.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

EXPORT int PMPI_Get_library_version(char *version, int *length);
EXPORT int MPI_Pcontrol(const int level, ...);
EXPORT int MPI_Alltoallw(const void *a, const int *b, const int *c, const void *d, void *e,
			 const int *f, const int *g, const void *h, const void *i);
EXPORT int MPI_Init(int *argc, char ***argv);

int PMPI_Get_library_version(char *version, int *length)
{
	strcpy(version, "Other MPI 1.0");
	*length = (int)strlen(version);
	return 0;
}

int MPI_Init(int *argc, char ***argv)
{
	return argc && argv ? 7 : 1;
}

/* 0 if there are seven more whole numbers, then ten others, each by one larger. */
int MPI_Pcontrol(const int level, ...)
{
	int wrong = 0;
	va_list more;

	va_start(more, level);
	for (int at = 1; at <= 7; at++)
		wrong |= va_arg(more, int) != level + at;
	for (int at = 8; at <= 17; at++)
		wrong |= va_arg(more, double) != level + at;
	va_end(more);
	return wrong;
}

/* 0 if the nine pointers are one char apart. */
int MPI_Alltoallw(const void *a, const int *b, const int *c, const void *d, void *e, const int *f,
		  const int *g, const void *h, const void *i)
{
	const char *first = a;
	const void *all[] = { a, b, c, d, e, f, g, h, i };
	int wrong = 0;

	for (int at = 0; at < 9; at++)
		wrong |= all[at] != first + at;
	return wrong;
}
