/* SPDX-License-Identifier: MIT
 * The helper library has undefined symbols of the MPI library, data
 * (ompi_mpi_comm_world) as well as functions that are not wrapped, and names no
 * file that they come from: that file is called libmpich.so.12 here, libmpi.so.12
 * there.  Where the program sees the MPI library's symbols, the dynamic linker resolves them to what the
 * program uses, as a copy of data that the linker made in a position-dependent program.  If the MPI library
 * was opened with RTLD_LOCAL (by a Python module, say), nobody else sees them, and so it has to
 * remain: whatever the process opens later would find them, and another library's stubs of MPI would call
 * them.  Then the helper's table of addresses is filled here.
 *
 * An MPI library that lacks one of them does not fit: this is the check of its version.
 */
#define _GNU_SOURCE
#include "helper_symbols.h"

#include "old_glibc.h"

#include <link.h>
#include <stdio.h>
#include <string.h>

static bool is_of_mpi(const char *name)
{
	static const char *const prefixes[] = { "MPI_", "PMPI_", "OMPI_", "ompi_" };

	for (size_t i = 0; i < sizeof(prefixes) / sizeof(*prefixes); i++)
		if (!strncmp(name, prefixes[i], strlen(prefixes[i])))
			return true;
	return false;
}

/* Returns what the object's dynamic section has under this tag; 0: nothing. */
static uintptr_t dynamic_value(const struct link_map *object, ElfW(Sxword) tag)
{
	for (const ElfW(Dyn) *at = object->l_ld; at->d_tag != DT_NULL; at++)
		if (at->d_tag == tag)
			return at->d_un.d_ptr;
	return 0;
}

/* Returns the address under this tag, which some dynamic linkers leave as it is in the file. */
static const void *dynamic_address(const struct link_map *object, ElfW(Sxword) tag)
{
	uintptr_t value = dynamic_value(object, tag);

	return (const void *)(value && value < object->l_addr ? value + object->l_addr : value);
}

struct binding {
	const struct link_map *helper;
	void *library;
	bool hidden;
};

/* NULL, or the symbol that the MPI library lacks. */
static const char *bind(const struct binding *binding, const ElfW(Rela) *entries, size_t bytes)
{
	const ElfW(Sym) *symbols = dynamic_address(binding->helper, DT_SYMTAB);
	const char *names = dynamic_address(binding->helper, DT_STRTAB);

	for (size_t i = 0; i < bytes / sizeof(*entries); i++) {
		const ElfW(Sym) *symbol = &symbols[ELF64_R_SYM(entries[i].r_info)];
		const char *name = names + symbol->st_name;
		uintptr_t *place = (uintptr_t *)(binding->helper->l_addr + entries[i].r_offset);

		if (symbol->st_shndx != SHN_UNDEF || !is_of_mpi(name) || (*place && !binding->hidden))
			continue;
		*place = (uintptr_t)dlsym(binding->library, name) + (uintptr_t)entries[i].r_addend;
		if (!*place)
			return name;
	}
	return NULL;
}

void *open_helper(const char *path, void *library, bool hidden, char *why_not, unsigned long why_not_bytes)
{
	struct link_map *helper = dlopen(path, RTLD_LOCAL | (hidden ? RTLD_LAZY : RTLD_NOW));
	struct binding binding = { helper, library, hidden };
	const char *missing;

	if (!helper) {
		snprintf(why_not, why_not_bytes, "%s", dlerror());
		return NULL;
	}
	missing = bind(&binding, dynamic_address(helper, DT_RELA), dynamic_value(helper, DT_RELASZ));
	if (!missing)
		missing = bind(&binding, dynamic_address(helper, DT_JMPREL), dynamic_value(helper, DT_PLTRELSZ));
	if (!missing)
		return helper;
	snprintf(why_not, why_not_bytes, "%s: undefined symbol: %s", helper->l_name, missing);
	dlclose(helper);
	return NULL;
}
