/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who dirtied the pages that an io writes. Known per inode, not per page: an io takes its
 * pages from the dirtiers in proportion to what each has not yet seen written. So every page is
 * blamed once, and no later io is blamed on a dirtier whose pages are
 * all written. Wrong are: pages dirtied before the recording (nobody's), pages cut off before
 * they were written (blamed on a later io of the same inode), and a fifth dirtier at one time
 * (takes the place of the first).
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

static inline void take_causes(u64 io, struct inode_state *inode, u32 n_pages)
{
#ifdef RCP_PROBE_io_cause
	struct io_cause_record event = {};
	u64 n_dirtied = 0;

#pragma unroll
	for (int i = 0; i < MAX_DIRTIERS; i++) {
		if (inode->dirtiers[i].n_pages <= 0)
			continue;
		n_dirtied += inode->dirtiers[i].n_pages;
		event.n_causes++;
	}
	if (!n_dirtied)
		return;
	event.io = io;
	event.ino = inode->ino;
	event.dev = inode->dev;
	if (n_pages > n_dirtied)
		n_pages = n_dirtied;
	for (int i = 0; i < MAX_DIRTIERS; i++) {
		s32 mine = inode->dirtiers[i].n_pages;

		/* above: another CPU takes from the same inode */
		if (mine <= 0 || mine > n_dirtied)
			continue;
		/* what is rounded off goes to the next one, and the last takes the rest */
		event.n_pages = ((u64)mine * n_pages + n_dirtied / 2) / n_dirtied;
		event.tid = inode->dirtiers[i].tid;
		n_dirtied -= mine;
		n_pages -= event.n_pages;
		if (!event.n_pages)
			continue;
		__sync_fetch_and_add(&inode->dirtiers[i].n_pages, -event.n_pages);
		count_output(io_cause_ring.ringbuf_output(&event, sizeof(event), RCP_NO_WAKEUP),
			     REC_IO_CAUSE);
	}
#endif
}
