"""The recording contract: one fixed-size record type per event.

Each record type is declared once, here. Two things are derived from it: the numpy dtype that
reads the ring buffer and the spool (``Record.dtype``), and the C struct that the probes fill.
``make events`` writes the C structs to ``bpf/events.h``; a test checks that the file is current.
docs/howto/add-a-record-type.md shows how to add one.

Times are nanoseconds of CLOCK_MONOTONIC (``bpf_ktime_get_ns``), 0 where unknown.
Ids are named as in user space: ``tid`` is a thread (kernel: pid), ``pid`` a process (kernel:
tgid).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

# Re-exported: records and their codes are one contract.
from rcp.probes.contract.codes import FileFlag as FileFlag
from rcp.probes.contract.codes import FoundBy as FoundBy
from rcp.probes.contract.codes import InheritanceKind as InheritanceKind
from rcp.probes.contract.codes import IoFlag as IoFlag
from rcp.probes.contract.codes import LimitedResource as LimitedResource
from rcp.probes.contract.codes import LockType as LockType
from rcp.probes.contract.codes import MarkSource as MarkSource
from rcp.probes.contract.codes import Mechanism as Mechanism
from rcp.probes.contract.codes import PolicyKind as PolicyKind
from rcp.probes.contract.codes import PolicyLevel as PolicyLevel
from rcp.probes.contract.codes import SleepFlag as SleepFlag
from rcp.probes.contract.codes import StackedLayer as StackedLayer
from rcp.probes.contract.codes import TaskFlag as TaskFlag
from rcp.probes.contract.codes import WaitReason as WaitReason

SCHEMA_VERSION = 2

TASK_COMM_LEN = 16  # include/linux/sched.h


@dataclass(frozen=True)
class Field:
    """One member of a record: its name, numpy type code and meaning."""

    name: str
    type: str
    doc: str
    since: int = 0
    """Changes of the record's layout before it had this field."""


@dataclass(frozen=True)
class Record:
    """One type of fixed-size record; its spool file and BPF ring have its ``name`` too."""

    name: str
    doc: str
    fields: tuple[Field, ...]

    @cached_property
    def dtype(self) -> np.dtype[np.void]:
        """Packed little-endian layout; the C struct of ``c_header`` has no padding either."""
        return np.dtype([(f.name, f.type) for f in self.fields])

    @cached_property
    def has_stack(self) -> bool:
        """Whether its records refer to a kernel stack."""
        return any(f.name == "stack_id" for f in self.fields)

    @cached_property
    def size_bytes(self) -> int:
        """Size of one record, a multiple of 8 so that ring buffer entries stay aligned."""
        return int(self.dtype.itemsize)


TASK = Record(
    "task",
    "a thread, written when first seen and again when its name changes or it exits",
    (
        Field("ts", "<u8", "when this was true"),
        Field("start_ns", "<u8", "when the thread was created"),
        Field("cgroup_id", "<u8", "cgroup v2 id"),
        Field("tid", "<u4", "thread id"),
        Field("pid", "<u4", "process id"),
        Field("ppid", "<u4", "process id of the parent"),
        Field("flags", "<u4", "TaskFlag bits"),
        Field("comm", "S16", "thread name"),
    ),
)

