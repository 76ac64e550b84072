"""What a sleep waited for: the vocabulary, and how a kernel stack tells it.

An annotating probe's word wins (``events.WaitReason``). Otherwise the kernel stack the task
slept in is read from the innermost frame outwards, and the first function of
``STACK_REASONS`` decides::

    schedule  io_schedule  folio_wait_bit_common  folio_wait_writeback  ext4_sync_file …
                                                  ^ first one listed: page_writeback

``COMPLETION_REASONS`` and then ``GENERIC_REASONS`` are asked only when no frame is listed
there: ``io_schedule`` is below every kind of I/O wait, so it says "device" only when nothing
above it says more.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from rcp.probes.contract.events import WaitReason

REASONS: tuple[str, ...] = (
    "unknown",
    "lock",
    "journal_commit",
    "journal_handle",
    "journal_space",
    "page_lock",
    "page_writeback",
    "buffer_lock",
    "buffer_shadow",
    "admission_tag",
    "futex",
    "dirty_throttle",
    "sysv_sem",
    "timer",
    "cpu",
    "runqueue",
    "condition",
    "admission_slot",
    "queue",
    "device",
    "flush",
    "network",
    "pipe",
    "poll",
)
"""Every reason and segment kind; the position is the code used in arrays (0: unknown).

