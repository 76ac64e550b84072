// SPDX-License-Identifier: Apache-2.0
/*
 * The command line of a process when it ends. The recorder reads /proc at the start and at the end
 * of a recording; a child that lives in between, such as a Redis snapshot, is seen only here.
 */

/* At sched_process_exit the task has released its memory already. */
KFUNC_PROBE(do_exit, long code)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();
	unsigned long start = 0, end_of_args = 0, end = 0, size;
	u64 pid_tgid = bpf_get_current_pid_tgid();
	struct cmdline_record event = {};
	struct mm_struct *mm = NULL;

	event.pid = pid_tgid >> 32;
	if (event.pid != (u32)pid_tgid || event.pid == RCP_SELF_PID)
		return 0;
	/* bcc rewrites only pointers from the probe's arguments */
	bpf_probe_read_kernel(&mm, sizeof(mm), &task->mm);
	if (!mm) /* a kernel thread */
		return 0;
	bpf_probe_read_kernel(&start, sizeof(start), &mm->arg_start);
	bpf_probe_read_kernel(&end_of_args, sizeof(end_of_args), &mm->arg_end);
	bpf_probe_read_kernel(&end, sizeof(end), &mm->env_end);
	event.arg_bytes = end_of_args - start;
	/* A title longer than the arguments continues where the environment was. */
	size = end - start;
	if (size > sizeof(event.text))
		size = sizeof(event.text);
	/* A BPF program cannot wait for a swapped-out page: no record then. */
	if (bpf_probe_read_user(event.text, size, (void *)start))
		return 0;
	event.ts = bpf_ktime_get_ns();
	count_output(cmdline_ring.ringbuf_output(&event, sizeof(event), RCP_NO_WAKEUP),
		     REC_CMDLINE);
	return 0;
}
