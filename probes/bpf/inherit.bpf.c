// SPDX-License-Identifier: Apache-2.0
/*
 * What the patched kernel makes critical because a critical task waits for it: another task, for as
 * long as the wait lasts, and ios that are queued already.
 */

static inline void write_inheritance(struct inheritance_record *event)
{
	event->ts = bpf_ktime_get_ns();
	if (is_paused()) {
		lost.increment(REC_INHERITANCE);
		return;
	}
	count_output(inheritance_ring.ringbuf_output(event, sizeof(*event), RCP_NO_WAKEUP),
		     REC_INHERITANCE);
}

RAW_TRACEPOINT_PROBE(rcp_inherit)
{
	struct task_struct *waiter = (struct task_struct *)ctx->args[0];
	struct task_struct *helper = (struct task_struct *)ctx->args[1];
	struct inheritance_record event = {
		.kind = RCP_INHERITED_LOAN,
		.mechanism = (u8)ctx->args[2],
		.depth = (u16)ctx->args[3],
	};

	bpf_probe_read_kernel(&event.tid, sizeof(event.tid), &waiter->pid);
	bpf_probe_read_kernel(&event.helper_tid, sizeof(event.helper_tid), &helper->pid);
	write_inheritance(&event);
	return 0;
}

/* Called by the task that waits. */
RAW_TRACEPOINT_PROBE(rcp_promote)
{
	u64 key = ctx->args[0];
	struct io_record *io = ios.lookup(&key);
	struct inheritance_record event = {
		.kind = RCP_INHERITED_PROMOTION,
		.found_by = (u8)ctx->args[1],
		.waited_ns = ctx->args[2],
		.io = io ? io->id : 0,
		.tid = (u32)bpf_get_current_pid_tgid(),
	};

	write_inheritance(&event);
	return 0;
}
