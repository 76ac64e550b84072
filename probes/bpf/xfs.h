/* SPDX-License-Identifier: Apache-2.0 */
/*
 * XFS: numbers of checkpoints of its log, and for whom workers change inodes (xfs_inode.bpf.c):
 * their changes in the log are of those tasks (xfs_log.bpf.c).
 */
#ifdef RCP_HAS_xfs_mount_m_super

/* What is done to inodes in the background: one without a name is freed (fs/xfs/xfs_icache.c). */
struct inode_worker {
	u64 begin_ns;
	u32 owner_tid; /* who removed the file, or wrote to it; 0: not known */
	u32 dev;
};

BPF_HASH(inode_workers, u32, struct inode_worker, 256);

static inline u32 dev_of_mount(struct xfs_mount *mount)
{
	struct super_block *sb = NULL;
	u32 dev = 0;

	bpf_probe_read_kernel(&sb, sizeof(sb), &mount->m_super);
	bpf_probe_read_kernel(&dev, sizeof(dev), &sb->s_dev);
	return dev;
}

/* Whose a task's changes are. */
static inline u32 changes_for(u32 tid)
{
	struct inode_worker *worker = inode_workers.lookup(&tid);

	return worker && worker->owner_tid ? worker->owner_tid : tid;
}

#define BASIC_BLOCK_BYTES 512 /* BBSIZE, fs/xfs/libxfs/xfs_fs.h */

/* Number of the checkpoint that will have what is changed now, by device. */
BPF_HASH(next_checkpoints, u32, u32, 256);
/* The last of these numbers. XFS's own begin again at 1 with each mount. */
BPF_ARRAY(last_checkpoint, u32, 1);

static inline u32 dev_of_log(struct xlog *log)
{
	struct xfs_mount *mount = NULL;

	bpf_probe_read_kernel(&mount, sizeof(mount), &log->l_mp);
	return dev_of_mount(mount);
}

static inline u32 next_checkpoint(u32 dev)
{
	u32 *known = next_checkpoints.lookup(&dev), *last, number;
	int zero = 0;

	if (known)
		return *known;
	last = last_checkpoint.lookup(&zero);
	if (!last)
		return 0;
	/* two CPUs may take the same number, but not for the same device */
	number = *last += 1;
	next_checkpoints.insert(&dev, &number);
	known = next_checkpoints.lookup(&dev);
	return known ? *known : 0;
}

#endif