SLEEP = Record(
    "sleep",
    "one finished off-CPU interval: [ts, woken_ns) asleep, [woken_ns, run_ns) runnable",
    (
        Field("ts", "<u8", "left the CPU; 0 when FIRST_SEEN"),
        Field("woken_ns", "<u8", "made runnable; equals ts when PREEMPTED"),
        Field("run_ns", "<u8", "on a CPU again"),
        Field("waker_io", "<u8", "io whose completion woke it, else 0"),
        Field(
            "object",
            "<u8",
            "address waited on: lock, journal, page, buffer, futex or full pipe, else 0",
        ),
        Field("ino", "<u8", "inode whose page was waited for, else 0"),
        Field("dev", "<u4", "file system of that inode or of the journal, else 0"),
        Field("ran_tid", "<u4", "task that ran on the CPU just before this one got it"),
        Field("tid", "<u4", "the sleeper"),
        Field("waker_tid", "<u4", "task on the waking CPU; the waker unless woken by interrupt"),
        Field("owner_tid", "<u4", "lock owner or journal thread when the wait began, else 0"),
        Field("stack_id", "<i4", "kernel stack it slept in, negative when none"),
        Field("cpu", "<u4", "CPU it ran on afterwards"),
        Field(
            "sent_to",
            "<u4",
            "queue of the last message it sent since it last slept; 1: not known",
            1,
        ),
        Field("sent_before", "<u4", "the one that it had sent to before that, 0 for none", 1),
        Field(
            "received_from",
            "<u4",
            "queue from which it has received since then; 1: several, or unknown",
            1,
        ),
        Field("sender_tid", "<u4", "who sent what it has received last, 0 when not known", 1),
        Field("flags", "<u2", "SleepFlag bits"),
        Field("reason", "<u2", "WaitReason set by an annotating probe"),
    ),
)

IO = Record(
    "io",
    "one finished block request, with btt's stages",
    (
        Field("id", "<u8", "unique in the recording, never 0"),
        Field("queued_ns", "<u8", "Q: first bio queued"),
        Field("got_ns", "<u8", "G: request allocated"),
        Field("inserted_ns", "<u8", "I: inserted in the scheduler, 0 when issued directly"),
        Field("issued_ns", "<u8", "D: issued to the driver (last time, when requeued)"),
        Field("completed_ns", "<u8", "C: completed"),
        Field("sector", "<u8", "first sector (512 B)"),
        Field("ino", "<u8", "inode of the first page, 0 when it belongs to none"),
        Field("cgroup_id", "<u8", "cgroup v2 id the first bio is charged to, 0 when none"),
        Field("bytes", "<u4", "length of data"),
        Field("dev", "<u4", "kernel device number, major << 20 | minor"),
        Field("submitter_tid", "<u4", "task that queued the first bio"),
        Field("cmd_flags", "<u4", "request flags, REQ_OP_* in the low 8 bits"),
        Field("n_bios", "<u2", "bios served, more than one after merges; 64 means 64 or more"),
        Field("flags", "<u2", "IoFlag bits"),
        Field("error", "<i4", "blk_status_t of the completion (blk_types.h), 0 on success"),
    ),
)

UPROBE_REQUEST_NR = 1 << 16
"""First ``request.nr`` of requests at probe points; ``meta["request_points"]`` names them."""
SOCKET_REQUEST_NR = 1 << 17
"""``request.nr`` of a request received and answered on a socket."""

REQUEST = Record(
    "request",
    "one unit of work of a target task: a syscall, or the time between two probe points",
    (
        Field("ts", "<u8", "syscall entered, or the begin point passed"),
        Field("end_ns", "<u8", "its end; 0 when unfinished at the end of the recording"),
        Field("ret", "<i8", "return value"),
        Field(
            "arg0", "<u8", "first argument of a syscall (file descriptor), or the socket's address"
        ),
        Field("tid", "<u4", "caller"),
        Field("nr", "<u4", "syscall number, or one of the *_REQUEST_NR"),
    ),
)

LOCK_WAIT = Record(
    "lock_wait",
    "one contended lock acquisition; the waiter may have spun without sleeping",
    (
        Field("ts", "<u8", "contention began"),
        Field("end_ns", "<u8", "lock acquired, or given up"),
        Field("lock", "<u8", "address of the lock"),
        Field("tid", "<u4", "waiter"),
        Field("owner_tid", "<u4", "owner when contention began, 0 when unknown"),
        Field("type", "<u4", "LockType"),
        Field("stack_id", "<i4", "kernel stack of the waiter, negative when none"),
    ),
)

