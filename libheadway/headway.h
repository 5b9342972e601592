/* SPDX-License-Identifier: MIT */
/**
 * @file
 * libheadway: pacing for programs that exchange data over TCP.
 *
 * A process opens a session with headwayd on its node, says which hosts its job
 * runs on, describes its exchanges once, and enters and leaves them.  While a
 * process is inside an exchange, the node sends towards the job's hosts at the
 * rate that the plan gives to it.  Entering and leaving cost one store into
 * memory that the kernel reads.  Where there is no headwayd, a process can pace itself
 * (headway_may_send()); of several exchanges that it is in, the last one entered holds.
 *
 *     struct headway_session *session = headway_open(NULL);    (or options)
 *     headway_set_hosts(session, hosts, host_count, 1);
 *     struct headway_exchange *all = headway_exchange_of(session, "alltoall", NULL);
 *     for (;;) {
 *             uint64_t entry = headway_enter(session, all, message_bytes);
 *             exchange_data();
 *             headway_leave(session, entry);
 *     }
 *     headway_close(session);
 *
 * Nothing here makes a program fail.  Without headwayd, with one that does not
 * answer within the time-out, or with HEADWAY=off, entering does nothing and the
 * program runs unpaced; a daemon that comes back is found again.  headway_reason()
 * tells why something is not paced.
 *
 * Threads may use one session together; the one that closes it is its last.  What a
 * thread has entered paces the whole process, whose packets all have the node's rates.
 * After fork() a session is the parent's: in the child nothing is paced by it, and to
 * close it there frees memory and nothing else.
 * Programs are linked with -lheadway (pkg-config headway); headway.py has the same for Python.
 *
 * Structures begin with their size, so that a later library can have more members: one
 * that the program does not know has its default, and is not filled in.
 */
