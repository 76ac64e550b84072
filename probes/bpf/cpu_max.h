/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether a task waited for a CPU because its cgroup had used up its cpu.max.
 */
#ifdef RCP_HAS_cfs_rq_throttled_clock_pelt_time
/* When a cgroup's run queue on a CPU was throttled (cpu.max) last, as its tasks found out. */
struct cfs_throttle {
	u64 total_ns;
	u64 begin_ns;
	u64 end_ns;
};

/* A run queue is throttled this shortly before its task leaves the CPU. */
#define THROTTLE_RACE_NS 1000000

BPF_TABLE("lru_hash", u64, struct cfs_throttle, cfs_throttles, 4096);

static inline u64 shared_ns(u64 begin, u64 end, u64 other_begin, u64 other_end)
{
	begin = begin > other_begin ? begin : other_begin;
	end = end < other_end ? end : other_end;
	return begin < end ? end - begin : 0;
}

/* How long ago the run queue was throttled last, by the clock of such times: rq_clock_pelt(). */
static inline u64 since_throttled(struct cfs_rq *cfs_rq)
{
	u64 clock = 0, idle = 0, throttled_at = 0;
	struct rq *rq = NULL;

	bpf_probe_read_kernel(&rq, sizeof(rq), &cfs_rq->rq);
	bpf_probe_read_kernel(&clock, sizeof(clock), &rq->clock_pelt);
	bpf_probe_read_kernel(&idle, sizeof(idle), &rq->lost_idle_time);
	bpf_probe_read_kernel(&throttled_at, sizeof(throttled_at), &cfs_rq->throttled_clock_pelt);
	return clock - idle - throttled_at;
}

/*
 * Whether the task could not run for most of [woken_ns, now) because of cpu.max. The kernel adds a
 * throttled time, also that of a cgroup above, to throttled_clock_pelt_time as it ends
 * (kernel/sched/fair.c:tg_unthrottle_up), whether the run queue has tasks or not. When several
 * times were added since one of its tasks looked, the end of the last is not known. Of a run queue
 * not met before, only a time that began within the wait counts.
 */
static inline int waited_for_cpu_max(struct task_struct *next, u64 woken_ns, u64 now)
{
	struct cfs_throttle found = {}, *last;
	struct cfs_rq *cfs_rq = NULL;
	u64 key, since_ns;

	bpf_probe_read_kernel(&cfs_rq, sizeof(cfs_rq), &next->se.cfs_rq);
	bpf_probe_read_kernel(&found.total_ns, sizeof(found.total_ns),
			      &cfs_rq->throttled_clock_pelt_time);
	if (!found.total_ns)
		return 0;
	key = (u64)cfs_rq;
	last = cfs_throttles.lookup(&key);
	if (last && last->total_ns == found.total_ns)
		return shared_ns(woken_ns, now, last->begin_ns, last->end_ns) >
		       (now - woken_ns) / 2;
	since_ns = since_throttled(cfs_rq);
	found.begin_ns = found.end_ns = now - since_ns;
	if (!last)
		found.end_ns = found.begin_ns + THROTTLE_RACE_NS < woken_ns ? found.begin_ns : now;
	else if (found.total_ns - last->total_ns <= since_ns)
		found.end_ns += found.total_ns - last->total_ns;
	cfs_throttles.update(&key, &found);
	return shared_ns(woken_ns, now, found.begin_ns, found.end_ns) > (now - woken_ns) / 2;
}
#else
static inline int waited_for_cpu_max(struct task_struct *next, u64 woken_ns, u64 now)
{
	return 0;
}
#endif
