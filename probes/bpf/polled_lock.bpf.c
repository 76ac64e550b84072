// SPDX-License-Identifier: Apache-2.0
/*
 * Which lock of a file a program polls for, and who has it. SQLite, and others that do not want to
 * wait in the kernel, ask for a lock without waiting, sleep for a while and ask again. Their sleep
 * is a wait for the lock if it begins soon after they failed to get it.
 */

#define POLLS_WITHIN_NS 1000000
/* Further locks of the file are not looked at; a page of a database is locked by few. */
#define MAX_FILE_LOCKS 16

struct failed_lock {
	struct wait_note note;
	u64 failed_ns;
};

BPF_TABLE("lru_hash", u32, struct failed_lock, failed_locks, 8192);

struct locked_range {
	u64 owner;
	s64 start;
	s64 end;
	u32 pid;
	u8 type;
};

static inline void read_lock_at(struct locked_range *range, struct file_lock *lock)
{
	bpf_probe_read_kernel(&range->owner, sizeof(range->owner), &lock->FILE_LOCK(owner));
	bpf_probe_read_kernel(&range->start, sizeof(range->start), &lock->fl_start);
	bpf_probe_read_kernel(&range->end, sizeof(range->end), &lock->fl_end);
	bpf_probe_read_kernel(&range->pid, sizeof(range->pid), &lock->FILE_LOCK(pid));
	bpf_probe_read_kernel(&range->type, sizeof(range->type), &lock->FILE_LOCK(type));
}

/*
 * The process that has such a lock; which of its threads took it is not known. 0 where several
 * have one: the last of them to let go is who is waited for.
 */
static inline u32 owner_of_file_lock(u64 head, struct locked_range *wanted)
{
	struct locked_range found = {};
	u32 owner = 0;
	u64 at = 0;

	bpf_probe_read_kernel(&at, sizeof(at), (void *)head);
	for (int i = 0; i < MAX_FILE_LOCKS; i++) {
		if (!at || at == head)
			return owner;
		read_lock_at(&found, (struct file_lock *)(at - FILE_LOCK_LIST));
		if (found.owner != wanted->owner &&
		    (found.type == F_WRLCK || wanted->type == F_WRLCK) &&
		    found.start <= wanted->end && found.end >= wanted->start) {
			if (owner && found.pid != owner)
				return 0;
			owner = found.pid;
		}
		bpf_probe_read_kernel(&at, sizeof(at), (void *)at);
	}
	return owner;
}

static inline void failed_to_lock(u32 tid, struct inode *inode, struct locked_range *wanted,
				  int is_range)
{
	struct file_lock_context *locks = NULL;
	struct failed_lock failed = {};

	bpf_probe_read_kernel(&locks, sizeof(locks), &inode->i_flctx);
	if (!locks || is_paused() || !known_state())
		return;
	failed.note.owner_tid = owner_of_file_lock(
		is_range ? (u64)&locks->flc_posix : (u64)&locks->flc_flock, wanted);
	/* nobody has it any more; or a thread of its own process does, and which is not known */
	if (!failed.note.owner_tid || failed.note.owner_tid == bpf_get_current_pid_tgid() >> 32)
		return;
	describe_file_lock(&failed.note, inode, is_range ? of_range(wanted->start) : 0);
	failed.failed_ns = bpf_ktime_get_ns();
	failed_locks.update(&tid, &failed);
}

static inline int asked_for_lock(struct bpf_raw_tracepoint_args *ctx, int is_range)
{
	u32 tid = (u32)bpf_get_current_pid_tgid();
	struct file_lock *lock = (struct file_lock *)ctx->args[1];
	struct locked_range wanted = {};
	int error = ctx->args[2];

	/* who waits in the kernel gets FILE_LOCK_DEFERRED */
	if (error == -EAGAIN) {
		read_lock_at(&wanted, lock);
		failed_to_lock(tid, (struct inode *)ctx->args[0], &wanted, is_range);
	} else if (!error) {
		bpf_probe_read_kernel(&wanted.type, sizeof(wanted.type), &lock->FILE_LOCK(type));
		if (wanted.type != F_UNLCK)
			failed_locks.delete(&tid); /* it got another one in place of that */
	}
	return 0;
}

RAW_TRACEPOINT_PROBE(posix_lock_inode)
{
	return asked_for_lock(ctx, 1);
}

RAW_TRACEPOINT_PROBE(flock_lock_inode)
{
	return asked_for_lock(ctx, 0);
}

KFUNC_PROBE(hrtimer_nanosleep)
{
	u32 tid = (u32)bpf_get_current_pid_tgid();
	struct failed_lock *failed = failed_locks.lookup(&tid);
	struct task_state *state;

	if (!failed)
		return 0;
	state = known_state();
	if (state && bpf_ktime_get_ns() - failed->failed_ns < POLLS_WITHIN_NS)
		state->note = failed->note;
	failed_locks.delete(&tid);
	return 0;
}

KRETFUNC_PROBE(hrtimer_nanosleep)
{
	return end_wait_for(RCP_WAIT_FILE_LOCK);
}
