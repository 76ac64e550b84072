// SPDX-License-Identifier: Apache-2.0
/*
 * Decisions of the patched kernel's policies, and their inputs.
 *
 * Only decisions that changed something are recorded: an io that waited for a token or was
 * dispatched by the starvation timer, a task that waited for a slot or for fewer dirty pages, a
 * mark. The scheduler traces every dispatch, and most are as without the policy: a record for
 * each would double the cost of recording an io.
 *
 * A wait for a token has no tracepoint. It is inferred: all tokens were in use at a check between
 * the io's insertion and its dispatch. The tokens are checked whenever an io is inserted or
 * dispatched, so at least once per io; both happen under the scheduler's lock.
 */

/* include/linux/rcp.h: enum rcp_throttle */
#define THROTTLED_AT_SLOTS 0
#define THROTTLED_AT_DIRTY_PAGES 1

/* The rcp scheduler of a disk, known from its first dispatch on. */
struct scheduler_state {
	u64 data; /* struct rcp_queue */
	/* when all tokens were last seen in use, and the figures then */
	u64 full_ns;
	u64 used;
	u64 limit;
	u64 critical_ns; /* since the last critical I/O arrived */
};

/* By queue. LRU: disks come and go, and schedulers change. */
BPF_TABLE("lru_hash", u64, struct scheduler_state, schedulers, 256);

/* Waits in progress; further ones count as lost. */
BPF_HASH(policy_waits, u32, struct policy_event_record, 4096);

static inline void write_policy_event(struct policy_event_record *event)
{
	if (is_paused()) {
		lost.increment(REC_POLICY_EVENT);
		return;
	}
	count_output(policy_event_ring.ringbuf_output(event, sizeof(*event), RCP_NO_WAKEUP),
		     REC_POLICY_EVENT);
}

static inline u64 queue_of(struct request *rq)
{
	u64 queue = 0;

	bpf_probe_read_kernel(&queue, sizeof(queue), &rq->q);
	return queue;
}

/*
 * Note whether all tokens are in use (defined in block/rcp-clock.h of the patch). Small ios share a
 * token, and a part of one in use counts as a token. The data of a scheduler that is gone may be
 * anything; it dispatches no more ios, so the note has no effect.
 */
static inline void check_tokens(u64 queue, struct scheduler_state *scheduler)
{
#ifdef RCP_HAS_rcp_queue_used_kb
	struct rcp_queue *data = (struct rcp_queue *)scheduler->data;
	u64 now = bpf_ktime_get_ns(), last_ns = 0, critical_ns = 0, of = 0;
	u32 used_kb = 0, token_kb = 0, inflight[2] = {};
	__typeof__(data->knobs) knobs = {};

	bpf_probe_read_kernel(&of, sizeof(of), &data->q);
	bpf_probe_read_kernel(&knobs, sizeof(knobs), &data->knobs);
	if (of != queue || !knobs.strict || !knobs.tokens)
		return;
	bpf_probe_read_kernel(&last_ns, sizeof(last_ns),
			      &((struct request_queue *)queue)->rcp.last_critical_ns);
	if (last_ns && now > last_ns)
		critical_ns = now - last_ns;
	if (knobs.hold_ms && (!last_ns || critical_ns >= knobs.hold_ms * 1000000ULL))
		return;
	token_kb = knobs.token_kb ? knobs.token_kb : 1;
	bpf_probe_read_kernel(&used_kb, sizeof(used_kb), &data->used_kb);
	bpf_probe_read_kernel(inflight, sizeof(inflight), &data->inflight);
	if (knobs.token_total)
		used_kb += inflight[0] * token_kb; /* enum rcp_class: critical is the first */
	if (used_kb < knobs.tokens * token_kb)
		return;
	scheduler->full_ns = now;
	scheduler->used = (used_kb + token_kb - 1) / token_kb;
	scheduler->limit = knobs.tokens;
	scheduler->critical_ns = critical_ns;
#endif
}

/*
 * Called when an io is inserted in any scheduler (io.bpf.c), after its insertion time is set.
 * Without a dispatch so far no token is in use.
 */
static inline void check_tokens_at_insert(struct request *rq)
{
	u64 queue = queue_of(rq);
	struct scheduler_state *scheduler = schedulers.lookup(&queue);
	u32 flags = 0;

	if (!scheduler)
		return;
#ifdef __REQ_CRIT
	bpf_probe_read_kernel(&flags, sizeof(flags), &rq->cmd_flags);
	if (flags & 1U << __REQ_CRIT)
		return; /* critical ios wait for no token */
#endif
	check_tokens(queue, scheduler);
}

/* The queue's scheduler is the one that dispatches now; an earlier one is replaced. */
static inline struct scheduler_state *scheduler_of(u64 queue)
{
	struct scheduler_state *known = schedulers.lookup(&queue), fresh = {};
	struct elevator_queue *elevator = NULL;

	bpf_probe_read_kernel(&elevator, sizeof(elevator),
			      &((struct request_queue *)queue)->elevator);
	bpf_probe_read_kernel(&fresh.data, sizeof(fresh.data), &elevator->elevator_data);
	if (!known) {
		schedulers.update(&queue, &fresh);
		return schedulers.lookup(&queue);
	}
	known->data = fresh.data;
	return known;
}

