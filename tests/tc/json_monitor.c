// SPDX-License-Identifier: Apache-2.0
/*
 * Preloaded into `tc monitor` by q_gap_test.py: makes it print JSON, which the
 * tc of iproute2 6.1 does for `tc qdisc show` only.  So what the plugin says
 * of classes in JSON, for a tc that asks for it, is tested too; the words that
 * tc itself prints around it stay text.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <unistd.h>

static void call_tc(const char *function, int argument)
{
	void (*f)(int argument);

	*(void **)&f = dlsym(RTLD_DEFAULT, function);
	if (!f) {
		fprintf(stderr, "json_monitor: tc has no %s\n", function);
		_exit(99);
	}
	f(argument);
}

__attribute__((constructor)) static void begin(void)
{
	call_tc("new_json_obj", 1);
}

__attribute__((destructor)) static void end(void)
{
	call_tc("delete_json_obj", 0);
}
