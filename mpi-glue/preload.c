/* SPDX-License-Identifier: MIT
 * libheadway-mpi.so, the library to preload.  It has every MPI function that
 * Headway wraps for any MPI library, and needs none of these libraries: shells,
 * launchers and Python inherit a preload too, and what a preload needs and does
 * not find ends every one of them.  Nothing happens in a process before it calls
 * an MPI function.
 *
 * trampolines.S leads each call to headway_resolve() once and to what that answers
 * from then on.  That is, in this order:
 *
 *   1. What the caller would call without Headway, where that is not the MPI library's
 *      own: for MPI_X, a tool's, linked or preloaded behind us.  The tool calls PMPI_X, which
 *      comes back here.  So tools see what the program calls, once, and not what
 *      the helper sends on the program's behalf.  Or a function of that name in a
 *      library that has nothing to do with MPI: serial codes bring some of their own.
 *   2. The helper library's wrapper, where there is one for this MPI library.
 *   3. The MPI library's function.
 *
 * What is visible to everybody is the same for every caller, and is what headway_targets
 * leads to from then on.  What was opened with RTLD_LOCAL is seen by those alone that opened it:
 * then the answer is the caller's, and headway_callers has it.
 *
 * No locks, and nothing that must be called only once: threads that come here
 * together find the same.  A lock could deadlock with the dynamic linker's.
 *
 * Compiled without sibling calls: RTLD_NEXT and $ORIGIN mean the object that the
 * call returns to, which must be this one.
 */
#define _GNU_SOURCE
#include "preload.h"

#include "helper_symbols.h"
#include "loaded_objects.h"
#include "old_glibc.h"

#include <limits.h>
#include <link.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

/* trampolines.S reads from here where the call of each function goes. */
extern _Atomic(headway_function *) headway_targets[];

/* Where it goes if its target is still unresolved and the caller is known; trampolines.S
 * reads it.  An object that has an entry is never unloaded.
 */
struct caller {
	struct range range;
	headway_function *target;
	struct caller *next;
};

_Static_assert(offsetof(struct caller, target) == 16 && offsetof(struct caller, next) == 24,
	       "as trampolines.S has them");

_Atomic(struct caller *) headway_callers[sizeof(entries) / sizeof(*entries)];

