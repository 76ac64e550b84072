// SPDX-License-Identifier: Apache-2.0
/*
 * Who dirtied pages of which inode. The tracepoint fires when a clean folio becomes dirty, so
 * exactly once before each write of a page to disk, unless the page is truncated before.
 */

RAW_TRACEPOINT_PROBE(writeback_dirty_folio)
{
	struct inode_state *inode = inode_of(ctx->args[1]);

	if (inode)
		add_dirtier(inode, served_tid(), pages_in_folio((struct folio *)ctx->args[0]));
	return 0;
}

#ifdef RCP_HAVE___folio_cancel_dirty
/* Called only for a dirty folio, while it is still in its page cache (mm/truncate.c). */
KFUNC_PROBE(__folio_cancel_dirty, struct folio *folio)
{
	struct inode_state *inode;
	u64 mapping = 0;

	bpf_probe_read_kernel(&mapping, sizeof(mapping), &folio->mapping);
	inode = inodes.lookup(&mapping);
	if (inode)
		forget_pages(inode, (u32)bpf_get_current_pid_tgid(), pages_in_folio(folio));
	return 0;
}
#endif
