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
    idle_stacks,
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


@pytest.mark.parametrize("tier", ["functions", "completions", "generic", "callers", "contexts"])
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
        (
            "schedule jbd2_log_wait_commit __jbd2_log_wait_for_space add_transaction_credits",
            "journal_space",
        ),
        (
            "schedule io_schedule bit_wait_io out_of_line_wait_on_bit jbd2_log_do_checkpoint "
            "__jbd2_log_wait_for_space add_transaction_credits",
            "journal_space",
        ),
        ("schedule __mutex_lock mutex_lock_io __jbd2_log_wait_for_space", "lock"),
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
        ("schedule_timeout sock_alloc_send_pskb unix_stream_sendmsg sock_sendmsg", "network"),
        ("schedule do_msgsnd ksys_msgsnd", "pipe"),
        ("schedule_hrtimeout_range_clock wq_sleep do_mq_timedsend", "pipe"),
        ("schedule fcntl_setlk do_fcntl __x64_sys_fcntl", "file_lock"),
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
        ("schedule flock_lock_inode_wait locks_lock_inode_wait __do_sys_flock", "file_lock"),
        ("schedule io_schedule mystery", "device"),
        ("schedule schedule_timeout mystery", "timer"),
        ("schedule worker_thread kthread", "condition"),
        ("", "unknown"),
        # peers and clocks
        ("schedule request_wait_answer __fuse_simple_request fuse_do_getattr", "fuse"),
        ("schedule fuse_dev_do_read fuse_dev_read vfs_read", "poll"),
        ("schedule do_wait_intr_irq eventfd_read vfs_read ksys_read", "eventfd"),
        ("schedule do_wait_intr_irq timerfd_read_iter vfs_read ksys_read", "timer"),
        # file systems
        (
            "schedule xlog_wait_on_iclog xlog_force_lsn xfs_log_force_seq xfs_file_fsync",
            "log_force",
        ),
        (
            "schedule schedule_timeout __wait_for_common __flush_workqueue xlog_cil_push_now "
            "xlog_cil_force_seq xfs_log_force_seq xfs_file_fsync",
            "log_force",
        ),
        ("schedule xlog_force_lsn xfs_log_force_seq_[xfs] xfs_file_fsync", "log_force"),
        ("schedule xlog_grant_head_wait xlog_grant_head_check xfs_log_reserve", "journal_space"),
        (
            "schedule schedule_timeout ___down_common __down_common __down down xfs_buf_lock "
            "xfs_buf_find_lock xfs_buf_get_map",
            "buffer_lock",
        ),
        ("schedule schedule_timeout __down_common __down down mystery", "lock"),
        (
            "schedule schedule_timeout __wait_for_common wait_for_completion xfs_buf_iowait "
            "xfs_buf_read_map",
            "buffer_lock",
        ),
        ("schedule wait_current_trans start_transaction btrfs_dirty_inode", "log_force"),
        ("schedule btrfs_commit_transaction btrfs_sync_file", "log_force"),
        ("schedule wait_log_commit btrfs_sync_log btrfs_sync_file", "log_force"),
        ("schedule wait_reserve_ticket handle_reserve_ticket __reserve_bytes", "journal_space"),
        (
            "schedule io_schedule folio_wait_bit_common __filemap_get_folio ext4_da_write_begin",
            "page_lock",
        ),
        ("schedule wait_extent_bit lock_extent btrfs_file_write_iter", "page_lock"),
        (
            "schedule __mutex_lock.constprop.0 wait_on_dquot dqget __dquot_initialize",
            "quota",
        ),
        ("schedule __mutex_lock.constprop.0 dquot_acquire ext4_acquire_dquot dqget", "quota"),
        (
            "schedule rpc_wait_bit_killable __wait_on_bit out_of_line_wait_on_bit __rpc_execute",
            "nfs",
        ),
        (
            "schedule io_schedule bit_wait_io __wait_on_bit out_of_line_wait_on_bit "
            "nfs_wait_on_request nfs_sync_inode",
            "nfs",
        ),
        # overlayfs adds no wait of its own: what is below it tells the reason
        ("schedule jbd2_log_wait_commit ext4_sync_file ovl_fsync do_fsync", "journal_commit"),
        (
            "schedule __mutex_lock ovl_copy_up_start ovl_copy_up_one ovl_copy_up_flags",
            "in_progress",
        ),
        ("[unknown] __mutex_lock.constprop.0 [unknown] ovl_copy_up_start", "in_progress"),
        ("schedule __mutex_lock ovl_inode_lock ovl_link", "lock"),
        # what another task does already
        ("schedule d_alloc_parallel __lookup_slow walk_component path_lookupat", "in_progress"),
        ("schedule iget_locked __ext4_iget ext4_lookup", "in_progress"),
        ("schedule __wait_on_freeing_inode find_inode_fast iget_locked __ext4_iget", "lock"),
        (
            "schedule bit_wait __wait_on_bit out_of_line_wait_on_bit iget_locked __ext4_iget",
            "in_progress",
        ),
        ("schedule io_schedule __wait_on_buffer ext4_bread d_alloc_parallel", "buffer_lock"),
        # memory
        ("schedule schedule_timeout reclaim_throttle shrink_node try_to_free_pages", "reclaim"),
        ("schedule schedule_timeout reclaim_throttle shrink_node balance_pgdat kswapd", "reclaim"),
        (
            "schedule io_schedule folio_wait_bit_common folio_wait_writeback shrink_folio_list "
            "shrink_lruvec shrink_node try_to_free_pages __alloc_pages_slowpath",
            "reclaim",
        ),
        (
            "schedule io_schedule folio_wait_bit_common folio_wait_writeback shrink_folio_list "
            "shrink_lruvec shrink_node try_to_free_mem_cgroup_pages try_charge_memcg",
            "memcg_limit",
        ),
        (
            "schedule schedule_timeout schedule_timeout_killable mem_cgroup_handle_over_high",
            "memcg_limit",
        ),
        ("schedule schedule_timeout __mutex_lock shrink_slab try_to_free_pages", "lock"),
        ("schedule io_schedule blk_mq_get_tag swap_writepage try_to_free_pages", "admission_tag"),
        (
            "schedule io_schedule folio_wait_bit_common folio_wait_writeback migrate_pages_batch "
            "compact_zone try_to_compact_pages",
            "compaction",
        ),
        (
            "schedule io_schedule folio_wait_bit_common __folio_lock_or_retry do_swap_page",
            "swap_in",
        ),
        (
            "schedule io_schedule_timeout submit_bio_wait swap_writepage_bdev_sync swap_writepage "
            "pageout shrink_folio_list try_to_free_pages",
            "swap_out",
        ),
        (
            "schedule schedule_preempt_disabled rwsem_down_read_slowpath down_read_killable "
            "lock_mm_and_find_vma do_user_addr_fault exc_page_fault",
            "mmap_lock",
        ),
        (
            "schedule rwsem_down_write_slowpath down_write_killable vm_mmap_pgoff do_syscall_64",
            "mmap_lock",
        ),
        # a page that is being read, and will be dropped
        *(
            (f"schedule io_schedule folio_wait_bit_common __folio_lock {function}", "lock")
            for function in ("truncate_inode_pages_range", "invalidate_inode_pages2_range")
        ),
        (
            "schedule io_schedule folio_wait_bit_common folio_wait_writeback "
            "truncate_inode_pages_range",
            "page_writeback",
        ),
        # a page fault that waits for another lock
        ("rwsem_down_read_slowpath down_read page_cache_ra do_user_addr_fault", "lock"),
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


