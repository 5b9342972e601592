// SPDX-License-Identifier: MIT
// An all-to-all among processes over TCP, paced with libheadway: no MPI.
//
//   tcp_alltoall RANK BYTES CALLS FIRST_PORT HOST=ADDRESS...
//
// Each process of the job is started with its own RANK, the place of its host in
// the list; HOST is the name that headway.toml has for it.  Every process sends
// BYTES to every other, CALLS times, and all begin each call together.  Rank 0
// prints how long each call took at the slowest process, in milliseconds.
// HEADWAY=off runs the same without pacing.  Where no node has headwayd, each process
// paces itself if `headway run --network LINE -- tcp_alltoall ...` starts it.
#define _GNU_SOURCE // ppoll
#include <arpa/inet.h>
#include <errno.h>
#include <headway.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { HOSTS_MAX = 256, CONNECT_TRIES = 300, CONNECT_PAUSE_US = 100000 };

struct job {
	int rank;
	int ranks;
	size_t bytes;
	int port; // rank r listens on port + r
	const char *hosts[HOSTS_MAX];
	struct in_addr addresses[HOSTS_MAX];
	int sockets[HOSTS_MAX]; // to each rank; -1: oneself
};

static void die(const char *what)
{
	fprintf(stderr, "tcp_alltoall: %s: %s\n", what, strerror(errno));
	exit(1);
}

static struct sockaddr_in address_of(const struct job *job, int rank)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_port = htons((uint16_t)(job->port + rank)),
				       .sin_addr = job->addresses[rank] };
	return address;
}

static int listening_socket(const struct job *job)
{
	struct sockaddr_in own = address_of(job, job->rank);
	int one = 1;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (fd < 0 || bind(fd, (struct sockaddr *)&own, sizeof(own)) || listen(fd, HOSTS_MAX))
		die("cannot listen");
	return fd;
}

static int connected_to(const struct job *job, int rank)
{
	struct sockaddr_in peer = address_of(job, rank);

	for (int tries = 0; tries < CONNECT_TRIES; tries++) {
		int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

		if (fd >= 0 && !connect(fd, (struct sockaddr *)&peer, sizeof(peer))) {
			if (write(fd, &job->rank, sizeof(job->rank)) != sizeof(job->rank))
				die("cannot tell a peer who connects");
			return fd;
		}
		close(fd);
		usleep(CONNECT_PAUSE_US); // it has not been started yet
	}
	die("a peer does not listen");
	return -1;
}

