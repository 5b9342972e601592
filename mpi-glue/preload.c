/* SPDX-License-Identifier: MIT
 * libheadway-mpi.so, the library to preload.  It has every MPI function that
 * Headway wraps for any MPI library, and needs none of these libraries: shells,
 * launchers and Python inherit a preload too, and what a preload needs and does
 * not find ends every one of them.  Nothing happens in a process before it calls
 * an MPI function.
 *
 * trampolines.S leads each call to resolve_call() once and to what that answers
 * from then on.  That is, in this order:
 *
 *   1. For MPI_X, the next MPI_X behind this library if it is not the MPI library's
 *      own: a tool's, linked or preloaded behind us.  The tool calls PMPI_X, which
 *      comes back here.  So tools see what the program calls, once, and not what
 *      the helper sends on the program's behalf.
 *   2. The helper library's wrapper, where there is one for this MPI library.
 *   3. What the process would call without Headway.
 *
 * The helper library has undefined symbols of the MPI library, data
 * (ompi_mpi_comm_world) as well as functions that are not wrapped, and names no
 * file that they come from: that file is called libmpich.so.12 here, libmpi.so.12
 * there.  They resolve to what the program uses: a copy that the linker made in a
 * position-dependent program, or the MPI library that is loaded.  If that was opened
 * with RTLD_LOCAL (by a Python module, say), it is made global before.  An MPI library
 * that does not offer all that the helper uses fails to resolve right there, and the
 * job runs without pacing: this is the check of its version.
 *
 * No locks, and nothing that must be called only once: threads that come here
 * together find the same.  A lock could deadlock with the dynamic linker's.
 *
 * Compiled without sibling calls: RTLD_NEXT and $ORIGIN mean the object that the
 * call returns to, which must be this one.
 */
#define _GNU_SOURCE
#include "preload.h"

#include <dlfcn.h>
#include <link.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The C library of a container may be older than this machine's, and a version that it
 * lacks would end every process there.  So these are asked for as of the first glibc,
 * and weakly, because they were in libdl.so.2 then, which a shell does not load; every
 * MPI library does.
 */
#pragma weak dladdr
#pragma weak dlclose
#pragma weak dlerror
#pragma weak dlopen
#pragma weak dlsym
__asm__(".symver dladdr, dladdr@GLIBC_2.2.5");
__asm__(".symver dlclose, dlclose@GLIBC_2.2.5");
__asm__(".symver dlerror, dlerror@GLIBC_2.2.5");
__asm__(".symver dlopen, dlopen@GLIBC_2.2.5");
__asm__(".symver dlsym, dlsym@GLIBC_2.2.5");

enum kind { program_call, profiling_call };

struct entry {
	const char *name;
	enum kind kind;
};

#define HEADWAY_FUNCTION(index, name, kind) { #name, kind },
static const struct entry entries[] = {
#include "functions.inc"
};
#undef HEADWAY_FUNCTION

/* Of trampolines.S: where the call of each function goes. */
extern _Atomic(headway_function *) headway_targets[];

/* What calls of this process lead to. */
struct choice {
	void *library;			/* the MPI library's handle */
	const void *library_base;	/* where it is loaded */
	bool hidden;			/* opened with RTLD_LOCAL */
	headway_wrapper_lookup *wrapper_of;	/* NULL: nothing is wrapped */
	char why_not[512];		/* and why, if the user did not wish it */
};

static _Atomic(const struct choice *) chosen;

/* One write, so that lines of several ranks do not mix. */
static void say(const char *text, const char *more, const char *end)
{
	char line[1024];
	int length = snprintf(line, sizeof(line), "headway: %s%s%s\n", text, more, end);

	if (length >= (int)sizeof(line)) {
		length = sizeof(line) - 1;
		line[length - 1] = '\n';
	}
	/* nothing can be done if even this fails */
	if (write(STDERR_FILENO, line, (size_t)length) < 0)
		return;
}

/* Is this rank 0 as the launcher numbers it?  MPI cannot be asked yet. */
static bool launched_first(void)
{
	static const char *const names[] = { "PMI_RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK",
					     "SLURM_PROCID" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		const char *value = getenv(names[i]);

		if (value)
			return strcmp(value, "0") == 0;
	}
	return true;
}

/* As settings.cpp reads a switch. */
static bool switched_off(void)
{
	const char *value = getenv("HEADWAY");

	return value && (!strcmp(value, "off") || !strcmp(value, "0") || !strcmp(value, "no"));
}

static const char *file_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Every object that is loaded, wherever its symbols are visible. */
struct objects {
	char **paths;
	size_t count;
	size_t room;
};

static int add_object(struct dl_phdr_info *info, size_t size, void *to)
{
	struct objects *objects = to;
	char *path = info->dlpi_name && *info->dlpi_name ? strdup(info->dlpi_name) : NULL;

	(void)size;
	if (path && objects->count == objects->room) {
		size_t room = objects->room ? 2 * objects->room : 64;
		char **paths = realloc(objects->paths, room * sizeof(*paths));

		if (!paths) {
			free(path);
			return 1;
		}
		objects->paths = paths;
		objects->room = room;
	}
	if (path)
		objects->paths[objects->count++] = path;
	return 0;
}

/* Where the object is loaded that `function` is in; NULL: in none. */
static const void *base_of(const void *function)
{
	Dl_info info;

	return function && dladdr(function, &info) ? info.dli_fbase : NULL;
}

