// SPDX-License-Identifier: Apache-2.0
/*
 * One record per chosen syscall of a target task. program.py adds a line REQUEST_SYSCALL for each.
 * The tracepoints syscalls:sys_enter_NAME are not used: while one is enabled, every syscall of
 * every task takes the slow path.
 *
 * A thread is in one syscall at a time, which is in its task_state. Requests of the other kinds
 * (points.bpf.c, socket.bpf.c) may contain syscalls and each other; they are in open_requests.
 */

struct open_key {
	u64 object; /* the socket, else 0 */
	u32 tid;
	u32 nr; /* the kind of request */
};

struct open_request {
	u64 ts;
	u64 frame; /* stack pointer at the entry of a function, else 0 */
};

/* LRU: a task that receives and never answers would fill it. */
BPF_TABLE("lru_hash", struct open_key, struct open_request, open_requests, 16384);

static inline void end_open_request(struct open_key *key, struct open_request *open, s64 ret)
{
	struct request_record event = {};

	event.ts = open->ts;
	event.end_ns = bpf_ktime_get_ns();
	event.ret = ret;
	event.arg0 = key->object;
	event.tid = key->tid;
	event.nr = key->nr;
	open_requests.delete(key);
	count_output(request_ring.ringbuf_output(&event, sizeof(event), RCP_NO_WAKEUP),
		     REC_REQUEST);
}

static inline int begin_request(u32 nr, u64 arg0)
{
	struct task_state *state = current_state();

	if (!state)
		return 0;
	if (state->flags & RCP_TASK_IS_RECORDER)
		excluded.increment(REC_REQUEST);
	if (!(state->flags & RCP_TASK_IS_TARGET))
		return 0;
	state->request_ts = bpf_ktime_get_ns();
	state->request_arg0 = arg0;
	state->request_nr = nr;
	return 0;
}

/* The argument of a syscall's function is the user's registers. */
static inline int begin_syscall(u32 nr, const struct pt_regs *regs, int has_arguments)
{
	u64 arg0 = 0;

	if (has_arguments)
		bpf_probe_read_kernel(&arg0, sizeof(arg0), &regs->di);
	return begin_request(nr, arg0);
}

static inline int end_syscall(s64 ret)
{
	u32 tid = (u32)bpf_get_current_pid_tgid();
	struct task_state *state = tasks.lookup(&tid);
	struct request_record event = {};

	if (!state || !state->request_ts)
		return 0;
	event.ts = state->request_ts;
	event.end_ns = bpf_ktime_get_ns();
	event.ret = ret;
	event.arg0 = state->request_arg0;
	event.tid = tid;
	event.nr = state->request_nr;
	state->request_ts = 0;
	count_output(request_ring.ringbuf_output(&event, sizeof(event), RCP_NO_WAKEUP),
		     REC_REQUEST);
	return 0;
}

#define REQUEST_SYSCALL(function, nr, has_arguments)                      \
	KFUNC_PROBE(function, const struct pt_regs *regs)                 \
	{                                                                 \
		return begin_syscall(nr, regs, has_arguments);            \
	}                                                                 \
	KRETFUNC_PROBE(function, const struct pt_regs *regs, long result) \
	{                                                                 \
		return end_syscall(result);                               \
	}
