/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inodes whose pages were dirtied, written or waited for, by the address of their page cache:
 * number, name and dirtiers. A block device's own pages (metadata and journal of its file system)
 * count as an inode of that device.
 */

#define MAX_DIRTIERS 4

struct dirtier {
	u32 tid;
	s32 n_pages; /* dirtied and not yet written; entry unused if <= 0 */
};

struct inode_state {
	u64 ino;
	u32 dev;
	u32 n_replaced;
	struct dirtier dirtiers[MAX_DIRTIERS];
	u32 written_for; /* who has dirtied most pages of its last write to the disk, else 0 */
	u32 unused;
};

/* LRU: an evicted inode gets a new file record when it is next used. */
BPF_TABLE("lru_hash", u64, struct inode_state, inodes, 16384);

static inline void name_of(char *name, struct dentry *dentry)
{
	const unsigned char *text = NULL;

	bpf_probe_read_kernel(&text, sizeof(text), &dentry->d_name.name);
	bpf_probe_read_kernel_str(name, 32, text);
}

static inline void announce_file(struct inode *inode, struct inode_state *known, u16 mode)
{
#ifdef RCP_PROBE_file
	struct file_record event = {};
	struct dentry *dentry, *parent = NULL;
	struct hlist_node *alias = NULL;

	event.ts = bpf_ktime_get_ns();
	event.ino = known->ino;
	event.dev = known->dev;
	event.flags = S_ISBLK(mode) ? RCP_FILE_IS_BLOCK_DEVICE :
		      S_ISDIR(mode) ? RCP_FILE_IS_DIRECTORY :
				      0;
	bpf_probe_read_kernel(&alias, sizeof(alias), &inode->i_dentry.first);
	if (alias) {
		dentry = (struct dentry *)((u64)alias - offsetof(struct dentry, d_u.d_alias));
		name_of(event.name, dentry);
		bpf_probe_read_kernel(&parent, sizeof(parent), &dentry->d_parent);
		if (parent != dentry)
			name_of(event.parent, parent);
	}
	count_output(file_ring.ringbuf_output(&event, sizeof(event), RCP_NO_WAKEUP), REC_FILE);
#endif
}

/* Its file system, or the device itself. */
static inline u32 dev_of(struct inode *inode, u16 mode)
{
	struct super_block *sb = NULL;
	u32 dev = 0;

	if (S_ISBLK(mode)) {
		bpf_probe_read_kernel(&dev, sizeof(dev), &inode->i_rdev);
	} else {
		bpf_probe_read_kernel(&sb, sizeof(sb), &inode->i_sb);
		bpf_probe_read_kernel(&dev, sizeof(dev), &sb->s_dev);
	}
	return dev;
}

/*
 * The inode of a page cache, recorded when it is new; NULL when there is none at this address.
 * The mapping of a page may be anything (slab, anonymous memory), so the inode must point back:
 * its own page cache (i_data) must be at that address.
 */
static inline struct inode_state *inode_of(u64 mapping)
{
	struct inode_state *known = mapping ? inodes.lookup(&mapping) : NULL;
	struct inode_state fresh = {};
	struct inode *inode = NULL;
	u16 mode = 0;

	if (known || !mapping || mapping & 3)
		return known;
	bpf_probe_read_kernel(&inode, sizeof(inode), &((struct address_space *)mapping)->host);
	if ((u64)inode + offsetof(struct inode, i_data) != mapping)
		return NULL;
	bpf_probe_read_kernel(&mode, sizeof(mode), &inode->i_mode);
	bpf_probe_read_kernel(&fresh.ino, sizeof(fresh.ino), &inode->i_ino);
	fresh.dev = dev_of(inode, mode);
	announce_file(inode, &fresh, mode);
	inodes.update(&mapping, &fresh);
	return inodes.lookup(&mapping);
}
