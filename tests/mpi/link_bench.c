// SPDX-License-Identifier: Apache-2.0
// How much each of several links gets of a network that they use at once, after Zhu et al.:
// "Communication Models for Resource Constrained Hierarchical Ethernet Networks", section 3.1.
//
//   link_bench [--bytes 131072] [--lead-ms 30] [--window-ms 60] [--pause] PATTERN...
//
// A pattern is a list of links, 0>4,1>4,5>2: from one rank to another.  On each link its sender
// keeps IN_FLIGHT messages of so many bytes under way, into receives that are posted already.
// What a link gets is counted from --lead-ms after the common start on, for --window-ms; a
// message that is under way at either end of the window counts by the part of its time that is
// inside.  All links go on for a while afterwards, so that none is alone before the window is over.
//
// For each pattern rank 0 prints one JSON object on a line, of the order of its links
// mbps, of payload, and the longest time in the window without the end of a message:
//   {"pattern":0,"links":[[0,4],[1,4]],"mbps":[470.1,469.8],"longest_gap_ms":[2.3,2.4]}
//
// The ranks have to share CLOCK_MONOTONIC, as those of collective_bench do; --pause is as there,
// with the pattern's number for the bytes.
#include <getopt.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reader_pause.h"
#include "bench_parts.h"

#define MAX_LINKS 256
#define IN_FLIGHT 4
#define MAX_MESSAGES 100000
/* Senders go on for so much longer than the window. */
#define TAIL_S 0.010

struct options {
	int bytes;
	double lead_s;
	double window_s;
	bool pause;
};

struct link {
	int from;
	int to;
	double *ends_s;		/* when messages were complete, at the receiver */
	int ends;
};

struct pattern {
	struct link links[MAX_LINKS];
	int count;
};

/* One message of a link under way, at this rank. */
struct transfer {
	struct link *link;
	unsigned char *data;
	bool is_last;		/* the empty message that follows the others */
};

struct transfers {
	MPI_Request requests[MAX_LINKS * IN_FLIGHT];
	struct transfer list[MAX_LINKS * IN_FLIGHT];
	int count;
};

static struct options parse_options(int argc, char **argv)
{
	static const struct option known[] = {
		{ "bytes", required_argument, NULL, 'b' },
		{ "lead-ms", required_argument, NULL, 'l' },
		{ "window-ms", required_argument, NULL, 'w' },
		{ "pause", no_argument, NULL, 'p' },
		{ 0 }
	};
	struct options options = { .bytes = 131072, .lead_s = 30e-3, .window_s = 60e-3 };
	int option;

	while ((option = getopt_long(argc, argv, "", known, NULL)) != -1) {
		switch (option) {
		case 'b':
			options.bytes = parse_number(optarg, 1, 1 << 28, "--bytes");
			break;
		case 'l':
			options.lead_s = parse_number(optarg, 0, 100000, "--lead-ms") * 1e-3;
			break;
		case 'w':
			options.window_s = parse_number(optarg, 1, 100000, "--window-ms") * 1e-3;
			break;
		case 'p':
			options.pause = true;
			break;
		default:
			fail("%s", "see the head of link_bench.c for its options");
		}
	}
	if (optind == argc)
		fail("%s", "no pattern is given");
	return options;
}

static void parse_pattern(const char *text, int ranks, struct pattern *pattern)
{
	pattern->count = 0;
	for (const char *at = text; *at;) {
		struct link *link = &pattern->links[pattern->count++];
		int length = 0;

		if (pattern->count > MAX_LINKS)
			fail("%s: more links than fit", text);
		if (sscanf(at, "%d>%d%n", &link->from, &link->to, &length) != 2)
			fail("%s: links are written 0>1,2>1", text);
		if (link->from < 0 || link->from >= ranks || link->to < 0 || link->to >= ranks ||
		    link->from == link->to)
			fail("%s: there is no such link", text);
		at += length;
		if (*at && *at++ != ',')
			fail("%s: links are written 0>1,2>1", text);
	}
}

/* ---- the messages ------------------------------------------------------------- */

static int tag_of(const struct pattern *pattern, const struct link *link)
{
	return (int)(link - pattern->links);
}

static void post(struct transfers *transfers, int at, const struct pattern *pattern, int rank,
		 int bytes)
{
	struct transfer *transfer = &transfers->list[at];
	struct link *link = transfer->link;
	MPI_Request *request = &transfers->requests[at];

	if (link->from == rank)
		MPI_Isend(transfer->data, bytes, MPI_BYTE, link->to, tag_of(pattern, link),
			  MPI_COMM_WORLD, request);
	else
		MPI_Irecv(transfer->data, bytes, MPI_BYTE, link->from, tag_of(pattern, link),
			  MPI_COMM_WORLD, request);
}

/* Prepares this rank's links; receives are posted at once, sends are not. */
static void prepare(struct transfers *transfers, struct pattern *pattern, int rank, int bytes)
{
	transfers->count = 0;
	for (int i = 0; i < pattern->count; i++) {
		struct link *link = &pattern->links[i];

		link->ends = 0;
		link->ends_s = link->to == rank ? allocate(MAX_MESSAGES * sizeof(double)) : NULL;
		if (link->from != rank && link->to != rank)
			continue;
		for (int slot = 0; slot < IN_FLIGHT; slot++) {
			int at = transfers->count++;

			transfers->list[at] = (struct transfer){ link, allocate(bytes), false };
			memset(transfers->list[at].data, rank, bytes);
			transfers->requests[at] = MPI_REQUEST_NULL;
			if (link->to == rank)
				post(transfers, at, pattern, rank, bytes);
		}
	}
}

