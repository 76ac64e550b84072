/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Differences between kernels, one small accessor each. Probes never mention versions.
 */
#include <linux/version.h>

/*
 * preempt_count of this CPU, which tells task context from interrupt. It is a per-CPU
 * variable that BPF has no helper for, so the recorder passes the addresses it found in
 * /proc/kallsyms (features.py): member of pcpu_hot since commit 64701838bf05 ("x86/percpu:
 * Move preempt_count next to current_task") (in v6.2), a variable of its own before that and
 * again since commit 46e8fff6d45f ("x86/preempt: Move preempt count to percpu hot section")
 * (in v6.15). 0 when the kernel hides its addresses: every wake-up then counts as a task's.
 */
static inline u32 this_cpu_preempt_count(void)
{
	u32 count = 0;
#if RCP_PREEMPT_COUNT_ADDR && RCP_PER_CPU_OFFSET_ADDR
	u64 base = 0;
	u64 cpu = bpf_get_smp_processor_id();

	bpf_probe_read_kernel(&base, sizeof(base),
			      (void *)(RCP_PER_CPU_OFFSET_ADDR + cpu * sizeof(base)));
	bpf_probe_read_kernel(&count, sizeof(count), (void *)(base + RCP_PREEMPT_COUNT_ADDR));
#endif
	return count;
}

/*
 * State a task left the CPU in. An argument of sched_switch since commit fa2c3254d7cf
 * ("sched/tracing: Don't re-read p->state when emitting sched_switch event") (in v5.18).
 */
static inline u32 switched_out_state(struct bpf_raw_tracepoint_args *ctx, struct task_struct *prev)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(5, 18, 0)
	return (u32)ctx->args[3];
#else
	return prev->__state;
#endif
}
