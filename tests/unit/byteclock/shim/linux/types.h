/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel's short names, so that kernel headers compile in user space. */
#ifndef HEADWAY_SHIM_TYPES_H
#define HEADWAY_SHIM_TYPES_H
#include_next <linux/types.h>
#include <stdint.h>
typedef int32_t s32;
typedef uint32_t u32;
typedef long long s64;
typedef unsigned long long u64;
#define likely(condition) (condition)
#define unlikely(condition) (condition)
#endif
