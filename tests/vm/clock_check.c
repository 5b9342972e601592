// SPDX-License-Identifier: Apache-2.0
// Are the clocks and timers of a machine whose processor looks FACTOR times faster
// those of one machine?  Runs in a guest of vm-run --icount --faster FACTOR, as root;
// KTAP with every figure it judges, so that two runs can be compared to the bit.
//
//   clock_check FACTOR
//
// Virtual time, which sched_clock() and the TSC show, is a nanosecond for each
// instruction; the guest's time is FACTOR times slower.
#define _GNU_SOURCE
#include "kernel_clocks.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/timex.h>
#include <time.h>
#include <unistd.h>
#include <x86intrin.h>

#define NS_PER_S 1000000000LL
#define US 1000LL
#define MS 1000000LL
#define TICK_NS (4 * MS)	/* 250 Hz, as Debian builds its kernels */
#define COUNT(array) ((int)(sizeof(array) / sizeof(*(array))))

/* As many as a host does in a second or two. */
#define BUSY_INSTRUCTIONS 1000000000LL

static int factor, number, failed;

/* ---- telling ----------------------------------------------------------------- */

static void die(const char *what)
{
	printf("Bail out! %s: %s\n", what, strerror(errno));
	exit(2);
}

__attribute__((format(printf, 2, 3)))
static void result(bool ok, const char *format, ...)
{
	va_list arguments;

	failed += !ok;
	printf("%sok %d ", ok ? "" : "not ", ++number);
	va_start(arguments, format);
	vprintf(format, arguments);
	va_end(arguments);
	putchar('\n');
}

/* result_between NAME: the figure is told, and its limits if it is beyond them. */
static void result_between(const char *name, long long least, long long value, long long most)
{
	bool ok = least <= value && value <= most;

	result(ok, "%s", name);
	printf("# %lld", value);
	if (!ok)
		printf("; wanted: %lld to %lld", least, most);
	putchar('\n');
}

/* ---- clocks ------------------------------------------------------------------ */

static long long in_ns(struct timespec time)
{
	return time.tv_sec * NS_PER_S + time.tv_nsec;
}

static struct timespec of_ns(long long ns)
{
	return (struct timespec){ ns / NS_PER_S, ns % NS_PER_S };
}

/* By vdso, which reads the TSC itself. */
static long long clock_ns(clockid_t clock)
{
	struct timespec now;

	if (clock_gettime(clock, &now))
		die("clock_gettime");
	return in_ns(now);
}

static long long clock_by_syscall_ns(clockid_t clock)
{
	struct timespec now;

	if (syscall(SYS_clock_gettime, clock, &now))
		die("clock_gettime by syscall");
	return in_ns(now);
}

static long long now_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

static void sleep_ns(long long ns)
{
	struct timespec time = of_ns(ns);

	if (clock_nanosleep(CLOCK_MONOTONIC, 0, &time, NULL))
		die("clock_nanosleep");
}

/* For a thousand million instructions, told by the TSC: the clock is what is judged. */
static void be_busy(void)
{
	unsigned long long until = __rdtsc() + BUSY_INSTRUCTIONS;

	while (__rdtsc() < until)
		for (volatile int turn = 0; turn < 1000; turn++)
			;
}

static const struct {
	clockid_t id;
	const char *name;
} clocks[] = {
	{ CLOCK_MONOTONIC, "CLOCK_MONOTONIC" },
	{ CLOCK_REALTIME, "CLOCK_REALTIME" },
	{ CLOCK_BOOTTIME, "CLOCK_BOOTTIME" },
	{ CLOCK_TAI, "CLOCK_TAI" },
	{ CLOCK_MONOTONIC_RAW, "CLOCK_MONOTONIC_RAW" },
};

static void check_monotonic(clockid_t clock, const char *name)
{
	long long last = 0, backwards = 0, stood = 0;

	for (int i = 0; i < 20000; i++) {
		long long now = i % 2 ? clock_by_syscall_ns(clock) : clock_ns(clock);

		backwards += now < last;
		stood += now == last;
		last = now;
		if (i % 1000 == 999)
			sleep_ns(US);
	}
	result(!backwards, "%s never goes back, read by vdso and by syscall in turn", name);
	printf("# %lld times back, %lld times the same, at last %lld\n", backwards, stood, last);
}

/* When a clock was read: between two readings of CLOCK_MONOTONIC. */
struct reading {
	long long before, value, after;
};

static struct reading read_clock(clockid_t clock)
{
	struct reading reading;

	reading.before = now_ns();
	reading.value = clock_by_syscall_ns(clock);
	reading.after = now_ns();
	return reading;
}

/*
 * Two clocks advance alike if one span fits between the least and the most that the
 * other may have seen.  CLOCK_MONOTONIC_RAW has the clocksource's rate, a fraction of
 * 24 bits and fewer; the others are steered to tick exactly.
 */
