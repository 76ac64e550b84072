/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cgroups: which one is below which, and the limits that tasks and ios wait for. A limit may be
 * that of any cgroup above, which others below it have used up:
 *
 *   pod            io.max 200 writes a second
 *     database     its write waits
 *     backup       has written 200 times
 */

#define CGROUP_LEVELS 10 /* that are looked at, from below */

struct limit_key {
	u64 cgroup_id;
	u32 dev;
	u32 resource;
};

struct limit_value {
	u64 amount;
	u64 period_us;
};

/* LRU: cgroups are removed. */
BPF_TABLE("lru_hash", u64, u8, cgroups_met, 4096);
BPF_TABLE("lru_hash", struct limit_key, struct limit_value, limits_met, 4096);

static inline struct cgroup *cgroup_above(struct cgroup *cgrp)
{
	struct cgroup_subsys_state *parent = NULL;
	struct cgroup *above = NULL;

	bpf_probe_read_kernel(&parent, sizeof(parent), &cgrp->self.parent);
	if (parent)
		bpf_probe_read_kernel(&above, sizeof(above), &parent->cgroup);
	return above;
}

/* Records a cgroup; returns 0 when there was no room for that. */
static inline int record_cgroup(struct cgroup *cgrp, u64 id, u64 parent_id)
{
	struct kernfs_node *node = NULL;
	struct cgroup_record *event;
	const char *name = NULL;

	/* in the ring: there is no room for it on the stack */
	event = cgroup_ring.ringbuf_reserve(sizeof(*event));
	if (!event) {
		lost.increment(REC_CGROUP);
		return 0;
	}
	__builtin_memset(event, 0, sizeof(*event));
	event->ts = bpf_ktime_get_ns();
	event->cgroup_id = id;
	event->parent_id = parent_id;
	bpf_probe_read_kernel(&node, sizeof(node), &cgrp->kn);
	bpf_probe_read_kernel(&name, sizeof(name), &node->name);
	bpf_probe_read_kernel_str(event->name, sizeof(event->name), name);
	cgroup_ring.ringbuf_submit(event, RCP_NO_WAKEUP);
	written.increment(REC_CGROUP);
	return 1;
}

/*
 * Records a cgroup, and those above it, unless they were met before; returns whether they are. When
 * one of them is lost, it has not been met, nor have those below.
 */
static inline int note_cgroups(struct cgroup *cgrp)
{
	struct cgroup *lowest = cgrp, *above;
	u64 id = cgroup_id_of(cgrp), parent_id;
	int is_lost = 0;
	u8 yes = 1;

#pragma clang loop unroll(disable)
	for (int level = 0; level < CGROUP_LEVELS && id && !is_lost; level++) {
		if (cgroups_met.lookup(&id))
			return 1;
		above = cgroup_above(cgrp);
		parent_id = above ? cgroup_id_of(above) : 0;
		is_lost = !record_cgroup(cgrp, id, parent_id);
		cgroups_met.update(&id, &yes);
		cgrp = above;
		id = parent_id;
	}
#pragma clang loop unroll(disable)
	for (int level = 0; level < CGROUP_LEVELS && is_lost && lowest != cgrp; level++) {
		id = cgroup_id_of(lowest);
		cgroups_met.delete(&id);
		lowest = cgroup_above(lowest);
	}
	return !is_lost;
}

/* Records a limit that is new or has changed; an amount of 0 is none. */
static inline void note_limit(struct limit_key key, u64 amount, u64 period_us)
{
	struct limit_value fresh = { amount, period_us }, *last = limits_met.lookup(&key);
	struct cgroup_limit_record event = {};

	if (last ? last->amount == amount && last->period_us == period_us : !amount)
		return;
	event.ts = bpf_ktime_get_ns();
	event.cgroup_id = key.cgroup_id;
	event.amount = amount;
	event.period_us = period_us;
	event.dev = key.dev;
	event.resource = key.resource;
	limits_met.update(&key, &fresh);
	count_output(cgroup_limit_ring.ringbuf_output(&event, sizeof(event), RCP_NO_WAKEUP),
		     REC_CGROUP_LIMIT);
}

