// SPDX-License-Identifier: Apache-2.0
/*
 * Who slept, on what, and which task or io woke it: one record per finished off-CPU interval.
 *
 *      switch out          waking            switch in
 *   ------|------------------|-------------------|------
 *         ts   (asleep)   woken_ns  (runnable) run_ns
 *
 * A preempted task has woken_ns == ts.
 */

/*
 * On SMP a wake-up may be traced after the task left its run queue but before its sched_switch.
 * So a wake-up this shortly before the sleep counts as the one that ended it.
 */
#define WAKE_RACE_NS 20000

/* Beside WaitReasons: an idle kernel thread, and a task in a syscall that gives the reason. */
#define IDLES 0xffff
#define POLLS 0xfffe

/*
 * Identifies a stack among those of its task without reading it; 0 where it must be read. A kernel
 * thread without a note that sleeps interruptibly is idle, at the head of its loop, and nowhere
 * else at exactly that depth. For a user task the depth means nothing, as syscalls may begin at a
 * random depth (RANDOMIZE_KSTACK_OFFSET, since v5.13); its syscall and its note identify the stack.
 */
static inline u64 place_of_sleep(u64 at, struct task_state *state, u32 task_state)
{
	u64 kind = state->note.reason;
	u32 nr;

	if (state->flags & RCP_TASK_IS_KTHREAD) {
		if (!kind && (task_state & TASK_NOLOAD || !(task_state & TASK_UNINTERRUPTIBLE)))
			kind = IDLES;
		return kind ? (at & (THREAD_SIZE - 1)) << 16 | kind : 0;
	}
	if (!kind &&
	    !(task_state & TASK_INTERRUPTIBLE)) /* stopped tasks are in their syscall too */
		return 0;
	nr = syscall_above(at);
	if (!kind && sleeps_in_one_place(nr))
		kind = POLLS;
	return kind ? (u64)nr << 16 | kind : 0;
}

static inline s32 stack_of_sleep(struct bpf_raw_tracepoint_args *ctx, struct task_state *state,
				 u32 task_state)
{
	u64 place;
	u32 next;
	s32 id;

	if (state->lock)
		return state->lock_stack_id; /* taken when the wait for the lock began */
	/* the context's address, not a local's: programs may have a stack of their own */
	place = place_of_sleep(stack_at(ctx), state, task_state);
	if (!place)
		return stack_by_look(ctx);
#pragma unroll
	for (int i = 0; i < KNOWN_STACKS; i++) {
		if (state->stack_places[i] == place)
			return state->known_stacks[i];
	}
	id = stack_of(ctx);
	if (id >= 0) {
		next = state->n_known_stacks++ & (KNOWN_STACKS - 1);
		state->stack_places[next] = place;
		state->known_stacks[next] = id;
	}
	return id;
}

static inline void fall_asleep(struct bpf_raw_tracepoint_args *ctx, struct task_struct *prev,
			       u32 tid, u64 now)
{
	u32 task_state = switched_out_state(ctx, prev);
	struct task_state *state;

	if (task_state & TASK_DEAD) {
		tasks.delete(&tid);
		return;
	}
	state = state_of(prev, tid);
	if (!state || state->flags & RCP_TASK_IS_RECORDER)
		return;
	state->sleep_ts = now;
	if (ctx->args[0] || task_state == TASK_RUNNING) {
		state->sleep_flags = RCP_SLEEP_PREEMPTED;
		return;
	}
	state->sleep_flags = (task_state & TASK_UNINTERRUPTIBLE ? RCP_SLEEP_UNINTERRUPTIBLE : 0) |
			     state->messages;
	state->stack_id = stack_of_sleep(ctx, state, task_state);
}

static inline void describe_wait(struct sleep_record *event, struct task_state *state)
{
	struct wait_note *note = &state->note;

	if (state->lock) {
		event->reason = RCP_WAIT_LOCK;
		event->object = state->lock;
		event->owner_tid = state->lock_owner_tid;
		event->flags |= state->lock_owner_flags;
		return;
	}
	event->reason = note->reason;
	event->object = note->object ?: (note->reason ? 0 : state->pipe);
	event->ino = note->ino;
	event->dev = note->dev;
	event->owner_tid = note->owner_tid;
	event->flags |= note->flags & RCP_SLEEP_OWNER_GUESSED;
	if (note->flags & NOTE_FOR_ONE_SLEEP)
		state->note = (struct wait_note){};
}

static inline void describe_sleep(struct sleep_record *event, struct task_state *state)
{
	event->ts = state->sleep_ts;
	event->flags = state->sleep_flags;
	if (state->sleep_flags & RCP_SLEEP_PREEMPTED) {
		event->woken_ns = event->ts;
		return;
	}
	event->stack_id = state->stack_id;
	describe_wait(event, state);
	if (state->woken_ns + WAKE_RACE_NS < event->ts) {
		event->woken_ns = event->run_ns; /* wake-up not seen: waker unknown */
		return;
	}
	event->woken_ns = state->woken_ns < event->ts ? event->ts : state->woken_ns;
	event->waker_io = state->waker_io;
	event->waker_tid = state->waker_tid;
	event->flags |= state->wake_flags;
}

