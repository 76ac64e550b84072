/* SPDX-License-Identifier: Apache-2.0 */
/* The version of the running kernel, which headers.py gives to the compiler. */
#define KERNEL_VERSION(a, b, c) (((a) << 16) + ((b) << 8) + ((c) > 255 ? 255 : (c)))
#ifdef RCP_LINUX_VERSION_CODE
#define LINUX_VERSION_CODE RCP_LINUX_VERSION_CODE
#else
#define LINUX_VERSION_CODE 0
#endif
