/* SPDX-License-Identifier: Apache-2.0 */
/* bcc's helpers.h includes this file for programs on network packets, of which rcp has none. */
