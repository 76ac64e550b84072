// SPDX-License-Identifier: Apache-2.0
/*
 * What the inodes are called (inode.h), and when one is gone: another may then get its address
 * or its number.
 */

#ifdef RCP_HAVE_clear_inode
KFUNC_PROBE(clear_inode, struct inode *inode)
{
	u64 mapping = (u64)inode + offsetof(struct inode, i_data);

	inodes.delete(&mapping);
	return 0;
}
#endif
