// SPDX-License-Identifier: Apache-2.0
/*
 * Which futex a task waits for, and who holds it. The word of a PI futex names its owner by
 * agreement with the kernel. A plain futex has no owner; but when it is a glibc mutex the
 * owner's tid is the third word of the mutex, and a word there that is the tid of another live
 * thread of the same process is taken for it, as a guess.
 */

#define GLIBC_OWNER_OFFSET 8

static inline u32 thread_called(struct task_state *state, u32 tid)
{
	u64 key = (u64)state->pid << 32 | tid;
	u32 *global;

	if (!state->inner_tid)
		return tid; /* not in a pid namespace of its own */
	global = inner_tids.lookup(&key);
	return global ? *global : 0;
}

static inline int begin_futex_wait(u64 address, int is_pi)
{
	struct task_state *state = current_state(), *owner;
	u32 word = 0, tid;

	if (!state)
		return 0;
	state->note = (struct wait_note){ .object = address, .reason = RCP_WAIT_FUTEX };
	if (bpf_probe_read_user(&word, sizeof(word),
				(void *)(address + (is_pi ? 0 : GLIBC_OWNER_OFFSET))))
		return 0;
	tid = thread_called(state, is_pi ? word & FUTEX_TID_MASK : word);
	if (!tid || tid == (u32)bpf_get_current_pid_tgid())
		return 0;
	owner = tasks.lookup(&tid);
	if (!owner || (!is_pi && owner->pid != state->pid))
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