JOURNAL_COMMIT = Record(
    "journal_commit",
    "one jbd2 commit with its phases (fs/jbd2/commit.c), or a worker's part of an XFS checkpoint",
    (
        Field("ts", "<u8", "commit began"),
        Field("locking_ns", "<u8", "waiting for open handles"),
        Field("flushing_ns", "<u8", "writing out ordered data"),
        Field("logging_ns", "<u8", "writing metadata to the journal"),
        Field("end_ns", "<u8", "transaction committed"),
        Field("dev", "<u4", "kernel device number, major << 20 | minor"),
        Field("transaction", "<u4", "jbd2 transaction id; of XFS a number of the recording's own"),
        Field("tid", "<u4", "journal thread, or worker"),
        Field("n_handles", "<u4", "handles that joined the transaction"),
        Field("n_blocks", "<u4", "metadata buffers in the transaction"),
        Field("n_blocks_logged", "<u4", "blocks written to the journal"),
    ),
)

JOURNAL_HANDLE = Record(
    "journal_handle",
    "one task's handles in one transaction of jbd2 or XFS, summed; or several such sums",
    (
        Field("ts", "<u8", "first handle started"),
        Field("end_ns", "<u8", "last handle stopped"),
        Field("held_ns", "<u8", "total time they were open"),
        Field("longest_ns", "<u8", "longest time one was open"),
        Field("dev", "<u4", "kernel device number, major << 20 | minor"),
        Field("transaction", "<u4", "jbd2 transaction id"),
        Field("tid", "<u4", "task that opened them; 0: several, if more than eight at once"),
        Field("n_handles", "<u4", "how many"),
    ),
)

JOURNAL_BLOCK = Record(
    "journal_block",
    "the metadata blocks that one task's handles added to one transaction; of XFS, 512 bytes each",
    (
        Field("ts", "<u8", "its first handle in the transaction started, as in journal_handle"),
        Field("dev", "<u4", "kernel device number, major << 20 | minor"),
        Field("transaction", "<u4", "jbd2 transaction id"),
        Field("tid", "<u4", "the task, as in journal_handle"),
        Field("n_blocks", "<u4", "blocks that no handle had changed before in this transaction"),
    ),
)

FILE = Record(
    "file",
    "an inode, written when an io, a wait or a dirtied page first refers to it",
    (
        Field("ts", "<u8", "when first seen"),
        Field("ino", "<u8", "inode number"),
        Field("dev", "<u4", "file system, major << 20 | minor"),
        Field("flags", "<u4", "FileFlag bits"),
        Field("name", "S32", "last part of its path, cut at 31 bytes; empty when it has none"),
        Field("parent", "S32", "name of its directory"),
    ),
)

IO_CAUSE = Record(
    "io_cause",
    "a task whose dirtied pages an io writes (inode granularity)",
    (
        Field("io", "<u8", "id of the io"),
        Field("ino", "<u8", "inode"),
        Field("dev", "<u4", "file system of the inode"),
        Field("tid", "<u4", "task that dirtied pages of the inode since the last io that wrote it"),
        Field("n_pages", "<u4", "pages of the io attributed to that task"),
        Field("n_causes", "<u4", "tasks known for this inode, this one included"),
    ),
)

THROTTLE = Record(
    "throttle",
    "one decision of balance_dirty_pages to pause a writer (mm/page-writeback.c)",
    (
        Field("ts", "<u8", "when it was decided"),
        Field("cgroup_id", "<u8", "cgroup v2 id of the writeback"),
        Field("limit_pages", "<u8", "dirty limit of the machine or memory cgroup"),
        Field("setpoint_pages", "<u8", "number of dirty pages the controller aims at"),
        Field("dirty_pages", "<u8", "dirty pages counted against the limit"),
        Field("bdi_setpoint_pages", "<u8", "the same for the device"),
        Field("bdi_dirty_pages", "<u8", "dirty pages of the device"),
        Field("dirty_ratelimit_kibps", "<u8", "base rate of the device in KiB/s"),
        Field("task_ratelimit_kibps", "<u8", "rate given to the task in KiB/s"),
        Field("pause_ms", "<i8", "pause decided, 0 or less for none"),
        Field("tid", "<u4", "the writer"),
        Field("dirtied_pages", "<u4", "pages it dirtied since its last pause"),
    ),
)

