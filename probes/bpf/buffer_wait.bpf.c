// SPDX-License-Identifier: Apache-2.0
/*
 * Which block of which device a task waits for: a buffer that is read, written or locked, or one
 * that the journal is writing and the task wants to change (BH_Shadow).
 */

static inline int begin_buffer_wait(struct buffer_head *bh)
{
	struct task_state *state = known_state();
	struct block_device *bdev = NULL;

	/* a task that frees journal space waits for buffers, but its reason is the space */
	if (!state || state->note.reason == RCP_WAIT_JOURNAL_SPACE)
		return 0;
	state->note = (struct wait_note){ .reason = RCP_WAIT_BUFFER_LOCK };
	bpf_probe_read_kernel(&state->note.object, sizeof(u64), &bh->b_blocknr);
	bpf_probe_read_kernel(&bdev, sizeof(bdev), &bh->b_bdev);
	bpf_probe_read_kernel(&state->note.dev, sizeof(u32), &bdev->bd_dev);
	return 0;
}

#ifdef RCP_HAVE___wait_on_buffer
KFUNC_PROBE(__wait_on_buffer, struct buffer_head *bh)
{
	return begin_buffer_wait(bh);
}

KRETFUNC_PROBE(__wait_on_buffer)
{
	return end_wait_for(RCP_WAIT_BUFFER_LOCK);
}
#endif

#ifdef RCP_HAVE___lock_buffer
KFUNC_PROBE(__lock_buffer, struct buffer_head *bh)
{
	return begin_buffer_wait(bh);
}

KRETFUNC_PROBE(__lock_buffer)
{
	return end_wait_for(RCP_WAIT_BUFFER_LOCK);
}
#endif

#if defined(RCP_HAVE_out_of_line_wait_on_bit) && defined(BH_Shadow)
/* Called for any bit of any word; BH_Shadow with an open handle is do_get_write_access(). */
static inline int begin_shadow_wait(struct buffer_head *bh)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();
	struct task_state *state = known_state();
	struct task_struct *thread = NULL;
	transaction_t *transaction = NULL;
	struct block_device *bdev = NULL;
	journal_t *journal = NULL;
	handle_t *handle = NULL;

	bpf_probe_read_kernel(&handle, sizeof(handle), &task->journal_info);
	if (!state || !handle)
		return 0;
	state->note = (struct wait_note){ .reason = RCP_WAIT_BUFFER_SHADOW };
	bpf_probe_read_kernel(&state->note.object, sizeof(u64), &bh->b_blocknr);
	bpf_probe_read_kernel(&bdev, sizeof(bdev), &bh->b_bdev);
	bpf_probe_read_kernel(&state->note.dev, sizeof(u32), &bdev->bd_dev);
	bpf_probe_read_kernel(&transaction, sizeof(transaction), &handle->h_transaction);
	bpf_probe_read_kernel(&journal, sizeof(journal), &transaction->t_journal);
	bpf_probe_read_kernel(&thread, sizeof(thread), &journal->j_task);
	bpf_probe_read_kernel(&state->note.owner_tid, sizeof(u32), &thread->pid);
	return 0;
}

/* b_state, the word with the bits, is the first member of struct buffer_head. */
KFUNC_PROBE(out_of_line_wait_on_bit, void *word, int bit)
{
	return bit == BH_Shadow ? begin_shadow_wait(word) : 0;
}

KRETFUNC_PROBE(out_of_line_wait_on_bit, void *word, int bit)
{
	return bit == BH_Shadow ? end_wait() : 0;
}
#endif
