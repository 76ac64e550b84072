/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernel stacks by id. Walking a stack costs more than the rest of a sleep record, and tasks sleep
 * in the same few places. So a stack that looks like a known one is not walked again: it has the
 * same depth in bytes, the same syscall, and the same return addresses in its innermost part,
 * where the wait is.
 */

BPF_STACK_TRACE(stacks, RCP_STACKS);
BPF_PERCPU_ARRAY(stacks_lost, u64, 1);

static inline s32 stack_of(void *ctx)
{
	int id = is_without_stacks() ? -1 : stacks.get_stackid(ctx, 0);

	/*
	 * Hash collision: with 300 stacks in 16384 buckets there are two or three. Without the
	 * innermost frames, the tracepoint's own and the scheduler's, the hash is another one. One
	 * more try is not enough: in every tenth recording of that kind it collides again.
	 */
#pragma unroll
	for (u64 skipped = 1; skipped <= 2; skipped++) {
		if (id == -EEXIST)
			id = stacks.get_stackid(ctx, skipped);
	}
	if (id < 0)
		stacks_lost.increment(0);
	return id;
}

/* 512 bytes hold the frames from the tracepoint to the caller of the scheduler. */
#define LOOK_WORDS 64

struct stack_look {
	u64 at;
	u64 words[LOOK_WORDS];
};

BPF_PERCPU_ARRAY(stack_looks, struct stack_look, 1);
/* LRU: other words on a stack may look like addresses, and make looks that never recur. */
BPF_TABLE("lru_hash", u64, s32, stacks_by_look, 8192);

/*
 * Address of a raw tracepoint's context, which is on the stack of the current task. It goes through
 * a map because the verifier forbids arithmetic on a context's address.
 */
static inline u64 stack_at(void *ctx)
{
	int zero = 0;
	struct stack_look *stack = stack_looks.lookup(&zero);
	volatile u64 *at;

	if (!stack)
		return 0;
	at = &stack->at;
	*at = (u64)ctx;
	return *at;
}

/* Top of the task's kernel stack; the user-mode registers are right below it. */
static inline u64 stack_top(u64 at)
{
	return (at | (THREAD_SIZE - 1)) + 1 - TOP_OF_KERNEL_STACK_PADDING;
}

/* orig_ax: the syscall of a user task; for a kernel thread some constant value. */
static inline u32 syscall_above(u64 at)
{
	u32 nr = 0;

	bpf_probe_read_kernel(&nr, sizeof(nr), &((struct pt_regs *)stack_top(at) - 1)->orig_ax);
	return nr;
}

/*
 * Syscalls in which a task sleeps interruptibly in one function only, so that the syscall gives the
 * reason (arch/x86/entry/syscalls/syscall_64.tbl). Only x86-64 is listed.
 */
static inline int sleeps_in_one_place(u32 nr)
{
#ifdef __x86_64__
	switch (nr) {
	case 7: /* poll */
	case 23: /* select */
	case 35: /* nanosleep */
	case 230: /* clock_nanosleep */
	case 232: /* epoll_wait */
	case 270: /* pselect6 */
	case 271: /* ppoll */
	case 281: /* epoll_pwait */
		return 1;
	}
#endif
	return 0;
}

/*
 * Hash of depth, syscall and return addresses of the stack at this address; 0 when it is too short
 * or unreadable. Words that are no kernel text addresses are locals, which differ each time.
 */
static inline u64 look_of_stack(u64 at)
{
	u64 depth = stack_top(at) - at, look;
	int zero = 0;
	struct stack_look *stack = stack_looks.lookup(&zero);

	if (!stack || depth < sizeof(stack->words) ||
	    bpf_probe_read_kernel(stack->words, sizeof(stack->words), (void *)at))
		return 0;
	look = depth << 32 | syscall_above(at);
#pragma unroll
	for (int i = 0; i < LOOK_WORDS; i++) {
		/* text and modules are in the last 2 GiB of the address space; an odd factor */
		if (stack->words[i] >> 31 == 0x1ffffffffULL)
			look = (look ^ stack->words[i]) * 0x9e3779b97f4a7c15ULL;
	}
	return look;
}

/* Like stack_of(), for raw tracepoints that fire in task context. */
static inline s32 stack_by_look(void *ctx)
{
	u64 look = is_without_stacks() ? 0 : look_of_stack(stack_at(ctx));
	s32 *known = look ? stacks_by_look.lookup(&look) : NULL, id;

	if (known)
		return *known;
	id = stack_of(ctx);
	if (look && id >= 0)
		stacks_by_look.update(&look, &id);
	return id;
}
