"""The probes: their questions and kernel hooks. Pure data, shown by ``doctor``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Probe:
    """One BPF source file and the kernel hooks it uses."""

    name: str
    """The record type it fills, or the kind of wait it adds to ``sleep``."""
    source: str
    question: str
    tracepoints: tuple[str, ...] = ()
    """Required tracepoints, as ``group:name``."""
    functions: tuple[str, ...] = ()
    """Required kernel functions (fentry/fexit)."""
    optional_functions: tuple[str, ...] = ()
    """Kernel functions it uses if the kernel has them."""
    modules: Mapping[str, str] = field(default_factory=dict)
    """Modules of optional functions: one that is not loaded has nothing that could be missed."""
    without_optional: str = ""
    """What a missing optional function costs the verdicts."""
    needs_any: bool = False
    """It needs at least one of its optional functions."""
    without: str = ""
    """What a missing probe costs the verdicts; empty when it is essential."""
    module: str = ""
    """Kernel module whose structs it reads if their BTF is available."""
    without_module: str = ""
    """What it costs the verdicts if not."""
    config: str = ""
    """Kernel option without which its hooks are missing; empty when there is none."""
    kernel_module: str = ""
    """Kernel module that may have its hooks."""
    is_of_patch: bool = False
    """Its tracepoints are in the patched kernel only."""

    @property
    def essential(self) -> bool:
        """Whether every recording needs it."""
        return not self.without

    @property
    def hooks(self) -> tuple[str, ...]:
        """All tracepoints and functions it uses."""
        return (*self.tracepoints, *self.functions, *self.optional_functions)


PROBES: tuple[Probe, ...] = (
    Probe(
        "task",
        "task.bpf.c",
        "which tasks there are",
        ("sched:sched_process_fork", "sched:sched_process_exit", "task:task_rename"),
    ),
    Probe(
        "cgroup_move",
        "cgroup_move.bpf.c",
        "which tasks moved to another cgroup while recorded",
        ("cgroup:cgroup_attach_task",),
        config="CONFIG_CGROUPS",
        without="cgroup: rules go by the cgroup in which a task was first and last seen",
    ),
    Probe(
        "cmdline",
        "cmdline.bpf.c",
        "the command line of a process that ended",
        functions=("do_exit",),
        without="cmdline: rules miss processes that start and end while recording",
    ),
    Probe(
        "sleep",
        "sleep.bpf.c",
        "who slept, on what, and which task or io woke it",
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
        functions=("blk_mq_end_request", "blk_mq_end_request_batch", "blk_update_request"),
    ),
    Probe(
        "io_hold",
        "io_hold.bpf.c",
        "which ios io.max delayed, and since when",
        optional_functions=("__blk_throtl_bio",),
        without_optional="an io delayed by io.max seems to be queued late, by a kernel worker",
        needs_any=True,
        config="CONFIG_BLK_DEV_THROTTLING",
        without="an io delayed by io.max seems to be queued late, by a kernel worker",
    ),
    Probe(
        "io_origin",
        "layer.bpf.c",
        "for whom stacked devices (dm, md, loop) do ios at the devices below",
        optional_functions=(
            "bio_alloc_clone",
            "dm_submit_bio_remap",
            "kcryptd_crypt",
            "loop_workfn",
            "loop_rootcg_workfn",
            "vfs_fsync",
        ),
        modules={
            "dm_submit_bio_remap": "dm_mod",
            "kcryptd_crypt": "dm_crypt",
            "loop_workfn": "loop",
            "loop_rootcg_workfn": "loop",
        },
        without_optional="on devices of that kind an io is blamed on the kernel thread that queued "
        "it below",
        needs_any=True,
        without="ios below dm, md and loop devices are blamed on the kernel threads of these",
    ),
    Probe(
        "request",
        "request.bpf.c",
        "how long each chosen syscall of a target task took",
    ),
    Probe(
        "point",
        "points.bpf.c",
        "how long a task took between two probe points of its program",
    ),
    Probe(
        "socket",
        "socket.bpf.c",
        "how long a task took to answer what it received on a socket",
        # since commit 6e6eda44b939 ("sock: add tracepoint for send recv length") (in v6.3)
        ("sock:sock_recv_length", "sock:sock_send_length"),
        without="requests on sockets cannot be recorded",
    ),
    Probe(
        "lock_wait",
        "lock_wait.bpf.c",
        "who waited for which kernel lock, and who held it",
        ("lock:contention_begin", "lock:contention_end"),
        optional_functions=("percpu_down_write", "percpu_up_write"),
        without_optional="the writer that holds a per-CPU rwsem is unknown",
        without="the holder of a lock is unknown; only who released it is known",
    ),
    Probe(
        "journal_commit",
        "journal.bpf.c",
        "when jbd2 committed, in which phases, and who waited",
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
        without_optional="waits in it get their reason from the stack, without the journal",
        config="CONFIG_JBD2",
        kernel_module="jbd2",
        without="commits and their phases are unknown, as on a kernel without ext4",
    ),
    Probe(
        "journal_handle",
        "handle.bpf.c",
        "whose open handles a commit waited for, and whose blocks it wrote",
        ("jbd2:jbd2_end_commit",),
        functions=("start_this_handle", "stop_this_handle"),
        config="CONFIG_JBD2",
        kernel_module="jbd2",
        without="a commit that waits for open handles is blamed on the last handle only",
    ),
    Probe(
        "file",
        "file.bpf.c",
        "which names the inodes have",
        optional_functions=("clear_inode",),
        without_optional="a new file that reuses a removed inode may get the old name",
        without="files have inode numbers but no names",
    ),
    Probe(
        "io_cause",
        "dirty.bpf.c",
        "who dirtied the pages that an io writes",
        ("writeback:writeback_dirty_folio",),
        optional_functions=("__folio_cancel_dirty",),
        without_optional="pages truncated before they are written are blamed on later ios",
        without="writes by flushers and the journal are blamed on these threads, not on the writer",
    ),
    Probe(
        "refault",
        "refault.bpf.c",
        "which pages are read again because they were evicted from memory",
        functions=("workingset_refault",),
        without="a read of a page that others pushed out of memory is nobody's doing",
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
        without_optional="waits in it get their reason from the stack, without the file",
        needs_any=True,
        without="waits for pages get their reason from the stack, without the file",
    ),
    Probe(
        "buffer_wait",
        "buffer_wait.bpf.c",
        "which block of which device was waited for",
        optional_functions=("__wait_on_buffer", "__lock_buffer", "out_of_line_wait_on_bit"),
        without_optional="waits in it get their reason from the stack, without the block",
        needs_any=True,
        without="waits for buffers get their reason from the stack, without the block",
    ),
    Probe(
        "futex_wait",
        "futex.bpf.c",
        "which futex was waited for, and who held it",
        optional_functions=("futex_wait", "futex_lock_pi"),
        without_optional="waits in it get their reason from the stack, without futex and owner",
        needs_any=True,
        config="CONFIG_FUTEX",
        without="waits for futexes get their reason from the stack, without futex and owner",
    ),
    Probe(
        "sem_wait",
        "sysv_sem.bpf.c",
        "which SysV semaphore was waited for, and who took it last",
        optional_functions=("__do_semtimedop",),
        without_optional="waits for semaphores get their reason from the stack, without an owner",
        needs_any=True,
        config="CONFIG_SYSVIPC",
        without="waits for semaphores get their reason from the stack, without an owner",
    ),
    Probe(
        "file_lock",
        "file_lock.bpf.c",
        "which lock of which file was waited for",
        optional_functions=("locks_lock_inode_wait", "fcntl_setlk"),
        without_optional="waits in it get their reason from the stack, without the file",
        needs_any=True,
        config="CONFIG_FILE_LOCKING",
        without="waits for file locks get their reason from the stack, without the file",
    ),
    Probe(
        "throttle",
        "throttle.bpf.c",
        "which writers the kernel paused for too many dirty pages, and its figures",
        ("writeback:balance_dirty_pages",),
        without="pauses of writers get their reason from the stack, without the kernel's figures",
    ),
    Probe(
        "policy_event",
        "policy.bpf.c",
        "which decisions the kernel's rcp policies made, and their inputs",
        ("rcp:rcp_mark", "rcp:rcp_dispatch", "rcp:rcp_starve", "rcp:rcp_throttle"),
        without="waits caused by the patched kernel's policies have no reason",
        module="rcp_iosched",
        without_module="ios delayed for a token are not recorded; run `modprobe rcp-iosched` first",
        is_of_patch=True,
    ),
    Probe(
        "inheritance",
        "inherit.bpf.c",
        "what the kernel made critical because a critical task waited for it",
        ("rcp:rcp_inherit", "rcp:rcp_promote"),
        without="what the patched kernel did against an inversion is not known",
        is_of_patch=True,
    ),
)
