"""What a sleep waited for: the codes of the reasons, and how to read one from a kernel stack.

The reason that a probe recorded wins (``events.WaitReason``). Otherwise the kernel stack of the
sleep is read from the innermost frame outwards, and the first function that is listed in
``REASON_TABLE`` decides::

    schedule  io_schedule  folio_wait_bit_common  folio_wait_writeback  ext4_sync_file …
                                                  ^ first one listed: page_writeback

``completions`` count only if no frame is in ``functions``, and ``generic`` only after both: every
kind of I/O wait ends in ``io_schedule``, so it means "device" only if no other frame is listed.

Two kinds of frames say more than the reason, also than a recorded one: who waits for the lock
itself (``callers``), and why the kernel waits for a page at all (``contexts``)::

    schedule  rwsem_down_read_slowpath  down_read_killable  lock_mm_and_find_vma     lock: mmap_lock
    schedule  folio_wait_writeback  shrink_folio_list … try_to_free_pages   page_writeback: reclaim
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from rcp.analyzer.arrays.reason_table import REASON_TABLE
from rcp.probes.contract.events import WaitReason

REASONS: tuple[str, ...] = tuple(row.name for row in REASON_TABLE)
"""Every reason and segment kind; the position is the code used in arrays (0: unknown)."""

CODE: dict[str, int] = {name: code for code, name in enumerate(REASONS)}

Codes = npt.NDArray[np.int8]
Flags = npt.NDArray[np.bool_]
"""By reason code."""

IS_EXTERNAL: Flags = np.array([row.is_external for row in REASON_TABLE])
IS_PEER: Flags = np.array([row.is_peer for row in REASON_TABLE])
IS_JOINT: Flags = np.array([row.is_joint for row in REASON_TABLE])
IS_EXCLUSIVE: Flags = np.array([row.is_exclusive for row in REASON_TABLE])
MAY_TIME_OUT: Flags = np.array([row.may_time_out for row in REASON_TABLE])
IS_POOL: Flags = np.array([row.is_pool for row in REASON_TABLE])

RECORDED: dict[WaitReason, str] = {
    row.recorded: row.name for row in REASON_TABLE if row.recorded is not None
}
"""Reason by what a probe recorded."""


# Function -> reason, in the order of the lookups.
def _of_tier(tier: str) -> dict[str, str]:
    return {
        function: row.name
        for row in REASON_TABLE
        for functions in getattr(row, tier).values()
        for function in functions
    }


_BY_FUNCTION = tuple(_of_tier(tier) for tier in ("functions", "completions", "generic"))

_BY_CALLER, _BY_CONTEXT = _of_tier("callers"), _of_tier("contexts")

_MEANS = frozenset(
    ("unknown", "page_lock", "page_writeback", "buffer_lock", "buffer_shadow", "device", "timer")
) | {"condition", "reclaim", "journal_commit"}
"""Reasons that a context replaces."""

# fs/pipe.c, net/unix/af_unix.c and ipc/msg.c: a writer sleeps there until there is room
_FULL = frozenset(
    (
        *("pipe_write", "anon_pipe_write", "pipe_wait_writable"),
        *("unix_wait_for_peer", "do_msgsnd"),
    )
)

# mm/truncate.c: who drops pages waits until they have been read, but does not want what is in them
_DROP_PAGES = frozenset(("truncate_inode_pages_range", "invalidate_inode_pages2_range"))

# kernel/locking: functions between the one that sleeps and the one that wants the lock
_LOCKING = re.compile(
    r"_*(mutex_lock|rwsem_down|down|rt_mutex|ww_mutex|schedule|trace_contention|percpu_down)\w*"
)

_SCHEDULES = re.compile(r"_*schedule")

_CODE_OF_RECORDED = np.array([CODE[RECORDED[kind]] for kind in sorted(WaitReason)], np.int8)

_SUFFIX = re.compile(r"(\+0x[0-9a-f]+(/0x[0-9a-f]+)?)?(\s*\[\w+\])?$")
_CLONE = re.compile(r"\.(constprop|isra|part|cold|llvm)\b.*$")


def paper_name(reason: str) -> str:
    """Return the RCP paper's name of a wait reason, "" when it has none."""
    return REASON_TABLE[CODE[reason]].paper if reason in CODE else ""


