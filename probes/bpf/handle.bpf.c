// SPDX-License-Identifier: Apache-2.0
/*
 * Who held jbd2 handles open in which transaction, for how long, and how many blocks they added to
 * it: summed per task and written when the transaction is committed. A commit waits for every open
 * handle, and writes every block once, however often it was changed.
 */

/* Seven tasks have an entry of their own. Others share the last, whose tid is 0 if several do. */
#define MAX_HOLDERS 8

struct handle_holder {
	u64 first_ns;
	u64 last_ns;
	u64 held_ns;
	u64 longest_ns;
	u32 tid;
	u32 n_handles; /* 0: unused entry */
	u32 n_blocks;
	u32 unused;
};

struct transaction_holders {
	struct handle_holder holders[MAX_HOLDERS];
};

struct transaction_key {
	u32 dev;
	u32 transaction;
};

BPF_HASH(transactions, struct transaction_key, struct transaction_holders, 1024);
BPF_ARRAY(no_holders, struct transaction_holders, 1); /* 384 zero bytes, too many for the stack */

static inline struct transaction_holders *holders_in(struct transaction_key *key)
{
	struct transaction_holders *known = transactions.lookup(key), *none;
	int zero = 0;

	if (known)
		return known;
	none = no_holders.lookup(&zero);
	if (!none)
		return NULL;
	transactions.insert(key, none);
	known = transactions.lookup(key);
	if (!known)
		lost.increment(REC_JOURNAL_HANDLE);
	return known;
}

/*
 * A handle has credits for the blocks that it may change, and pays one for each that is new to the
 * transaction (fs/jbd2/transaction.c: jbd2_journal_dirty_metadata).
 */
static inline u32 blocks_of(handle_t *handle)
{
#ifdef RCP_HAS_jbd2_journal_handle_h_total_credits
	s32 requested = 0, left = 0;

	bpf_probe_read_kernel(&requested, sizeof(requested), &handle->h_requested_credits);
	bpf_probe_read_kernel(&left, sizeof(left), &handle->h_total_credits);
	return requested > left ? requested - left : 0;
#else
	return 0;
#endif
}

static inline void add_handle(struct transaction_holders *all, u32 tid, u64 start_ns, u64 now,
			      u32 n_blocks)
{
	struct handle_holder *holder = &all->holders[MAX_HOLDERS - 1];
	u64 held_ns = now - start_ns;

#pragma unroll
	for (int i = MAX_HOLDERS - 2; i >= 0; i--) {
		if (all->holders[i].tid == tid || !all->holders[i].n_handles)
			holder = &all->holders[i];
	}
	if (!holder->n_handles) {
		holder->tid = tid;
		holder->first_ns = start_ns;
	} else if (holder->tid != tid) {
		holder->tid = 0;
	}
	holder->n_handles++;
	holder->n_blocks += n_blocks;
	holder->last_ns = now;
	holder->held_ns += held_ns;
	if (held_ns > holder->longest_ns)
		holder->longest_ns = held_ns;
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
	struct transaction_holders *all;
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
	all = holders_in(&key);
	if (all)
		add_handle(all, tid, start_ns, bpf_ktime_get_ns(), blocks_of(handle));
	return 0;
}

static inline void put_blocks(struct transaction_key *key, struct handle_holder *holder)
{
#ifdef RCP_HAS_jbd2_journal_handle_h_total_credits
	struct journal_block_record event = {
		.ts = holder->first_ns,
		.dev = key->dev,
		.transaction = key->transaction,
		.tid = holder->tid,
		.n_blocks = holder->n_blocks,
	};

	count_output(journal_block_ring.ringbuf_output(&event, sizeof(event), RCP_NO_WAKEUP),
		     REC_JOURNAL_BLOCK);
#endif
}

RAW_TRACEPOINT_PROBE(jbd2_end_commit)
{
	journal_t *journal = (journal_t *)ctx->args[0];
	transaction_t *committed = (transaction_t *)ctx->args[1];
	struct journal_handle_record event = {};
	struct transaction_holders *all;
	struct transaction_key key = {};

	key.dev = journal->j_fs_dev->bd_dev;
	key.transaction = committed->t_tid;
	all = transactions.lookup(&key);
	if (!all)
		return 0;
	event.dev = key.dev;
	event.transaction = key.transaction;
	for (int i = 0; i < MAX_HOLDERS; i++) {
		struct handle_holder *holder = &all->holders[i];

		if (!holder->n_handles)
			break;
		event.ts = holder->first_ns;
		event.end_ns = holder->last_ns;
		event.held_ns = holder->held_ns;
		event.longest_ns = holder->longest_ns;
		event.tid = holder->tid;
		event.n_handles = holder->n_handles;
		count_output(
			journal_handle_ring.ringbuf_output(&event, sizeof(event), RCP_NO_WAKEUP),
			REC_JOURNAL_HANDLE);
		put_blocks(&key, holder);
	}
	transactions.delete(&key);
	return 0;
}
