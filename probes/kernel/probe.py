"""The probes: what each asks, what it hooks, what it needs. Pure data, shown by ``doctor``."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Probe:
    """One BPF source file and the kernel hooks it uses."""

    name: str
    """The record type it fills, or the kind of wait it adds to ``sleep``."""
    source: str
    question: str
    tracepoints: tuple[str, ...] = ()
    """Tracepoints it cannot do without, as ``group:name``."""
    functions: tuple[str, ...] = ()
    """Kernel functions it cannot do without (fentry/fexit)."""
    optional_functions: tuple[str, ...] = ()
    """Kernel functions it uses where the kernel has them."""
    without_optional: str = ""
    """What an absent optional function costs the verdicts."""
    needs_any: bool = False
    """It is of no use when none of its optional functions is there."""
    without: str = ""
    """What leaving the whole probe out costs the verdicts; empty when it is essential."""
    module: str = ""
    """Kernel module whose types it reads where they can be had."""
    without_module: str = ""
    """What it costs where they cannot."""
    is_of_patch: bool = False
    """Its tracepoints come with the patched kernel; where none is, there is nothing to see."""

    @property
    def essential(self) -> bool:
        """Tell whether there is no recording without it."""
        return not self.without

    @property
    def hooks(self) -> tuple[str, ...]:
        """Every tracepoint and function it uses."""
        return (*self.tracepoints, *self.functions, *self.optional_functions)


PROBES: tuple[Probe, ...] = (
    Probe(
        "task",
        "task.bpf.c",
        "who is who",
        ("sched:sched_process_fork", "sched:sched_process_exit", "task:task_rename"),
    ),
    Probe(
        "cmdline",
        "cmdline.bpf.c",
        "what a process that ended had for a command line",
        functions=("do_exit",),
        without="cmdline: rules miss processes that come and go while recording",
    ),
    Probe(
        "sleep",
        "sleep.bpf.c",
        "who slept, on what, and who or which io woke it",
        ("sched:sched_switch", "sched:sched_waking"),
    ),
    Probe(
        "io",
        "io.bpf.c",
        "which ios were submitted by whom, and where their time went",
        (
            "block:block_bio_queue",
            "block:block_split",
            "block:block_getrq",
            "block:block_rq_insert",
            "block:block_rq_merge",
            "block:block_rq_issue",
            "block:block_rq_complete",
        ),
        functions=("blk_mq_end_request", "blk_mq_end_request_batch"),
    ),
    Probe(
        "io_hold",
        "io_hold.bpf.c",
        "which ios io.max held back, and since when",
        optional_functions=("__blk_throtl_bio",),
        without_optional="an io that io.max holds back seems to be queued late, by a kernel worker",
        needs_any=True,
        without="an io that io.max holds back seems to be queued late, by a kernel worker",
    ),
    Probe(
        "request",
        "request.bpf.c",
        "how long each chosen syscall of a chosen task took",
    ),
    Probe(
        "point",
        "points.bpf.c",
        "how long a task took between chosen points of its program",
    ),
    Probe(
        "socket",
        "socket.bpf.c",
        "how long what came in on a socket took to be answered",
        # since commit 6e6eda44b939 ("sock: add tracepoint for send recv length") (in v6.3)
        ("sock:sock_recv_length", "sock:sock_send_length"),
        without="what comes in on sockets cannot be a request",
    ),
    Probe(
        "lock_wait",
        "lock_wait.bpf.c",
        "who waited for which kernel lock, and who held it",
        ("lock:contention_begin", "lock:contention_end"),
        optional_functions=("percpu_down_write", "percpu_up_write"),
        without_optional="who holds a per-CPU rwsem for writing is not known",
        without="who held a lock is not known; only who released it",
    ),
    Probe(
        "journal_commit",
        "journal.bpf.c",
        "what jbd2 did when, and who waited for it",
        (
            "jbd2:jbd2_start_commit",
            "jbd2:jbd2_commit_locking",
            "jbd2:jbd2_commit_flushing",
            "jbd2:jbd2_commit_logging",
            "jbd2:jbd2_run_stats",
            "jbd2:jbd2_end_commit",
        ),
        functions=("jbd2_log_wait_commit",),
        optional_functions=(
            "wait_transaction_locked",
            "jbd2_journal_wait_updates",
            "__jbd2_log_wait_for_space",
            "jbd2_fc_begin_commit",
            "jbd2_journal_lock_updates",
        ),
        without_optional="waits in it are named from the stack, without the journal",
        without="commits and their phases are not known, as on a kernel without ext4",
    ),
    Probe(
        "journal_handle",
        "handle.bpf.c",
        "whose open handles a commit waited for",
        ("jbd2:jbd2_end_commit",),
        functions=("start_this_handle", "stop_this_handle"),
        without="a commit that waits for open handles is blamed on the last one only",
    ),
    Probe(
        "file",
        "file.bpf.c",
        "what the inodes are called",
        optional_functions=("clear_inode",),
        without_optional="a file made in the place of a removed one may keep its name",
        without="files are numbers without names",
    ),
    Probe(
        "io_cause",
        "dirty.bpf.c",
        "who dirtied the pages that an io writes",
        ("writeback:writeback_dirty_folio",),
        without="writes by flushers and the journal are blamed on those, not on the writer",
    ),
    Probe(
        "page_wait",
        "page_wait.bpf.c",
        "which page of which file was waited for",
        optional_functions=(
            "folio_wait_bit",
            "folio_wait_bit_killable",
            "__folio_lock",
            "__folio_lock_killable",
            "__folio_lock_or_retry",
            "filemap_fault",
        ),
        without_optional="waits in it are named from the stack, without the file",
        needs_any=True,
        without="waits for pages are named from the stack, without the file",
    ),
    Probe(
        "buffer_wait",
        "buffer_wait.bpf.c",
        "which block of which device was waited for",
        optional_functions=("__wait_on_buffer", "__lock_buffer", "out_of_line_wait_on_bit"),
        without_optional="waits in it are named from the stack, without the block",
        needs_any=True,
        without="waits for buffers are named from the stack, without the block",
    ),
    Probe(
        "futex_wait",
        "futex.bpf.c",
        "which futex was waited for, and who held it",
        optional_functions=("futex_wait", "futex_lock_pi"),
        without_optional="waits in it are named from the stack, without the futex and its owner",
        needs_any=True,
        without="waits for futexes are named from the stack, without the futex and its owner",
    ),
    Probe(
        "sem_wait",
        "sysv_sem.bpf.c",
        "which SysV semaphore was waited for, and who took it last",
        optional_functions=("__do_semtimedop",),
        without_optional="waits for SysV semaphores are named from the stack, without an owner",
        needs_any=True,
        without="waits for SysV semaphores are named from the stack, without an owner",
    ),
    Probe(
        "throttle",
        "throttle.bpf.c",
        "which writers the kernel paused for dirtying too much, and by which numbers",
        ("writeback:balance_dirty_pages",),
        without="pauses of writers are named from the stack, without the numbers behind them",
    ),
    Probe(
        "policy_event",
        "policy.bpf.c",
        "what the kernel's rcp policies decided about whom, and by which numbers",
        ("rcp:rcp_mark", "rcp:rcp_dispatch", "rcp:rcp_starve", "rcp:rcp_throttle"),
        optional_functions=("rq_qos_wait",),
        without_optional="whether a slot was waited for by critical work is not known",
        without="waits that the patched kernel's policies made are told without the reason",
        module="rcp_iosched",
        without_module="ios held for a token are not told; `modprobe rcp-iosched` first",
        is_of_patch=True,
    ),
)

# What a log writer waits in; `write` is left out because most writes only touch the page cache.
DEFAULT_SYSCALLS: tuple[str, ...] = (
    "fsync",
    "fdatasync",
    "msync",
    "sync_file_range",
    "syncfs",
    "sync",
)

SYSCALLS_WITHOUT_ARGUMENTS: frozenset[str] = frozenset({"sync"})