#ifndef HEADWAY_H
#define HEADWAY_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#define HEADWAY_NOEXCEPT noexcept
extern "C" {
#else
#define HEADWAY_NOEXCEPT
#endif

/** A process's session with headwayd. */
struct headway_session;

/** A way in which the job's processes exchange data; it belongs to its session. */
struct headway_exchange;

/** What headway_open() is told.  Zero bytes mean the default of each member but `size`. */
struct headway_options {
	/** sizeof(struct headway_options); with another the session paces nothing. */
	size_t size;
	/** The job's name, the same in all its processes, at most 128 characters of
	 * letters, digits and .:@/+-_ ; default: HEADWAY_JOB, else the name under which
	 * Slurm (ALLOCATION.STEP) or an MPI launcher started the process, else a name of
	 * this process alone. */
	const char *job;
	/** This process's number within the job; default: RANK, as torchrun sets it. */
	int rank;
	/** The path of headwayd's control socket; default: HEADWAY_SOCKET, else
	 * /run/headway/control.sock. */
	const char *socket_path;
	/** For how long to wait for one answer of headwayd; default:
	 * HEADWAY_TIMEOUT_MS, else 1000. */
	int timeout_ms;
	/** A number from 1 to 2^53 - 1, drawn once for the job and the same in all its
	 * processes, by which the cluster knows it from an earlier job of that name;
	 * default: HEADWAY_JOB_START, else it has none. */
	uint64_t job_start;
	/** 1: the program hands over what headway_may_send() says, so that this process can pace
	 * itself where its node has no headwayd.  What the network is `headway run` knows
	 * (HEADWAY_NETWORK), and the process has a planner of its own. */
	int paces_itself;
};

/**
 * Open a session.
 * @param options may be NULL: all defaults.  What it has beyond the members that this
 *        library knows is not looked at but for a reason to say so
 * @return NULL only if memory is short; a session without a daemon is one that
 *         paces nothing for the time being (headway_connected())
 */
struct headway_session *headway_open(const struct headway_options *options) HEADWAY_NOEXCEPT;

/** End the session and whatever was entered, which a child after fork() leaves to its
 * parent.  NULL is allowed. */
void headway_close(struct headway_session *session) HEADWAY_NOEXCEPT;

/** @return 1 if headwayd was there when it was last talked to, else 0 */
int headway_connected(const struct headway_session *session) HEADWAY_NOEXCEPT;

/** @return the name under which headway.toml knows this node; the host's name
 *          before headwayd has told; valid as long as the session */
const char *headway_node(const struct headway_session *session) HEADWAY_NOEXCEPT;

/** @return the node's cluster, "" if headwayd did not tell; valid as long as the session */
const char *headway_cluster(const struct headway_session *session) HEADWAY_NOEXCEPT;

/**
 * Why this thread's last call did nothing, or less than it was asked for: a sentence for
 * people, "" if there is nothing to say.  Valid until this thread's next call.
 */
const char *headway_reason(const struct headway_session *session) HEADWAY_NOEXCEPT;

/**
 * Say which hosts the job runs on, before its first exchange is described.
 * @param hosts names as headway_node() gives them, each once
 * @param processes_per_host the most processes of the job on any host; 0: WORLD_SIZE, as
 *        torchrun sets it, divided by the hosts
 * @return 0, or -1 if an argument makes no sense or there are exchanges already
 */
int headway_set_hosts(struct headway_session *session, const char *const *hosts, size_t host_count,
		      unsigned int processes_per_host) HEADWAY_NOEXCEPT;

/**
 * Describe an exchange among all hosts of the job.
 * @param operation "alltoall", "gather" (all hosts send to `root`), "scatter"
 *        (`root` sends to all), or another operation of headwayd's control protocol;
 *        "ring": each host sends to the next one of the list, and the last to the first
 * @param root a host of the job for operations that have one, else NULL
 * @return the same exchange for the same arguments; NULL if an argument makes no sense
 */
struct headway_exchange *headway_exchange_of(struct headway_session *session, const char *operation,
					     const char *root) HEADWAY_NOEXCEPT;

/**
 * Describe an exchange among some hosts of the job.
 * @param operation, root as for headway_exchange_of(); the root is one of `hosts`
 * @param hosts some of headway_set_hosts(), each once; of a ring in the order in which it goes
 * @return the same exchange for the same arguments; NULL if an argument makes no sense
 */
struct headway_exchange *headway_exchange_among(struct headway_session *session, const char *operation,
						const char *root, const char *const *hosts,
						size_t host_count) HEADWAY_NOEXCEPT;

/** The plan of an exchange, as headway_plan_of() fills it in. */
struct headway_plan {
	/** sizeof(struct headway_plan), set by the caller. */
	size_t size;
	/** 1: messages of that size are paced. */
	int paced;
	/** Bits per second that each pair of hosts gets; 0 if nothing limits it. */
	double pair_bits_per_s;
	/** Predicted duration in seconds of one exchange with pacing, and without,
	 * where low and high differ if time-outs of TCP may occur; 0: not known. */
	double paced_s;
	double unpaced_low_s;
	double unpaced_high_s;
};

/**
 * Ask what headwayd plans for an exchange of all hosts ("alltoall", "alltoallv").
 * headway_reason() then says, in one sentence, which link decides.
 * @param message_bytes from each process to each other
 * @return 0, or -1 without a plan, and then `plan` is as it was
 */
int headway_plan_of(struct headway_session *session, const struct headway_exchange *exchange,
		    uint64_t message_bytes, struct headway_plan *plan) HEADWAY_NOEXCEPT;

/**
 * The exchange begins: from now on this process's packets are paced.
 * @param message_bytes from this process to one other, of a ring in one step; sizes up to
 *        the same power of two are paced alike
 * @return for headway_leave(); 0 if nothing is paced
 */
uint64_t headway_enter(struct headway_session *session, struct headway_exchange *exchange,
		       uint64_t message_bytes) HEADWAY_NOEXCEPT;

/**
 * How much of a message may be handed to TCP now.  It is all of it, unless this process paces
 * itself (`paces_itself`): then a piece of a frame, or of as many as the plan allows, by a clock for each
 * cluster and each host.  The program should set TCP_NODELAY, for a piece is to leave at once.  What it
 * does not hand over counts as sent all the same.
 * @param host whom the message goes to: its place in the list of headway_set_hosts()
 * @param bytes that are left of the message
 * @param wait_ns is set where nothing may be sent yet: to how long that is so; may be NULL
 * @return how many bytes, from 0 to `bytes`
 */
size_t headway_may_send(struct headway_session *session, size_t host, size_t bytes,
			uint64_t *wait_ns) HEADWAY_NOEXCEPT;

/** What was entered ends; 0 is allowed, and so is an entry that has ended. */
void headway_leave(struct headway_session *session, uint64_t entry) HEADWAY_NOEXCEPT;

/**
 * Pace by traffic that is not an operation: what every host sends to every other.
 * It holds beside whatever is entered, until the next call.
 * @param bytes host_count x host_count numbers in the order of headway_set_hosts(),
 *        row by row, a row being what one host sends; only proportions matter.
 *        NULL: no such traffic any more
 * @return 0, or -1 if it cannot be paced
 */
int headway_traffic(struct headway_session *session, const uint64_t *bytes) HEADWAY_NOEXCEPT;

#ifdef __cplusplus
}
#endif

#endif
