"""Stacks in, reasons out. The stacks are those of Linux 6.12, innermost frame first."""

import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from rcp.analyzer.arrays.reason_table import REASON_TABLE
from rcp.analyzer.arrays.reasons import (
    CODE,
    REASONS,
    RECORDED,
    function_name,
    paper_name,
    reason_codes,
    reason_of_stack,
)
from rcp.probes.contract.events import WaitReason


def test_every_recorded_reason_has_its_row() -> None:
    assert set(RECORDED) == set(WaitReason)
    assert [int(kind) for kind in sorted(WaitReason)] == list(range(len(WaitReason)))


def test_names_are_unique_and_unknown_is_0() -> None:
    assert len(set(REASONS)) == len(REASONS)
    assert CODE["unknown"] == 0


@pytest.mark.parametrize("tier", ["functions", "completions", "generic"])
def test_a_function_tells_one_reason(tier: str) -> None:
    names = [
        name for row in REASON_TABLE for names in getattr(row, tier).values() for name in names
    ]
    assert [name for name, n in Counter(names).items() if n > 1] == []


def test_architecture_lists_the_reasons() -> None:
    page = (Path(__file__).parents[3] / "docs/architecture.md").read_text()
    listed = re.search(r"^Reasons: `([^`]+)`", page, re.MULTILINE)
    assert listed
    assert set(listed[1].split()) == set(REASONS)


@pytest.mark.parametrize(
    ("frames", "reason"),
    [
        (
            "schedule io_schedule folio_wait_bit_common folio_wait_writeback ext4_sync_file",
            "page_writeback",
        ),
        ("schedule jbd2_log_wait_commit ext4_sync_file", "journal_commit"),
        ("schedule kjournald2 kthread", "condition"),
        ("schedule jbd2_journal_commit_transaction kjournald2 kthread", "journal_handle"),
        (
            "schedule io_schedule bit_wait_io __wait_on_bit out_of_line_wait_on_bit "
            "jbd2_journal_commit_transaction kjournald2",
            "buffer_lock",
        ),
        (
            "schedule io_schedule bit_wait_io __wait_on_bit out_of_line_wait_on_bit "
            "do_get_write_access jbd2_journal_get_write_access",
            "buffer_shadow",
        ),
        ("schedule bit_wait __wait_on_bit out_of_line_wait_on_bit mystery", "unknown"),
        (
            "schedule io_schedule rq_qos_wait wbt_wait __rq_qos_throttle blk_mq_submit_bio",
            "admission_slot",
        ),
        ("schedule io_schedule blk_mq_get_tag blk_mq_submit_bio", "admission_tag"),
        ("schedule schedule_preempt_disabled __mutex_lock.constprop.0 ext4_file_write", "lock"),
        ("schedule rwsem_down_write_slowpath+0x2a/0x90 down_write", "lock"),
        ("schedule fcntl_setlk do_fcntl __x64_sys_fcntl", "lock"),
        ("schedule wait_transaction_locked+0x1/0x2_[jbd2] start_this_handle", "journal_handle"),
        ("schedule futex_wait_queue __futex_wait futex_wait do_futex", "futex"),
        (
            "schedule schedule_timeout __wait_for_common wait_for_completion_state kernel_clone",
            "condition",
        ),
        (
            "schedule io_schedule_timeout __wait_for_common submit_bio_wait blkdev_issue_flush",
            "device",
        ),
        ("schedule schedule_timeout io_schedule_timeout __iomap_dio_rw", "device"),
        ("schedule flock_lock_inode_wait locks_lock_inode_wait __do_sys_flock", "lock"),
        ("schedule io_schedule mystery", "device"),
        ("schedule schedule_timeout mystery", "timer"),
        ("schedule worker_thread kthread", "condition"),
        ("", "unknown"),
    ],
)
def test_reason_of_stack(frames: str, reason: str) -> None:
    assert reason_of_stack([frame.replace("_[", " [") for frame in frames.split()]) == reason


@pytest.mark.parametrize(
    ("frame", "name"),
    [
        ("__mutex_lock.constprop.0", "__mutex_lock"),
        ("jbd2_log_wait_commit+0x1f/0x80 [jbd2]", "jbd2_log_wait_commit"),
        ("wait_transaction_locked [jbd2]", "wait_transaction_locked"),
        ("schedule", "schedule"),
    ],
)
def test_function_name(frame: str, name: str) -> None:
    assert function_name(frame) == name


def test_recorded_reason_wins_over_the_stack() -> None:
    recorded = np.array([WaitReason.LOCK, WaitReason.NONE, WaitReason.NONE, 999], np.uint16)
    stack_ids = np.array([3, 3, 4, -1], np.int32)
    codes = reason_codes(recorded, stack_ids, {3: ["blk_mq_get_tag"]})
    assert [REASONS[code] for code in codes] == ["lock", "admission_tag", "unknown", "unknown"]


def test_paper_names_of_table_2() -> None:
    assert paper_name("journal_commit") == "j_wait_done_commit"
    assert paper_name("device") == ""
    assert paper_name("io_dependency") == "", "a kind of inversion has none"
