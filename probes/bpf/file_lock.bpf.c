// SPDX-License-Identifier: Apache-2.0
/*
 * Which lock of which file a task waits for. A lock of the whole file (flock) is named by its
 * inode, one of a range (fcntl) by the inode and where the range begins: waits for the same lock
 * mostly name the same one. Who has it is not recorded.
 */

static inline int begin_file_lock(struct inode *inode, u64 start)
{
	struct task_state *state = known_state();

	if (!state)
		return 0;
	state->note = (struct wait_note){};
	describe_file_lock(&state->note, inode, start);
	return 0;
}

#ifdef RCP_HAVE_locks_lock_inode_wait
KFUNC_PROBE(locks_lock_inode_wait, struct inode *inode)
{
	return begin_file_lock(inode, 0);
}

KRETFUNC_PROBE(locks_lock_inode_wait)
{
	return end_wait();
}
#endif

#ifdef RCP_HAVE_fcntl_setlk
KFUNC_PROBE(fcntl_setlk, unsigned int fd, struct file *file, unsigned int cmd, struct flock *lock)
{
	struct inode *inode = NULL;
	s64 start = 0;

	/* the others do not wait */
	if (cmd != F_SETLKW && cmd != F_OFD_SETLKW)
		return 0;
	bpf_probe_read_kernel(&inode, sizeof(inode), &file->f_inode);
	bpf_probe_read_kernel(&start, sizeof(start), &lock->l_start);
	return begin_file_lock(inode, of_range(start));
}

KRETFUNC_PROBE(fcntl_setlk)
{
	return end_wait();
}
#endif