static void start_sends(struct transfers *transfers, const struct pattern *pattern, int rank,
			int bytes)
{
	for (int slot = 0; slot < IN_FLIGHT; slot++)
		for (int at = slot; at < transfers->count; at += IN_FLIGHT)
			if (transfers->list[at].link->from == rank)
				post(transfers, at, pattern, rank, bytes);
}

static void sent(struct transfers *transfers, int at, const struct pattern *pattern, int rank,
		 int bytes, double until_s)
{
	struct transfer *transfer = &transfers->list[at];

	if (transfer->is_last)
		return;
	transfer->is_last = monotonic_s() >= until_s;
	post(transfers, at, pattern, rank, transfer->is_last ? 0 : bytes);
}

static void received(struct transfers *transfers, int at, const struct pattern *pattern, int rank,
		     int bytes, const MPI_Status *status)
{
	struct link *link = transfers->list[at].link;
	int count;

	MPI_Get_count(status, MPI_BYTE, &count);
	if (count == 0)
		return;
	if (link->ends == MAX_MESSAGES)
		fail("%s", "more messages than fit; use larger ones");
	link->ends_s[link->ends++] = monotonic_s();
	post(transfers, at, pattern, rank, bytes);
}

/* Until all senders of this rank's links have said that they are through. */
static void transfer_all(struct transfers *transfers, const struct pattern *pattern, int rank,
			 int bytes, double until_s)
{
	for (;;) {
		MPI_Status status;
		int at;

		MPI_Waitany(transfers->count, transfers->requests, &at, &status);
		if (at == MPI_UNDEFINED)
			return;
		if (transfers->list[at].link->from == rank)
			sent(transfers, at, pattern, rank, bytes, until_s);
		else
			received(transfers, at, pattern, rank, bytes, &status);
	}
}

/* ---- what a link got ----------------------------------------------------------- */

/* Messages complete at a moment, with the part of the one that was under way. */
static double messages_at(const struct link *link, double start_s, double moment_s)
{
	double before_s = start_s;

	for (int i = 0; i < link->ends; i++) {
		if (link->ends_s[i] > moment_s)
			return i + (moment_s - before_s) / (link->ends_s[i] - before_s);
		before_s = link->ends_s[i];
	}
	return link->ends;
}

static double longest_gap_s(const struct link *link, double begin_s, double end_s)
{
	double longest_s = 0, before_s = begin_s;

	for (int i = 0; i <= link->ends; i++) {
		double next_s = i < link->ends && link->ends_s[i] < end_s ? link->ends_s[i] : end_s;

		if (next_s - before_s > longest_s)
			longest_s = next_s - before_s;
		if (next_s > before_s)
			before_s = next_s;
	}
	return longest_s;
}

static void print_figures(const char *name, const double *values, int count)
{
	printf(",\"%s\":[", name);
	for (int i = 0; i < count; i++)
		printf("%s%.3f", i ? "," : "", values[i]);
	printf("]");
}

static void report(const struct pattern *pattern, int number, int rank, const double *own_mbps,
		   const double *own_gaps_ms)
{
	double mbps[MAX_LINKS], gaps_ms[MAX_LINKS];

	MPI_Reduce(own_mbps, mbps, pattern->count, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
	MPI_Reduce(own_gaps_ms, gaps_ms, pattern->count, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
	if (rank)
		return;
	printf("{\"pattern\":%d,\"links\":[", number);
	for (int i = 0; i < pattern->count; i++)
		printf("%s[%d,%d]", i ? "," : "", pattern->links[i].from, pattern->links[i].to);
	printf("]");
	print_figures("mbps", mbps, pattern->count);
	print_figures("longest_gap_ms", gaps_ms, pattern->count);
	printf("}\n");
	fflush(stdout);
}

static void bench_pattern(struct pattern *pattern, int number, const struct options *options,
			  int rank)
{
	static struct transfers transfers;
	double mbps[MAX_LINKS] = { 0 }, gaps_ms[MAX_LINKS] = { 0 };
	double start_s, begin_s, end_s;

	prepare(&transfers, pattern, rank, options->bytes);
	if (options->pause)
		pause_for_reader("before", number);
	start_s = start_together();
	begin_s = start_s + options->lead_s;
	end_s = begin_s + options->window_s;
	start_sends(&transfers, pattern, rank, options->bytes);
	transfer_all(&transfers, pattern, rank, options->bytes, end_s + TAIL_S);
	/* Rank 0 may have no link, and would pause before the others are through. */
	MPI_Barrier(MPI_COMM_WORLD);
	if (options->pause)
		pause_for_reader("after", number);
	for (int i = 0; i < pattern->count; i++) {
		const struct link *link = &pattern->links[i];
		double messages;

		if (link->to != rank)
			continue;
		messages = messages_at(link, start_s, end_s) - messages_at(link, start_s, begin_s);
		mbps[i] = messages * options->bytes * 8 / options->window_s * 1e-6;
		gaps_ms[i] = longest_gap_s(link, begin_s, end_s) * 1e3;
		free(link->ends_s);
	}
	for (int at = 0; at < transfers.count; at++)
		free(transfers.list[at].data);
	report(pattern, number, rank, mbps, gaps_ms);
}

int main(int argc, char **argv)
{
	static struct pattern pattern;
	struct options options;
	int rank, ranks;

	MPI_Init(&argc, &argv);
	options = parse_options(argc, argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	for (int i = optind; i < argc; i++) {
		parse_pattern(argv[i], ranks, &pattern);
		bench_pattern(&pattern, i - optind, &options, rank);
	}
	MPI_Finalize();
	return 0;
}