CMDLINE = Record(
    "cmdline",
    "the command line of a process when it ended; servers overwrite theirs with a title",
    (
        Field("ts", "<u8", "when its main thread ended"),
        Field("pid", "<u4", "process id"),
        Field("arg_bytes", "<u4", "size of the memory of its arguments"),
        Field("text", "S128", "the first bytes of that memory; in a spool, without secrets"),
    ),
)

POLICY_EVENT = Record(
    "policy_event",
    "one decision of the patched kernel's policies that changed something",
    (
        Field("ts", "<u8", "start of the wait; MARK: when the mark changed"),
        Field("dur_ns", "<u8", "time waited; MARK: 0; IO_STARVED: since the last io of its class"),
        Field("io", "<u8", "id of the delayed or dispatched io, else 0"),
        Field("used", "<u8", "tokens, slots or dirty pages in use when the limit was reached"),
        Field("limit", "<u8", "that limit, 0 when unknown"),
        Field("critical_ns", "<u8", "IO_HELD: time since the last critical I/O arrived"),
        Field("tid", "<u4", "task that waited or was marked, 0 for an io"),
        Field("dev", "<u4", "disk, 0 when no disk is involved"),
        Field("n_critical", "<u4", "IO_STARVED: waiting critical ios it was dispatched before"),
        Field("n_noncritical", "<u4", "IO_STARVED: waiting non-critical ios, including this one"),
        Field("kind", "<u2", "PolicyKind"),
        Field("level", "<u2", "PolicyLevel of the io or task; MARK: the new one"),
        Field("source", "<u2", "MARK: MarkSource"),
        Field("ioprio", "<u2", "MARK by IOPRIO: the priority, class << 13 | level"),
    ),
)

INHERITANCE = Record(
    "inheritance",
    "what the patched kernel made critical because a critical task waited for it",
    (
        Field("ts", "<u8", "when it became critical"),
        Field("waited_ns", "<u8", "PROMOTION: how long the io was in the queue"),
        Field("io", "<u8", "PROMOTION: id of the io, 0 when it is not recorded"),
        Field("tid", "<u4", "task that waited for it"),
        Field("helper_tid", "<u4", "LOAN: task that became critical"),
        Field("kind", "<u2", "InheritanceKind"),
        Field("mechanism", "<u2", "LOAN: Mechanism"),
        Field("found_by", "<u2", "PROMOTION: FoundBy"),
        Field("depth", "<u2", "LOAN: 1 for a wait of the critical task, 2 for one of its helper"),
    ),
)

IO_ORIGIN = Record(
    "io_origin",
    "for whom a stacked device (dm, md, loop) queued an io at a device below it",
    (
        Field("io", "<u8", "id of the io below"),
        Field("parent_io", "<u8", "id of the loop device's io that it is part of, else 0"),
        Field("queued_ns", "<u8", "when the bio was queued at the uppermost device"),
        Field("file_dev", "<u8", "file system of the io's inode, 0 when it has none"),
        Field("tid", "<u4", "task that queued it there, or that dirtied most of its pages"),
        Field("dev", "<u4", "the uppermost device"),
    ),
)

IO_SERVED = Record(
    "io_served",
    "the time in which a kernel worker worked for an io of a stacked device, or on an inode of XFS",
    (
        Field("ts", "<u8", "begin"),
        Field("end_ns", "<u8", "done, or handed to the device below"),
        Field("io", "<u8", "id of the loop device's io, of the io that dm-crypt decrypts, or 0"),
        Field("tid", "<u4", "the worker"),
        Field("dev", "<u4", "the loop device, or the uppermost device"),
        Field("owner_tid", "<u4", "task for whom: it queued the io, or dirtied most of its pages"),
        Field("layer", "<u4", "StackedLayer"),
    ),
)

