// SPDX-License-Identifier: Apache-2.0
/*
 * Which page of which inode a task waits for. These functions are called only when the page is
 * locked or under writeback. A read that waits for its page is not hooked: it sleeps in
 * filemap_get_pages(), which every read calls, and gets its reason from the stack. A page fault
 * gets its reason from the stack too; only its file is noted here.
 */

static inline int begin_page_wait(struct folio *folio, u16 reason)
{
	struct task_state *state = known_state();
	struct inode_state *inode;
	u64 mapping = 0;

	if (!state)
		return 0;
	state->note = (struct wait_note){ .object = (u64)folio, .reason = reason };
	bpf_probe_read_kernel(&mapping, sizeof(mapping), &folio->mapping);
	inode = inode_of(mapping);
	if (inode) {
		state->note.ino = inode->ino;
		state->note.dev = inode->dev;
	}
	return 0;
}

static inline int begin_bit_wait(struct folio *folio, int bit)
{
	if (bit != PG_writeback && bit != PG_locked)
		return 0;
	return begin_page_wait(folio,
			       bit == PG_writeback ? RCP_WAIT_PAGE_WRITEBACK : RCP_WAIT_PAGE_LOCK);
}

#ifdef RCP_HAVE_filemap_fault
KFUNC_PROBE(filemap_fault, struct vm_fault *fault)
{
	struct task_state *state = known_state();
	struct vm_area_struct *area = NULL;
	struct file *file = NULL;
	struct inode_state *inode;
	u64 mapping = 0;

	if (!state)
		return 0;
	bpf_probe_read_kernel(&area, sizeof(area), &fault->vma);
	bpf_probe_read_kernel(&file, sizeof(file), &area->vm_file);
	bpf_probe_read_kernel(&mapping, sizeof(mapping), &file->f_mapping);
	inode = inode_of(mapping);
	if (inode)
		state->note = (struct wait_note){ .ino = inode->ino, .dev = inode->dev };
	return 0;
}

KRETFUNC_PROBE(filemap_fault)
{
	return end_wait();
}
#endif

#ifdef RCP_HAVE_folio_wait_bit
KFUNC_PROBE(folio_wait_bit, struct folio *folio, int bit)
{
	return begin_bit_wait(folio, bit);
}

KRETFUNC_PROBE(folio_wait_bit)
{
	return end_wait();
}
#endif

#ifdef RCP_HAVE_folio_wait_bit_killable
KFUNC_PROBE(folio_wait_bit_killable, struct folio *folio, int bit)
{
	return begin_bit_wait(folio, bit);
}

KRETFUNC_PROBE(folio_wait_bit_killable)
{
	return end_wait();
}
#endif

#ifdef RCP_HAVE___folio_lock
KFUNC_PROBE(__folio_lock, struct folio *folio)
{
	return begin_page_wait(folio, RCP_WAIT_PAGE_LOCK);
}

KRETFUNC_PROBE(__folio_lock)
{
	return end_wait();
}
#endif

#ifdef RCP_HAVE___folio_lock_killable
KFUNC_PROBE(__folio_lock_killable, struct folio *folio)
{
	return begin_page_wait(folio, RCP_WAIT_PAGE_LOCK);
}

KRETFUNC_PROBE(__folio_lock_killable)
{
	return end_wait();
}
#endif

#ifdef RCP_HAVE___folio_lock_or_retry
KFUNC_PROBE(__folio_lock_or_retry, struct folio *folio)
{
	return begin_page_wait(folio, RCP_WAIT_PAGE_LOCK);
}

KRETFUNC_PROBE(__folio_lock_or_retry)
{
	return end_wait();
}
#endif
