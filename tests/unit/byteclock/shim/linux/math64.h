/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HEADWAY_SHIM_MATH64_H
#define HEADWAY_SHIM_MATH64_H
#include <linux/types.h>
static inline u64 div64_u64_rem(u64 dividend, u64 divisor, u64 *remainder)
{
	*remainder = dividend % divisor;
	return dividend / divisor;
}
static inline u64 mul_u64_u64_shr(u64 a, u64 b, unsigned int shift)
{
	return (u64)((unsigned __int128)a * b >> shift);
}
/* A quotient of more than 64 bits is a divide error in the kernel (x86). */
static inline u64 mul_u64_u64_div_u64(u64 a, u64 b, u64 c)
{
	unsigned __int128 quotient = (unsigned __int128)a * b / c;

	if (quotient >> 64)
		__builtin_trap();
	return (u64)quotient;
}
#endif