REFAULT = Record(
    "refault",
    "pages that a task reads again because they were evicted from memory (mm/workingset.c)",
    (
        Field("ts", "<u8", "when the io that reads them was queued"),
        Field("cgroup_id", "<u8", "cgroup v2 id whose memory limit is reached, 0: of no cgroup"),
        Field("limit_pages", "<u8", "that limit, or the memory of the machine; 0 when not known"),
        Field("tid", "<u4", "the task"),
        Field("n_pages", "<u4", "pages of the io that were in memory before"),
    ),
)

PAGE_DROP = Record(
    "page_drop",
    "pages of a file that a task dropped from memory (mm/truncate.c)",
    (
        Field("ts", "<u8", "when it began to do so"),
        Field("ino", "<u8", "inode"),
        Field("first_page", "<u8", "first page of the range that it asked for"),
        Field("last_page", "<u8", "last page of that range, which may be beyond the file"),
        Field("n_pages", "<u8", "pages that are no longer in memory"),
        Field("tid", "<u4", "the task"),
        Field("dev", "<u4", "file system of the inode"),
    ),
)

READ_AGAIN = Record(
    "read_again",
    "a read of a file after pages of it were dropped from memory",
    (
        Field("ts", "<u8", "when the io that reads them was queued"),
        Field("ino", "<u8", "inode"),
        Field("first_page", "<u8", "first page that it reads"),
        Field("n_pages", "<u8", "pages that it reads"),
        Field("tid", "<u4", "the task"),
        Field("dev", "<u4", "file system of the inode"),
    ),
)

INTERRUPT = Record(
    "interrupt",
    "the end of an io in an interrupt, which kept a task from the CPU (block/blk-mq.c)",
    (
        Field("ts", "<u8", "its pages are done from here on"),
        Field("end_ns", "<u8", "all are, and those who wait for them are woken"),
        Field("io", "<u8", "id of the io"),
        Field("tid", "<u4", "the task that was on the CPU; 0 if it was idle"),
        Field("cpu", "<u4", "the CPU"),
    ),
)

CGROUP = Record(
    "cgroup",
    "a cgroup that tasks were in, or one above it, when it was first met",
    (
        Field("ts", "<u8", "when it was met"),
        Field("cgroup_id", "<u8", "cgroup v2 id"),
        Field("parent_id", "<u8", "id of the cgroup above, 0 for the root"),
        Field("name", "S128", "its folder's name, cut if longer"),
    ),
)

CGROUP_LIMIT = Record(
    "cgroup_limit",
    "a limit of a cgroup in which, or below which, a task or io had to wait for one",
    (
        Field("ts", "<u8", "when it was found"),
        Field("cgroup_id", "<u8", "cgroup v2 id"),
        Field("amount", "<u8", "what it may use in each period; 0: as much as it likes, from now"),
        Field("period_us", "<u8", "length of a period"),
        Field("dev", "<u4", "of a limit of ios: device number, major << 20 | minor, else 0"),
        Field("resource", "<u4", "LimitedResource"),
    ),
)

RECORDS: tuple[Record, ...] = (
    TASK,
    SLEEP,
    IO,
    REQUEST,
    LOCK_WAIT,
    JOURNAL_COMMIT,
    JOURNAL_HANDLE,
    FILE,
    IO_CAUSE,
    THROTTLE,
    CMDLINE,
    POLICY_EVENT,
    INHERITANCE,
    JOURNAL_BLOCK,
    IO_ORIGIN,
    IO_SERVED,
    REFAULT,
    INTERRUPT,
    PAGE_DROP,
    READ_AGAIN,
    CGROUP,
    CGROUP_LIMIT,
)
BY_NAME: dict[str, Record] = {record.name: record for record in RECORDS}
