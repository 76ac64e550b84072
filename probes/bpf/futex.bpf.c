// SPDX-License-Identifier: Apache-2.0
/*
 * Which futex a task waits for, and who holds it. The word of a PI futex has its owner's tid, by
 * the kernel's ABI. A plain futex has no owner. But if it belongs to a glibc mutex, the third word
 * of the mutex is the owner's tid. That is taken as a guess if all other words look like a
 * contended mutex, and the tid is that of another live thread of the same process; for a
 * process-shared mutex, of any process.
 *
 * The other words are checked because small numbers are tids in a pid namespace: the futex of a
 * condition variable is often followed by a mutex, whose first word is 1 or 2.
 */

/* struct __pthread_mutex_s on x86-64 (glibc, sysdeps/x86/nptl/bits/struct_mutex.h) */
struct glibc_mutex {
	u32 lock;
	u32 count;
	u32 owner;
	u32 n_users;
	u32 kind;
};

#define GLIBC_LOCK_CONTENDED 2
#define GLIBC_KIND_SHARED 128 /* PTHREAD_MUTEX_PSHARED_BIT */
#define GLIBC_KIND_BITS 1023 /* all bits in use, including lock elision */

static inline int is_mutex_waited_for(struct glibc_mutex *mutex)
{
	/* the lock word of a robust mutex has the owner's tid */
	u32 robust_word = mutex->owner | FUTEX_WAITERS;

	return !(mutex->kind & ~GLIBC_KIND_BITS) && mutex->n_users &&
	       (mutex->lock == GLIBC_LOCK_CONTENDED || mutex->lock == robust_word);
}

static inline u32 thread_called(struct task_state *state, u32 tid)
{
	u64 key = (u64)state->pid << 32 | tid;
	u32 *global;

	if (!state->inner_tid)
		return tid; /* in the outermost pid namespace */
	global = inner_tids.lookup(&key);
	return global ? *global : 0;
}

static inline int begin_futex_wait(u64 address, int is_pi)
{
	struct task_state *state = current_state(), *owner;
	struct glibc_mutex mutex = {};
	u32 tid;

	if (!state)
		return 0;
	state->note = (struct wait_note){ .object = address, .reason = RCP_WAIT_FUTEX };
	/* other futexes than mutexes may be the last word of a page */
	if (bpf_probe_read_user(&mutex, is_pi ? sizeof(mutex.lock) : sizeof(mutex),
				(void *)address))
		return 0;
	if (!is_pi && !is_mutex_waited_for(&mutex))
		return 0;
	tid = thread_called(state, is_pi ? mutex.lock & FUTEX_TID_MASK : mutex.owner);
	if (!tid || tid == (u32)bpf_get_current_pid_tgid())
		return 0;
	owner = tasks.lookup(&tid);
	if (!owner)
		return 0;
	if (!is_pi && owner->pid != state->pid && !(mutex.kind & GLIBC_KIND_SHARED))
		return 0;
	state->note.owner_tid = tid;
	state->note.flags = is_pi ? 0 : RCP_SLEEP_OWNER_GUESSED;
	return 0;
}

#ifdef RCP_HAVE_futex_wait
KFUNC_PROBE(futex_wait, u32 *uaddr)
{
	return begin_futex_wait((u64)uaddr, 0);
}

KRETFUNC_PROBE(futex_wait)
{
	return end_wait();
}
#endif

#ifdef RCP_HAVE_futex_lock_pi
KFUNC_PROBE(futex_lock_pi, u32 *uaddr)
{
	return begin_futex_wait((u64)uaddr, 1);
}

KRETFUNC_PROBE(futex_lock_pi)
{
	return end_wait();
}
#endif
