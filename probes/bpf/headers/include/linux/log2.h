/* SPDX-License-Identifier: Apache-2.0 */
/* For bcc's macro of stack tables: a constant, as the size of a map has to be. */
#define roundup_pow_of_two(n) ((n) <= 1 ? 1UL : 1UL << (64 - __builtin_clzl((n) - 1UL)))