/* `name` in objects that somebody opened with RTLD_LOCAL, but not in the one that is
 * loaded at `except`, nor in this.  The list is complete before any of them is opened:
 * the dynamic linker holds a lock while it tells them.
 */
static void *find_hidden(const char *name, const void *except)
{
	struct objects objects = { 0 };
	void *found = NULL;

	dl_iterate_phdr(add_object, &objects);
	for (size_t i = 0; i < objects.count; i++) {
		void *object = found ? NULL : dlopen(objects.paths[i], RTLD_LAZY | RTLD_NOLOAD);

		if (object) {
			const void *base = base_of(found = dlsym(object, name));

			if (!base || base == except || base == base_of(entries))
				found = NULL;
			dlclose(object);
		}
		free(objects.paths[i]);
	}
	free(objects.paths);
	return found;
}

/* Of all that a process may call without us, the MPI library's own is the last. */
static headway_function *find_next(const char *name)
{
	const struct choice *choice = atomic_load_explicit(&chosen, memory_order_acquire);
	void *found = dlsym(RTLD_NEXT, name);

	if (!found && choice && choice->library)
		found = dlsym(choice->library, name);
	return (headway_function *)found;
}

/* Does the user want a recording?  Then nothing is paced. */
static bool records(void)
{
	const char *file = getenv("HEADWAY_RECORD");

	return file && *file;
}

/* The file name of the helper library for this MPI library, NULL if there is none.
 * The ABI of MPI 5 has other handles, whatever library offers it.
 */
static const char *helper_name(void *library, const char *path)
{
	if (!strncmp(file_of(path), "libmpi_abi", strlen("libmpi_abi")))
		return NULL;
	if (dlsym(library, "ompi_mpi_comm_world"))
		return records() ? "libheadway-record-ompi.so" : "libheadway-ompi.so";
	/* a public function of MPICH's, and so of all that are compatible with it */
	if (dlsym(library, "MPIX_Grequest_class_create"))
		return records() ? "libheadway-record-mpich.so" : "libheadway-mpich.so";
	return NULL;
}

/* Finds the MPI library that the process uses; false: there is none. */
static bool find_library(struct choice *choice, const char **path)
{
	void *function = dlsym(RTLD_NEXT, "PMPI_Get_library_version");
	Dl_info info;

	choice->hidden = !function;
	if (!function)
		function = find_hidden("PMPI_Get_library_version", NULL);
	if (!function || !dladdr(function, &info))
		return false;
	*path = info.dli_fname;
	choice->library = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
	choice->library_base = info.dli_fbase;
	return choice->library != NULL;
}

static void find_wrappers(struct choice *choice)
{
	char helper_path[64] = "$ORIGIN/";	/* beside this library; dlopen knows where that is */
	const char *path = NULL;
	const char *name;
	void *helper = NULL;
	bool found = find_library(choice, &path);

	if (switched_off())
		return;
	if (!found) {
		snprintf(choice->why_not, sizeof(choice->why_not), "no MPI library is loaded");
		return;
	}
	name = helper_name(choice->library, path);
	if (!name) {
		snprintf(choice->why_not, sizeof(choice->why_not),
			 "%s is neither Open MPI nor MPICH as Headway knows them", path);
		return;
	}
	strcat(helper_path, name);
	if (!choice->hidden || dlopen(path, RTLD_LAZY | RTLD_NOLOAD | RTLD_GLOBAL))
		helper = dlopen(helper_path, RTLD_NOW | RTLD_LOCAL);
	if (helper)
		choice->wrapper_of = (headway_wrapper_lookup *)dlsym(helper, "headway_wrapper_of");
	if (!choice->wrapper_of)
		snprintf(choice->why_not, sizeof(choice->why_not), "%s", dlerror());
}

/* This thread's findings, unless another was first. */
static const struct choice *choose(void)
{
	static const struct choice nothing;
	const struct choice *known = atomic_load_explicit(&chosen, memory_order_acquire);
	struct choice *found;

	if (known)
		return known;
	found = calloc(1, sizeof(*found));
	if (!found)
		return &nothing;
	find_wrappers(found);
	if (!atomic_compare_exchange_strong(&chosen, &known, found)) {
		free(found);
		return known;
	}
	if (*found->why_not && launched_first())
		say(records() ? "no recording: " : "not pacing: ", found->why_not,
		    "; HEADWAY=off says nothing");
	return found;
}

/* A tool's MPI_X behind us, or NULL.  It may be hidden if the MPI library was. */
static headway_function *tool_function(const struct choice *choice, const char *name)
{
	void *next = dlsym(RTLD_NEXT, name);

	if (base_of(next) == choice->library_base)
		next = choice->hidden ? find_hidden(name, choice->library_base) : NULL;
	return (headway_function *)next;
}

static headway_function *target_of(const struct entry *entry)
{
	const struct choice *choice = choose();
	headway_function *function = NULL;

	if (choice->wrapper_of) {
		if (entry->kind == program_call)
			function = tool_function(choice, entry->name);
		if (!function)
			function = choice->wrapper_of(
				entry->name + (entry->kind == profiling_call), find_next);
	}
	return function ? function : find_next(entry->name);
}

/* Called by trampolines.S.  A program that calls what its MPI library does not have ends
 * here, as it would have ended in the dynamic linker.
 */
headway_function *headway_resolve(size_t index);
headway_function *headway_resolve(size_t index)
{
	headway_function *target = target_of(&entries[index]);

	if (!target) {
		say("the MPI library has no ", entries[index].name, "");
		abort();
	}
	atomic_store_explicit(&headway_targets[index], target, memory_order_release);
	return target;
}
