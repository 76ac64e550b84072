/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who dirtied the pages that an io writes. Known per inode, not per page: the pages of an io are
 * attributed to the inode's dirtiers in proportion to their pages not yet written. So each page
 * is attributed once, and never to a task whose pages are all written.
 *
 * Errors: pages dirtied before the recording have no dirtier; of truncated pages only the
 * number is known, and who truncates; a fifth concurrent dirtier replaces the first.
 */

static inline void add_dirtier(struct inode_state *inode, u32 tid, u32 n_pages)
{
	struct dirtier *place = NULL;

#pragma unroll
	for (int i = 0; i < MAX_DIRTIERS; i++) {
		if (inode->dirtiers[i].tid == tid && inode->dirtiers[i].n_pages > 0) {
			__sync_fetch_and_add(&inode->dirtiers[i].n_pages, n_pages);
			return;
		}
		if (inode->dirtiers[i].n_pages <= 0)
			place = &inode->dirtiers[i];
	}
	if (!place)
		place = &inode->dirtiers[inode->n_replaced++ % MAX_DIRTIERS];
	place->tid = tid;
	place->n_pages = n_pages;
}

/*
 * Pages are clean again without having been written: they were truncated, or their file was
 * removed. They are those of who truncates, as of a temporary file, or else of who has most.
 */
static inline void forget_pages(struct inode_state *inode, u32 tid, s32 n_pages)
{
	struct dirtier *of = NULL;

#pragma unroll
	for (int i = 0; i < MAX_DIRTIERS; i++) {
		struct dirtier *one = &inode->dirtiers[i];

		if (one->n_pages <= 0 || (of && of->tid == tid))
			continue;
		if (!of || one->tid == tid || one->n_pages > of->n_pages)
			of = one;
	}
	if (of)
		__sync_fetch_and_add(&of->n_pages, -n_pages);
}

/* Returns the task with most of the pages, 0 when none is known. */
static inline u32 take_causes(u64 io, struct inode_state *inode, u32 n_pages)
{
	u32 main_tid = 0;
#ifdef RCP_PROBE_io_cause
	struct io_cause_record event = {};
	u64 n_dirtied = 0;
	u32 most = 0;

#pragma unroll
	for (int i = 0; i < MAX_DIRTIERS; i++) {
		if (inode->dirtiers[i].n_pages <= 0)
			continue;
		n_dirtied += inode->dirtiers[i].n_pages;
		event.n_causes++;
	}
	if (!n_dirtied)
		return 0;
	event.io = io;
	event.ino = inode->ino;
	event.dev = inode->dev;
	if (n_pages > n_dirtied)
		n_pages = n_dirtied;
	for (int i = 0; i < MAX_DIRTIERS; i++) {
		s32 mine = inode->dirtiers[i].n_pages;

		/* larger than the rest: another CPU changes the same inode */
		if (mine <= 0 || mine > n_dirtied)
			continue;
		/* the next dirtier gets the rounding error, the last one the rest */
		event.n_pages = ((u64)mine * n_pages + n_dirtied / 2) / n_dirtied;
		event.tid = inode->dirtiers[i].tid;
		n_dirtied -= mine;
		n_pages -= event.n_pages;
		if (!event.n_pages)
			continue;
		if (event.n_pages > most) {
			most = event.n_pages;
			main_tid = event.tid;
		}
		__sync_fetch_and_add(&inode->dirtiers[i].n_pages, -event.n_pages);
		count_output(io_cause_ring.ringbuf_output(&event, sizeof(event), RCP_NO_WAKEUP),
			     REC_IO_CAUSE);
	}
	if (main_tid)
		inode->written_for = main_tid;
#endif
	return main_tid;
}
