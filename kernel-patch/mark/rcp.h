/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mark parts of a thread's work as critical, from C.
 *
 *	rcp_set(RCP_CRITICAL, 0);
 *	append_to_the_log_and_fsync();
 *	rcp_set(RCP_NONE, 0);
 *
 * Header only. Each call returns -1 and sets errno: EINVAL on a kernel without the patch, EPERM
 * for a thread that may not call itself critical (CAP_SYS_NICE, or a critical cgroup).
 */
#ifndef RCP_H
#define RCP_H

#include <sys/prctl.h>

#ifndef PR_RCP
#define PR_RCP 0x52435000
#define PR_RCP_SET 1
#define PR_RCP_GET 2
#define PR_RCP_KEEP 0x1
#endif

enum rcp_level {
	RCP_NONE = 0,	    /* the I/O priority, the cgroup or the default decides */
	RCP_CRITICAL = 1,   /* a user waits for what this thread does */
	RCP_NONCRITICAL = 2 /* background work */
};

/* Mark the calling thread; with PR_RCP_KEEP also the threads and children it creates later. */
static inline int rcp_set(enum rcp_level level, unsigned long flags)
{
	return prctl(PR_RCP, PR_RCP_SET, (unsigned long)level, flags, 0UL);
}

/* The mark of the calling thread in the low byte, its flags above. */
static inline int rcp_get(void)
{
	return prctl(PR_RCP, PR_RCP_GET, 0UL, 0UL, 0UL);
}

#endif /* RCP_H */
