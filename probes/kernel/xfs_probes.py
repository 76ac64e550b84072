"""The probes of XFS. Its functions are in a module, which on most machines is not loaded."""

from __future__ import annotations

from rcp.probes.kernel.probe_type import Probe


def _probe(source: str, question: str, what: str, hooks: tuple[str, ...]) -> Probe:
    """Return a probe that needs some of these hooks; *what* is nobody's without it."""
    return Probe(
        source.partition(".")[0],
        source,
        question,
        optional_functions=hooks,
        modules=dict.fromkeys(hooks, "xfs"),
        without_optional=f"some of {what} is nobody's",
        needs_any=True,
        without=f"{what} is nobody's",
        module="xfs",
        without_module=f"{what} is nobody's",
        config="CONFIG_XFS_FS",
    )


XFS_PROBES = (
    _probe(
        "xfs_log.bpf.c",
        "who changed how much of XFS's log",
        "what XFS writes to its log",
        ("xlog_cil_commit", "xfs_log_ticket_ungrant", "xfs_log_ticket_regrant"),
    ),
    _probe(
        "xfs_checkpoint.bpf.c",
        "when XFS wrote its log, and who did that",
        "what XFS writes to its log",
        (
            "xlog_cil_push_work",
            "xlog_cil_ctx_switch",
            "xlog_cil_process_committed",
            "xlog_state_release_iclog",
        ),
    ),
    _probe(
        "xfs_inode.bpf.c",
        "for whom workers of XFS free files, and note what is on disk",
        "what workers of XFS change",
        (
            "xfs_inode_mark_reclaimable",
            "xfs_inodegc_worker",
            "xfs_inactive",
            "xfs_end_ioend",
            "xfs_file_write_iter",
            "xfs_dio_write_end_io",
        ),
    ),
)
