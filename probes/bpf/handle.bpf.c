// SPDX-License-Identifier: Apache-2.0
/*
 * Who held jbd2 handles open in which transaction, for how long, and how many blocks they added to
 * it (holders.h).
 */

#ifdef RCP_HAS_jbd2_journal_handle_h_total_credits
#define HANDLES_TELL_BLOCKS 1
#else
#define HANDLES_TELL_BLOCKS 0
#endif

/*
 * A handle has credits for the blocks that it may change, and pays one for each that is new to the
 * transaction (fs/jbd2/transaction.c: jbd2_journal_dirty_metadata).
 */
static inline u32 blocks_of(handle_t *handle)
{
#if HANDLES_TELL_BLOCKS
	s32 requested = 0, left = 0;

	bpf_probe_read_kernel(&requested, sizeof(requested), &handle->h_requested_credits);
	bpf_probe_read_kernel(&left, sizeof(left), &handle->h_total_credits);
	return requested > left ? requested - left : 0;
#else
	return 0;
#endif
}

KRETFUNC_PROBE(start_this_handle, journal_t *journal, handle_t *handle, u32 gfp_mask, int ret)
{
	struct task_state *state;

	if (ret)
		return 0;
	state = known_state();
	if (state)
		state->handle_ts = bpf_ktime_get_ns();
	return 0;
}

KFUNC_PROBE(stop_this_handle, handle_t *handle)
{
	u32 tid = (u32)bpf_get_current_pid_tgid();
	struct task_state *state = tasks.lookup(&tid);
	struct block_device *bdev = NULL;
	transaction_t *transaction = NULL;
	struct transaction_key key = {};
	journal_t *journal = NULL;
	u64 start_ns;

	if (!state || !state->handle_ts)
		return 0;
	start_ns = state->handle_ts;
	state->handle_ts = 0;
	bpf_probe_read_kernel(&transaction, sizeof(transaction), &handle->h_transaction);
	bpf_probe_read_kernel(&key.transaction, sizeof(u32), &transaction->t_tid);
	bpf_probe_read_kernel(&journal, sizeof(journal), &transaction->t_journal);
	bpf_probe_read_kernel(&bdev, sizeof(bdev), &journal->j_fs_dev);
	bpf_probe_read_kernel(&key.dev, sizeof(u32), &bdev->bd_dev);
	add_handle(&key, tid, start_ns, blocks_of(handle), HANDLES_TELL_BLOCKS);
	return 0;
}

RAW_TRACEPOINT_PROBE(jbd2_end_commit)
{
	journal_t *journal = (journal_t *)ctx->args[0];
	transaction_t *committed = (transaction_t *)ctx->args[1];
	struct transaction_key key = {};

	key.dev = journal->j_fs_dev->bd_dev;
	key.transaction = committed->t_tid;
	put_holders(&key, HANDLES_TELL_BLOCKS);
	return 0;
}
