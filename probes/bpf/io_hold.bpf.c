// SPDX-License-Identifier: Apache-2.0
/*
 * Ios that blk-throttle (io.max) delays. It delays the bio, not the task, and a kernel worker
 * queues it later: block_bio_queue then fires late and in the wrong task. So submitter and time
 * are noted before blk-throttle decides, and kept if it delays the bio.
 */

static inline int is_queued_before(struct bio *bio)
{
	/* set by submit_bio_noacct_nocheck() when block_bio_queue fires; kept by a split's rest */
	return bio->bi_flags & 1U << BIO_TRACE_COMPLETION;
}

KFUNC_PROBE(__blk_throtl_bio, struct bio *bio)
{
	u64 key = (u64)bio, pid_tgid = bpf_get_current_pid_tgid();
	struct bio_state state = { .flags = BIO_IN_THROTTLE };
	int zero = 0, used = 1;

	if (is_paused() || is_queued_before(bio))
		return 0;
	state.queued_ns = bpf_ktime_get_ns();
	state.tid = (u32)pid_tgid;
	if (pid_tgid >> 32 == RCP_SELF_PID)
		state.flags |= RCP_IO_RECORDER;
	bios.update(&key, &state);
	throttle_used.update(&zero, &used);
	return 0;
}

KRETFUNC_PROBE(__blk_throtl_bio, struct bio *bio, u64 ret)
{
	u64 key = (u64)bio;
	struct bio_state *state = bios.lookup(&key);

	if (!state)
		return 0;
	if ((u8)ret) { /* bool: the register's other bytes mean nothing */
		state->flags |= RCP_IO_THROTTLED;
		note_io_limits(bio);
	} else if (state->flags & BIO_IN_THROTTLE) {
		bios.delete(&key); /* not delayed: it is queued like any other */
	}
	return 0;
}
