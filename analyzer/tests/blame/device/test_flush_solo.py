"""A flush alone takes as long as one that found as much data in the cache, whoever wrote that."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rcp.analyzer.tests.blame.found import found
from rcp.fixtures.synth import Synth

US, KIB = 1000, 1024
ROLES = [("background", "comm:backup"), ("foreground", "comm:writer")]
FLUSH, FUA = 2, 1 << 17
FIRST_US, TOOK_US = 30, 90


def flush_beside(own_kib: int, others_kib: int, first_kib: int, first_by: str) -> int:
    """A flush of ``first_kib`` takes 30 µs; then one of the writer's and the backup's takes 90.

    Return the time in ns that is blamed on the backup.
    """
    synth = Synth(ROLES)
    task = {comm: synth.task(comm) for comm in ("backup", "setup")}
    task["writer"] = fg = synth.task("writer", target=True)
    synth.io(fg, 1 * US, 2 * US, op=FLUSH, size=0)
    synth.io(task[first_by], 3 * US, 4 * US, size=first_kib * KIB)
    synth.io(fg, 10 * US, (10 + FIRST_US) * US, op=FLUSH, size=0)
    synth.io(fg, 60 * US, 61 * US, size=own_kib * KIB)
    if others_kib:
        synth.io(task["backup"], 62 * US, 63 * US, size=others_kib * KIB)
    io = synth.io(fg, 110 * US, (110 + TOOK_US) * US, op=FLUSH, size=0)
    synth.request(fg, 100 * US, 300 * US)
    synth.sleep(fg, 110 * US, (110 + TOOK_US) * US, io=io, stack=["submit_bio_wait"])
    return sum(row.dur for row in found(synth) if row.kind == "flush")


@pytest.mark.parametrize("first_by", ["writer", "backup", "setup"])
def test_whose_data_another_flush_found_does_not_matter(first_by: str) -> None:
    blamed = flush_beside(own_kib=4, others_kib=1020, first_kib=4, first_by=first_by)
    # Of the excess, the backup is to blame for its part of the bytes.
    assert blamed == pytest.approx((TOOK_US - FIRST_US) * US * 1020 / 1024, abs=2)


def test_a_flush_that_found_more_takes_no_less() -> None:
    """None was seen that found 4 KiB, but one of 64 KiB took 30 µs: the excess is 60 or more."""
    blamed = flush_beside(own_kib=4, others_kib=1020, first_kib=64, first_by="setup")
    assert blamed == pytest.approx((TOOK_US - FIRST_US) * US * 1020 / 1024, abs=2)


@given(st.integers(4, 4096), st.integers(0, 4096))
def test_only_data_of_others_that_makes_a_difference_is_blamed(own: int, others: int) -> None:
    """As slow as one that found as much by itself: no excess."""
    own, others = own // 4 * 4, others // 4 * 4
    blamed = flush_beside(own, others, first_kib=4, first_by="writer")
    total = own + others
    assert blamed <= TOOK_US * US * others / total + 1
    if (own // 4).bit_length() == (total // 4).bit_length():
        assert blamed == 0


def test_what_is_at_the_device_with_a_flush_does_not_make_it_longer() -> None:
    """The writer's own 1 MiB takes 90 µs; a block of the backup's is there meanwhile."""
    synth = Synth(ROLES)
    fg, bg = synth.task("writer", target=True), synth.task("backup")
    synth.io(fg, 1 * US, 2 * US, op=FLUSH, size=0)
    for begin in (60, 200):
        synth.io(fg, begin * US, (begin + 1) * US, size=1024 * KIB)
        synth.io(bg, (begin + 20) * US, (begin + 30) * US)
        io = synth.io(fg, (begin + 10) * US, (begin + 100) * US, op=FLUSH, size=0)
    synth.request(fg, 205 * US, 320 * US)
    synth.sleep(fg, 210 * US, 300 * US, io=io, stack=["submit_bio_wait"])
    assert found(synth) == []
