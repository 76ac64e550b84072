// SPDX-License-Identifier: Apache-2.0
/*
 * One record per chosen syscall of a target task. attach.py hangs these functions on
 * syscalls:sys_enter_NAME and sys_exit_NAME of each chosen syscall only.
 *
 * A thread is in one syscall at a time, kept in its task_state. Requests of the other kinds
 * (points.bpf.c, socket.bpf.c) hold syscalls and each other, and are kept in open_requests.
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

/* LRU: who receives without ever answering would fill it for good. */
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

struct syscall_enter {
	u64 common;
	s32 nr;
	u64 args[6];
};

struct syscall_exit {
	u64 common;
	s32 nr;
	s64 ret;
};

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

int request_enter(struct syscall_enter *ctx)
{
	return begin_request(ctx->nr, ctx->args[0]);
}

/* The kernel refuses a program that reads beyond the last argument. */
int request_enter_without_arguments(struct syscall_enter *ctx)
{
	return begin_request(ctx->nr, 0);
}

int request_exit(struct syscall_exit *ctx)
{
	u32 tid = (u32)bpf_get_current_pid_tgid();
	struct task_state *state = tasks.lookup(&tid);
	struct request_record event = {};

	if (!state || !state->request_ts)
		return 0;
	event.ts = state->request_ts;
	event.end_ns = bpf_ktime_get_ns();
	event.ret = ctx->ret;
	event.arg0 = state->request_arg0;
	event.tid = tid;
	event.nr = state->request_nr;
	state->request_ts = 0;
	count_output(request_ring.ringbuf_output(&event, sizeof(event), RCP_NO_WAKEUP),
		     REC_REQUEST);
	return 0;
}
