/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel's own clocks, as programs in BPF see them. */
#ifndef HEADWAY_KERNEL_CLOCKS_H
#define HEADWAY_KERNEL_CLOCKS_H

#include <stdint.h>

/* In this order a BPF program reads them, one right after the other. */
enum kernel_clock { KERNEL_MONOTONIC, KERNEL_BOOTTIME, KERNEL_TAI, KERNEL_CLOCKS };

/* NULL, or what failed, with errno.  Once, before the first reading. */
const char *kernel_clocks_open(void);

/* In ns; 0, or -1 with errno. */
int kernel_clocks_read(uint64_t ns[KERNEL_CLOCKS]);

#endif
