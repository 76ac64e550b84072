// SPDX-License-Identifier: Apache-2.0
/*
 * The tasks: one record per thread when it is first seen, when renamed and at exit.
 */

/* Bit-parallel glob: bit i of the state means "i literal characters matched". */
BPF_ARRAY(glob_step, u64, 256);

static inline int comm_matches(char *comm)
{
	u64 state = RCP_GLOB_START;

	if (!state)
		return 0;
	for (int i = 0; i < TASK_COMM_LEN; i++) {
		u32 c = (unsigned char)comm[i];
		u64 *step;

		if (!c)
			break;
		step = glob_step.lookup(&c);
		if (!step)
			return 0;
		state = ((state & *step) << 1) | (state & RCP_GLOB_LOOP);
	}
	return (state & RCP_GLOB_ACCEPT) != 0;
}

static inline int in_target_cgroup(struct cgroup *cgrp)
{
#if RCP_TARGET_CGROUP
	struct cgroup *ancestor = NULL;

	if (cgrp->level < RCP_TARGET_LEVEL)
		return 0;
	bpf_probe_read_kernel(&ancestor, sizeof(ancestor), &cgrp->ancestors[RCP_TARGET_LEVEL]);
	return cgroup_id_of(ancestor) == RCP_TARGET_CGROUP;
#else
	return 0;
#endif
}

static inline u32 identity_of(struct task_struct *task, struct task_record *event)
{
	struct cgroup *cgrp = task->cgroups->dfl_cgrp;
	u32 flags = 0;

	event->cgroup_id = cgrp->kn->id;
	if (task->flags & PF_KTHREAD)
		return RCP_TASK_IS_KTHREAD;
	if (event->pid == RCP_SELF_PID)
		return RCP_TASK_IS_RECORDER;
	if (RCP_TARGET_ALL || target_pids.lookup(&event->pid) || in_target_cgroup(cgrp) ||
	    comm_matches(event->comm))
		flags |= RCP_TASK_IS_TARGET;
	return flags;
}

/* Threads in a pid namespace, by pid << 32 | tid in that namespace. */
BPF_TABLE("lru_hash", u64, u32, inner_tids, 16384);

static inline u32 inner_tid_of(struct task_struct *task)
{
	struct pid *pid = NULL;
	u32 level = 0, inner = 0, tid = 0;
	u64 key;

	bpf_probe_read_kernel(&pid, sizeof(pid), &task->thread_pid);
	bpf_probe_read_kernel(&level, sizeof(level), &pid->level);
	if (!level || level > 32) /* MAX_PID_NS_LEVEL */
		return 0;
	bpf_probe_read_kernel(&inner, sizeof(inner), &pid->numbers[level].nr);
	tid = task->pid;
	key = (u64)task->tgid << 32 | inner;
	inner_tids.update(&key, &tid);
	return inner;
}

static inline u32 announce(struct task_struct *task, const char *comm, u32 extra_flags)
{
	struct task_record event = {};

	event.ts = bpf_ktime_get_ns();
	event.start_ns = task->start_time;
	event.tid = task->pid;
	event.pid = task->tgid;
	event.ppid = task->real_parent->tgid;
	bpf_probe_read_kernel_str(event.comm, sizeof(event.comm), comm ?: task->comm);
	event.flags = identity_of(task, &event) | extra_flags;
	count_output(task_ring.ringbuf_output(&event, sizeof(event), RCP_NO_WAKEUP), REC_TASK);
	return event.flags;
}

static inline struct task_state *new_state(struct task_struct *task, u32 tid)
{
	struct task_state fresh = {}, *state;

	fresh.flags = announce(task, NULL, 0);
	fresh.stack_id = -1;
	fresh.pid = task->tgid;
	fresh.inner_tid = inner_tid_of(task);
	tasks.update(&tid, &fresh);
	state = tasks.lookup(&tid);
	if (!state)
		lost.increment(REC_TASK);
	return state;
}

/* State of a task, created and recorded when it is new; NULL when the table is full. */
static inline struct task_state *state_of(struct task_struct *task, u32 tid)
{
	struct task_state *state = tasks.lookup(&tid);

	return state ? state : new_state(task, tid);
}

static inline struct task_state *current_state(void)
{
	return state_of((struct task_struct *)bpf_get_current_task(),
			(u32)bpf_get_current_pid_tgid());
}

RAW_TRACEPOINT_PROBE(sched_process_fork)
{
	struct task_struct *parent = (struct task_struct *)ctx->args[0];
	struct task_struct *child = (struct task_struct *)ctx->args[1];
	u32 parent_pid = parent->tgid, child_pid = child->tgid;
	u8 yes = 1;

	if (child_pid != parent_pid && target_pids.lookup(&parent_pid))
		target_pids.update(&child_pid, &yes);
	return 0;
}

/* Also fires at exec; the new name is not yet in task->comm. */
RAW_TRACEPOINT_PROBE(task_rename)
{
	struct task_struct *task = (struct task_struct *)ctx->args[0];
	struct task_state *state = state_of(task, task->pid); /* records the name until now */
	u32 flags = announce(task, (const char *)ctx->args[1], 0);

	if (state)
		state->flags = flags;
	return 0;
}

RAW_TRACEPOINT_PROBE(sched_process_exit)
{
	struct task_struct *task = (struct task_struct *)ctx->args[0];

	announce(task, NULL, RCP_TASK_IS_EXITED);
	return 0;
}
