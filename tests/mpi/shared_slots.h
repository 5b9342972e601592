/* SPDX-License-Identifier: Apache-2.0 */
/* Spies see here the memory in which a process tells the kernel its phase. */
#pragma once

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* NULL: the process has none, as before it has joined. */
static inline volatile uint32_t *shared_slots(void)
{
	static volatile uint32_t *slots;
	FILE *maps = slots ? NULL : fopen("/proc/self/maps", "r");
	char line[512];

	while (maps && fgets(line, sizeof(line), maps)) {
		if (strstr(line, "memfd:slots"))
			slots = (volatile uint32_t *)(uintptr_t)strtoull(line, NULL, 16);
	}
	if (maps)
		fclose(maps);
	return slots;
}

static inline unsigned int shared_phase(void)
{
	volatile uint32_t *slots = shared_slots();

	return slots ? *slots : 0;
}
