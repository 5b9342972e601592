// SPDX-License-Identifier: Apache-2.0
/*
 * SPANK plugin: tells headwayd of a job on each of its nodes, as the prolog and
 * epilog scripts do, gives its processes the MPI helper, and lets the job say that it
 * is to be paced all the time:
 *
 *	srun --headway-pattern=alltoall ...
 *
 * plugstack.conf:
 *	optional spank_headway.so [headway=/usr/local/bin/headway]
 *				  [preload=/usr/local/lib/libheadway-mpi.so]
 *
 * Without headway= it is the program below the prefix of this build, and without
 * preload= processes get nothing.
 *
 * Runs the command instead of speaking to the socket itself: whatever goes wrong
 * there, slurmd goes on, after HEADWAY_PATIENCE_MS at most.
 */
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <slurm/spank.h>

#ifndef HEADWAY_PATIENCE_MS
#define HEADWAY_PATIENCE_MS 10000
#endif

extern char **environ;

SPANK_PLUGIN(headway, 1);

static struct spank_option options[] = {
	{ "headway-pattern", "alltoall", "pace the job's traffic all the time, as an all-to-all",
	  1, 0, NULL },
	SPANK_OPTIONS_TABLE_END
};

int slurm_spank_init(spank_t sp, int argc, char *argv[])
{
	(void)argc;
	(void)argv;
	return spank_option_register(sp, &options[0]);
}

/* What plugstack.conf says after `key`, which ends in "=". */
static const char *argument(int argc, char *argv[], const char *key, const char *otherwise)
{
	int i;

	for (i = 0; i < argc; i++) {
		if (!strncmp(argv[i], key, strlen(key)))
			return argv[i] + strlen(key);
	}
	return otherwise;
}

static const char *program(int argc, char *argv[])
{
	return argument(argc, argv, "headway=", HEADWAY_PROGRAM);
}

static int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * (int64_t)1000 + now.tv_nsec / 1000000;
}

/*
 * Has the process ended before that time?  Its status stays 0 where nobody can know it: slurmd
 * ignores SIGCHLD, or another of its threads has waited for all children.
 */
static bool ends_until(pid_t pid, int *status, int64_t end_ms)
{
	const struct timespec pause = { .tv_nsec = 2000000 };

	for (;;) {
		pid_t ended = waitpid(pid, status, WNOHANG);

		if (ended == pid || (ended < 0 && errno != EINTR))
			return true;
		if (now_ms() >= end_ms)
			return false;
		nanosleep(&pause, NULL);
	}
}

static void run(char *const arguments[])
{
	int status = 0;
	pid_t pid;

	if (posix_spawn(&pid, arguments[0], NULL, NULL, arguments, environ)) {
		slurm_error("headway: cannot run %s", arguments[0]);
		return;
	}
	if (!ends_until(pid, &status, now_ms() + HEADWAY_PATIENCE_MS)) {
		slurm_error("headway: %s job %s has not ended after %d ms and is killed", arguments[0],
			    arguments[2], HEADWAY_PATIENCE_MS);
		kill(pid, SIGKILL);
		/* one that the kernel holds up stays behind */
		ends_until(pid, &status, now_ms() + 1000);
		return;
	}
	if (status)
		slurm_error("headway: %s job %s failed", arguments[0], arguments[2]);
}

/* "4711" and "1000", in that context. */
static int who(spank_t sp, char job[16], char user[16])
{
	uint32_t id;
	uid_t uid;

	if (spank_get_item(sp, S_JOB_ID, &id) != ESPANK_SUCCESS ||
	    spank_get_item(sp, S_JOB_UID, &uid) != ESPANK_SUCCESS)
		return -1;
	snprintf(job, 16, "%u", id);
	snprintf(user, 16, "%u", (unsigned int)uid);
	return 0;
}

int slurm_spank_job_prolog(spank_t sp, int argc, char *argv[])
{
	char job[16], user[16], *pattern = NULL, *hosts, *start;
	char *arguments[14];
	int n = 0;

	if (who(sp, job, user))
		return 0;
	hosts = getenv("SLURM_JOB_NODELIST");
	if (!hosts)
		hosts = getenv("SLURM_NODELIST");	/* Slurm 22.05 has this one only */
	arguments[n++] = (char *)program(argc, argv);
	arguments[n++] = "job";
	arguments[n++] = "start";
	arguments[n++] = job;
	arguments[n++] = "--lasting";
	arguments[n++] = "--user";
	arguments[n++] = user;
	if (hosts) {
		arguments[n++] = "--hosts";
		arguments[n++] = hosts;
	}
	start = getenv("SLURM_JOB_START_TIME");	/* the same on all nodes; 22.05 has none */
	if (start && *start > '0' && !start[strspn(start, "0123456789")]) {
		arguments[n++] = "--start";
		arguments[n++] = start;
	}
	if (hosts && spank_option_getopt(sp, &options[0], &pattern) == ESPANK_SUCCESS && pattern &&
	    !strcmp(pattern, "alltoall"))
		arguments[n++] = "--pattern=alltoall";
	arguments[n] = NULL;
	run(arguments);
	return 0;
}

int slurm_spank_job_epilog(spank_t sp, int argc, char *argv[])
{
	char job[16], user[16];

	if (who(sp, job, user))
		return 0;
	run((char *const[]){ (char *)program(argc, argv), "job", "end", job, "--user", user, NULL });
	return 0;
}

/* Is `path` one of those in an LD_PRELOAD? */
static bool has_path(const char *list, const char *path)
{
	size_t length = strlen(path);

	while (*(list += strspn(list, ": "))) {
		size_t next = strcspn(list, ": ");

		if (next == length && !strncmp(list, path, length))
			return true;
		list += next;
	}
	return false;
}

/*
 * In slurmstepd, before it starts the tasks of a step or the batch script.  A job in
 * which all processes have the helper needs no "headway run"; those without MPI it
 * leaves alone.  A library that is not there would have the dynamic linker complain in
 * every process.
 */
int slurm_spank_user_init(spank_t sp, int argc, char *argv[])
{
	const char *library = argument(argc, argv, "preload=", NULL);
	char before[PATH_MAX], after[2 * PATH_MAX];
	spank_err_t found;

	if (!library)
		return 0;
	if (access(library, R_OK)) {
		slurm_error("headway: there is no %s to preload", library);
		return 0;
	}
	found = spank_getenv(sp, "LD_PRELOAD", before, sizeof(before));
	if (found != ESPANK_SUCCESS && found != ESPANK_ENV_NOEXIST) {
		slurm_error("headway: LD_PRELOAD is left as it is: %s", spank_strerror(found));
		return 0;
	}
	if (found == ESPANK_ENV_NOEXIST)
		before[0] = '\0';
	if (has_path(before, library))
		return 0;
	snprintf(after, sizeof(after), "%s%s%s", before, before[0] ? ":" : "", library);
	spank_setenv(sp, "LD_PRELOAD", after, 1);
	return 0;
}
