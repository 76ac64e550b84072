// SPDX-License-Identifier: Apache-2.0
/*
 * A task that moves to another cgroup while it is recorded: its role goes by its cgroup at the
 * time. With a whole process, the kernel names the main thread only.
 */

RAW_TRACEPOINT_PROBE(cgroup_attach_task)
{
	struct task_struct *task = (struct task_struct *)ctx->args[2];
	u32 tid = task->pid;
	struct task_state *state = tasks.lookup(&tid);
	u32 flags = announce(task, NULL, ctx->args[3] ? RCP_TASK_IS_PROCESS_MOVED : 0);

	if (state)
		state->flags = flags & ~RCP_TASK_IS_PROCESS_MOVED;
	note_cgroups(task->cgroups->dfl_cgrp);
	return 0;
}
