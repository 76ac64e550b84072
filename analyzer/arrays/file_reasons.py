"""Reasons for waits in file systems and files other than disks'."""

from __future__ import annotations

from rcp.analyzer.arrays.reason import Reason
from rcp.probes.contract.events import WaitReason

FILE_REASONS = (
    Reason(
        name="file_lock",
        recorded=WaitReason.FILE_LOCK,
        # Programs that lock files work together: who has the lock is a peer.
        is_peer=True,
        is_exclusive=True,
        functions={
            "fs/locks.c": (
                "flock_lock_inode_wait",
                "posix_lock_inode_wait",
                "locks_lock_inode_wait",
                "do_lock_file_wait",
                "fcntl_setlk",  # do_lock_file_wait may be inlined here
                "__break_lease",
            ),
        },
    ),
    Reason(
        name="in_progress",
        # Another task looks the same name up, reads the same inode, or copies the same file up.
        is_joint=True,
        callers={"fs/overlayfs/util.c": ("ovl_copy_up_start",)},
        functions={
            "fs/dcache.c": ("d_alloc_parallel",),
            "fs/inode.c": ("iget_locked", "iget5_locked", "ilookup", "ilookup5"),
        },
    ),
    Reason(
        name="log_force",
        # A worker writes what has changed (xlog_cil_push_now waits for the workqueue).
        contexts={"fs/xfs/xfs_log_cil.c": ("xlog_cil_force_seq",)},
        functions={
            "fs/xfs/xfs_log.c": (
                "xlog_wait_on_iclog",
                "xlog_force_lsn",
                "xlog_force_and_check_iclog",
                "xfs_log_force",
                "xfs_log_force_seq",
                "xlog_state_get_iclog_space",
            ),
            "fs/xfs/xfs_log_cil.c": ("xlog_cil_force_seq", "xlog_cil_order_write"),
            "fs/xfs/xfs_buf.c": ("xfs_buf_wait_unpin",),
            "fs/xfs/xfs_inode.c": ("__xfs_iunpin_wait",),
            "fs/btrfs/transaction.c": (
                "wait_current_trans",
                "btrfs_wait_for_commit",
                "btrfs_commit_transaction",
            ),
            "fs/btrfs/tree-log.c": ("wait_log_commit", "wait_for_writer", "btrfs_sync_log"),
        },
    ),
    Reason(
        name="quota",
        is_exclusive=True,
        callers={"fs/quota/dquot.c": ("wait_on_dquot", "dquot_acquire", "dquot_commit")},
        functions={"fs/quota/dquot.c": ("dqget", "invalidate_dquots")},
    ),
    Reason(
        name="fuse",
        is_peer=True,
        functions={"fs/fuse/dev.c": ("request_wait_answer", "fuse_get_req")},
    ),
    Reason(
        name="nfs",
        is_external=True,
        functions={
            "net/sunrpc/sched.c": ("rpc_wait_bit_killable", "__rpc_execute"),
            "fs/nfs/inode.c": ("nfs_wait_bit_killable",),
            "fs/nfs/write.c": ("nfs_wait_on_request", "wait_on_commit"),
            "fs/nfs/pagelist.c": ("nfs_page_group_lock", "nfs_iocounter_wait"),
            "fs/nfs/direct.c": ("nfs_direct_wait",),
            "fs/nfs/client.c": ("nfs_wait_client_init_complete",),
            "fs/nfs/nfs4proc.c": ("nfs4_delay_killable", "nfs4_delay_interruptible"),
            "fs/nfs/nfs4state.c": ("nfs4_wait_clnt_recover",),
        },
    ),
    Reason(
        name="eventfd",
        is_external=True,
        is_peer=True,
        functions={"fs/eventfd.c": ("eventfd_read", "eventfd_write")},
    ),
)
