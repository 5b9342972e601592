/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HEADWAY_SHIM_MINMAX_H
#define HEADWAY_SHIM_MINMAX_H
#include <linux/types.h>
template <typename T>
inline T max(T a, T b) { return a > b ? a : b; }
template <typename T>
inline T min(T a, T b) { return a < b ? a : b; }
#define max_t(type, a, b) max<type>(a, b)
#endif
