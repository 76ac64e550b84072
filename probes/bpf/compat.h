/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Differences between kernel versions, one accessor each. The probes mention no versions.
 */

/*
 * preempt_count of this CPU, which distinguishes task context from interrupts. It is a per-CPU
 * variable that BPF has no helper for, so the recorder passes the addresses it found in
 * /proc/kallsyms (features.py): member of pcpu_hot since commit 64701838bf05 ("x86/percpu:
 * Move preempt_count next to current_task") (in v6.2), a variable of its own before that and
 * again since commit 46e8fff6d45f ("x86/preempt: Move preempt count to percpu hot section")
 * (in v6.15). 0 when the kernel hides its addresses: every wake-up then counts as by a task.
 */
static inline u64 preempt_count_addr(void)
{
#if RCP_PREEMPT_COUNT_ADDR && RCP_PER_CPU_OFFSET_ADDR
	u64 base = 0;
	u64 cpu = bpf_get_smp_processor_id();

	bpf_probe_read_kernel(&base, sizeof(base),
			      (void *)(RCP_PER_CPU_OFFSET_ADDR + cpu * sizeof(base)));
	return base + RCP_PREEMPT_COUNT_ADDR;
#else
	return 0;
#endif
}

/*
 * Number of pages of a folio. The order of a large folio moved into _flags_1 with "mm: free up a
 * word in the first tail page" (in v6.6).
 */
static inline u32 pages_in_folio(struct folio *folio)
{
	unsigned long flags = 0, order = 0;

	bpf_probe_read_kernel(&flags, sizeof(flags), &folio->flags);
	if (!(flags & 1UL << PG_head))
		return 1;
#ifdef RCP_HAS_folio__folio_order
	bpf_probe_read_kernel(&order, sizeof(folio->_folio_order), &folio->_folio_order);
#else
	bpf_probe_read_kernel(&order, sizeof(order), &folio->_flags_1);
#endif
	return 1U << (order & 31);
}

/*
 * Most members of a lock of a file moved into a struct of their own with "filelock: split common
 * fields into struct file_lock_core" (in v6.9).
 */
#ifdef RCP_HAS_file_lock_fl_list
#define FILE_LOCK(member) fl_##member
#else
#define FILE_LOCK(member) c.flc_##member
#endif
#define FILE_LOCK_LIST __builtin_offsetof(struct file_lock, FILE_LOCK(list))

static inline u64 blkg_of(struct bio *bio)
{
#ifdef RCP_HAS_bio_bi_blkg
	return (u64)bio->bi_blkg;
#else
	return 0;
#endif
}

/* The id in the tree of cgroup v2; 0 for one of v1, whose trees have the same numbers. */
static inline u64 cgroup_id_of(struct cgroup *cgrp)
{
	struct kernfs_node *node = NULL;
	struct cgroup_root *root = NULL;
	int hierarchy = 0;
	u64 id = 0;

	/* bcc rewrites only pointers that it read itself */
	bpf_probe_read_kernel(&root, sizeof(root), &cgrp->root);
	bpf_probe_read_kernel(&hierarchy, sizeof(hierarchy), &root->hierarchy_id);
	if (hierarchy)
		return 0;
	bpf_probe_read_kernel(&node, sizeof(node), &cgrp->kn);
	bpf_probe_read_kernel(&id, sizeof(id), &node->id);
	return id;
}

static inline u64 cgroup_of_blkg(u64 blkg)
{
#ifdef RCP_HAS_bio_bi_blkg
	struct blkcg *blkcg = NULL;
	struct cgroup *cgroup = NULL;

	if (!blkg)
		return 0;
	bpf_probe_read_kernel(&blkcg, sizeof(blkcg), &((struct blkcg_gq *)blkg)->blkcg);
	bpf_probe_read_kernel(&cgroup, sizeof(cgroup), &blkcg->css.cgroup);
	return cgroup_id_of(cgroup);
#else
	return 0;
#endif
}

/*
 * The task state at switch-out. An argument of sched_switch since commit fa2c3254d7cf
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
