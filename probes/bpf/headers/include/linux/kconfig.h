/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bcc includes this file first and takes its presence for that of kernel headers. It stands for the
 * kernel's configuration, of which bcc's own code asks only whether the kernel has BPF.
 */
#define CONFIG_BPF_SYSCALL 1
