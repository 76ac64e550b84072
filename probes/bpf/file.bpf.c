// SPDX-License-Identifier: Apache-2.0
/*
 * Names of inodes (inode.h). An evicted inode is forgotten, because another one may get its
 * address or its number.
 */

#ifdef RCP_HAVE_clear_inode
KFUNC_PROBE(clear_inode, struct inode *inode)
{
	u64 mapping = (u64)inode + offsetof(struct inode, i_data);

	inodes.delete(&mapping);
	droppers.delete(&mapping);
	return 0;
}
#endif
