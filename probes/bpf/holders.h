/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who changes what in a file system's running transaction, summed per task and written when the
 * transaction is committed: jbd2's handles (handle.bpf.c), and the changes in XFS's log
 * (xfs_log.bpf.c). A commit waits for every open handle, and writes every block once, however often
 * it was changed.
 */

/*
 * So many tasks are summed at a time. When there are more, one that has been idle is written, as a
 * rule a short program of a script. If none has, the others share the last entry, with tid 0.
 */
#define MAX_HOLDERS 8
#define IDLE_NS 1000000 /* bounds the records to some thousand a second */

struct handle_holder {
	u64 first_ns;
	u64 last_ns;
	u64 held_ns;
	u64 longest_ns;
	u32 tid;
	u32 n_handles; /* 0: unused entry */
	s32 n_blocks; /* or bytes, see add_handle() */
	u32 unused;
};

struct transaction_holders {
	struct handle_holder holders[MAX_HOLDERS];
	u32 n_handles; /* of all, also of those that have been written */
	s32 n_blocks;
};

struct transaction_key {
	u32 dev;
	u32 transaction;
};

BPF_HASH(transactions, struct transaction_key, struct transaction_holders, 1024);
BPF_ARRAY(no_holders, struct transaction_holders, 1); /* zeros, too many for the stack */

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

/* Who changes what others have added may have made it smaller by more than he has added. */
static inline u32 blocks_in(s32 n, u32 block_bytes)
{
	return n > 0 ? ((u32)n + block_bytes - 1) / block_bytes : 0;
}

static inline void put_blocks(struct transaction_key *key, struct handle_holder *holder,
			      u32 block_bytes)
{
	struct journal_block_record event = {
		.ts = holder->first_ns,
		.dev = key->dev,
		.transaction = key->transaction,
		.tid = holder->tid,
		.n_blocks = blocks_in(holder->n_blocks, block_bytes),
	};

	count_output(journal_block_ring.ringbuf_output(&event, sizeof(event), RCP_NO_WAKEUP),
		     REC_JOURNAL_BLOCK);
}

static inline void put_holder(struct transaction_key *key, struct handle_holder *holder,
			      u32 block_bytes)
{
	struct journal_handle_record event = {
		.ts = holder->first_ns,
		.end_ns = holder->last_ns,
		.held_ns = holder->held_ns,
		.longest_ns = holder->longest_ns,
		.dev = key->dev,
		.transaction = key->transaction,
		.tid = holder->tid,
		.n_handles = holder->n_handles,
	};

	count_output(journal_handle_ring.ringbuf_output(&event, sizeof(event), RCP_NO_WAKEUP),
		     REC_JOURNAL_HANDLE);
	if (block_bytes)
		put_blocks(key, holder, block_bytes);
}

/* The task's entry, a new one, one whose task's sums have been written, or the last one. */
static inline struct handle_holder *holder_of(struct transaction_holders *all, u32 tid, u64 now,
					      struct transaction_key *key, u32 block_bytes)
{
	struct handle_holder *idle = &all->holders[0];

#pragma unroll
	for (int i = 0; i < MAX_HOLDERS; i++) {
		struct handle_holder *holder = &all->holders[i];

		if (holder->tid == tid || !holder->n_handles)
			return holder;
		if (holder->last_ns < idle->last_ns)
			idle = holder;
	}
	if (now - idle->last_ns < IDLE_NS)
		return &all->holders[MAX_HOLDERS - 1];
	put_holder(key, idle, block_bytes);
	*idle = (struct handle_holder){};
	return idle;
}

/* Of n_blocks it takes block_bytes to make a block: 1 where it is blocks; 0: not known. */
static inline void add_handle(struct transaction_key *key, u32 tid, u64 start_ns, s32 n_blocks,
			      u32 block_bytes)
{
	struct transaction_holders *all = holders_in(key);
	u64 now = bpf_ktime_get_ns(), held_ns = now - start_ns;
	struct handle_holder *holder;

	if (!all)
		return;
	holder = holder_of(all, tid, now, key, block_bytes);
	if (!holder->n_handles) {
		holder->tid = tid;
		holder->first_ns = start_ns;
	} else if (holder->tid != tid) {
		holder->tid = 0;
	}
	/* several workers may add for one task */
	__sync_fetch_and_add(&holder->n_handles, 1);
	__sync_fetch_and_add(&holder->n_blocks, n_blocks);
	__sync_fetch_and_add(&holder->held_ns, held_ns);
	holder->last_ns = now;
	if (held_ns > holder->longest_ns)
		holder->longest_ns = held_ns;
	__sync_fetch_and_add(&all->n_handles, 1);
	__sync_fetch_and_add(&all->n_blocks, n_blocks);
}

static inline void sum_holders(struct transaction_key *key, struct journal_commit_record *commit,
			       u32 block_bytes)
{
	struct transaction_holders *all = transactions.lookup(key);

	if (!all)
		return;
	commit->n_handles = all->n_handles;
	commit->n_blocks = blocks_in(all->n_blocks, block_bytes);
	commit->n_blocks_logged = commit->n_blocks + 1; /* and what says that it is committed */
}

/* Write the sums of a transaction that is being committed, and forget them. */
static inline void put_holders(struct transaction_key *key, u32 block_bytes)
{
	struct transaction_holders *all = transactions.lookup(key);

	if (!all)
		return;
	for (int i = 0; i < MAX_HOLDERS; i++) {
		if (!all->holders[i].n_handles)
			break;
		put_holder(key, &all->holders[i], block_bytes);
	}
	transactions.delete(key);
}