static void check_alike(clockid_t clock, const char *name)
{
	struct reading from = read_clock(clock), to;
	long long loose;
	char text[80];

	sleep_ns(NS_PER_S);
	be_busy();
	to = read_clock(clock);
	loose = clock == CLOCK_MONOTONIC_RAW ? (to.after - from.before) / 10000 : 1;
	snprintf(text, sizeof(text), "%s advances as CLOCK_MONOTONIC does", name);
	result_between(text, to.before - from.after - loose, to.value - from.value,
		       to.after - from.before + loose);
}

static void check_clocks(void)
{
	struct timex tai = { .modes = ADJ_TAI, .constant = 37 };

	if (adjtimex(&tai) < 0)
		die("adjtimex");
	for (int i = 0; i < COUNT(clocks); i++)
		check_monotonic(clocks[i].id, clocks[i].name);
	for (int i = 1; i < COUNT(clocks); i++)
		check_alike(clocks[i].id, clocks[i].name);
}

/* ---- the TSC, the scheduler's clock --------------------------------------------- */

static void check_tsc(const char *name, void (*pass)(void))
{
	long long tsc = __rdtsc(), clock = now_ns(), span;

	pass();
	span = now_ns() - clock;
	tsc = __rdtsc() - tsc;
	result_between(name, tsc / factor - span / 1000, span, tsc / factor + span / 1000);
	printf("# the TSC: %lld\n", tsc);
}

static void sleep_a_second(void)
{
	sleep_ns(NS_PER_S);
}

