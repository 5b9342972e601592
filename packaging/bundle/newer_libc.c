/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the compiler's static libraries want of a C library that is newer than the 2.31 with which
 * the bundle is linked.  It is for the bundle alone: everything else is linked with the C library
 * of the system that it is built on, which has all of this.
 *
 * Nobody besides the program or the helper that it is linked into sees any of it.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <features.h>
#include <link.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#pragma GCC visibility push(hidden)

/*
 * libstdc++ asks this variable (glibc 2.32) whether it may count references without atomic
 * instructions.  The answer is always no: helpers are in programs of whose threads they know
 * nothing.
 */
extern char __libc_single_threaded;
char __libc_single_threaded;

/*
 * std::random_device asks for random numbers so (glibc 2.36), which may not fail.  Only `headway
 * measure` has one; helpers never call this.
 */
uint32_t arc4random(void)
{
	uint32_t number = 0;

	while (getrandom(&number, sizeof(number), 0) != sizeof(number)) {
		if (errno != EINTR)
			abort();
	}
	return number;
}

/*
 * libgcc_eh, with which exceptions find their handlers, asks so (glibc 2.35) which object an
 * address belongs to, and for that object's table of frames.  It reads dlfo_eh_frame alone.
 */
struct wanted {
	uintptr_t address;
	struct dl_find_object *object;
};

/* Whether it is the object that is wanted, whose place and table are then known. */
static int look_at(struct dl_phdr_info *info, size_t size, void *context)
{
	const struct wanted *wanted = context;
	uintptr_t first = UINTPTR_MAX, end = 0, table = 0;
	int is_here = 0;

	(void)size;
	for (int i = 0; i < info->dlpi_phnum; ++i) {
		const ElfW(Phdr) *part = &info->dlpi_phdr[i];
		uintptr_t begin = info->dlpi_addr + part->p_vaddr;

		if (part->p_type == PT_GNU_EH_FRAME)
			table = begin;
		if (part->p_type != PT_LOAD)
			continue;
		is_here |= wanted->address - begin < part->p_memsz;
		first = begin < first ? begin : first;
		end = begin + part->p_memsz > end ? begin + part->p_memsz : end;
	}
	if (!is_here || !table)
		return 0;
	wanted->object->dlfo_map_start = (void *)first;
	wanted->object->dlfo_map_end = (void *)end;
	wanted->object->dlfo_eh_frame = (void *)table;
	return 1;
}

int _dl_find_object(void *address, struct dl_find_object *object)
{
	struct wanted wanted = { (uintptr_t)address, object };

	memset(object, 0, sizeof(*object));
	return dl_iterate_phdr(look_at, &wanted) ? 0 : -1;
}

/*
 * From glibc 2.38 on, what is compiled for newer dialects of C or C++ reads numbers by functions
 * that also know 0b101.  Here they read what they always read.
 */
#if __GLIBC_PREREQ(2, 38)
#define READS_NUMBERS(type, name)                                                                 \
	extern type old_##name(const char *, char **, int) __asm__(#name);                        \
	type __isoc23_##name(const char *text, char **end, int base);                             \
	type __isoc23_##name(const char *text, char **end, int base)                              \
	{                                                                                         \
		return old_##name(text, end, base);                                               \
	}

READS_NUMBERS(long, strtol)
READS_NUMBERS(unsigned long, strtoul)
READS_NUMBERS(long long, strtoll)
READS_NUMBERS(unsigned long long, strtoull)

extern int old_vsscanf(const char *, const char *, va_list) __asm__("vsscanf");
int __isoc23_sscanf(const char *text, const char *format, ...);
int __isoc23_sscanf(const char *text, const char *format, ...)
{
	va_list values;
	int count;

	va_start(values, format);
	count = old_vsscanf(text, format, values);
	va_end(values);
	return count;
}
#endif

#pragma GCC visibility pop