/* The MPI library whose calls are wrapped. */
struct choice {
	void *library;			/* its handle */
	const void *bases[2];		/* of its objects: with PMPI_X, and with MPI_X if that is another */
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

/* Reads the switch as settings.cpp does. */
static bool switched_off(void)
{
	const char *value = getenv("HEADWAY");

	return value && (!strcmp(value, "off") || !strcmp(value, "0") || !strcmp(value, "no"));
}

/* `name` as seen in a scope, a handle or RTLD_NEXT; never a function of this library. */
static void *seen(void *scope, const char *name)
{
	void *found = dlsym(scope, name);

	return base_of(found) == base_of(entries) ? NULL : found;
}

/* Looks for the function without us; the MPI library's own is the last that a process may call. */
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

/* The ABI of MPI 5 has the same handles, whatever library offers it.  A library with an ABI of its own has the
 * function, too, and says -1.
 */
static bool has_standard_abi(void *library)
{
	int (*version)(int *, int *) = (int (*)(int *, int *))dlsym(library, "PMPI_Abi_get_version");
	int major = -1, minor = -1;

	return version && !version(&major, &minor) && major > 0;
}

/* The file name of the helper library for this MPI library, NULL if there is none. */
static const char *helper_name(void *library)
{
	if (has_standard_abi(library))
		return records() ? "libheadway-record-abi.so" : "libheadway-abi.so";
	if (dlsym(library, "ompi_mpi_comm_world"))
		return records() ? "libheadway-record-ompi.so" : "libheadway-ompi.so";
	/* a public function of MPICH's, and so of all that are compatible with it */
	if (dlsym(library, "MPIX_Grequest_class_create"))
		return records() ? "libheadway-record-mpich.so" : "libheadway-mpich.so";
	return NULL;
}

/* Some MPI libraries have the functions MPI_X in another object than PMPI_X, on which it depends as the
 * objects of tools do.  Behind the tools, it is loaded last.
 */
static bool has_names(void *handle, void *argument)
{
	struct choice *choice = argument;
	const void *base = base_of(((struct link_map *)handle)->l_ld);

	if (base_of(dlsym(handle, "MPI_Get_library_version")) == base &&
	    base_of(dlsym(handle, "PMPI_Get_library_version")) == choice->bases[0])
		choice->bases[1] = base;
	return false;
}

static bool is_of_library(const struct choice *choice, const void *function)
{
	const void *base = base_of(function);

	return base && (base == choice->bases[0] || base == choice->bases[1]);
}

/* Writes the path of the helper, which is beside this library.  It is not $ORIGIN, if that can be
 * helped: UCX 1.18 puts a dlopen() of its own before the C library's, and then that means UCX's
 * folder.
 */
static void put_helper_path(char *path, size_t bytes, const char *name)
{
	Dl_info own = { 0 };
	const char *end;

	if (dladdr((const void *)put_helper_path, &own) && *own.dli_fname == '/') {
		end = strrchr(own.dli_fname, '/');
		snprintf(path, bytes, "%.*s/%s", (int)(end - own.dli_fname), own.dli_fname, name);
	} else {
		snprintf(path, bytes, "$ORIGIN/%s", name);
	}
}

/* `version`: its PMPI_Get_library_version. */
static void find_wrappers(struct choice *choice, const void *version)
{
	char helper_path[PATH_MAX];
	const char *name;
	void *helper;
	Dl_info info;

	if (!dladdr(version, &info))
		return;
	choice->bases[0] = info.dli_fbase;
	choice->library = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
	if (!choice->library || switched_off())
		return;
	if (!is_of_library(choice, dlsym(choice->library, "MPI_Get_library_version")))
		visit_objects(has_names, choice);
	name = helper_name(choice->library);
	if (!name) {
		snprintf(choice->why_not, sizeof(choice->why_not),
			 "%s is neither Open MPI nor MPICH as Headway knows them, nor has it the ABI of MPI 5",
			 info.dli_fname);
		return;
	}
	put_helper_path(helper_path, sizeof(helper_path), name);
	helper = open_helper(helper_path, choice->library, choice->hidden, choice->why_not,
			     sizeof(choice->why_not));
	if (!helper)
		return;
	choice->wrapper_of = (headway_wrapper_lookup *)dlsym(helper, "headway_wrapper_of");
	if (!choice->wrapper_of)
		snprintf(choice->why_not, sizeof(choice->why_not), "%s", dlerror());
}

/* This thread's findings, unless another was first. */
static const struct choice *choose(const void *version, bool hidden)
{
	static const struct choice nothing;
	const struct choice *known = atomic_load_explicit(&chosen, memory_order_acquire);
	struct choice *found;

	if (known)
		return known;
	found = calloc(1, sizeof(*found));
	if (!found)
		return &nothing;
	found->hidden = hidden;
	find_wrappers(found, version);
	if (!atomic_compare_exchange_strong(&chosen, &known, found)) {
		free(found);
		return known;
	}
	if (*found->why_not && launched_first())
		say(records() ? "no recording: " : "not pacing: ", found->why_not,
		    "; HEADWAY=off says nothing");
	return found;
}

/* The MPI library whose calls are wrapped, if it is the one that is seen in `scope`. */
static const struct choice *library_seen(void *scope)
{
	const void *version = seen(scope, "PMPI_Get_library_version");
	const struct choice *choice = version ? choose(version, scope != RTLD_NEXT) : NULL;

	return choice && is_of_library(choice, version) ? choice : NULL;
}

/* Returns where a call leads that is made by whoever sees `scope`; NULL: no such function is there.
 */
static headway_function *target_in(void *scope, const struct entry *entry)
{
	headway_function *found = (headway_function *)seen(scope, entry->name);
	const struct choice *choice = found ? library_seen(scope) : NULL;
	headway_function *wrapper = NULL;

	if (!choice || !choice->wrapper_of)
		return found;
	if (entry->kind == profiling_call || is_of_library(choice, (const void *)found))
		wrapper = choice->wrapper_of(entry->name + (entry->kind == profiling_call), find_next);
	return wrapper ? wrapper : found;
}

/* Does every object of the process see it?  An MPI library may make itself visible to all when it begins
 * (Open MPI 4 does), but what has been opened before sees what it saw.
 */
static bool is_everybodys(const void *function)
{
	const struct choice *choice = atomic_load_explicit(&chosen, memory_order_acquire);

	return function && !(choice && choice->hidden && is_of_library(choice, function));
}

/* From now on, calls of this function by what lies in `range` lead to `target`. */
static void remember(size_t index, struct range range, headway_function *target)
{
	struct caller *caller = malloc(sizeof(*caller));

	if (!caller)
		return;
	*caller = (struct caller){ range, target, atomic_load(&headway_callers[index]) };
	while (!atomic_compare_exchange_weak(&headway_callers[index], &caller->next, caller))
		continue;
}

/* The best of the functions that the objects of the process see. */
struct candidate {
	const struct entry *entry;
	headway_function *target;
	bool is_of_mpi;
	bool is_only;
};

static bool consider(void *handle, void *argument)
{
	struct candidate *best = argument;
	headway_function *target = target_in(handle, best->entry);
	bool is_of_mpi = target && library_seen(handle);

	if (!target || target == best->target)
		return false;
	best->is_only = !best->target;
	if (!best->target || (is_of_mpi && !best->is_of_mpi)) {
		best->target = target;
		best->is_of_mpi = is_of_mpi;
	}
	return false;
}

/* Called by trampolines.S.  A program that calls what no object of the process has ends here, as it would
 * have ended in the dynamic linker.
 *
 * An object that has called by a jump, as the last thing that a function did, is not found by where the call
 * returns to.  If what the object found there does not see the function, the first that an
 * object sees is taken, of an MPI library where there is one.
 */
headway_function *headway_resolve(size_t index, const void *return_address);
headway_function *headway_resolve(size_t index, const void *return_address)
{
	struct candidate best = { .entry = &entries[index], .is_only = true };
	struct range range;
	void *caller;

	if (is_everybodys(seen(RTLD_NEXT, best.entry->name))) {
		best.target = target_in(RTLD_NEXT, best.entry);
		atomic_store_explicit(&headway_targets[index], best.target, memory_order_release);
		return best.target;
	}
	caller = open_object_at(return_address, &range);	/* and never closed */
	if (caller)
		best.target = target_in(caller, best.entry);
	if (!best.target)
		visit_objects(consider, &best);
	if (!best.target) {
		say("the MPI library has no ", best.entry->name, "");
		abort();
	}
	if (best.is_only)
		remember(index, range, best.target);
	return best.target;
}