def test_the_stack_says_which_lock_and_what_a_page_is_waited_for() -> None:
    """Also where a probe recorded the lock or the page."""
    stacks = {
        1: ["rwsem_down_read_slowpath", "down_read_killable", "lock_mm_and_find_vma"],
        2: ["folio_wait_writeback", "shrink_folio_list", "try_to_free_pages"],
        3: ["folio_wait_writeback", "ext4_sync_file"],
    }
    kinds = [WaitReason.LOCK, WaitReason.PAGE_WRITEBACK, WaitReason.FUTEX, WaitReason.NONE]
    recorded = np.array([kind for kind in kinds for _ in stacks], np.uint16)
    codes = reason_codes(recorded, np.array([*stacks] * len(kinds), np.int32), stacks)
    assert [REASONS[code] for code in codes] == [
        *("mmap_lock", "lock", "lock"),
        *("page_writeback", "reclaim", "page_writeback"),
        *("futex", "futex", "futex"),
        *("mmap_lock", "reclaim", "page_writeback"),
    ]


def test_paper_names_of_table_2() -> None:
    assert paper_name("journal_commit") == "j_wait_done_commit"
    assert paper_name("device") == ""
    assert paper_name("io_dependency") == "", "a kind of inversion has none"


def test_a_worker_is_idle_if_it_sleeps_in_its_own_loop() -> None:
    stacks = {
        1: ["__schedule", "schedule", "worker_thread+0x1a/0x2b", "kthread"],
        2: ["schedule", "wait_for_completion", "process_one_work", "worker_thread", "kthread"],
        3: ["schedule", "kthread_worker_fn", "kthread"],
        4: ["schedule", "wait_for_completion", "process_scheduled_works", "worker_thread"],
        5: ["schedule", "kthread_create_on_node", "create_worker", "worker_thread", "kthread"],
        6: ["worker_thread"],
    }
    assert idle_stacks(stacks).tolist() == [1, 6]
