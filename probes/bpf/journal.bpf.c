// SPDX-License-Identifier: Apache-2.0
/*
 * jbd2: one record per commit with its phases, and notes on waits for the journal
 * (fs/jbd2/{journal,transaction,checkpoint}.c).
 */

BPF_HASH(commits, u32, struct journal_commit_record, 256); /* by device: one commit at a time */

TRACEPOINT_PROBE(jbd2, jbd2_start_commit)
{
	struct journal_commit_record event = {};
	u32 dev = args->dev;

	event.ts = bpf_ktime_get_ns();
	event.dev = dev;
	event.transaction = args->transaction;
	event.tid = (u32)bpf_get_current_pid_tgid();
	commits.update(&dev, &event);
	return 0;
}

static inline struct journal_commit_record *commit_on(u32 dev)
{
	return commits.lookup(&dev);
}

TRACEPOINT_PROBE(jbd2, jbd2_commit_locking)
{
	struct journal_commit_record *commit = commit_on(args->dev);

	if (commit)
		commit->locking_ns = bpf_ktime_get_ns();
	return 0;
}

TRACEPOINT_PROBE(jbd2, jbd2_commit_flushing)
{
	struct journal_commit_record *commit = commit_on(args->dev);

	if (commit)
		commit->flushing_ns = bpf_ktime_get_ns();
	return 0;
}

TRACEPOINT_PROBE(jbd2, jbd2_commit_logging)
{
	struct journal_commit_record *commit = commit_on(args->dev);

	if (commit)
		commit->logging_ns = bpf_ktime_get_ns();
	return 0;
}

TRACEPOINT_PROBE(jbd2, jbd2_run_stats)
{
	struct journal_commit_record *commit = commit_on(args->dev);

	if (commit) {
		commit->n_handles = args->handle_count;
		commit->n_blocks = args->blocks;
		commit->n_blocks_logged = args->blocks_logged;
	}
	return 0;
}

TRACEPOINT_PROBE(jbd2, jbd2_end_commit)
{
	u32 dev = args->dev;
	struct journal_commit_record *commit = commit_on(dev);
	struct journal_commit_record event;

	if (!commit)
		return 0;
	event = *commit;
	event.end_ns = bpf_ktime_get_ns();
	commits.delete(&dev);
	count_output(journal_commit_ring.ringbuf_output(&event, sizeof(event), RCP_NO_WAKEUP),
		     REC_JOURNAL_COMMIT);
	return 0;
}

static inline int begin_journal_wait(journal_t *journal, u16 reason, int owned)
{
	struct task_state *state = known_state();

	if (!state)
		return 0;
	state->note = (struct wait_note){
		.object = (u64)journal,
		.dev = journal->j_fs_dev->bd_dev,
		.owner_tid = owned ? journal->j_task->pid : 0,
		.reason = reason,
	};
	return 0;
}

KFUNC_PROBE(jbd2_log_wait_commit, journal_t *journal)
{
	struct task_state *state = known_state();

	/* a task that needs journal space waits for commits, but its reason is the space */
	if (state && state->note.reason == RCP_WAIT_JOURNAL_SPACE)
		return 0;
	return begin_journal_wait(journal, RCP_WAIT_JOURNAL_COMMIT, 1);
}

KRETFUNC_PROBE(jbd2_log_wait_commit)
{
	return end_wait_for(RCP_WAIT_JOURNAL_COMMIT);
}

#ifdef RCP_HAVE_wait_transaction_locked
KFUNC_PROBE(wait_transaction_locked, journal_t *journal)
{
	return begin_journal_wait(journal, RCP_WAIT_JOURNAL_HANDLE, 1);
}

KRETFUNC_PROBE(wait_transaction_locked)
{
	return end_wait();
}
#endif

/* The journal thread waits here for open handles; journal_handle has their tasks. */
#ifdef RCP_HAVE_jbd2_journal_wait_updates
KFUNC_PROBE(jbd2_journal_wait_updates, journal_t *journal)
{
	return begin_journal_wait(journal, RCP_WAIT_JOURNAL_HANDLE, 0);
}

KRETFUNC_PROBE(jbd2_journal_wait_updates)
{
	return end_wait();
}
#endif

#ifdef RCP_HAVE___jbd2_log_wait_for_space
KFUNC_PROBE(__jbd2_log_wait_for_space, journal_t *journal)
{
	return begin_journal_wait(journal, RCP_WAIT_JOURNAL_SPACE, 1);
}

KRETFUNC_PROBE(__jbd2_log_wait_for_space)
{
	return end_wait();
}
#endif

#ifdef RCP_HAVE_jbd2_fc_begin_commit
KFUNC_PROBE(jbd2_fc_begin_commit, journal_t *journal)
{
	return begin_journal_wait(journal, RCP_WAIT_JOURNAL_COMMIT, 0);
}

KRETFUNC_PROBE(jbd2_fc_begin_commit)
{
	return end_wait();
}
#endif

#ifdef RCP_HAVE_jbd2_journal_lock_updates
KFUNC_PROBE(jbd2_journal_lock_updates, journal_t *journal)
{
	return begin_journal_wait(journal, RCP_WAIT_JOURNAL_HANDLE, 0);
}

KRETFUNC_PROBE(jbd2_journal_lock_updates)
{
	return end_wait();
}
#endif
