/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernel headers and macros that the probes need. Structs are not included from headers: they are
 * made from BTF (kernel_types.py) and follow this file. bcc parses each header three times, and the
 * headers with those structs take longer than the rest of compiling. BTF has no macros, so those
 * are below; their values are the same since before v5.15.
 */
#include <uapi/asm-generic/errno-base.h>
#include <uapi/linux/futex.h>
#include <uapi/linux/ptrace.h>
#include <uapi/linux/stat.h>
#include <asm/page_types.h>
#include <linux/types.h>
#include <linux/version.h>

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
#define SOCK_STREAM 1 /* include/linux/net.h */

/*
 * Free bytes above the registers at the top of a kernel stack: room for the larger frame of FRED
 * where the kernel can use that (arch/x86/include/asm/thread_info.h, since v6.9).
 */
#if defined(CONFIG_X86_FRED) && LINUX_VERSION_CODE >= KERNEL_VERSION(6, 9, 0)
#define TOP_OF_KERNEL_STACK_PADDING 16
#else
#define TOP_OF_KERNEL_STACK_PADDING 0
#endif

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
