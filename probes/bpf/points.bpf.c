// SPDX-License-Identifier: Apache-2.0
/*
 * Requests that begin and end at probe points of a program: USDT probes, or functions. attach.py
 * attaches point_begin_N, point_end_N and point_other_end_N to the points of request N.
 *
 * A second begin without an end replaces the first: that request ended at no probe point.
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
	 * stack grows down: a frame below that of the open request is a nested call; one at or
	 * above it means that the open request's frame was left by longjmp, without a return.
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
	/* at the return the return address is popped, so SP is above the frame at entry */
	if (open->frame && PT_REGS_SP(ctx) <= open->frame)
		return 0;
	end_open_request(&key, open, which);
	return 0;
}

/* attach.py loads those it needs. */
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

/* Thread ids recur: drop the open requests of a thread that exits. */
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