// Each connects to those before it and accepts those behind it.
static void connect_all(struct job *job)
{
	int listener = listening_socket(job);
	int one = 1;

	job->sockets[job->rank] = -1;
	for (int rank = 0; rank < job->rank; rank++)
		job->sockets[rank] = connected_to(job, rank);
	for (int rank = job->rank + 1; rank < job->ranks; rank++) {
		int peer = -1;
		int fd = accept(listener, NULL, NULL);

		if (fd < 0 || recv(fd, &peer, sizeof(peer), MSG_WAITALL) != sizeof(peer) ||
		    peer <= job->rank || peer >= job->ranks)
			die("a peer that is not of this job connects");
		job->sockets[peer] = fd;
	}
	close(listener);
	for (int rank = 0; rank < job->ranks; rank++) {
		if (rank != job->rank)
			setsockopt(job->sockets[rank], IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	}
}

// What one call has to do.
struct progress {
	size_t sent[HOSTS_MAX];
	size_t received[HOSTS_MAX];
	uint64_t wait_ns; // until more may be sent; UINT64_MAX: until a socket has room
};

// As much of the message to that rank as may leave, and goes without waiting.
static void send_some(const struct job *job, int rank, struct progress *at, const char *out,
		      struct headway_session *session)
{
	size_t left = job->bytes - at->sent[rank];
	uint64_t wait_ns = 0;
	size_t now = headway_may_send(session, (size_t)rank, left, &wait_ns);
	ssize_t done;

	if (!now) {
		if (wait_ns < at->wait_ns)
			at->wait_ns = wait_ns;
		return;
	}
	done = send(job->sockets[rank], out, now, MSG_DONTWAIT | MSG_NOSIGNAL);
	if (done < 0 && errno != EAGAIN)
		die("cannot send");
	if (done < 0)
		return;
	at->sent[rank] += (size_t)done;
	at->wait_ns = 0; // there may be more
}

static void receive_some(const struct job *job, int rank, struct progress *at, char *in)
{
	ssize_t done = recv(job->sockets[rank], in, job->bytes - at->received[rank], MSG_DONTWAIT);

	if (done == 0 || (done < 0 && errno != EAGAIN))
		die("cannot receive");
	at->received[rank] += done > 0 ? (size_t)done : 0;
}

// One step with whichever peers are ready.
static void send_and_receive(const struct job *job, const struct pollfd *polled,
			     struct progress *at, const char *out, char *in,
			     struct headway_session *session)
{
	at->wait_ns = UINT64_MAX;
	for (int rank = 0; rank < job->ranks; rank++) {
		if (polled[rank].revents & (POLLIN | POLLHUP | POLLERR))
			receive_some(job, rank, at, in);
		if (rank != job->rank && at->sent[rank] < job->bytes)
			send_some(job, rank, at, out, session);
	}
}

// Waits for data, for room in sockets that are full, or until more may be sent.
static void wait_for_peers(const struct job *job, struct pollfd *polled, uint64_t wait_ns)
{
	struct timespec pause = { .tv_sec = (time_t)(wait_ns / 1000000000),
				  .tv_nsec = (long)(wait_ns % 1000000000) };

	if (ppoll(polled, (nfds_t)job->ranks, wait_ns == UINT64_MAX ? NULL : &pause, NULL) < 0 &&
	    errno != EINTR)
		die("cannot poll");
}

// To and from every other rank, all at once; what the bytes are does not matter here.
static void exchange(const struct job *job, const char *out, char *in,
		     struct headway_session *session)
{
	struct progress at = { 0 };
	struct pollfd polled[HOSTS_MAX];

	for (;;) {
		int unfinished = 0;

		for (int rank = 0; rank < job->ranks; rank++) {
			int is_peer = rank != job->rank;
			short events = 0;

			// while a clock decides, room in a socket tells nothing
			if (is_peer && at.sent[rank] < job->bytes && at.wait_ns == UINT64_MAX)
				events |= POLLOUT;
			if (is_peer && at.received[rank] < job->bytes)
				events |= POLLIN;
			polled[rank] = (struct pollfd){ .fd = events ? job->sockets[rank] : -1,
							.events = events };
			unfinished += is_peer && (at.sent[rank] < job->bytes || events);
		}
		if (!unfinished)
			return;
		wait_for_peers(job, polled, at.wait_ns);
		send_and_receive(job, polled, &at, out, in, session);
	}
}

static void send_number(int fd, double number)
{
	if (send(fd, &number, sizeof(number), MSG_NOSIGNAL) != sizeof(number))
		die("cannot send");
}

static double receive_number(int fd)
{
	double number;

	if (recv(fd, &number, sizeof(number), MSG_WAITALL) != sizeof(number))
		die("cannot receive");
	return number;
}

// The largest of all ranks' numbers, at every rank; nobody returns before all are here.
static double largest_of_all(const struct job *job, double own)
{
	if (job->rank != 0) {
		send_number(job->sockets[0], own);
		return receive_number(job->sockets[0]);
	}
	for (int rank = 1; rank < job->ranks; rank++) {
		double other = receive_number(job->sockets[rank]);

		own = other > own ? other : own;
	}
	for (int rank = 1; rank < job->ranks; rank++)
		send_number(job->sockets[rank], own);
	return own;
}

static double now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1e3 + now.tv_nsec / 1e6;
}

static void run_calls(const struct job *job, int calls, struct headway_session *session,
		      struct headway_exchange *all)
{
	char *out = calloc(1, job->bytes), *in = malloc(job->bytes);

	if (!out || !in)
		die("cannot allocate the messages");
	for (int call = 0; call < calls; call++) {
		largest_of_all(job, 0);
		double begin_ms = now_ms();
		uint64_t entry = headway_enter(session, all, job->bytes);

		exchange(job, out, in, session);
		headway_leave(session, entry);
		double slowest_ms = largest_of_all(job, now_ms() - begin_ms);

		if (job->rank == 0)
			printf("%.3f ms%s\n", slowest_ms, entry ? "" : ", not paced");
	}
	free(out);
	free(in);
}

static int read_arguments(struct job *job, int argc, char **argv)
{
	if (argc < 7 || argc - 5 > HOSTS_MAX)
		return -1;
	job->rank = atoi(argv[1]);
	job->bytes = strtoul(argv[2], NULL, 10);
	job->port = atoi(argv[4]);
	job->ranks = argc - 5;
	for (int rank = 0; rank < job->ranks; rank++) {
		char *equals = strchr(argv[5 + rank], '=');

		if (!equals || !inet_aton(equals + 1, &job->addresses[rank]))
			return -1;
		*equals = '\0';
		job->hosts[rank] = argv[5 + rank];
	}
	return job->rank >= 0 && job->rank < job->ranks && job->bytes > 0 ? 0 : -1;
}

int main(int argc, char **argv)
{
	struct job job;

	if (read_arguments(&job, argc, argv)) {
		fprintf(stderr, "usage: tcp_alltoall RANK BYTES CALLS FIRST_PORT HOST=ADDRESS...\n");
		return 2;
	}
	connect_all(&job);

	struct headway_session *session = headway_open(
		&(struct headway_options){ .size = sizeof(struct headway_options),
					     .job = "tcp_alltoall",
					     .rank = job.rank,
					     .paces_itself = 1 });
	if (headway_set_hosts(session, job.hosts, (size_t)job.ranks, 1) && job.rank == 0)
		fprintf(stderr, "tcp_alltoall: not paced: %s\n", headway_reason(session));
	run_calls(&job, atoi(argv[3]), session, headway_exchange_of(session, "alltoall", NULL));
	headway_close(session);
	return 0;
}
