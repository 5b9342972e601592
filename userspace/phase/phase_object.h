/* SPDX-License-Identifier: Apache-2.0 */
/* The compiled classifier, as phase_object.S brings it into this program. */
#ifndef HEADWAY_PHASE_OBJECT_H
#define HEADWAY_PHASE_OBJECT_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

extern const char headway_phase_object[];
extern const char headway_phase_object_end[];

static inline size_t headway_phase_object_bytes(void)
{
	return (size_t)(headway_phase_object_end - headway_phase_object);
}

#ifdef __cplusplus
}
#endif

#endif /* HEADWAY_PHASE_OBJECT_H */
