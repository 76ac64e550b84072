// SPDX-License-Identifier: Apache-2.0
/*
 * Who drops which pages of which file from memory: drop.h has what becomes of them.
 */

struct dropping_state {
	u64 ts;
	u64 mapping;
	u64 n_pages; /* in memory when it began */
	u64 first_page;
	u64 last_page;
};

/* By tid: what a task is dropping. */
BPF_TABLE("lru_hash", u32, struct dropping_state, dropping, 1024);

static inline u64 n_pages_of(u64 mapping)
{
	unsigned long n_pages = 0;

	bpf_probe_read_kernel(&n_pages, sizeof(n_pages),
			      &((struct address_space *)mapping)->nrpages);
	return n_pages;
}

static inline int begin_drop(u64 mapping, u64 first_page, u64 last_page)
{
	u64 pid_tgid = bpf_get_current_pid_tgid();
	struct dropping_state state = { .mapping = mapping };
	u32 tid = (u32)pid_tgid, *last;
	int zero = 0, seen = 1;

	state.n_pages = n_pages_of(mapping);
	if (!state.n_pages || is_paused() || pid_tgid >> 32 == RCP_SELF_PID) {
		dropping.delete(&tid); /* one whose end was missed */
		return 0;
	}
	state.ts = bpf_ktime_get_ns();
	state.first_page = first_page;
	state.last_page = last_page;
	dropping.update(&tid, &state);
	/* now, for it may take long, and some pages are read again meanwhile */
	last = droppers.lookup(&mapping);
	if (!last || *last != tid)
		droppers.update(&mapping, &tid);
	drops_seen.update(&zero, &seen);
	return 0;
}

static inline void record_drop(u32 tid, struct dropping_state *state, u64 n_pages)
{
	struct page_drop_record event = {};
	u64 mapping = state->mapping;
	struct inode *inode = NULL;
	u16 mode = 0;

	bpf_probe_read_kernel(&inode, sizeof(inode), &((struct address_space *)mapping)->host);
	bpf_probe_read_kernel(&event.ino, sizeof(event.ino), &inode->i_ino);
	bpf_probe_read_kernel(&mode, sizeof(mode), &inode->i_mode);
	event.dev = dev_of(inode, mode);
	event.ts = state->ts;
	event.first_page = state->first_page;
	event.last_page = state->last_page;
	event.n_pages = n_pages;
	event.tid = tid;
	count_output(page_drop_ring.ringbuf_output(&event, sizeof(event), RCP_NO_WAKEUP),
		     REC_PAGE_DROP);
}

static inline int end_drop(void)
{
	u32 tid = (u32)bpf_get_current_pid_tgid();
	struct dropping_state *state = dropping.lookup(&tid);
	u64 n_pages;

	if (!state)
		return 0;
	n_pages = n_pages_of(state->mapping);
	/* None are gone if all are in use, or if others have read as many meanwhile. */
	if (n_pages < state->n_pages)
		record_drop(tid, state, state->n_pages - n_pages);
	dropping.delete(&tid);
	return 0;
}

#ifdef RCP_HAVE_mapping_try_invalidate
KFUNC_PROBE(mapping_try_invalidate, struct address_space *mapping, unsigned long start,
	    unsigned long end)
{
	return begin_drop((u64)mapping, start, end);
}

KRETFUNC_PROBE(mapping_try_invalidate)
{
	return end_drop();
}
#endif

#ifdef RCP_HAVE_invalidate_inode_pages2_range
KFUNC_PROBE(invalidate_inode_pages2_range, struct address_space *mapping, unsigned long start,
	    unsigned long end)
{
	return begin_drop((u64)mapping, start, end);
}

KRETFUNC_PROBE(invalidate_inode_pages2_range)
{
	return end_drop();
}
#endif
