/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "loaded_objects.h"

#include "old_glibc.h"

#include <link.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

const void *base_of(const void *address)
{
	Dl_info info;

	return address && dladdr(address, &info) ? info.dli_fbase : NULL;
}

static void *open_loaded(const char *path)
{
	return path && *path ? dlopen(path, RTLD_LAZY | RTLD_NOLOAD) : NULL;
}

static struct range range_of(const struct dl_phdr_info *info)
{
	struct range range = { UINTPTR_MAX, 0 };

	for (size_t i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *part = &info->dlpi_phdr[i];
		uintptr_t begin = info->dlpi_addr + part->p_vaddr;

		if (part->p_type != PT_LOAD)
			continue;
		if (begin < range.begin)
			range.begin = begin;
		if (begin + part->p_memsz > range.end)
			range.end = begin + part->p_memsz;
	}
	return range;
}

/* The dynamic linker holds a lock while it tells of objects, so none is opened before it has told all. */
struct place {
	uintptr_t address;
	struct range range;
	char *path;
};

static int is_place(struct dl_phdr_info *info, size_t size, void *argument)
{
	struct place *place = argument;
	struct range range = range_of(info);

	(void)size;
	if (place->address < range.begin || place->address >= range.end)
		return 0;
	place->range = range;
	place->path = info->dlpi_name ? strdup(info->dlpi_name) : NULL;
	return 1;
}

void *open_object_at(const void *address, struct range *range)
{
	struct place place = { .address = (uintptr_t)address };
	void *handle;

	dl_iterate_phdr(is_place, &place);
	*range = place.range;
	handle = open_loaded(place.path);
	free(place.path);
	return handle;
}

struct paths {
	char **paths;
	size_t count;
	size_t room;
};

static int add_path(struct dl_phdr_info *info, size_t size, void *argument)
{
	struct paths *all = argument;

	(void)size;
	if (all->count == all->room) {
		size_t room = all->room ? 2 * all->room : 64;
		char **paths = realloc(all->paths, room * sizeof(*paths));

		if (!paths)
			return 1;
		all->paths = paths;
		all->room = room;
	}
	all->paths[all->count++] = info->dlpi_name ? strdup(info->dlpi_name) : NULL;
	return 0;
}

void visit_objects(bool (*visit)(void *handle, void *argument), void *argument)
{
	struct paths all = { 0 };
	bool done = false;

	dl_iterate_phdr(add_path, &all);
	for (size_t i = 0; i < all.count; i++) {
		void *handle = done ? NULL : open_loaded(all.paths[i]);

		if (handle) {
			done = visit(handle, argument);
			dlclose(handle);
		}
		free(all.paths[i]);
	}
	free(all.paths);
}
