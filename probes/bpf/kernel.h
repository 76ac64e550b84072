/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the probes need of the kernel besides its structs, which are made from BTF (kernel_types.py)
 * and follow this file. BTF has no macros, so those are below; their values are the same since
 * before v5.15. No header of the kernel is included: bcc's own code finds those it needs in
 * headers/, so that recording needs none installed and clang parses little, which bcc has it do
 * three times.
 */
#include <asm/page.h>
#include <linux/types.h>
#include <linux/version.h>

#define EAGAIN 11 /* include/uapi/asm-generic/errno-base.h */
#define EEXIST 17

#define F_SETLKW 7 /* include/uapi/asm-generic/fcntl.h */
#define F_OFD_SETLKW 38
#define F_WRLCK 1
#define F_UNLCK 2

#define FUTEX_WAITERS 0x80000000 /* include/uapi/linux/futex.h */
#define FUTEX_TID_MASK 0x3fffffff

#define S_IFMT 0170000 /* include/uapi/linux/stat.h */
#define S_ISDIR(mode) (((mode) & S_IFMT) == 0040000)
#define S_ISBLK(mode) (((mode) & S_IFMT) == 0060000)

#define TASK_COMM_LEN 16 /* include/linux/sched.h */
#define TASK_RUNNING 0
#define TASK_INTERRUPTIBLE 0x1
#define TASK_UNINTERRUPTIBLE 0x2
#define TASK_DEAD 0x80
#define TASK_NOLOAD 0x400
#define PF_KTHREAD 0x200000

#define SOFTIRQ_OFFSET (1U << 8) /* include/linux/preempt.h */
#define HARDIRQ_MASK (0xfU << 16)
#define NMI_MASK (0xfU << 20)

#define REQ_OP_MASK 0xff /* include/linux/blk_types.h */

#define MSG_PEEK 2 /* include/linux/socket.h */
#define MSG_ERRQUEUE 0x2000
#define SOCK_STREAM 1 /* include/linux/net.h */
#define SOCK_DGRAM 2
#define AF_UNIX 1
#define AF_INET 2
#define AF_INET6 10
#define NET_ORDER16(x) __builtin_bswap16(x) /* on a little-endian machine */
#define NET_ORDER32(x) __builtin_bswap32(x)

/* Sizes that depend on how the kernel was built: see headers.py. */
#define THREAD_SIZE RCP_THREAD_SIZE
#define TOP_OF_KERNEL_STACK_PADDING RCP_TOP_OF_KERNEL_STACK_PADDING

#ifndef NULL
#define NULL ((void *)0)
#endif
#ifndef offsetof
#define offsetof(type, member) __builtin_offsetof(type, member)
#endif

typedef unsigned int tid_t; /* include/linux/jbd2.h */
typedef struct journal_s journal_t;
typedef struct transaction_s transaction_t;
typedef struct jbd2_journal_handle handle_t;

struct hlist_node;
struct percpu_rw_semaphore;