RAW_TRACEPOINT_PROBE(rcp_dispatch)
{
	struct request *rq = (struct request *)ctx->args[0];
	u64 key = (u64)rq, queue = queue_of(rq);
	struct policy_event_record event = {};
	struct io_record *io = ios.lookup(&key);
	struct scheduler_state *scheduler = scheduler_of(queue);
	u8 critical = ctx->args[1];

	if (!scheduler)
		return 0;
	if (!critical && io && io->inserted_ns && scheduler->full_ns >= io->inserted_ns) {
		event.ts = io->inserted_ns;
		event.dur_ns = bpf_ktime_get_ns() - io->inserted_ns;
		event.io = io->id;
		event.used = scheduler->used;
		event.limit = scheduler->limit;
		event.critical_ns = scheduler->critical_ns;
		event.dev = disk_of(rq);
		event.kind = RCP_POLICY_IO_HELD;
		event.level = RCP_LEVEL_NONCRITICAL;
		write_policy_event(&event);
	}
	check_tokens(queue, scheduler); /* this io may have taken the last token */
	return 0;
}

RAW_TRACEPOINT_PROBE(rcp_starve)
{
	struct request *rq = (struct request *)ctx->args[0];
	u64 key = (u64)rq;
	struct io_record *io = ios.lookup(&key);
	struct policy_event_record event = {};

	event.dur_ns = ctx->args[1];
	event.ts = bpf_ktime_get_ns() - event.dur_ns;
	event.io = io ? io->id : 0;
	event.dev = disk_of(rq);
	event.n_critical = ctx->args[2];
	event.n_noncritical = ctx->args[3];
	event.kind = RCP_POLICY_IO_STARVED;
	event.level = RCP_LEVEL_NONCRITICAL;
	write_policy_event(&event);
	return 0;
}

static inline int begin_policy_wait(struct policy_event_record *event)
{
	struct task_state *state = current_state();
	u32 tid = (u32)bpf_get_current_pid_tgid();

	if (!state)
		return 0;
	if (state->flags & RCP_TASK_IS_RECORDER) {
		excluded.increment(REC_POLICY_EVENT);
		return 0;
	}
	event->ts = bpf_ktime_get_ns();
	event->tid = tid;
	if (event->kind == RCP_POLICY_DIRTY_PAUSE)
		state->note = (struct wait_note){ .reason = RCP_WAIT_DIRTY_THROTTLE };
	policy_waits.update(&tid, event);
	if (!policy_waits.lookup(&tid))
		lost.increment(REC_POLICY_EVENT);
	return 0;
}

static inline int end_policy_wait(u64 waited_ns)
{
	u32 tid = (u32)bpf_get_current_pid_tgid();
	struct policy_event_record *wait = policy_waits.lookup(&tid), event;

	if (!wait)
		return 0; /* began before the recording */
	event = *wait;
	event.dur_ns = waited_ns;
	policy_waits.delete(&tid);
	write_policy_event(&event);
	if (event.kind == RCP_POLICY_DIRTY_PAUSE)
		end_wait_for(RCP_WAIT_DIRTY_THROTTLE);
	return 0;
}

RAW_TRACEPOINT_PROBE(rcp_throttle)
{
	struct policy_event_record event = {};
	u8 kind = ctx->args[1], begins = ctx->args[2];

	if (kind > THROTTLED_AT_DIRTY_PAGES)
		return 0;
	if (!begins)
		return end_policy_wait(ctx->args[5]);
	event.dev = (u32)ctx->args[0];
	event.used = ctx->args[3];
	event.limit = ctx->args[4];
	event.kind = RCP_POLICY_SLOT_WAIT;
	event.level = ctx->args[6] ? RCP_LEVEL_CRITICAL : RCP_LEVEL_NONCRITICAL;
	if (kind == THROTTLED_AT_DIRTY_PAGES) {
		event.kind = RCP_POLICY_DIRTY_PAUSE;
	}
	return begin_policy_wait(&event);
}

RAW_TRACEPOINT_PROBE(rcp_mark)
{
	struct task_struct *task = (struct task_struct *)ctx->args[0];
	struct policy_event_record event = {};
	struct io_context *context = NULL;

	event.ts = bpf_ktime_get_ns();
	event.level = (u8)ctx->args[1];
	event.source = (u8)ctx->args[2];
	event.kind = RCP_POLICY_MARK;
	bpf_probe_read_kernel(&event.tid, sizeof(event.tid), &task->pid);
	if (event.source == RCP_MARKED_BY_IOPRIO) {
		bpf_probe_read_kernel(&context, sizeof(context), &task->io_context);
		bpf_probe_read_kernel(&event.ioprio, sizeof(event.ioprio), &context->ioprio);
	}
	write_policy_event(&event);
	return 0;
}
