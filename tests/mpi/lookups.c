// SPDX-License-Identifier: Apache-2.0
// Preload: how often this process has looked for objects and symbols.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>

#define EXPORT __attribute__((visibility("default")))

EXPORT int lookups(void);

static int count;

int lookups(void)
{
	return count;
}

EXPORT int dl_iterate_phdr(int (*visit)(struct dl_phdr_info *, size_t, void *), void *argument)
{
	int (*next)(int (*)(struct dl_phdr_info *, size_t, void *), void *) =
		(__typeof__(next))dlsym(RTLD_NEXT, "dl_iterate_phdr");

	count++;
	return next(visit, argument);
}

EXPORT int dladdr(const void *address, Dl_info *info)
{
	int (*next)(const void *, Dl_info *) = (__typeof__(next))dlsym(RTLD_NEXT, "dladdr");

	count++;
	return next(address, info);
}
