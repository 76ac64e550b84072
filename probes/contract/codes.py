"""Codes and flags in the records of ``events.py``, which exports them too."""

from __future__ import annotations

import enum


class WaitReason(enum.IntEnum):
    """What a sleep waited for, as far as an annotating probe knew.

    Only waits whose object or owner the kernel stack does not show have an annotator; the
    analyzer derives the others from the stack.
    """

    NONE = 0
    LOCK = 1
    JOURNAL_COMMIT = 2
    JOURNAL_HANDLE = 3
    JOURNAL_SPACE = 4
    PAGE_LOCK = 5
    PAGE_WRITEBACK = 6
    BUFFER_LOCK = 7
    BUFFER_SHADOW = 8
    ADMISSION_TAG = 9
    FUTEX = 10
    DIRTY_THROTTLE = 11
    SYSV_SEM = 12
    FILE_LOCK = 13


class SleepFlag(enum.IntFlag):
    """Bits of ``sleep.flags``."""

    UNINTERRUPTIBLE = 1  # TASK_UNINTERRUPTIBLE: the D state
    PREEMPTED = 2  # did not sleep: left the CPU runnable (ts == woken_ns)
    FIRST_SEEN = 4  # the task's first record: nothing is known of it before run_ns
    WOKEN_BY_HARDIRQ = 8  # the waker was a hard interrupt, not the task it interrupted
    WOKEN_BY_SOFTIRQ = 16
    OWNER_GUESSED = 32  # owner_tid may be wrong: from glibc's mutex, the last reader or taker
    CPU_MAX = 64  # most of woken_ns to run_ns its cgroup, or one above, had used up its cpu.max
    HAS_SENT = 128  # it has sent a message (to a socket or pipe) since it last slept
    RECEIVED_BETWEEN = 256  # since it last slept it has received one between two that it sent
    RECEIVED = 512  # since it last slept or sent one, it has received one, or a part of one
    RECEIVED_SEVERAL = 1024  # or more; RECEIVED is set too
    ONE_READER = 2048  # one task had the rwsem that it waited for to write, when the wait began


class IoFlag(enum.IntFlag):
    """Bits of ``io.flags``."""

    RECORDER = 1  # submitted by the recorder itself
    REQUEUED = 2  # the driver gave it back at least once
    FROM_RQ = 4  # no block_bio_queue seen: queued_ns is when the request was allocated
    THROTTLED = 8  # blk-throttle (io.max) delayed it: its time from Q to G
    SWAP_OUT = 16  # writes memory of processes to swap space; reads from there have no mark


class TaskFlag(enum.IntFlag):
    """Bits of ``task.flags``."""

    KTHREAD = 1
    TARGET = 2  # chosen on the command line: its syscalls are recorded as requests
    RECORDER = 4
    EXITED = 8
    PROCESS_MOVED = 16  # every thread of its process is in this cgroup from now on


class FileFlag(enum.IntFlag):
    """Bits of ``file.flags``."""

    DIRECTORY = 1
    BLOCK_DEVICE = 2  # the device's own pages: file system metadata and the journal


class LockType(enum.IntEnum):
    """Kind of lock of a ``lock_wait`` (include/trace/events/lock.h, LCB_F_*)."""

    OTHER = 0  # semaphore, or a kind without a flag
    MUTEX = 1
    RWSEM_READ = 2
    RWSEM_WRITE = 3
    PERCPU_RWSEM = 4
    RTMUTEX = 5


class PolicyKind(enum.IntEnum):
    """What a policy of the patched kernel decided (include/trace/events/rcp.h)."""

    IO_HELD = 1  # the rcp scheduler delayed an io because all tokens were in use
    IO_STARVED = 2  # the starvation timer dispatched an io before critical ones
    SLOT_WAIT = 3  # a task waited for an admission slot
    DIRTY_PAUSE = 4  # a task waited for fewer dirty pages
    MARK = 5  # a task's mark was set or removed


class InheritanceKind(enum.IntEnum):
    """What a critical task's wait changed (include/trace/events/rcp.h of the patch)."""

    LOAN = 1  # the task that it waits for is critical until the wait ends
    PROMOTION = 2  # a queued io became critical


class Mechanism(enum.IntEnum):
    """What a task waited for when it lent (include/linux/rcp_types.h, enum rcp_mech)."""

    COMMIT = 1  # a transaction of the journal
    LOCKED = 2  # a transaction that is about to be committed
    SHADOW = 3  # the journal's copy of a block
    PAGE = 4
    BUFFER = 5
    SLOT = 6
    DIRTY = 7
    MUTEX = 8
    RWSEM = 9
    HANDLE = 10  # of the journal
    FUTEX = 11


class FoundBy(enum.IntEnum):
    """How a queued io was found for promotion (include/linux/rcp_types.h, enum rcp_key_kind)."""

    MAPPING = 1  # the file that it reads or writes
    SECTOR = 2
    TASK = 3  # who submitted it


class StackedLayer(enum.IntEnum):
    """What a kernel worker works for: a stacked device, or a file system."""

    LOOP = 1
    CRYPT = 2
    XFS = 3  # it frees removed files, and notes what is on disk
    COPY = 4  # dm-snapshot's and dm-thin's copies of what is overwritten
    STRIPE = 5  # RAID 4, 5 and 6


class LimitedResource(enum.IntEnum):
    """What a cgroup may use no more of in a period (cpu.max, io.max)."""

    CPU = 1  # ns of CPU time
    READ_BYTES = 2
    WRITE_BYTES = 3
    READ_IOS = 4
    WRITE_IOS = 5


class PolicyLevel(enum.IntEnum):
    """Criticality of a task's I/O (include/uapi/linux/prctl.h, PR_RCP_*)."""

    NONE = 0
    CRITICAL = 1
    NONCRITICAL = 2


class MarkSource(enum.IntEnum):
    """What changed a mark (include/linux/rcp.h, enum rcp_source)."""

    DEFAULT = 0
    PRCTL = 1
    IOPRIO = 2
    CGROUP = 3
    FORK = 4
