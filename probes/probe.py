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
    without: str = ""
    """What leaving the whole probe out costs the verdicts; empty when it is essential."""

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
        ),
        without_optional="waits in it are named from the stack, without the journal",
        without="commits and their phases are not known, as on a kernel without ext4",
    ),
    Probe(
        "throttle",
        "throttle.bpf.c",
        "which writers the kernel paused for dirtying too much, and by which numbers",
        ("writeback:balance_dirty_pages",),
        without="pauses of writers are named from the stack, without the numbers behind them",
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
