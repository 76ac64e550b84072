/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which context this CPU is in, and which io completes in it.
 */

#define CONTEXT_TASK 0
#define CONTEXT_HARDIRQ 1
#define CONTEXT_SOFTIRQ 2

static inline u32 this_context(void)
{
	u32 count = this_cpu_preempt_count();

	if (count & (HARDIRQ_MASK | NMI_MASK))
		return CONTEXT_HARDIRQ;
	/* a softirq is served: with bottom halves merely off, the count is two offsets */
	if (count & SOFTIRQ_OFFSET)
		return CONTEXT_SOFTIRQ;
	return CONTEXT_TASK;
}

struct completing_io {
	u64 io; /* 0: none */
	u32 context;
	u32 unused;
};

BPF_PERCPU_ARRAY(completing, struct completing_io, 1);

static inline void set_completing_io(u64 io)
{
	int zero = 0;
	struct completing_io *completion = completing.lookup(&zero);

	if (!completion)
		return;
	completion->io = io;
	if (io)
		completion->context = this_context();
}

/* The io whose completion runs now, else 0; not that of a completion we interrupted. */
static inline u64 completing_io_in(u32 context)
{
	int zero = 0;
	struct completing_io *completion = completing.lookup(&zero);

	return completion && completion->context == context ? completion->io : 0;
}
