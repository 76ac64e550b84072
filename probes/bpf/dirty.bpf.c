// SPDX-License-Identifier: Apache-2.0
/*
 * Who dirtied pages of which inode. The tracepoint fires when a clean folio becomes dirty, so
 * exactly once before each write of a page to disk.
 */

RAW_TRACEPOINT_PROBE(writeback_dirty_folio)
{
	struct inode_state *inode = inode_of(ctx->args[1]);

	if (inode)
		add_dirtier(inode, (u32)bpf_get_current_pid_tgid(),
			    pages_in_folio((struct folio *)ctx->args[0]));
	return 0;
}
