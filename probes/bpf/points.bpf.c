// SPDX-License-Identifier: Apache-2.0
/*
 * Requests that begin and end where a program passes chosen points: USDT probes, or functions.
 * attach.py hangs point_begin_N, point_end_N and point_other_end_N on the points of request N.
 *
 * A begin after a begin, with no end between, takes the place of the earlier one: that request
 * ended where nobody looked.
 */

static inline int begin_at_point(struct pt_regs *ctx, u32 index)
{
	struct task_state *state = current_state();
	struct open_key key = { .tid = (u32)bpf_get_current_pid_tgid(),
				.nr = RCP_UPROBE_REQUEST_NR + index };
	struct open_request *open, fresh = {};

	if (!state || !(state->flags & RCP_TASK_IS_TARGET))
		return 0;
#if RCP_CALL_POINTS
	/*
	 * A request that is one call of a function ends when the outermost call returns. The
	 * stack grows down: a frame below that of the open request is a call within it; one at
	 * or above it tells that the open request's frame was left without return, by longjmp.
	 */
	if (RCP_CALL_POINTS >> index & 1) {
		open = open_requests.lookup(&key);
		if (open && PT_REGS_SP(ctx) < open->frame)
			return 0;
		fresh.frame = PT_REGS_SP(ctx);
	}
#endif
	fresh.ts = bpf_ktime_get_ns();
	open_requests.update(&key, &fresh);
	return 0;
}

static inline int end_at_point(struct pt_regs *ctx, u32 index, s64 which)
{
	struct open_key key = { .tid = (u32)bpf_get_current_pid_tgid(),
				.nr = RCP_UPROBE_REQUEST_NR + index };
	struct open_request *open = open_requests.lookup(&key);

	if (!open)
		return 0;
	/* the frame of a call holds its return address, which is off the stack by now */
	if (open->frame && PT_REGS_SP(ctx) <= open->frame)
		return 0;
	end_open_request(&key, open, which);
	return 0;
}

/* bcc loads those that attach.py asks for. */
#define POINT_BEGIN(n)                           \
	int point_begin_##n(struct pt_regs *ctx) \
	{                                        \
		return begin_at_point(ctx, n);   \
	}
#define POINT_END(n)                            \
	int point_end_##n(struct pt_regs *ctx)  \
	{                                       \
		return end_at_point(ctx, n, 0); \
	}
#define POINT_OTHER_END(n)                           \
	int point_other_end_##n(struct pt_regs *ctx) \
	{                                            \
		return end_at_point(ctx, n, 1);      \
	}

#if RCP_N_POINTS
/* clang-format off */
POINT_BEGIN(0)
POINT_END(0)
POINT_OTHER_END(0)
POINT_BEGIN(1)
POINT_END(1)
POINT_OTHER_END(1)
POINT_BEGIN(2)
POINT_END(2)
POINT_OTHER_END(2)
POINT_BEGIN(3)
POINT_END(3)
POINT_OTHER_END(3)
/* clang-format on */

/* A thread id comes again: what its last owner had begun is not its own. */
TRACEPOINT_PROBE(sched, sched_process_exit)
{
	struct open_key key = { .tid = (u32)bpf_get_current_pid_tgid(),
				.nr = RCP_UPROBE_REQUEST_NR };

#pragma unroll
	for (int i = 0; i < RCP_N_POINTS; i++) {
		open_requests.delete(&key);
		key.nr++;
	}
	return 0;
}
#endif
