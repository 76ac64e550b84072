// SPDX-License-Identifier: Apache-2.0
/*
 * Which writers the kernel paused for too many dirty pages, and its figures. The tracepoint fires
 * right before the pause, so the next sleep is the pause.
 */

TRACEPOINT_PROBE(writeback, balance_dirty_pages)
{
	struct throttle_record event = {};
	struct task_state *state;

	if (args->pause <= 0)
		return 0;
	state = current_state();
	if (!state)
		return 0;
	if (state->flags & RCP_TASK_IS_RECORDER) {
		excluded.increment(REC_THROTTLE);
		return 0;
	}
	state->note = (struct wait_note){
		.reason = RCP_WAIT_DIRTY_THROTTLE,
		.flags = NOTE_FOR_ONE_SLEEP,
	};
	event.ts = bpf_ktime_get_ns();
	event.cgroup_id = args->cgroup_ino;
	event.limit_pages = args->limit;
	event.setpoint_pages = args->setpoint;
	event.dirty_pages = args->dirty;
	event.bdi_setpoint_pages = args->bdi_setpoint;
	event.bdi_dirty_pages = args->bdi_dirty;
	/* the tracepoint's rates are in KiB/s, its pause in ms */
	event.dirty_ratelimit_kibps = args->dirty_ratelimit;
	event.task_ratelimit_kibps = args->task_ratelimit;
	event.pause_ms = args->pause;
	event.tid = (u32)bpf_get_current_pid_tgid();
	event.dirtied_pages = args->dirtied;
	count_output(throttle_ring.ringbuf_output(&event, sizeof(event), RCP_NO_WAKEUP),
		     REC_THROTTLE);
	return 0;
}