The first thirteen stand where ``events.WaitReason`` has them, so recorded codes are these.
"""

CODE: dict[str, int] = {name: code for code, name in enumerate(REASONS)}

EXTERNAL = frozenset(CODE[name] for name in ("timer", "network", "pipe", "poll"))
"""Waits for something outside the storage stack: a clock, a peer, a client."""

EXCLUSIVE = frozenset(CODE[name] for name in ("lock", "page_lock", "buffer_lock", "sysv_sem"))
"""Waits for something one task holds at a time. Semaphores need not be locks, but programs that
have futexes for the rest use them as such."""

# Function -> (reason, the kernel file that function is in).
STACK_REASONS: dict[str, tuple[str, str]] = {
    "jbd2_log_wait_commit": ("journal_commit", "fs/jbd2/journal.c"),
    "jbd2_fc_begin_commit": ("journal_commit", "fs/jbd2/journal.c"),
    "wait_transaction_locked": ("journal_handle", "fs/jbd2/transaction.c"),
    "wait_transaction_switching": ("journal_handle", "fs/jbd2/transaction.c"),
    "add_transaction_credits": ("journal_handle", "fs/jbd2/transaction.c"),
    "start_this_handle": ("journal_handle", "fs/jbd2/transaction.c"),
    "jbd2_journal_lock_updates": ("journal_handle", "fs/jbd2/transaction.c"),
    "jbd2_journal_wait_updates": ("journal_handle", "fs/jbd2/transaction.c"),
    # Static and called once: jbd2_journal_wait_updates may be inlined here.
    "jbd2_journal_commit_transaction": ("journal_handle", "fs/jbd2/commit.c"),
    "__jbd2_log_wait_for_space": ("journal_space", "fs/jbd2/checkpoint.c"),
    "jbd2_log_do_checkpoint": ("journal_space", "fs/jbd2/checkpoint.c"),
    "do_get_write_access": ("buffer_shadow", "fs/jbd2/transaction.c"),
    "folio_wait_writeback": ("page_writeback", "mm/page-writeback.c"),
    "folio_wait_writeback_killable": ("page_writeback", "mm/page-writeback.c"),
    "wait_on_page_writeback": ("page_writeback", "mm/page-writeback.c"),
    "__filemap_fdatawait_range": ("page_writeback", "mm/filemap.c"),
    "__folio_lock": ("page_lock", "mm/filemap.c"),
    "__folio_lock_killable": ("page_lock", "mm/filemap.c"),
    "__folio_lock_or_retry": ("page_lock", "mm/filemap.c"),
    "folio_put_wait_locked": ("page_lock", "mm/filemap.c"),
    "__lock_page": ("page_lock", "mm/filemap.c"),
    "filemap_fault": ("page_lock", "mm/filemap.c"),
    "filemap_get_pages": ("page_lock", "mm/filemap.c"),
    "filemap_update_page": ("page_lock", "mm/filemap.c"),
    "wb_wait_for_completion": ("page_writeback", "fs/fs-writeback.c"),
    "__wait_on_buffer": ("buffer_lock", "fs/buffer.c"),
    "__lock_buffer": ("buffer_lock", "fs/buffer.c"),
    # These two wait for any bit; __wait_on_buffer and __lock_buffer end in a jump to them and
    # so leave no frame. ``_on_buffer`` tells their other callers apart.
    "out_of_line_wait_on_bit": ("buffer_lock", "kernel/sched/wait_bit.c"),
    "out_of_line_wait_on_bit_lock": ("buffer_lock", "kernel/sched/wait_bit.c"),
    "blk_mq_get_tag": ("admission_tag", "block/blk-mq-tag.c"),
    "__rq_qos_throttle": ("admission_slot", "block/blk-rq-qos.c"),
    "rq_qos_wait": ("admission_slot", "block/blk-rq-qos.c"),
    "balance_dirty_pages": ("dirty_throttle", "mm/page-writeback.c"),
    "balance_dirty_pages_ratelimited_flags": ("dirty_throttle", "mm/page-writeback.c"),
    "__mutex_lock": ("lock", "kernel/locking/mutex.c"),
    "__mutex_lock_slowpath": ("lock", "kernel/locking/mutex.c"),
    "rwsem_down_read_slowpath": ("lock", "kernel/locking/rwsem.c"),
    "rwsem_down_write_slowpath": ("lock", "kernel/locking/rwsem.c"),
    "percpu_rwsem_wait": ("lock", "kernel/locking/percpu-rwsem.c"),
    "__percpu_down_read": ("lock", "kernel/locking/percpu-rwsem.c"),
    "percpu_down_write": ("lock", "kernel/locking/percpu-rwsem.c"),
    "__down": ("lock", "kernel/locking/semaphore.c"),
    "__down_common": ("lock", "kernel/locking/semaphore.c"),
    "rt_mutex_slowlock": ("lock", "kernel/locking/rtmutex.c"),
    "rt_mutex_slowlock_block": ("lock", "kernel/locking/rtmutex.c"),
    "inode_dio_wait": ("lock", "fs/inode.c"),
    "flock_lock_inode_wait": ("lock", "fs/locks.c"),
    "posix_lock_inode_wait": ("lock", "fs/locks.c"),
    "locks_lock_inode_wait": ("lock", "fs/locks.c"),
    "do_lock_file_wait": ("lock", "fs/locks.c"),
    "fcntl_setlk": ("lock", "fs/locks.c"),  # do_lock_file_wait may be inlined here
    "futex_wait": ("futex", "kernel/futex/waitwake.c"),
    "__futex_wait": ("futex", "kernel/futex/waitwake.c"),
    "futex_wait_queue": ("futex", "kernel/futex/waitwake.c"),
    "futex_wait_queue_me": ("futex", "kernel/futex/waitwake.c"),
    "futex_do_wait": ("futex", "kernel/futex/waitwake.c"),
    "futex_wait_multiple": ("futex", "kernel/futex/waitwake.c"),
    "do_semtimedop": ("sysv_sem", "ipc/sem.c"),
    "__do_semtimedop": ("sysv_sem", "ipc/sem.c"),
    "do_nanosleep": ("timer", "kernel/time/hrtimer.c"),
    "hrtimer_nanosleep": ("timer", "kernel/time/hrtimer.c"),
    "common_nsleep": ("timer", "kernel/time/posix-timers.c"),
    "msleep": ("timer", "kernel/time/sleep_timeout.c"),
    "usleep_range_state": ("timer", "kernel/time/sleep_timeout.c"),
    "do_poll": ("poll", "fs/select.c"),
    "do_sys_poll": ("poll", "fs/select.c"),
    "do_select": ("poll", "fs/select.c"),
    "ep_poll": ("poll", "fs/eventpoll.c"),
    "do_epoll_wait": ("poll", "fs/eventpoll.c"),
    "io_cqring_wait": ("poll", "io_uring/io_uring.c"),
    "read_events": ("poll", "fs/aio.c"),
    "pipe_read": ("pipe", "fs/pipe.c"),
    "pipe_write": ("pipe", "fs/pipe.c"),
    "anon_pipe_read": ("pipe", "fs/pipe.c"),
    "anon_pipe_write": ("pipe", "fs/pipe.c"),
    "pipe_wait_readable": ("pipe", "fs/pipe.c"),
    "wait_for_partner": ("pipe", "fs/pipe.c"),
    "sk_wait_data": ("network", "net/core/sock.c"),
    "tcp_recvmsg": ("network", "net/ipv4/tcp.c"),
    "tcp_sendmsg": ("network", "net/ipv4/tcp.c"),
    "sk_stream_wait_memory": ("network", "net/core/stream.c"),
    "inet_recvmsg": ("network", "net/ipv4/af_inet.c"),
    "inet_csk_accept": ("network", "net/ipv4/inet_connection_sock.c"),
    "unix_stream_read_generic": ("network", "net/unix/af_unix.c"),
    "unix_wait_for_peer": ("network", "net/unix/af_unix.c"),
    "__skb_wait_for_more_packets": ("network", "net/core/datagram.c"),
    "blkdev_issue_flush": ("device", "block/blk-flush.c"),
    "submit_bio_wait": ("device", "block/bio.c"),
    "do_wait": ("condition", "kernel/exit.c"),
    "__flush_workqueue": ("condition", "kernel/workqueue.c"),
    # Kernel threads at the head of their loop: nobody has given them work yet.
    "worker_thread": ("condition", "kernel/workqueue.c"),
    "rescuer_thread": ("condition", "kernel/workqueue.c"),
    "kthread_worker_fn": ("condition", "kernel/kthread.c"),
    "kthreadd": ("condition", "kernel/kthread.c"),
    "kjournald2": ("condition", "fs/jbd2/journal.c"),
    "smpboot_thread_fn": ("condition", "kernel/smpboot.c"),
    "rcu_gp_fqs_loop": ("condition", "kernel/rcu/tree.c"),
    "rcu_gp_kthread": ("condition", "kernel/rcu/tree.c"),
    "rcu_nocb_cb_kthread": ("condition", "kernel/rcu/tree_nocb.h"),
    "rcu_nocb_gp_kthread": ("condition", "kernel/rcu/tree_nocb.h"),
    "rcu_tasks_kthread": ("condition", "kernel/rcu/tasks.h"),
    "kswapd": ("condition", "mm/vmscan.c"),
    "kcompactd": ("condition", "mm/compaction.c"),
    "oom_reaper": ("condition", "mm/oom_kill.c"),
    "khugepaged": ("condition", "mm/khugepaged.c"),
    "irq_thread": ("condition", "kernel/irq/manage.c"),
    "kauditd_thread": ("condition", "kernel/audit.c"),
    "ext4_lazyinit_thread": ("timer", "fs/ext4/super.c"),
}

# These sleep in schedule_timeout() although they wait for no clock.
COMPLETION_REASONS: dict[str, tuple[str, str]] = {
    "wait_for_completion": ("condition", "kernel/sched/completion.c"),
    "__wait_for_common": ("condition", "kernel/sched/completion.c"),
    "do_wait_for_common": ("condition", "kernel/sched/completion.c"),
    # It sleeps in schedule_timeout() too, and direct I/O waits in it.
    "io_schedule_timeout": ("device", "kernel/sched/core.c"),
    "blk_io_schedule": ("device", "block/blk-core.c"),
}

GENERIC_REASONS: dict[str, tuple[str, str]] = {
    "io_schedule": ("device", "kernel/sched/core.c"),
    "blk_wait_io": ("device", "block/bio.c"),
    "schedule_timeout": ("timer", "kernel/time/sleep_timeout.c"),
    "schedule_hrtimeout_range": ("timer", "kernel/time/sleep_timeout.c"),
    "schedule_hrtimeout_range_clock": ("timer", "kernel/time/sleep_timeout.c"),
    "wait_woken": ("network", "kernel/sched/wait.c"),
}

# Table 2 of the RCP paper (FAST '17) names wait sites of Linux 3.13; these are their heirs.
PAPER_NAMES: dict[str, str] = {
    "sysv_sem": "semtimedop",
    "journal_commit": "j_wait_done_commit",
    "page_writeback": "PG_writeback",
    "admission_tag": "get_request",
    "admission_slot": "get_request",
    "journal_handle": "j_wait_transaction_locked",
    "buffer_lock": "BH_Lock",
    "buffer_shadow": "BH_Shadow",
    "lock": "mutex_lock, rwsem down",
    "dirty_throttle": "write entry, fsync entry",
}

_SUFFIX = re.compile(r"(\+0x[0-9a-f]+(/0x[0-9a-f]+)?)?(\s*\[\w+\])?$")
_CLONE = re.compile(r"\.(constprop|isra|part|cold|llvm)\b.*$")


def paper_name(reason: str) -> str:
    """Return the paper's Table 2 name of a wait reason, "" when it has none."""
    return PAPER_NAMES.get(reason, "")


