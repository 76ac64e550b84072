// SPDX-License-Identifier: Apache-2.0
/*
 * Who waited for which kernel lock, and who held it when the wait began. Spinlocks are left out:
 * no task sleeps on them.
 */

/* include/trace/events/lock.h */
#define LCB_F_SPIN 1
#define LCB_F_READ 2
#define LCB_F_WRITE 4
#define LCB_F_RT 8
#define LCB_F_PERCPU 16
#define LCB_F_MUTEX 32

/* Low bits of mutex.owner and rw_semaphore.owner are flags (kernel/locking/mutex.h, rwsem.c). */
#define OWNER_FLAGS 7UL
#define RWSEM_READER_OWNED 1UL

/* rw_semaphore.count: how many readers have it (kernel/locking/rwsem.c) */
#define RWSEM_READER_SHIFT 8
#define RWSEM_READERS (~0UL >> 1)

static inline u32 lock_type_of(u32 flags)
{
	if (flags & LCB_F_MUTEX)
		return RCP_LOCK_MUTEX;
	if (flags & LCB_F_RT)
		return RCP_LOCK_RTMUTEX;
	if (flags & LCB_F_PERCPU)
		return RCP_LOCK_PERCPU_RWSEM;
	if (flags & LCB_F_WRITE)
		return RCP_LOCK_RWSEM_WRITE;
	if (flags & LCB_F_READ)
		return RCP_LOCK_RWSEM_READ;
	return RCP_LOCK_OTHER;
}

/* Writers of per-CPU rwsems, which the kernel does not store. */
BPF_HASH(percpu_writers, u64, u32, 1024);

#if defined(RCP_HAVE_percpu_down_write) && defined(RCP_HAVE_percpu_up_write)
KRETFUNC_PROBE(percpu_down_write, struct percpu_rw_semaphore *sem)
{
	u64 lock = (u64)sem;
	u32 tid = (u32)bpf_get_current_pid_tgid();

	percpu_writers.update(&lock, &tid);
	return 0;
}

KFUNC_PROBE(percpu_up_write, struct percpu_rw_semaphore *sem)
{
	u64 lock = (u64)sem;

	percpu_writers.delete(&lock);
	return 0;
}
#endif

static inline u32 percpu_writer(u64 lock)
{
	u32 *tid = percpu_writers.lookup(&lock);

	return tid ? *tid : 0;
}

/* For a writer only: a reader waits for the writers before it too. */
static inline u32 is_of_one_reader(u64 lock, u32 type)
{
	u64 count = 0;

	if (type != RCP_LOCK_RWSEM_WRITE)
		return 0;
	bpf_probe_read_kernel(&count, sizeof(count), &((struct rw_semaphore *)lock)->count);
	return (count & RWSEM_READERS) >> RWSEM_READER_SHIFT == 1 ? RCP_SLEEP_ONE_READER : 0;
}

/*
 * A semaphore has no owner. A reader-owned rwsem has the last reader, which may have released it
 * since, or even have exited.
 */
static inline u32 lock_owner(u64 lock, u32 type, u32 *flags)
{
	u64 owner = 0;
	u32 tid = 0;

	*flags = 0;
	if (type == RCP_LOCK_PERCPU_RWSEM)
		return percpu_writer(lock);

	if (type == RCP_LOCK_MUTEX)
		bpf_probe_read_kernel(&owner, sizeof(owner), &((struct mutex *)lock)->owner);
	else if (type == RCP_LOCK_RWSEM_READ || type == RCP_LOCK_RWSEM_WRITE)
		bpf_probe_read_kernel(&owner, sizeof(owner), &((struct rw_semaphore *)lock)->owner);
	else if (type == RCP_LOCK_RTMUTEX)
		bpf_probe_read_kernel(&owner, sizeof(owner),
				      &((struct rt_mutex_base *)lock)->owner);
	if (owner & RWSEM_READER_OWNED &&
	    (type == RCP_LOCK_RWSEM_READ || type == RCP_LOCK_RWSEM_WRITE))
		*flags = RCP_SLEEP_OWNER_GUESSED | is_of_one_reader(lock, type);
	owner &= ~OWNER_FLAGS;
	if (owner)
		bpf_probe_read_kernel(&tid, sizeof(tid), &((struct task_struct *)owner)->pid);
	return *flags && !tasks.lookup(&tid) ? 0 : tid;
}

RAW_TRACEPOINT_PROBE(contention_begin)
{
	u64 lock = ctx->args[0];
	u32 flags = ctx->args[1];
	struct task_state *state;
	u32 type = lock_type_of(flags), owner_flags = 0;

	/* spinlock_t and rwlock_t; a mutex has SPIN too, while its waiter spins */
	if (flags & LCB_F_SPIN && !(flags & LCB_F_MUTEX))
		return 0;
	if (!(u32)bpf_get_current_pid_tgid())
		return 0;
	state = known_state();
	if (!state)
		return 0;
	if (state->flags & RCP_TASK_IS_RECORDER) {
		excluded.increment(REC_LOCK_WAIT);
		return 0;
	}
	if (is_paused()) {
		lost.increment(REC_LOCK_WAIT);
		return 0;
	}
	state->lock_owner_tid = lock_owner(lock, type, &owner_flags);
	state->lock_owner_flags = owner_flags;
	if (state->lock == lock)
		return 0; /* a mutex begins twice: when it spins and when it gives up spinning */
	state->lock = lock;
	state->lock_type = type;
	state->lock_ts = bpf_ktime_get_ns();
	state->lock_stack_id = stack_by_look(ctx);
	return 0;
}

RAW_TRACEPOINT_PROBE(contention_end)
{
	u64 lock = ctx->args[0];
	u32 tid = (u32)bpf_get_current_pid_tgid();
	struct task_state *state = tasks.lookup(&tid);
	struct lock_wait_record event = {};

	if (!state || !lock || state->lock != lock)
		return 0;
	event.ts = state->lock_ts;
	event.end_ns = bpf_ktime_get_ns();
	event.lock = lock;
	event.tid = tid;
	event.owner_tid = state->lock_owner_tid;
	event.type = state->lock_type;
	event.stack_id = state->lock_stack_id;
	state->lock = 0;
	count_output(lock_wait_ring.ringbuf_output(&event, sizeof(event), RCP_NO_WAKEUP),
		     REC_LOCK_WAIT);
	return 0;
}
