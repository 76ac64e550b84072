// SPDX-License-Identifier: Apache-2.0
/*
 * Whose inodes workers of XFS change: they free files without a name (fs/xfs/xfs_icache.c), and
 * note in a file's extents that its pages are on disk (fs/xfs/xfs_aops.c).
 */

/* Without the types of the module its functions can not be hooked either. */
#ifdef RCP_HAS_xfs_inode_i_mount

/* Who dropped the last reference to an inode. LRU: most need no worker to free them. */
BPF_TABLE("lru_hash", u64, u32, released_inodes, 16384);

static inline void put_inode_work(struct inode_worker *worker)
{
	struct io_served_record event = {};

	if (!worker->owner_tid)
		return;
	event.ts = worker->begin_ns;
	event.end_ns = bpf_ktime_get_ns();
	event.tid = (u32)bpf_get_current_pid_tgid();
	event.dev = worker->dev;
	event.owner_tid = worker->owner_tid;
	event.layer = RCP_LAYER_XFS;
	count_output(io_served_ring.ringbuf_output(&event, sizeof(event), RCP_NO_WAKEUP),
		     REC_IO_SERVED);
}

static inline int end_inode_work(void)
{
	u32 tid = (u32)bpf_get_current_pid_tgid();
	struct inode_worker *worker = inode_workers.lookup(&tid);

	if (!worker)
		return 0;
	put_inode_work(worker);
	inode_workers.delete(&tid);
	return 0;
}

static inline int begin_inode_work(struct inode *inode, u32 owner_tid)
{
	u32 tid = (u32)bpf_get_current_pid_tgid();
	struct inode_worker worker = {};
	struct super_block *sb = NULL;

	worker.begin_ns = bpf_ktime_get_ns();
	worker.owner_tid = owner_tid;
	bpf_probe_read_kernel(&sb, sizeof(sb), &inode->i_sb);
	bpf_probe_read_kernel(&worker.dev, sizeof(worker.dev), &sb->s_dev);
	inode_workers.update(&tid, &worker);
	return 0;
}

/* Pages are on disk; as a rule those of the file's last write. */
#if defined(RCP_HAVE_xfs_end_ioend) && defined(RCP_HAS_iomap_ioend_io_inode)
KFUNC_PROBE(xfs_end_ioend, struct iomap_ioend *ioend)
{
	struct inode_state *known;
	struct inode *inode = NULL;
	u64 mapping;

	bpf_probe_read_kernel(&inode, sizeof(inode), &ioend->io_inode);
	mapping = (u64)inode + offsetof(struct inode, i_data);
	known = inodes.lookup(&mapping);
	return begin_inode_work(inode, known ? known->written_for : 0);
}

KRETFUNC_PROBE(xfs_end_ioend)
{
	return end_inode_work();
}
#endif

/* A direct write that nobody waits for (io_submit, io_uring) is ended by a worker. */
#if defined(RCP_HAVE_xfs_file_write_iter) && defined(RCP_HAVE_xfs_dio_write_end_io)
BPF_TABLE("lru_hash", u64, u32, async_writers, 8192); /* by kiocb */

KFUNC_PROBE(xfs_file_write_iter, struct kiocb *write)
{
	u32 tid = (u32)bpf_get_current_pid_tgid();
	u64 key = (u64)write, at_end = 0;

	bpf_probe_read_kernel(&at_end, sizeof(at_end), &write->ki_complete);
	if (at_end)
		async_writers.update(&key, &tid);
	return 0;
}

KFUNC_PROBE(xfs_dio_write_end_io, struct kiocb *write)
{
	u32 tid = (u32)bpf_get_current_pid_tgid(), *writer, owner_tid;
	struct inode *inode = NULL;
	struct file *file = NULL;
	u64 key = (u64)write;

	writer = async_writers.lookup(&key);
	if (!writer)
		return 0;
	owner_tid = *writer;
	async_writers.delete(&key);
	if (owner_tid == tid)
		return 0;
	bpf_probe_read_kernel(&file, sizeof(file), &write->ki_filp);
	bpf_probe_read_kernel(&inode, sizeof(inode), &file->f_inode);
	return begin_inode_work(inode, owner_tid);
}

KRETFUNC_PROBE(xfs_dio_write_end_io)
{
	return end_inode_work();
}
#endif

#ifdef RCP_HAVE_xfs_inode_mark_reclaimable
KFUNC_PROBE(xfs_inode_mark_reclaimable, u64 inode)
{
	u32 tid = (u32)bpf_get_current_pid_tgid();

	released_inodes.update(&inode, &tid);
	return 0;
}
#endif

#if defined(RCP_HAVE_xfs_inodegc_worker) && defined(RCP_HAVE_xfs_inactive)
KFUNC_PROBE(xfs_inodegc_worker)
{
	u32 tid = (u32)bpf_get_current_pid_tgid();
	struct inode_worker nobody = {};

	inode_workers.update(&tid, &nobody);
	return 0;
}

KRETFUNC_PROBE(xfs_inodegc_worker)
{
	return end_inode_work();
}

/* The worker frees one inode after another; one who removed many of them has one record. */
KFUNC_PROBE(xfs_inactive, struct xfs_inode *inode)
{
	u32 tid = (u32)bpf_get_current_pid_tgid();
	struct inode_worker *worker = inode_workers.lookup(&tid);
	u64 address = (u64)inode;
	struct xfs_mount *mount = NULL;
	u32 *owner_tid;

	if (!worker)
		return 0;
	owner_tid = released_inodes.lookup(&address);
	if (owner_tid && worker->owner_tid == *owner_tid)
		return 0;
	put_inode_work(worker);
	worker->begin_ns = bpf_ktime_get_ns();
	worker->owner_tid = owner_tid ? *owner_tid : 0;
	bpf_probe_read_kernel(&mount, sizeof(mount), &inode->i_mount);
	worker->dev = dev_of_mount(mount);
	return 0;
}
#endif

#endif
