/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pages that were in memory, were evicted, and are read again. Where a page was, its place in the
 * page cache has a shadow (mm/workingset.c), which a task finds when it adds the page again. The
 * task itself queues the io that reads it next:
 *
 *   reader    adds page 7 (shadow)   adds page 8 (shadow)   queues one bio for both
 *
 * Memory is short in a cgroup that is at its limit, or, where none is, in the whole machine.
 */

struct refaulted {
	u64 mapping; /* page cache of the file */
	u64 cgroup_id;
	u64 limit_pages;
	u32 n_pages; /* not yet queued */
	u32 last; /* when the last one was added, in units of 2^20 ns */
};

/* A task queues the io right after its pages. What was not read by then never is (a hole). */
#define REFAULT_AGE 256 /* in units of 2^20 ns: a quarter of a second */

/* By tid. LRU: tasks end. */
BPF_TABLE("lru_hash", u32, struct refaulted, refaulting, 4096);
/* Not 0 once a page was read again: while memory suffices, ios pay for the look at this only. */
BPF_ARRAY(refaults_seen, int, 1);

/* At the queueing of a bio that reads, with its final submitter and time. */
static inline void record_refaults(struct bio_state *bio)
{
#ifdef RCP_PROBE_refault
	u32 most = (bio->bytes + PAGE_SIZE - 1) / PAGE_SIZE, tid = bio->tid;
	int zero = 0, *seen = refaults_seen.lookup(&zero);
	struct refault_record event = {};
	struct refaulted *pages;

	if (!seen || !*seen || !bio->mapping)
		return;
	pages = refaulting.lookup(&tid);
	if (!pages || pages->mapping != bio->mapping || !pages->n_pages)
		return;
	if ((u32)(bio->queued_ns >> 20) - pages->last > REFAULT_AGE) {
		pages->n_pages = 0;
		return;
	}
	event.ts = bio->queued_ns;
	event.cgroup_id = pages->cgroup_id;
	event.limit_pages = pages->limit_pages;
	event.tid = bio->tid;
	event.n_pages = pages->n_pages < most ? pages->n_pages : most;
	pages->n_pages -= event.n_pages;
	count_output(refault_ring.ringbuf_output(&event, sizeof(event), RCP_NO_WAKEUP),
		     REC_REFAULT);
#endif
}