static long long usage_ns(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * NS_PER_S +
	       (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * US;
}

/* The scheduler accounts by sched_clock(), which keeps the true rate. */
static void check_scheduler(void)
{
	long long clock = now_ns(), cpu = clock_ns(CLOCK_PROCESS_CPUTIME_ID), usage = usage_ns();
	long long expected, loose;

	be_busy();
	expected = (now_ns() - clock) * factor;
	cpu = clock_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu;
	usage = usage_ns() - usage;
	loose = expected / 50;
	result_between("a busy process's CPU time is FACTOR times its CLOCK_MONOTONIC time",
		       expected - loose, cpu, expected + loose / 10);
	result_between("so is what getrusage tells", expected - loose, usage, expected + loose / 10);
}

/* ---- jiffies ------------------------------------------------------------------- */

struct ticks {
	long long jiffies, ns;
};

static struct ticks read_ticks(void)
{
	struct ticks ticks = { 0 };
	FILE *file = fopen("/proc/timer_list", "r");
	char line[256];

	if (!file)
		die("/proc/timer_list");
	while (!ticks.jiffies && fgets(line, sizeof(line), file))
		sscanf(line, "jiffies: %lld", &ticks.jiffies);
	ticks.ns = now_ns();
	fclose(file);
	if (!ticks.jiffies)
		die("/proc/timer_list shows no jiffies");
	return ticks;
}

/* Some ticks, at a factor of 500 too. */
static void be_busy_for_long(void)
{
	for (int times = 0; times < 5; times++)
		be_busy();
}

static void check_jiffies(const char *name, void (*pass)(void))
{
	struct ticks from = read_ticks(), to;
	long long expected;

	pass();
	to = read_ticks();
	expected = (to.ns - from.ns) / TICK_NS;
	result_between(name, expected - 1, to.jiffies - from.jiffies, expected + 1);
	printf("# in %lld ns\n", to.ns - from.ns);
}

/* ---- timers of high resolution ---------------------------------------------------- */

enum way { NANOSLEEP, NANOSLEEP_UNTIL, TIMERFD, TIMERFD_UNTIL, WAYS };

static const char *const way_names[WAYS] = {
	"clock_nanosleep", "clock_nanosleep until", "timerfd", "timerfd until",
};

static void wait_by_timerfd(clockid_t clock, int flags, long long ns)
{
	struct itimerspec time = { .it_value = of_ns(ns) };
	int timer = timerfd_create(clock, 0);
	uint64_t expirations;

	if (timer < 0 || timerfd_settime(timer, flags, &time, NULL) ||
	    read(timer, &expirations, sizeof(expirations)) != sizeof(expirations))
		die("timerfd");
	close(timer);
}

/* How late it is over, in ns. */
static long long lateness(enum way way, clockid_t clock, long long ns)
{
	long long due = clock_ns(clock) + ns;
	struct timespec time = of_ns(way == NANOSLEEP ? ns : due);

	switch (way) {
	case NANOSLEEP:
	case NANOSLEEP_UNTIL:
		if (clock_nanosleep(clock, way == NANOSLEEP ? 0 : TIMER_ABSTIME, &time, NULL))
			die("clock_nanosleep");
		break;
	case TIMERFD:
		wait_by_timerfd(clock, 0, ns);
		break;
	default:
		wait_by_timerfd(clock, TFD_TIMER_ABSTIME, due);
	}
	return clock_ns(clock) - due;
}

static void check_hrtimers(clockid_t clock, const char *clock_name, long long slack)
{
	static const long long spans[] = {
		50 * US, 100 * US, 200 * US, US * 500, MS, 3 * MS, 10 * MS, 30 * MS, 100 * MS,
		300 * MS, NS_PER_S, 3 * NS_PER_S, 10 * NS_PER_S,
	};

	if (prctl(PR_SET_TIMERSLACK, slack))
		die("PR_SET_TIMERSLACK");
	for (enum way way = 0; way < WAYS; way++) {
		for (int i = 0; i < COUNT(spans); i++) {
			char name[128];

			snprintf(name, sizeof(name), "%s %lld us, %s, slack %lld ns",
				 way_names[way], spans[i] / US, clock_name, slack);
			result_between(name, 0, lateness(way, clock, spans[i]),
				       spans[i] / 100 + slack);
		}
	}
}

/* ---- the timer wheel ------------------------------------------------------------- */

/* Returns the granularity of a timer that is so many jiffies away: each level is 8 times coarser.
 */
static int granularity(int jiffies)
{
	int ticks = 1;

	for (int end = 63; jiffies >= end; end *= 8)
		ticks *= 8;
	return ticks;
}

/* A receiver's time-out is a timer of the wheel.  How late it is over, in ns. */
static long long wheel_lateness(int receiver, int jiffies)
{
	long long span = jiffies * TICK_NS, began;
	struct timeval time = { span / NS_PER_S, span % NS_PER_S / US };
	char byte;

	if (setsockopt(receiver, SOL_SOCKET, SO_RCVTIMEO, &time, sizeof(time)))
		die("SO_RCVTIMEO");
	began = now_ns();
	if (recv(receiver, &byte, 1, 0) >= 0 || errno != EAGAIN)
		die("recv");
	return now_ns() - began - span;
}

static void check_wheel(int receiver)
{
	static const int spans[] = { 1, 2, 10, 62, 63, 64, 200, 503, 504, 512, 2000, 4031, 4032, 5000 };

	for (int i = 0; i < COUNT(spans); i++) {
		char name[80];

		snprintf(name, sizeof(name), "a timer of the wheel, %d jiffies away", spans[i]);
		result_between(name, 0, wheel_lateness(receiver, spans[i]),
			       (granularity(spans[i]) + 1) * TICK_NS);
	}
}

/*
 * Ten seconds in which no tick is left out, because each has a timer to look after: so
 * it is in a busy network.  By sched_clock() they are minutes, and a kernel that takes
 * them for a lockup fails the guest.
 */
static void check_busy_wheel(int receiver)
{
	long long latest = 0;

	for (long long until = now_ns() + 10 * NS_PER_S; now_ns() < until;) {
		long long late = wheel_lateness(receiver, 1);

		latest = late > latest ? late : latest;
	}
	result_between("timers of the wheel for ten seconds, the latest of them", 0, latest,
		       2 * TICK_NS);
}

/* ---- the kernel's own clocks ------------------------------------------------------ */

static void check_kernel_clocks(void)
{
	static const clockid_t ids[KERNEL_CLOCKS] = { CLOCK_MONOTONIC, CLOCK_BOOTTIME, CLOCK_TAI };
	static const char *const names[KERNEL_CLOCKS] = {
		"bpf_ktime_get_ns", "bpf_ktime_get_boot_ns", "bpf_ktime_get_tai_ns",
	};
	const char *what = kernel_clocks_open();

	if (what)
		die(what);
	for (int clock = 0; clock < KERNEL_CLOCKS; clock++) {
		bool between = true;

		for (int i = 0; i < 100; i++) {
			uint64_t seen[KERNEL_CLOCKS];
			long long before = clock_ns(ids[clock]);

			if (kernel_clocks_read(seen))
				die("BPF_PROG_TEST_RUN");
			between = between && before <= (long long)seen[clock] &&
				  (long long)seen[clock] <= clock_ns(ids[clock]);
		}
		result(between, "%s is between two readings of its clock, always", names[clock]);
	}
}

int main(int argc, char **argv)
{
	int receiver;

	factor = argc == 2 ? atoi(argv[1]) : 0;
	if (factor < 1) {
		fprintf(stderr, "usage: clock_check FACTOR\n");
		return 2;
	}
	setvbuf(stdout, NULL, _IOFBF, 1 << 20);
	printf("# TSC %llu, CLOCK_MONOTONIC %lld\n", __rdtsc(), now_ns());
	check_clocks();
	check_tsc("an idle second is one by the TSC", sleep_a_second);
	check_tsc("busy time is the same by the TSC", be_busy);
	check_scheduler();
	check_jiffies("jiffies of an idle second", sleep_a_second);
	check_jiffies("jiffies of busy time", be_busy_for_long);
	check_hrtimers(CLOCK_MONOTONIC, "CLOCK_MONOTONIC", 50 * US);
	check_hrtimers(CLOCK_REALTIME, "CLOCK_REALTIME", 1);
	receiver = socket(AF_INET, SOCK_DGRAM, 0);
	check_wheel(receiver);
	check_busy_wheel(receiver);
	check_kernel_clocks();
	printf("1..%d\n", number);
	return failed != 0;
}
