/* SPDX-License-Identifier: MIT
 * libheadway-agent.so, which `headway run --measure` preloads into a job's ranks before the job begins: each
 * becomes an agent of the measurement instead (userspace/measure/agent_call.hpp), before its program has done
 * anything.  Whatever else inherits it, a launcher or a shell on the way, is left alone, and so is everything
 * where the agent's program is not: the job then runs as it is, and nothing is measured.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

/* A launcher gives one of them to what it starts as a rank. */
static const char *const rank_variables[] = { "PMIX_RANK", "PMI_RANK", "OMPI_COMM_WORLD_RANK" };

static bool is_rank(void)
{
	for (size_t i = 0; i < sizeof(rank_variables) / sizeof(rank_variables[0]); i++)
		if (getenv(rank_variables[i]))
			return true;
	return false;
}

__attribute__((constructor)) static void become_agent(void)
{
	const char *program = getenv("HEADWAY_AGENT");

	if (!program || !is_rank() || access(program, X_OK))
		return;
	unsetenv("LD_PRELOAD");
	execl(program, "headway", "measure", "--agent", "--call", (char *)NULL);
}
