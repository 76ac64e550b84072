/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The note of a wait for a lock of a file.
 */

static inline void describe_file_lock(struct wait_note *note, struct inode *inode, u64 start)
{
	struct inode_state *known = inode_of((u64)&inode->i_data);

	note->object = (u64)inode + start;
	note->reason = RCP_WAIT_FILE_LOCK;
	if (known) {
		note->ino = known->ino;
		note->dev = known->dev;
	}
}

/* An odd number, so that it is no inode's. */
static inline u64 of_range(s64 start)
{
	return (u64)start << 1 | 1;
}
