"""What a sleep can wait for: one row per reason, with everything rcp knows about it (``Reason``).

To add a reason: its row here, its colour in ``rcp.ui.palette``, a case in
``analyzer/tests/arrays/test_reasons.py`` (docs/howto/add-a-wait-reason.md).
"""

from __future__ import annotations

from rcp.analyzer.arrays.file_reasons import FILE_REASONS
from rcp.analyzer.arrays.memory_reasons import MEMORY_REASONS
from rcp.analyzer.arrays.reason import Reason
from rcp.probes.contract.events import WaitReason

REASON_TABLE: tuple[Reason, ...] = (
    Reason(name="unknown", recorded=WaitReason.NONE),
    Reason(
        name="lock",
        recorded=WaitReason.LOCK,
        paper="mutex_lock, rwsem down",
        is_exclusive=True,
        functions={
            "kernel/locking/mutex.c": ("__mutex_lock", "__mutex_lock_slowpath"),
            "kernel/locking/rwsem.c": ("rwsem_down_read_slowpath", "rwsem_down_write_slowpath"),
            "kernel/locking/percpu-rwsem.c": (
                "percpu_rwsem_wait",
                "__percpu_down_read",
                "percpu_down_write",
            ),
            "kernel/locking/semaphore.c": ("__down", "__down_common"),
            "kernel/locking/rtmutex.c": ("rt_mutex_slowlock", "rt_mutex_slowlock_block"),
            # An inode that another task evicts is not brought by it, see ``in_progress``.
            "fs/inode.c": ("inode_dio_wait", "__wait_on_freeing_inode"),
        },
    ),
    Reason(
        name="journal_commit",
        recorded=WaitReason.JOURNAL_COMMIT,
        paper="j_wait_done_commit",
        functions={"fs/jbd2/journal.c": ("jbd2_log_wait_commit", "jbd2_fc_begin_commit")},
    ),
    Reason(
        name="journal_handle",
        recorded=WaitReason.JOURNAL_HANDLE,
        paper="j_wait_transaction_locked",
        functions={
            "fs/jbd2/transaction.c": (
                "wait_transaction_locked",
                "wait_transaction_switching",
                "add_transaction_credits",
                "start_this_handle",
                "jbd2_journal_lock_updates",
                "jbd2_journal_wait_updates",
            ),
            # Static and called once: jbd2_journal_wait_updates may be inlined here.
            "fs/jbd2/commit.c": ("jbd2_journal_commit_transaction",),
        },
    ),
    Reason(
        name="journal_space",
        recorded=WaitReason.JOURNAL_SPACE,
        # It has a commit made, or writes old blocks in place, until there is enough.
        contexts={"fs/jbd2/checkpoint.c": ("__jbd2_log_wait_for_space",)},
        functions={
            "fs/jbd2/checkpoint.c": ("__jbd2_log_wait_for_space", "jbd2_log_do_checkpoint"),
            "fs/xfs/xfs_log.c": ("xlog_grant_head_wait", "xlog_grant_head_check"),
            "fs/xfs/xfs_log_cil.c": ("xlog_cil_push_background",),
            "fs/btrfs/space-info.c": ("wait_reserve_ticket", "handle_reserve_ticket"),
        },
    ),
    Reason(
        name="page_lock",
        recorded=WaitReason.PAGE_LOCK,
        is_exclusive=True,
        functions={
            "mm/filemap.c": (
                "__folio_lock",
                "__folio_lock_killable",
                "__folio_lock_or_retry",
                "folio_put_wait_locked",
                "__lock_page",
                "filemap_fault",
                "filemap_get_pages",
                "filemap_update_page",
                "__filemap_get_folio",  # __folio_lock may be inlined here
            ),
            "fs/btrfs/extent-io-tree.c": ("wait_extent_bit",),
        },
    ),
    Reason(
        name="page_writeback",
        recorded=WaitReason.PAGE_WRITEBACK,
        paper="PG_writeback",
        functions={
            "mm/page-writeback.c": (
                "folio_wait_writeback",
                "folio_wait_writeback_killable",
                "wait_on_page_writeback",
            ),
            "mm/filemap.c": ("__filemap_fdatawait_range",),
            "fs/fs-writeback.c": ("wb_wait_for_completion",),
            "fs/btrfs/ordered-data.c": (
                "btrfs_start_ordered_extent",
                "btrfs_wait_ordered_range",
                "btrfs_wait_ordered_extents",
            ),
            "fs/fuse/file.c": ("fuse_wait_on_page_writeback",),
        },
    ),
    Reason(
        name="buffer_lock",
        recorded=WaitReason.BUFFER_LOCK,
        paper="BH_Lock",
        is_exclusive=True,
        callers={"fs/xfs/xfs_buf.c": ("xfs_buf_lock", "xfs_buf_find_lock")},
        functions={
            "fs/xfs/xfs_buf.c": ("xfs_buf_iowait",),
            "fs/buffer.c": ("__wait_on_buffer", "__lock_buffer"),
            # These two wait for any bit. __wait_on_buffer and __lock_buffer end in a tail call to
            # them and so leave no frame; ``reasons._on_buffer`` excludes their other callers.
            "kernel/sched/wait_bit.c": ("out_of_line_wait_on_bit", "out_of_line_wait_on_bit_lock"),
        },
    ),
    Reason(
        name="buffer_shadow",
        recorded=WaitReason.BUFFER_SHADOW,
        paper="BH_Shadow",
        functions={"fs/jbd2/transaction.c": ("do_get_write_access",)},
    ),
    Reason(
        name="admission_tag",
        recorded=WaitReason.ADMISSION_TAG,
        paper="get_request",
        is_pool=True,
        io_stage="waits for a tag (admission_tag)",
        culprit_step="admission_tag behind",
        functions={"block/blk-mq-tag.c": ("blk_mq_get_tag",)},
    ),
    Reason(
        name="futex",
        recorded=WaitReason.FUTEX,
        functions={
            "kernel/futex/waitwake.c": (
                "futex_wait",
                "__futex_wait",
                "futex_wait_queue",
                "futex_wait_queue_me",
                "futex_do_wait",
                "futex_wait_multiple",
            ),
        },
    ),
    Reason(
        name="dirty_throttle",
        recorded=WaitReason.DIRTY_THROTTLE,
        paper="write entry, fsync entry",
        is_pool=True,
        culprit_step="dirty_throttle behind",
        functions={
            "mm/page-writeback.c": ("balance_dirty_pages", "balance_dirty_pages_ratelimited_flags"),
        },
    ),
    Reason(
        name="sysv_sem",
        recorded=WaitReason.SYSV_SEM,
        paper="semtimedop",
        # Semaphores need not be locks, but programs that also have futexes use them as locks.
        is_exclusive=True,
        functions={"ipc/sem.c": ("do_semtimedop", "__do_semtimedop")},
    ),
    Reason(
        name="timer",
        is_external=True,
        functions={
            "kernel/time/hrtimer.c": ("do_nanosleep", "hrtimer_nanosleep"),
            "kernel/time/posix-timers.c": ("common_nsleep",),
            "kernel/time/sleep_timeout.c": ("msleep", "usleep_range_state"),
            "fs/timerfd.c": ("timerfd_read_iter", "timerfd_read"),  # the former since v6.10
            "fs/ext4/super.c": ("ext4_lazyinit_thread",),
        },
        generic={
            "kernel/time/sleep_timeout.c": (
                "schedule_timeout",
                "schedule_hrtimeout_range",
                "schedule_hrtimeout_range_clock",
            ),
        },
    ),
    Reason(name="cpu", culprit_step="runqueue behind"),
    Reason(name="runqueue"),
    Reason(name="interrupt", culprit_step="interrupt for"),
    Reason(name="cpu_max", culprit_step="cpu_max behind"),
    *MEMORY_REASONS,
    *FILE_REASONS,
    Reason(
        name="condition",
        functions={
            "kernel/exit.c": ("do_wait",),
            # Also kernel threads that wait for work at the head of their loop.
            "kernel/workqueue.c": ("__flush_workqueue", "worker_thread", "rescuer_thread"),
            "kernel/kthread.c": ("kthread_worker_fn", "kthreadd"),
            "fs/jbd2/journal.c": ("kjournald2",),
            "kernel/smpboot.c": ("smpboot_thread_fn",),
            "kernel/rcu/tree.c": ("rcu_gp_fqs_loop", "rcu_gp_kthread"),
            "kernel/rcu/tree_nocb.h": ("rcu_nocb_cb_kthread", "rcu_nocb_gp_kthread"),
            "kernel/rcu/tasks.h": ("rcu_tasks_kthread",),
            "mm/vmscan.c": ("kswapd",),
            "mm/compaction.c": ("kcompactd",),
            "mm/oom_kill.c": ("oom_reaper",),
            "mm/khugepaged.c": ("khugepaged",),
            "kernel/irq/manage.c": ("irq_thread",),
            "kernel/audit.c": ("kauditd_thread",),
        },
        completions={
            "kernel/sched/completion.c": (
                "wait_for_completion",
                "__wait_for_common",
                "do_wait_for_common",
            ),
        },
    ),
    Reason(
        name="admission_slot",
        paper="get_request",
        is_pool=True,
        io_stage="waits for an admission slot",
        culprit_step="admission_slot behind",
        functions={"block/blk-rq-qos.c": ("__rq_qos_throttle", "rq_qos_wait")},
    ),
    Reason(name="queue", io_stage="waits in the scheduler (queue)", culprit_step="queue behind"),
    Reason(
        name="device",
        io_stage="is at the device",
        culprit_step="device shared with",
        functions={
            "block/blk-flush.c": ("blkdev_issue_flush",),
            "block/bio.c": ("submit_bio_wait",),
        },
        completions={
            # Direct I/O waits here.
            "kernel/sched/core.c": ("io_schedule_timeout",),
            "block/blk-core.c": ("blk_io_schedule",),
        },
        generic={"kernel/sched/core.c": ("io_schedule",), "block/bio.c": ("blk_wait_io",)},
    ),
    Reason(name="flush", culprit_step="flush behind"),
    Reason(name="refault", culprit_step="refault behind"),
    Reason(
        name="network",
        is_external=True,
        is_peer=True,
        functions={
            "net/core/sock.c": ("sk_wait_data", "sock_alloc_send_pskb", "sock_wait_for_wmem"),
            "net/ipv4/tcp.c": ("tcp_recvmsg", "tcp_sendmsg"),
            "net/core/stream.c": ("sk_stream_wait_memory",),
            "net/ipv4/af_inet.c": ("inet_recvmsg",),
            "net/ipv4/inet_connection_sock.c": ("inet_csk_accept",),
            "net/unix/af_unix.c": ("unix_stream_read_generic", "unix_wait_for_peer"),
            "net/core/datagram.c": ("__skb_wait_for_more_packets",),
        },
        generic={"kernel/sched/wait.c": ("wait_woken",)},
    ),
    Reason(
        name="pipe",
        is_external=True,
        is_peer=True,
        functions={
            "fs/pipe.c": (
                "pipe_read",
                "pipe_write",
                "anon_pipe_read",
                "anon_pipe_write",
                "pipe_wait_readable",
                "pipe_wait_writable",
                "wait_for_partner",
            ),
            # A message queue is a pipe of messages.
            "ipc/msg.c": ("do_msgsnd", "do_msgrcv"),
            "ipc/mqueue.c": ("wq_sleep",),
        },
    ),
    Reason(
        name="poll",
        is_external=True,
        is_peer=True,
        functions={
            "fs/select.c": ("do_poll", "do_sys_poll", "do_select"),
            "fs/eventpoll.c": ("ep_poll", "do_epoll_wait"),
            "fs/fuse/dev.c": ("fuse_dev_do_read",),  # a daemon without work
            "io_uring/io_uring.c": ("io_cqring_wait",),
            "fs/aio.c": ("read_events",),
        },
    ),
)
"""Every reason; its position is the code used in arrays. Stores hold names, so the order is free
but for ``unknown``, which is 0."""
