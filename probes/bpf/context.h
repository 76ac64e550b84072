/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The context of this CPU (task or interrupt), and the io that completes in it.
 */

#define CONTEXT_TASK 0
#define CONTEXT_HARDIRQ 1
#define CONTEXT_SOFTIRQ 2

struct completing_io {
	u64 io; /* 0: none */
	u64 since_ns; /* 0: its bios have ended */
	u64 preempt_count_addr; /* of this CPU, 0 until read */
	u32 context;
	u8 is_flush; /* or asks for one: requests may end within its end */
	u8 has_woken; /* a task, which waits for this CPU until its bios have ended */
	u16 within; /* so many have not yet */
};

BPF_PERCPU_ARRAY(completing, struct completing_io, 1);

static inline u32 context_on(struct completing_io *cpu)
{
	u32 count = 0;

	if (!cpu->preempt_count_addr)
		cpu->preempt_count_addr = preempt_count_addr();
	if (cpu->preempt_count_addr)
		bpf_probe_read_kernel(&count, sizeof(count), (void *)cpu->preempt_count_addr);

	if (count & (HARDIRQ_MASK | NMI_MASK))
		return CONTEXT_HARDIRQ;
	/* serving a softirq; with bottom halves disabled only, the count is two offsets */
	if (count & SOFTIRQ_OFFSET)
		return CONTEXT_SOFTIRQ;
	return CONTEXT_TASK;
}

static inline struct completing_io *completion_here(void)
{
	int zero = 0;

	return completing.lookup(&zero);
}

static inline void set_completing_io(struct completing_io *completion, u64 io, u64 since_ns)
{
	if (!completion)
		return;
	completion->io = io;
	completion->since_ns = since_ns;
	completion->is_flush = 0;
	completion->has_woken = 0;
	completion->within = 0;
}
