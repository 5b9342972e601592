// SPDX-License-Identifier: Apache-2.0
// A program that waits for all of its children after MPI_Init, and counts those that have ended: it has none.
#include <errno.h>
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>

static volatile sig_atomic_t ended;

static void count(int number)
{
	(void)number;
	ended++;
}

int main(int argc, char **argv)
{
	struct sigaction action = { .sa_handler = count };
	int has_children;

	sigaction(SIGCHLD, &action, NULL);
	MPI_Init(&argc, &argv);
	has_children = waitpid(-1, NULL, WNOHANG) != -1 || errno != ECHILD;
	MPI_Finalize();
	printf("%s, %s\n", has_children ? "a child" : "no child", ended ? "a signal" : "no signal");
	return 0;
}
