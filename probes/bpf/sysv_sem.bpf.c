// SPDX-License-Identifier: Apache-2.0
/*
 * Which SysV semaphore a task waits for, and who took it last. A semaphore has no owner. The last
 * task that took it and did not release it is a guess, correct if it is used as a mutex. Only the
 * first semaphore of an operation is recorded.
 */

struct sem_key {
	u64 ns;
	u32 id;
	u32 number;
};

/* The first set has the id 0, and the object 0 means none. */
#define SEM_OBJECT (1ULL << 63)

BPF_TABLE("lru_hash", struct sem_key, u32, sem_takers, 4096);

#ifdef RCP_HAVE___do_semtimedop
KFUNC_PROBE(__do_semtimedop, int id, struct sembuf *operations, unsigned int n_operations,
	    const void *timeout, void *ns)
{
	struct task_state *state = known_state();
	struct sem_key key = { .ns = (u64)ns, .id = id };
	struct sembuf operation = {};
	u32 *taker;

	if (!state)
		return 0;
	bpf_probe_read_kernel(&operation, sizeof(operation), operations);
	key.number = operation.sem_num;
	state->note = (struct wait_note){
		.object = SEM_OBJECT | (u64)id << 32 | operation.sem_num,
		.reason = RCP_WAIT_SYSV_SEM,
	};
	taker = sem_takers.lookup(&key);
	if (taker && *taker != (u32)bpf_get_current_pid_tgid()) {
		state->note.owner_tid = *taker;
		state->note.flags = RCP_SLEEP_OWNER_GUESSED;
	}
	return 0;
}

KRETFUNC_PROBE(__do_semtimedop, int id, struct sembuf *operations, unsigned int n_operations,
	       const void *timeout, void *ns, long ret)
{
	struct sem_key key = { .ns = (u64)ns, .id = id };
	u32 tid = (u32)bpf_get_current_pid_tgid();
	struct sembuf operation = {};
	u32 *taker;

	if (ret == 0) {
		bpf_probe_read_kernel(&operation, sizeof(operation), operations);
		key.number = operation.sem_num;
		taker = sem_takers.lookup(&key);
		if (operation.sem_op < 0)
			sem_takers.update(&key, &tid);
		else if (operation.sem_op > 0 && taker && *taker == tid)
			sem_takers.delete(&key);
	}
	return end_wait();
}
#endif