static inline void forget_messages(struct task_state *state)
{
	state->messages = 0;
	state->sent_to = 0;
	state->sent_before = 0;
	state->received_from = 0;
	state->sender_tid = 0;
}

static inline void run_again(struct task_struct *next, u32 tid, u32 ran_tid, u64 now)
{
	struct task_state *state = state_of(next, tid);
	struct sleep_record event = {};

	if (!state)
		return;
	if (state->flags & RCP_TASK_IS_RECORDER) {
		excluded.increment(REC_SLEEP);
		return;
	}
	/* only here, as every task comes by: each program with this in it takes longer to load */
	if (!state->is_placed)
		state->is_placed = note_cgroups(next->cgroups->dfl_cgrp);
	event.run_ns = now;
	event.tid = tid;
	event.ran_tid = ran_tid;
	event.cpu = bpf_get_smp_processor_id();
	event.stack_id = -1;
	if (state->sleep_ts)
		describe_sleep(&event, state);
	else
		event.flags = RCP_SLEEP_FIRST_SEEN;
	state->sleep_ts = 0;
	/* also where nothing is recorded: it looks for those that come after it */
	if (waited_for_cpu_max(next, event.ts ? event.woken_ns : now, now)) {
		event.flags |= RCP_SLEEP_CPU_MAX;
		note_cpu_limits(next);
	}
	if (event.ts && is_too_short(event.run_ns - event.ts))
		return;
	if (!(event.flags & RCP_SLEEP_PREEMPTED)) {
		event.sent_to = state->sent_to;
		event.sent_before = state->sent_before;
		event.received_from = state->received_from;
		event.sender_tid = state->sender_tid;
		forget_messages(state);
	}
	count_output(sleep_ring.ringbuf_output(&event, sizeof(event), RCP_NO_WAKEUP), REC_SLEEP);
}

/*
 * While paused, sleeps are only counted. One in progress when recording resumes is recorded as
 * FIRST_SEEN.
 */
static inline void forget_switch(struct bpf_raw_tracepoint_args *ctx, struct task_struct *prev,
				 u32 prev_tid, u32 next_tid)
{
	struct task_state *state = tasks.lookup(&next_tid);

	if (switched_out_state(ctx, prev) & TASK_DEAD)
		tasks.delete(&prev_tid);
	if (!state || state->flags & RCP_TASK_IS_RECORDER)
		return;
	state->sleep_ts = 0;
	forget_messages(state);
	lost.increment(REC_SLEEP);
}

RAW_TRACEPOINT_PROBE(sched_switch)
{
	struct task_struct *prev = (struct task_struct *)ctx->args[1];
	struct task_struct *next = (struct task_struct *)ctx->args[2];
	u32 prev_tid = (u32)bpf_get_current_pid_tgid(), next_tid = next->pid;
	u64 now = bpf_ktime_get_ns();

	set_completing_io(completion_here(), 0, 0); /* no completion spans a context switch */
	if (is_paused()) {
		forget_switch(ctx, prev, prev_tid, next_tid);
		return 0;
	}
	if (prev_tid)
		fall_asleep(ctx, prev, prev_tid, now);
	if (next_tid)
		run_again(next, next_tid, prev_tid, now);
	return 0;
}

RAW_TRACEPOINT_PROBE(sched_waking)
{
	struct task_struct *task = (struct task_struct *)ctx->args[0];
	struct completing_io *completion;
	u32 tid = task->pid, context;
	struct task_state *state = tasks.lookup(&tid);
	int zero = 0;

	if (!state || state->flags & RCP_TASK_IS_RECORDER || is_paused())
		return 0;
	completion = completing.lookup(&zero);
	if (!completion)
		return 0;
	context = context_on(completion);
	state->woken_ns = bpf_ktime_get_ns();
	state->waker_tid = (u32)bpf_get_current_pid_tgid();
	/* not an io whose completion this context interrupted */
	state->waker_io = completion->context == context ? completion->io : 0;
	if (state->waker_io)
		completion->has_woken = 1;
	if (context == CONTEXT_SOFTIRQ && !state->waker_io &&
	    takes_packet_in(state->waker_tid, state->woken_ns))
		context = CONTEXT_TASK;
	state->wake_flags = context == CONTEXT_HARDIRQ ? RCP_SLEEP_WOKEN_BY_HARDIRQ :
			    context == CONTEXT_SOFTIRQ ? RCP_SLEEP_WOKEN_BY_SOFTIRQ :
							 0;
	return 0;
}
