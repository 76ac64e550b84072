"""Who waits for another one's read wants the data too: only what takes longer is blamed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from rcp.analyzer.tests.blame.found import found
from rcp.analyzer.tests.whatif.worlds import ns, predicted
from rcp.fixtures.synth import READ, Synth

if TYPE_CHECKING:
    from rcp.analyzer.tests.conftest import Load, Rows

US = 1000
ROLES = [("background", "comm:scan"), ("foreground", "comm:reader")]
OWN_US = 100


def shared(
    size: int,
    took_us: int,
    wait_us: int,
    *,
    reads: int = 3,
    op: int = 0,
    within: str = "filemap_update_page",
) -> Synth:
    """A reader waits for the end of a scan's io; reads of a page take 100 us."""
    synth = Synth(ROLES)
    reader, scan = synth.task("reader", 10), synth.task("scan", 20)
    synth.sleep(scan, 1, 2)
    for n in range(reads):
        synth.io(reader, (1 + n) * 1000 * US, ((1 + n) * 1000 + OWN_US) * US, op=0)
    end = 20_000
    io = synth.io(scan, (end - took_us) * US, end * US, op=op, size=size)
    synth.request(reader, (end - wait_us) * US - US, end * US + US, nr=READ)
    synth.sleep(reader, (end - wait_us) * US, end * US, io=io, stack=[within])
    return synth


@pytest.mark.parametrize(
    ("size", "took_us", "wait_us", "blamed_us"),
    [
        (4096, OWN_US, 50, 0),
        (4096, OWN_US, OWN_US, 0),
        (1 << 20, 2000, 90, 0),
        (1 << 20, 2000, 105, 0),
        (1 << 20, 2000, 1500, 1400),
        (1 << 20, 2000, 2000, 1900),
        (4096, 700, 600, 500),
    ],
    ids=["same", "from its start", "its end", "about as long", "a long one", "all", "a slow one"],
)
def test_a_read_of_ones_own_would_take_time_too(
    inversions: Rows, load: Load, size: int, took_us: int, wait_us: int, blamed_us: int
) -> None:
    synth = shared(size, took_us, wait_us)
    rows = [(row[0], row[1], row[2], row[4]) for row in inversions(synth)]
    expected = ("io_dependency", "scan", blamed_us * US, 1.0)
    assert rows == ([expected] if blamed_us else [])
    # A few us more than a read of its own are no inversion, but they are saved.
    saved_us = max(wait_us - OWN_US, 0)
    without = ns(predicted(load(synth), "scan").predicted_ns)
    assert without == [(2 + wait_us - saved_us) * US]


def test_where_no_smaller_read_is_known_it_is_a_guess(inversions: Rows) -> None:
    synth = shared(1 << 20, 2000, 1500, reads=0)
    assert [(row[1], row[2], row[4]) for row in inversions(synth)] == [("scan", 1500 * US, 0.5)]


def test_data_that_is_written_is_nobody_elses_need(inversions: Rows) -> None:
    synth = shared(1 << 20, 2000, 1500, op=1)
    assert [(row[1], row[2], row[4]) for row in inversions(synth)] == [("scan", 1500 * US, 1.0)]


def test_who_only_waits_until_reads_are_over_does_not_want_their_data(inversions: Rows) -> None:
    synth = shared(4096, OWN_US, 90, within="inode_dio_wait")
    assert [(row[1], row[2], row[4]) for row in inversions(synth)] == [("scan", 90 * US, 1.0)]


def test_a_kernel_thread_may_end_the_read_of_a_locked_buffer(inversions: Rows, load: Load) -> None:
    """XFS: the scan waits for a worker that ends its read of 100 us, the reader for the buffer."""
    synth = Synth(ROLES)
    reader, scan = synth.task("reader", 10), synth.task("scan", 20)
    worker = synth.task("kworker/0:1", 30, kthread=True)
    for task in (scan, worker):
        synth.sleep(task, 1, 2)
    for n in range(3):
        synth.io(reader, (1 + n) * 1000 * US, ((1 + n) * 1000 + OWN_US) * US, op=0)
    begin, end = 10_000 * US, (10_000 + OWN_US) * US
    synth.sleep(worker, begin - US, end, io=synth.io(scan, begin, end, op=0))
    synth.sleep(scan, begin, end + US, waker=worker, stack=["xfs_buf_iowait"])
    synth.request(reader, begin - 10 * US, end + 20 * US, nr=READ)
    synth.sleep(reader, begin, end + 10 * US, waker=scan, stack=["__down", "xfs_buf_lock"])
    assert inversions(synth) == []
    # Without the scan's few us with the buffer after its read.
    alone = (end - begin) + 21 * US
    assert ns(predicted(load(synth), "scan").predicted_ns) == [alone]


