"""A flush, or a write behind one, takes longer for what others have written before."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from rcp.analyzer.arrays.trace import FUA, OP_FLUSH, OP_WRITE, PREFLUSH
from rcp.analyzer.tests.blame.stage import US, Stage

if TYPE_CHECKING:
    from rcp.analyzer.tests.conftest import Rows


@pytest.mark.parametrize(
    ("writer", "n"), [("backup", 1), ("client", 0)], ids=["background", "foreground"]
)
def test_flush_pays_for_what_was_written_before(inversions: Rows, writer: str, n: int) -> None:
    """A flush alone takes 10 µs; this one comes after 1 MiB and takes 60."""
    stage = Stage()
    synth = stage.synth
    synth.io(stage.fg, 20 * US, 30 * US, op=OP_FLUSH, size=0)
    other = {"backup": stage.bg, "client": stage.client}[writer]
    synth.io(other, 40 * US, 90 * US, size=1 << 20)
    io = synth.io(stage.fg, 110 * US, 170 * US, op=OP_FLUSH, size=0)
    synth.sleep(stage.fg, 112 * US, 170 * US, io=io, stack=["submit_bio_wait"])
    chain = "fsync → device → io by writer → flush behind backup"
    assert inversions(synth) == [("flush", "backup", 50 * US, chain, 1.0)] * n


@pytest.mark.parametrize("has_fua", [True, False])
def test_flush_before_a_log_write_is_waited_for_before_it_is_issued(
    inversions: Rows, has_fua: bool
) -> None:
    """PREFLUSH: 40 µs flushing before D, 10 µs at the device; another took 5 and 10.

    Since then the backup's 1 MiB came into the cache; its own data waits for the flush. A device
    without FUA gets a flush after each, and the writes are in its cache before.
    """
    stage = Stage()
    synth = stage.synth
    op = OP_WRITE | PREFLUSH | (FUA if has_fua else 0)
    for begin, end in () if has_fua else ((20, 25), (35, 38), (110, 150), (160, 163)):
        synth.io(stage.jbd2, begin * US, end * US, op=OP_FLUSH, size=0)
    synth.io(stage.fg, 20 * US, 35 * US, issued=25 * US, op=op)
    synth.io(stage.bg, 40 * US, 90 * US, size=1 << 20)
    io = synth.io(stage.fg, 110 * US, 160 * US, issued=150 * US, op=op)
    synth.sleep(stage.fg, 110 * US, 160 * US, io=io, stack=["folio_wait_writeback"])
    chain = "fsync → page_writeback → io by writer → flush behind backup"
    assert inversions(synth) == [("flush", "backup", 35 * US, chain, 1.0)]


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        (PREFLUSH, [("device", "backup-2")]),
        (PREFLUSH | FUA, [("flush", "backup")]),
        (0, [("device", "backup-2")]),
    ],
    ids=["no FUA", "FUA", "no flush"],
)
def test_only_what_goes_to_the_media_waits_for_the_cache_at_the_device(
    inversions: Rows, flags: int, expected: list[tuple[str, str]]
) -> None:
    """The backup has filled the cache; a read of its second process is at the device too.

    A record takes 10 µs alone, also if its flush finds something to write.
    """
    stage = Stage()
    synth, op = stage.synth, OP_WRITE | flags
    second = synth.task("backup-2")
    for begin in (5, 20):
        synth.io(stage.fg, begin * US, (begin + 10) * US, op=op)
    synth.io(stage.bg, 40 * US, 90 * US, size=1 << 20)
    synth.io(second, 112 * US, 160 * US, op=0, size=1 << 20)
    io = synth.io(stage.fg, 110 * US, 160 * US, issued=110 * US, op=op)
    synth.sleep(stage.fg, 112 * US, 160 * US, io=io, stack=["folio_wait_writeback"])
    assert [row[:2] for row in inversions(synth)] == expected


def test_reads_that_make_a_flush_longer_are_at_the_device_with_it(inversions: Rows) -> None:
    """A record takes 10 µs alone. The backup only reads, so nothing of what is flushed is its."""
    stage = Stage()
    synth, op = stage.synth, OP_WRITE | PREFLUSH | FUA
    for begin in (5, 20):
        synth.io(stage.fg, begin * US, (begin + 10) * US, op=op)
    synth.io(stage.bg, 112 * US, 160 * US, op=0, size=1 << 20)
    io = synth.io(stage.fg, 110 * US, 160 * US, issued=110 * US, op=op)
    synth.sleep(stage.fg, 112 * US, 160 * US, io=io, stack=["folio_wait_writeback"])
    assert [row[:2] for row in inversions(synth)] == [("device", "backup")]


@pytest.mark.parametrize(("flag", "waited"), [(PREFLUSH, [10 * US]), (0, [50 * US])])
def test_a_flush_before_the_data_is_no_wait_behind_others_in_the_queue(
    inversions: Rows, flag: int, waited: list[int]
) -> None:
    """A log write is issued after 50 µs; for 40 of them its flush was at the device."""
    stage = Stage()
    synth = stage.synth
    for at in (110, 130):
        synth.io(stage.bg, at * US, (at + 20) * US, op=0, size=65536)
    synth.io(stage.jbd2, 115 * US, 155 * US, op=OP_FLUSH, size=0)
    io = synth.io(stage.jbd2, 110 * US, 170 * US, issued=160 * US, op=OP_WRITE | flag)
    synth.sleep(stage.fg, 110 * US, 170 * US, io=io, stack=["folio_wait_writeback"])
    found = [row[2] for row in inversions(synth) if row[0] == "queue"]
    assert found == waited


@pytest.mark.parametrize(
    ("who", "expected"),
    [("helper", []), ("another", [("flush", "backup", 20 * US)])],
)
def test_what_a_helper_without_a_role_flushes_for_itself_is_no_excess(
    inversions: Rows, who: str, expected: list[tuple[str, str, int]]
) -> None:
    """A flush of 1 MiB takes 60 µs, of nothing 20; the helper's finds 1 MiB of the backup's too.

    It would have taken as long for what the helper wrote. If another one wrote that, the backup has
    half of the excess.
    """
    stage = Stage()
    synth = stage.synth
    helper, another = synth.task("helper"), synth.task("another")
    synth.io(stage.fg, 2 * US, 22 * US, op=OP_FLUSH, size=0)
    synth.io(stage.fg, 23 * US, 24 * US, size=1 << 20)
    synth.io(stage.fg, 25 * US, 85 * US, op=OP_FLUSH, size=0)
    for writer in ({"helper": helper, "another": another}[who], stage.bg):
        synth.io(writer, 90 * US, 91 * US, size=1 << 20)
    io = synth.io(helper, 110 * US, 170 * US, op=OP_FLUSH, size=0)
    synth.sleep(helper, 112 * US, 170 * US, io=io, stack=["submit_bio_wait"])
    synth.sleep(stage.fg, 105 * US, 171 * US, waker=helper, stack=["futex_wait"])
    assert [row[:3] for row in inversions(synth) if row[0] == "flush"] == expected


def test_a_flush_of_an_empty_cache_is_no_measure_for_one_with_data_of_its_own(
    inversions: Rows,
) -> None:
    """1 µs with an empty cache; 10 µs with the writer's page, alone or with the backup's."""
    stage = Stage()
    synth = stage.synth
    for at in (10, 13, 16):
        synth.io(stage.fg, at * US, (at + 1) * US, op=OP_FLUSH, size=0)
    synth.io(stage.fg, 20 * US, 30 * US)
    synth.io(stage.fg, 40 * US, 50 * US, op=OP_FLUSH, size=0)
    for who in (stage.fg, stage.bg):
        synth.io(who, 60 * US, 70 * US)
    io = synth.io(stage.fg, 110 * US, 120 * US, op=OP_FLUSH, size=0)
    synth.sleep(stage.fg, 112 * US, 120 * US, io=io, stack=["submit_bio_wait"])
    assert inversions(synth) == []
