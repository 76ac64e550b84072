/* SPDX-License-Identifier: Apache-2.0 */
/* bcc includes its own copy of this file first; that copy is the one that counts. */
