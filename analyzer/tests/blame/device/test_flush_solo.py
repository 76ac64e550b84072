"""A flush alone takes as long as one that found as much data in the cache, whoever wrote that."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rcp.analyzer.tests.blame.found import Found, found
from rcp.fixtures.synth import Synth

US, KIB = 1000, 1024
ROLES = [("background", "comm:backup"), ("foreground", "comm:writer")]
FLUSH, FUA = 2, 1 << 17
FIRST_US, TOOK_US = 30, 90


def flush_beside(own_kib: int, others_kib: int, first_kib: int, first_by: str) -> int:
    """Return the time in ns that is blamed on the backup."""
    return sum(row.dur for row in blamed_beside(own_kib, others_kib, first_kib, first_by))


def blamed_beside(own_kib: int, others_kib: int, first_kib: int, first_by: str) -> list[Found]:
    """A flush of ``first_kib`` takes 30 µs; then one of the writer's and the backup's takes 90."""
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
    return [row for row in found(synth) if row.kind == "flush"]


@pytest.mark.parametrize("first_by", ["writer", "backup", "setup"])
def test_whose_data_another_flush_found_does_not_matter(first_by: str) -> None:
    blamed = flush_beside(own_kib=4, others_kib=1020, first_kib=4, first_by=first_by)
    assert blamed == (TOOK_US - FIRST_US) * US


def test_a_flush_that_found_more_takes_no_less() -> None:
    """None was seen that found 4 KiB, but one of 64 KiB took 30 µs: the excess is 60 or more."""
    blamed = flush_beside(own_kib=4, others_kib=1020, first_kib=64, first_by="setup")
    assert blamed == (TOOK_US - FIRST_US) * US


@pytest.mark.parametrize(("first_kib", "confidence"), [(16, 0.5), (128, 1.0)])
def test_between_two_sizes_it_is_in_proportion(first_kib: int, confidence: float) -> None:
    """16 KiB took 30 µs and 1 MiB takes 90, so 256 KiB would have taken 44.3; 38.6 if 128 KiB did.

    More than eight times is too far for more than a guess.
    """
    (row,) = blamed_beside(own_kib=256, others_kib=768, first_kib=first_kib, first_by="setup")
    usual_us = FIRST_US + (TOOK_US - FIRST_US) * (256 - first_kib) / (1024 - first_kib)
    assert row.dur == pytest.approx((TOOK_US - usual_us) * US, abs=2)
    assert row.confidence == confidence


@pytest.mark.parametrize(("age_us", "blamed_us"), [(3, 85), (5000, 0)])
def test_what_a_device_had_time_to_write_out_says_nothing_of_fresh_data(
    age_us: int, blamed_us: int
) -> None:
    """64 KiB took 5 µs, but after a pause: those of the writer may well take all 90."""
    synth = Synth(ROLES)
    fg, bg, setup = synth.task("writer", target=True), synth.task("backup"), synth.task("setup")
    synth.io(setup, 1 * US, 2 * US, size=64 * KIB)
    first, then = 2 + age_us, 20_000
    synth.io(setup, first * US, (first + 5) * US, op=FLUSH, size=0)
    synth.io(fg, then * US, (then + 1) * US, size=64 * KIB)
    synth.io(bg, then * US, (then + 1) * US, size=8192 * KIB)
    begin, end = (then + 10) * US, (then + 10 + TOOK_US) * US
    io = synth.io(fg, begin, end, op=FLUSH, size=0)
    synth.request(fg, begin - 1 * US, end + 1 * US)
    synth.sleep(fg, begin, end, io=io, stack=["submit_bio_wait"])
    assert sum(row.dur for row in found(synth) if row.kind == "flush") == blamed_us * US


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
