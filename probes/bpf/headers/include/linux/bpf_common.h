/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bcc's copy of the kernel's bpf.h includes this file for the operation codes of classic BPF, which
 * neither bcc's helpers nor the probes use.
 */
