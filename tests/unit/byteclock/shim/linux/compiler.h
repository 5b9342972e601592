/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HEADWAY_SHIM_COMPILER_H
#define HEADWAY_SHIM_COMPILER_H
/* There is one thread. */
#define WRITE_ONCE(x, value) ((x) = (value))
#endif
