/* SPDX-License-Identifier: Apache-2.0 */
/* What bcc's macros for ring buffers and the probes need of pages, as on x86-64. */
#define PAGE_SHIFT 12
#define PAGE_SIZE (1UL << PAGE_SHIFT)
