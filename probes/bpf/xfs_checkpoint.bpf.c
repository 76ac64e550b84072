// SPDX-License-Identifier: Apache-2.0
/*
 * XFS's log as it is written (fs/xfs/xfs_log_cil.c). Who needs it on disk has a worker write what
 * is in the list of committed items as one checkpoint. That is recorded as jbd2's commits are, but
 * has one phase, and further rows:
 *
 * - who needs the log on disk writes the last buffer, which is not full;
 * - when that is on disk, a worker puts the checkpoint's items among those to be written in place
 *   (AIL): only then do those go on who wait for it;
 * - one of no length has the thread that will write them.
 */

/* Without the types of the module its functions can not be hooked either. */
#ifdef RCP_HAS_xlog_l_mp

/* What workers do for checkpoints, by worker: for one file system several at a time. */
BPF_HASH(checkpoints, u32, struct journal_commit_record, 256);
/* Checkpoints that are not yet on disk, by address. LRU: the log may fail. */
BPF_TABLE("lru_hash", u64, struct journal_commit_record, written_checkpoints, 256);
/* The last one of each device, of which the last buffer is part that is written on demand. */
BPF_TABLE("lru_hash", u32, struct journal_commit_record, last_written, 256);
/* Who will write its items in place: one thread for each device. */
BPF_TABLE("lru_hash", u32, u32, threads_in_place, 256);
/* Who writes a buffer on demand, and who takes note of checkpoints, which may be within others. */
BPF_HASH(noting, u32, struct journal_commit_record, 256);
BPF_HASH(buffer_writers, u32, struct journal_commit_record, 256);

static inline void put_checkpoint(struct journal_commit_record *begun)
{
	struct journal_commit_record event = *begun;

	event.end_ns = bpf_ktime_get_ns();
	count_output(journal_commit_ring.ringbuf_output(&event, sizeof(event), RCP_NO_WAKEUP),
		     REC_JOURNAL_COMMIT);
}

static inline void begin_work_on(struct journal_commit_record *checkpoint, u32 tid)
{
	checkpoint->tid = tid;
	checkpoint->ts = bpf_ktime_get_ns();
	checkpoint->locking_ns = checkpoint->ts;
	checkpoint->flushing_ns = checkpoint->ts;
	checkpoint->logging_ns = checkpoint->ts;
}

#if defined(RCP_HAVE_xlog_cil_push_work) && defined(RCP_HAVE_xlog_cil_ctx_switch) && \
	defined(RCP_HAS_xfs_cil_ctx_iclog_entry)
KFUNC_PROBE(xlog_cil_push_work)
{
	u32 tid = (u32)bpf_get_current_pid_tgid();
	struct journal_commit_record event = {};

	begin_work_on(&event, tid);
	checkpoints.update(&tid, &event);
	return 0;
}

static inline u32 thread_in_place(struct xlog *log)
{
	struct task_struct *thread = NULL;
	struct xfs_ail *items = NULL;
	u32 tid = 0;

	bpf_probe_read_kernel(&items, sizeof(items), &log->l_ailp);
	bpf_probe_read_kernel(&thread, sizeof(thread), &items->ail_task);
	bpf_probe_read_kernel(&tid, sizeof(tid), &thread->pid);
	return tid;
}

/*
 * The worker begins the next checkpoint, while nobody can add changes: those that were made until
 * now it will write.
 */
KFUNC_PROBE(xlog_cil_ctx_switch, struct xfs_cil *cil)
{
	u32 tid = (u32)bpf_get_current_pid_tgid(), dev, in_place, *number;
	struct journal_commit_record *begun = checkpoints.lookup(&tid), event;
	struct transaction_key key = {};
	struct xlog *log = NULL;
	u64 address = 0;

	if (!begun)
		return 0; /* a file system is mounted */
	bpf_probe_read_kernel(&log, sizeof(log), &cil->xc_log);
	dev = dev_of_log(log);
	number = next_checkpoints.lookup(&dev);
	if (!number) {
		last_written.delete(&dev);
		return 0; /* it was changed before the recording */
	}
	begun->dev = key.dev = dev;
	begun->transaction = key.transaction = *number;
	next_checkpoints.delete(&dev);
	sum_holders(&key, begun, BASIC_BLOCK_BYTES);
	event = *begun;
	bpf_probe_read_kernel(&address, sizeof(address), &cil->xc_ctx);
	written_checkpoints.update(&address, &event);
	last_written.update(&dev, &event);
	in_place = thread_in_place(log);
	threads_in_place.update(&dev, &in_place);
	return 0;
}

KRETFUNC_PROBE(xlog_cil_push_work)
{
	u32 tid = (u32)bpf_get_current_pid_tgid();
	struct journal_commit_record *begun = checkpoints.lookup(&tid);
	struct transaction_key key = {};

	if (!begun)
		return 0;
	if (begun->transaction) { /* else another one has written it */
		put_checkpoint(begun);
		key.dev = begun->dev;
		key.transaction = begun->transaction;
		put_holders(&key, BASIC_BLOCK_BYTES);
	}
	checkpoints.delete(&tid);
	return 0;
}

/* A buffer of the log is on disk, with the ends of these checkpoints: as a rule of one. */
#ifdef RCP_HAVE_xlog_cil_process_committed
KFUNC_PROBE(xlog_cil_process_committed, u64 list)
{
	u32 tid = (u32)bpf_get_current_pid_tgid();
	struct journal_commit_record *written, *last, event;
	u64 address = 0;

	bpf_probe_read_kernel(&address, sizeof(address), (void *)list);
	address -= offsetof(struct xfs_cil_ctx, iclog_entry);
	written = written_checkpoints.lookup(&address);
	if (!written)
		return 0;
	event = *written;
	written_checkpoints.delete(&address);
	begin_work_on(&event, tid);
	noting.update(&tid, &event);
	last = last_written.lookup(&event.dev);
	if (last && last->transaction == event.transaction)
		last_written.delete(&event.dev);
	return 0;
}

KRETFUNC_PROBE(xlog_cil_process_committed)
{
	u32 tid = (u32)bpf_get_current_pid_tgid(), *in_place;
	struct journal_commit_record *begun = noting.lookup(&tid), event;

	if (!begun)
		return 0;
	put_checkpoint(begun);
	event = *begun;
	in_place = threads_in_place.lookup(&event.dev);
	if (in_place) {
		begin_work_on(&event, *in_place);
		put_checkpoint(&event);
	}
	noting.delete(&tid);
	return 0;
}
#endif
#endif

#ifdef RCP_HAVE_xlog_state_release_iclog
KFUNC_PROBE(xlog_state_release_iclog, struct xlog *log)
{
	u32 tid = (u32)bpf_get_current_pid_tgid(), dev;
	struct journal_commit_record *last, event;

	if (checkpoints.lookup(&tid))
		return 0;
	dev = dev_of_log(log);
	last = last_written.lookup(&dev);
	if (!last)
		return 0;
	event = *last;
	begin_work_on(&event, tid);
	buffer_writers.update(&tid, &event);
	return 0;
}

KRETFUNC_PROBE(xlog_state_release_iclog)
{
	u32 tid = (u32)bpf_get_current_pid_tgid();
	struct journal_commit_record *begun = buffer_writers.lookup(&tid);

	if (!begun)
		return 0;
	put_checkpoint(begun);
	buffer_writers.delete(&tid);
	return 0;
}
#endif

#endif