def function_name(frame: str) -> str:
    """Return the bare function of a frame: no offset, module or compiler clone suffix."""
    return _CLONE.sub("", _SUFFIX.sub("", frame.strip()))


def reason_of_stack(frames: Sequence[str]) -> str:
    """Return the reason of a sleep from its kernel stack, innermost frame first."""
    functions = [function_name(frame) for frame in frames]
    return _refined(_innermost(functions), functions)


def _refined(reason: str, functions: Sequence[str]) -> str:
    """Return what the rest of the stack makes of a reason."""
    if reason == "lock":
        # A BPF trampoline has no name.
        own = (name for name in functions if name and not _LOCKING.fullmatch(name))
        return _BY_CALLER.get(next(own, ""), reason)
    if reason in _MEANS:
        found = (_BY_CONTEXT[function] for function in functions if function in _BY_CONTEXT)
        reason = next(found, reason)
    if reason == "page_lock" and not _DROP_PAGES.isdisjoint(functions):
        return "lock"
    return reason


def _innermost(functions: Sequence[str]) -> str:
    for table in _BY_FUNCTION:
        for at, function in enumerate(functions):
            if function in table and not (
                function.startswith("out_of_line_wait_on_bit") and not _on_buffer(functions, at)
            ):
                return table[function]
    return "unknown"


# jbd2's wait for BH_Shadow, and NFS's for its own requests
_OTHER_BITS = ("do_get_write_access", "nfs_wait_on_request", "nfs_page_group_lock")


def _on_buffer(functions: Sequence[str], at: int) -> bool:
    """Return whether the bit wait at this frame is for a buffer being read, written or locked.

    Waits for buffers sleep in bit_wait_io. So do others, of which the callers are known.
    """
    caller = functions[at + 1] if at + 1 < len(functions) else ""
    return "bit_wait_io" in functions[:at] and caller not in _OTHER_BITS


def reason_codes(
    recorded: npt.NDArray[np.integer],
    stack_ids: npt.NDArray[np.integer],
    stacks: Mapping[int, Sequence[str]],
) -> npt.NDArray[np.int8]:
    """Return the reason code of each sleep: as recorded by a probe, else from its stack."""
    known = recorded < len(_CODE_OF_RECORDED)
    codes = np.where(known, _CODE_OF_RECORDED[np.where(known, recorded, 0)], 0).astype(np.int8)
    if not stacks:
        return codes
    ids = np.array(sorted(stacks), np.int64)
    at = np.minimum(np.searchsorted(ids, stack_ids), len(ids) - 1)
    return np.where(ids[at] == stack_ids, _of_stacks(stacks, ids)[at, codes], codes)


def idle_stacks(stacks: Mapping[int, Sequence[str]]) -> npt.NDArray[np.int64]:
    """Return the ids of the stacks of idle workers of a workqueue (kernel/workqueue.c)."""
    return np.array([key for key, frames in stacks.items() if _is_idle(frames)], np.int64)


def room_stacks(stacks: Mapping[int, Sequence[str]]) -> npt.NDArray[np.int64]:
    """Return the ids of the stacks of those who wait for room in a full pipe or queue."""
    full = (k for k, frames in stacks.items() if not _FULL.isdisjoint(map(function_name, frames)))
    return np.array(sorted(full), np.int64)


def _is_idle(frames: Sequence[str]) -> bool:
    functions = [function_name(frame) for frame in frames]
    at = functions.index("worker_thread") if "worker_thread" in functions else -1
    # At work, or to get another worker, it sleeps in what worker_thread() has called.
    return at == 0 or (at > 0 and _SCHEDULES.fullmatch(functions[at - 1]) is not None)


def _of_stacks(stacks: Mapping[int, Sequence[str]], ids: npt.NDArray[np.int64]) -> Codes:
    """Return the reason of each stack (row) with each recorded reason (column)."""
    recorded = np.unique(_CODE_OF_RECORDED)
    found = np.zeros((len(ids), len(REASONS)), np.int8)
    for row, key in enumerate(ids.tolist()):
        functions = [function_name(frame) for frame in stacks[key]]
        for code in recorded.tolist():
            reason = REASONS[code] if code else _innermost(functions)
            found[row, code] = CODE[_refined(reason, functions)]
    return found