def function_name(frame: str) -> str:
    """Return the bare function of a frame: no offset, module or compiler clone suffix."""
    return _CLONE.sub("", _SUFFIX.sub("", frame.strip()))


def reason_of_stack(frames: Sequence[str]) -> str:
    """Tell what a task slept for from its kernel stack, innermost frame first."""
    functions = [function_name(frame) for frame in frames]
    for table in (STACK_REASONS, COMPLETION_REASONS, GENERIC_REASONS):
        for at, function in enumerate(functions):
            if function in table and not (
                function.startswith("out_of_line_wait_on_bit") and not _on_buffer(functions, at)
            ):
                return table[function][0]
    return "unknown"


def _on_buffer(functions: Sequence[str], at: int) -> bool:
    """Tell whether the bit wait at this frame is for a buffer being read, written or locked.

    Buffers are waited for in bit_wait_io; jbd2 waits so for BH_Shadow too, from one place.
    """
    caller = functions[at + 1] if at + 1 < len(functions) else ""
    return "bit_wait_io" in functions[:at] and caller != "do_get_write_access"


def reason_codes(
    recorded: npt.NDArray[np.integer],
    stack_ids: npt.NDArray[np.integer],
    stacks: Mapping[int, Sequence[str]],
) -> npt.NDArray[np.int8]:
    """Return the reason code of each sleep: the probe's word, else what its stack tells."""
    known = recorded <= max(WaitReason)
    codes = np.where(known, recorded, 0).astype(np.int8)
    if not stacks:
        return codes
    ids = np.array(sorted(stacks), np.int64)
    told = np.array([CODE[reason_of_stack(stacks[int(i)])] for i in ids], np.int8)
    at = np.minimum(np.searchsorted(ids, stack_ids), len(ids) - 1)
    by_stack = np.where(ids[at] == stack_ids, told[at], 0)
    return np.where(codes != 0, codes, by_stack).astype(np.int8)
