// SPDX-License-Identifier: Apache-2.0
// Runs a rank of an MPI job and keeps what it wrote and how it ended:
//   rank_record PROGRAM [ARGUMENT...]
// The folder $HW_RANK_RECORDS, if there is that variable, gets N.out and N.err of rank N, N.recorder
// with the number of this process, and N.status, which is there once the rank has ended: its exit
// status, or minus the signal that ended it.  A launcher loses lines that are written just before
// a job is aborted, and has its own opinion of how a job ended; a file loses nothing.
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define PATH_BYTES 4096
#define FAILED 127

static _Noreturn void die(const char *what)
{
	fprintf(stderr, "rank_record: %s: %s\n", what, strerror(errno));
	_exit(FAILED);
}

static void set_path(char *path, const char *kind)
{
	const char *open_mpi = getenv("PMIX_RANK"), *mpich = getenv("PMI_RANK");

	snprintf(path, PATH_BYTES, "%s/%s.%s", getenv("HW_RANK_RECORDS"),
		 open_mpi ? open_mpi : mpich ? mpich : "0", kind);
}

static void write_to(int descriptor, const char *kind)
{
	char path[PATH_BYTES];
	int file;

	set_path(path, kind);
	file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
	if (file < 0 || dup2(file, descriptor) < 0)
		die(path);
}

/* Whoever sees the file sees all of it. */
static void keep_number(const char *kind, int number)
{
	char path[PATH_BYTES], unfinished[PATH_BYTES];
	FILE *file;

	set_path(path, kind);
	set_path(unfinished, "unfinished");
	file = fopen(unfinished, "w");
	if (!file || fprintf(file, "%d\n", number) < 0 || fclose(file) || rename(unfinished, path))
		die(path);
}

int main(int argc, char **argv)
{
	pid_t parent = getpid(), child;
	int status;

	if (argc < 2) {
		fprintf(stderr, "usage: rank_record PROGRAM [ARGUMENT...]\n");
		return FAILED;
	}
	if (!getenv("HW_RANK_RECORDS")) {	/* nobody wants any */
		execvp(argv[1], argv + 1);
		die(argv[1]);
	}
	keep_number("recorder", parent);
	child = fork();
	if (child < 0)
		die("fork");
	if (child == 0) {
		/* whoever ends this process ends the rank */
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent)
			_exit(FAILED);
		write_to(STDOUT_FILENO, "out");
		write_to(STDERR_FILENO, "err");
		execvp(argv[1], argv + 1);
		die(argv[1]);
	}
	while (waitpid(child, &status, 0) < 0) {
		if (errno != EINTR)
			die("waitpid");
	}
	if (WIFSIGNALED(status)) {
		keep_number("status", -WTERMSIG(status));
		signal(WTERMSIG(status), SIG_DFL);
		kill(getpid(), WTERMSIG(status));
	}
	keep_number("status", WEXITSTATUS(status));
	return WEXITSTATUS(status);
}
