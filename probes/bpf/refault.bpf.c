// SPDX-License-Identifier: Apache-2.0
/*
 * Pages that a task adds to memory again after they were evicted, and the memory limit that it is
 * at: refault.h has what becomes of them.
 */

/* A page is charged before this runs: where memory is still as short as when it was evicted, its
 * cgroup is at its limit. Where it is not, the limit is the machine's. */
#define MAX_CGROUP_DEPTH 8
/* Each CPU charges this many pages ahead (mm/memcontrol.c:MEMCG_CHARGE_BATCH). */
#define CHARGED_AHEAD_PAGES 64

static inline void find_limit(struct folio *folio, struct refaulted *pages)
{
#if defined(RCP_HAS_folio_memcg_data) && defined(RCP_HAS_mem_cgroup_id)
	unsigned long data = 0, usage, limit, high;
	struct mem_cgroup *memcg, *parent;
	struct cgroup *cgroup = NULL;

	pages->limit_pages = RCP_MEMORY_PAGES;
	bpf_probe_read_kernel(&data, sizeof(data), &folio->memcg_data);
	memcg = (struct mem_cgroup *)(data & ~7UL); /* include/linux/memcontrol.h, MEMCG_DATA_* */
	for (int i = 0; i < MAX_CGROUP_DEPTH && memcg; i++) {
		parent = NULL;
		usage = high = 0;
		limit = ~0UL;
		bpf_probe_read_kernel(&usage, sizeof(usage), &memcg->memory.usage);
		bpf_probe_read_kernel(&limit, sizeof(limit), &memcg->memory.max);
		bpf_probe_read_kernel(&high, sizeof(high), &memcg->memory.high);
		if (high && high < limit)
			limit = high;
		if (usage + limit / 32 + CHARGED_AHEAD_PAGES >= limit)
			break;
		/* css is its first member, so a css's address is that of its mem_cgroup */
		bpf_probe_read_kernel(&parent, sizeof(parent), &memcg->css.parent);
		memcg = parent;
	}
	if (!memcg)
		return;
	bpf_probe_read_kernel(&cgroup, sizeof(cgroup), &memcg->css.cgroup);
	pages->cgroup_id = cgroup_id_of(cgroup);
	if (pages->cgroup_id)
		pages->limit_pages = limit;
#else
	pages->limit_pages = RCP_MEMORY_PAGES;
#endif
}

KFUNC_PROBE(workingset_refault, struct folio *folio)
{
	u64 pid_tgid = bpf_get_current_pid_tgid(), mapping = 0;
	u32 tid = (u32)pid_tgid;
	struct refaulted fresh = {}, *pages;
	int zero = 0, seen = 1;

	bpf_probe_read_kernel(&mapping, sizeof(mapping), &folio->mapping);
	if (is_paused() || pid_tgid >> 32 == RCP_SELF_PID || !mapping || mapping & 3)
		return 0; /* from swap */
	pages = refaulting.lookup(&tid);
	fresh.last = bpf_ktime_get_ns() >> 20;
	if (pages && pages->mapping == mapping && pages->n_pages &&
	    fresh.last - pages->last <= REFAULT_AGE) {
		pages->n_pages += pages_in_folio(folio);
		pages->last = fresh.last;
		return 0;
	}
	fresh.mapping = mapping;
	fresh.n_pages = pages_in_folio(folio);
	find_limit(folio, &fresh);
	refaulting.update(&tid, &fresh);
	refaults_seen.update(&zero, &seen);
	return 0;
}
