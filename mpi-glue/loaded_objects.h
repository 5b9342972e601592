/* SPDX-License-Identifier: MIT
 * The objects that this process has loaded, wherever their symbols are visible.
 */
#ifndef HEADWAY_LOADED_OBJECTS_H
#define HEADWAY_LOADED_OBJECTS_H

#include <stdbool.h>
#include <stdint.h>

/* The addresses at which an object is loaded. */
struct range {
	uintptr_t begin;
	uintptr_t end;
};

/* A handle of the object that has this address, which dlclose() gives back; NULL: it has none, as the
 * program itself.  `range`, where it lies, is set in any case.
 */
void *open_object_at(const void *address, struct range *range);

/* Returns where the object begins that has this address; NULL: there is none. */
const void *base_of(const void *address);

/* Calls `visit` with a handle of each object but the program itself, in the order in which they were
 * loaded, until one is true.
 */
void visit_objects(bool (*visit)(void *handle, void *argument), void *argument);

#endif