/* The limits (cpu.max) that a task's cgroup and those above it have. */
static inline void note_cpu_limits(struct task_struct *task)
{
#ifdef RCP_HAS_cfs_rq_throttled_clock_pelt_time
	struct limit_key key = { .resource = RCP_LIMITED_CPU };
	struct task_group *group = NULL;
	struct cgroup *cgrp = NULL;
	u64 quota = 0, period = 0;

	bpf_probe_read_kernel(&group, sizeof(group), &task->sched_task_group);
#pragma clang loop unroll(disable)
	for (int level = 0; level < CGROUP_LEVELS && group; level++) {
		bpf_probe_read_kernel(&cgrp, sizeof(cgrp), &group->css.cgroup);
		key.cgroup_id = cgrp ? cgroup_id_of(cgrp) : 0;
		if (!key.cgroup_id) /* an autogroup, or of cgroup v1 */
			return;
		bpf_probe_read_kernel(&quota, sizeof(quota), &group->cfs_bandwidth.quota);
		bpf_probe_read_kernel(&period, sizeof(period), &group->cfs_bandwidth.period);
		note_limit(key, quota == ~0ULL ? 0 : quota, period / 1000); /* RUNTIME_INF */
		bpf_probe_read_kernel(&group, sizeof(group), &group->parent);
	}
#endif
}

#if defined(RCP_HAS_throtl_grp_bps) && defined(RCP_HAS_blkcg_policy_plid) && \
	defined(RCP_HAS_bio_bi_blkg)
#define PERIOD_OF_IOS_US 1000000
/* Before v6.10 a group had two limits of each kind, LIMIT_LOW and LIMIT_MAX. */
#define LIMITS_OF_A_KIND (sizeof(((struct throtl_grp *)0)->bps) / sizeof(u64) / 2)

static inline u32 device_of_blkg(struct blkcg_gq *blkg)
{
	struct block_device *part = NULL;
	struct request_queue *q = NULL;
	struct gendisk *disk = NULL;
	u32 dev = 0;

	bpf_probe_read_kernel(&q, sizeof(q), &blkg->q);
	bpf_probe_read_kernel(&disk, sizeof(disk), &q->disk);
	bpf_probe_read_kernel(&part, sizeof(part), &disk->part0);
	bpf_probe_read_kernel(&dev, sizeof(dev), &part->bd_dev);
	return dev;
}

/* The limits of a cgroup on a device (block/blk-throttle.h:struct throtl_grp). */
static inline void note_limits_of(struct blkcg_gq *blkg, u32 policy, u32 dev)
{
	struct limit_key key = { .cgroup_id = cgroup_of_blkg((u64)blkg), .dev = dev };
	/* a number: the verifier has bounds for pointers */
	u64 data = (u64)blkg + __builtin_offsetof(struct blkcg_gq, pd) + policy * sizeof(void *);
	struct throtl_grp *group = NULL;
	u64 bytes = 0;
	u32 ios = 0;

	/* its policy data is the first member of the group */
	bpf_probe_read_kernel(&group, sizeof(group), (void *)data);
	if (!group || !key.cgroup_id) /* in cgroup v1 no limit counts below its cgroup */
		return;
#pragma clang loop unroll(disable)
	for (u32 is_write = 0; is_write < 2; is_write++) {
		u32 at = is_write * LIMITS_OF_A_KIND + LIMITS_OF_A_KIND - 1;

		bpf_probe_read_kernel(&bytes, sizeof(bytes), (u64 *)&group->bps + at);
		key.resource = RCP_LIMITED_READ_BYTES + is_write;
		note_limit(key, bytes == ~0ULL ? 0 : bytes, PERIOD_OF_IOS_US);
		bpf_probe_read_kernel(&ios, sizeof(ios), (u32 *)&group->iops + at);
		key.resource = RCP_LIMITED_READ_IOS + is_write;
		note_limit(key, ios == ~0U ? 0 : ios, PERIOD_OF_IOS_US);
	}
}

/* The limits (io.max) that the cgroup of a bio and those above it have. */
static inline void note_io_limits(struct bio *bio)
{
	struct blkcg_gq *blkg = (struct blkcg_gq *)blkg_of(bio);
	u64 throttle = RCP_THROTTLE_POLICY_ADDR;
	int policy = -1;
	u32 dev;

	/* the number stands for another one (compiled.py): nothing may be added to it before */
	asm volatile("" : "+r"(throttle));
	/* without an address the read fails */
	if (bpf_probe_read_kernel(&policy, sizeof(policy),
				  &((struct blkcg_policy *)throttle)->plid) ||
	    policy < 0 || !blkg)
		return;
	dev = device_of_blkg(blkg);
#pragma clang loop unroll(disable)
	for (int level = 0; level < CGROUP_LEVELS && blkg; level++) {
		note_limits_of(blkg, policy, dev);
		bpf_probe_read_kernel(&blkg, sizeof(blkg), &blkg->parent);
	}
}
#else
static inline void note_io_limits(struct bio *bio)
{
}
#endif