@pytest.mark.parametrize(
    ("reason", "behind_us", "kinds"),
    [
        ("d_alloc_parallel", 0, []),
        ("d_alloc_parallel", 400, ["io_dependency"]),
        ("ovl_copy_up_start", 0, []),
        ("ovl_link", 0, ["lock"]),
        ("__folio_lock", 0, []),
        ("__folio_lock", 400, ["lock"]),
    ],
)
def test_who_looks_the_same_name_up_or_reads_a_locked_page_does_what_the_waiter_would_do(
    inversions: Rows, load: Load, reason: str, behind_us: int, kinds: list[str]
) -> None:
    """The scan reads a page for it; with its own writes at the device that takes longer."""
    synth = Synth(ROLES)
    reader, scan = synth.task("reader", 10), synth.task("scan", 20)
    synth.sleep(scan, 1, 2)
    for n in range(3):
        synth.io(reader, (1 + n) * 1000 * US, ((1 + n) * 1000 + OWN_US) * US, op=0)
    begin, end = 10_000 * US, (10_000 + OWN_US + behind_us) * US
    if behind_us:
        synth.io(scan, begin - US, end - OWN_US * US, op=1, size=1 << 20)
    io = synth.io(scan, begin, end, op=0)
    synth.sleep(scan, begin, end, io=io, stack=["__wait_on_buffer", reason])
    synth.request(reader, begin - 10 * US, end + 20 * US, nr=READ)
    stack = [*(["__mutex_lock"] if reason.startswith("ovl") else []), reason]
    synth.sleep(reader, begin, end + 10 * US, waker=scan, stack=stack)
    rows = inversions(synth)
    assert [row[0] for row in rows] == kinds
    if not kinds:
        after_us = 0 if reason == "__folio_lock" else 10  # the scan has the page that long
        alone = (end - begin) + (20 + after_us) * US
        assert ns(predicted(load(synth), "scan").predicted_ns) == [alone]
    if behind_us:
        # Who has a page locked has it for 10 us after its read.
        after_us = 10 if kinds == ["lock"] else 0
        assert rows[0][2] == (behind_us + after_us) * US


@pytest.mark.parametrize("ran", [False, True], ids=["computes", "is preempted"])
def test_what_else_is_done_under_the_lock_of_a_page_is_blamed(inversions: Rows, ran: bool) -> None:
    """The scan reads for 100 us, and has the page for 5 ms more; the reader needs the read only."""
    synth = Synth(ROLES)
    reader, scan, other = (synth.task(name) for name in ("reader", "scan", "other"))
    synth.sleep(scan, 1, 2)
    for n in range(3):
        synth.io(reader, (1 + n) * 1000 * US, ((1 + n) * 1000 + OWN_US) * US, op=0)
    begin, end = 10_000 * US, 15_100 * US
    read_us = begin + OWN_US * US
    synth.sleep(scan, begin, read_us, io=synth.io(scan, begin, read_us, op=0), stack=["a"])
    if ran:
        synth.preempt(scan, read_us + US, end - US, ran=other)
    synth.request(reader, begin - 10 * US, end + 20 * US, nr=READ)
    synth.sleep(reader, begin, end, waker=scan, stack=["__folio_lock"])
    rows = [(row[0], row[1], row[4]) for row in inversions(synth)]
    assert rows == [("lock", "scan", 1.0)]
    assert sum(row.dur for row in found(synth)) == 5_000 * US


def test_of_many_reads_under_the_lock_of_a_page_the_first_is_needed(inversions: Rows) -> None:
    """The scan has a buffer and reads ten pages one after another."""
    synth = Synth(ROLES)
    reader, scan = synth.task("reader", 10), synth.task("scan", 20)
    synth.sleep(scan, 1, 2)
    for n in range(3):
        synth.io(reader, (1 + n) * 1000 * US, ((1 + n) * 1000 + OWN_US) * US, op=0)
    for n in range(10):
        begin, end = (10_000 + 100 * n) * US, (10_000 + 100 * (n + 1)) * US
        synth.sleep(scan, begin, end, io=synth.io(scan, begin, end, op=0))
    synth.request(reader, 9_990 * US, 11_100 * US, nr=READ)
    synth.sleep(reader, 10_000 * US, 11_010 * US, waker=scan, stack=["__lock_buffer"])
    assert sum(row.dur for row in found(synth)) == (1_010 - 100) * US
