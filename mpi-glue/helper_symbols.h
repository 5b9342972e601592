/* SPDX-License-Identifier: MIT
 * What a helper library takes from the MPI library.
 */
#ifndef HEADWAY_HELPER_SYMBOLS_H
#define HEADWAY_HELPER_SYMBOLS_H

#include <stdbool.h>

/* Opens the helper library at `path` for the MPI library `library`, a handle.  `hidden`: its symbols are not
 * visible to everybody.  NULL, and a sentence in `why_not`: the helper cannot be used.
 */
void *open_helper(const char *path, void *library, bool hidden, char *why_not, unsigned long why_not_bytes);

#endif
