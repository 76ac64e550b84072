"""A scheduler that keeps a device idle for the background delays who waits in its queue."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rcp.analyzer.blame.device.evidence import MODEL_CONFIDENCE
from rcp.analyzer.blame.device.kept_free import covered_ns
from rcp.analyzer.tests.blame.found import Found, found
from rcp.fixtures.synth import Synth

US = 1000
ROLES = [("background", "comm:backup"), ("foreground", "comm:client*")]
FREE_AT = 120
"""When the last io before the wait is done."""


def waits(
    last: str,
    *,
    got: int = 130,
    inserted: int = 130,
    until: int = 400,
    shared: int = 0,
    flushed: str = "",
) -> list[Found]:
    """A client's io is in the scheduler from 130 us on, and issued when the idle time ends."""
    synth = Synth(ROLES)
    ids = {name: synth.task(name) for name in ("client", "client2", "backup", "stranger")}
    flusher = synth.task("kworker/u8:1", kthread=True)
    io = synth.io(flusher if shared else ids[last], 60 * US, FREE_AT * US)
    if shared:
        synth.cause(io, ids["client2"], n_pages=10 - shared, n_causes=2)
        synth.cause(io, ids[last], n_pages=shared, n_causes=2)
    if flushed:
        synth.io(ids[flushed], 122 * US, 128 * US, op=2, size=0)
    end = until + 50
    own = synth.io(
        ids["client"], got * US, end * US, inserted=inserted * US, issued=until * US, op=0
    )
    synth.request(ids["client"], 90 * US, (end + 10) * US, nr=0)
    synth.sleep(ids["client"], got * US, end * US, io=own)
    return [one for one in found(synth) if one.kind == "queue"]


def test_idle_time_is_blamed_on_whom_the_device_served_last() -> None:
    (one,) = waits("backup")
    assert one[:4] == ("queue", "backup", 270 * US, MODEL_CONFIDENCE)


def test_what_was_ahead_before_the_idle_time_is_blamed_for_both() -> None:
    (one,) = waits("backup", got=100)
    assert one[:4] == ("queue", "backup", 300 * US, 1.0)


@pytest.mark.parametrize(("tenths", "share"), [(5, 0.5), (9, 0.9)])
def test_of_a_last_io_with_data_of_two_its_share_counts(tenths: int, share: float) -> None:
    (one,), (whole,) = waits("backup", shared=tenths), waits("backup")
    assert one.dur == pytest.approx(share * whole.dur, abs=1)
    assert one.confidence == whole.confidence


@pytest.mark.parametrize("last", ["client", "client2"])
def test_a_device_kept_free_for_the_foreground_is_nobodys_fault(last: str) -> None:
    assert waits(last) == []


@pytest.mark.parametrize(("last", "flushed"), [("backup", "client"), ("client", "backup")])
def test_a_flush_is_nothing_that_a_scheduler_sees(last: str, flushed: str) -> None:
    assert waits(last, flushed=flushed) == waits(last)


def test_handing_an_io_over_takes_time_too() -> None:
    assert waits("backup", until=175) == []
    assert [one.dur for one in waits("backup", until=185)] == [55 * US]


def test_before_it_is_in_the_scheduler_an_io_waits_for_its_submitter() -> None:
    assert waits("backup", inserted=0) == []  # it never was
    assert waits("backup", inserted=380) == []
    assert [one.dur for one in waits("backup", inserted=300)] == [100 * US]


INTERVALS = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 12)), max_size=8)


@given(INTERVALS, st.integers(0, 50), st.integers(0, 30))
def test_time_that_several_cover_counts_once(
    intervals: list[tuple[int, int]], lo: int, length: int
) -> None:
    """Against a sheet of paper with a column for each nanosecond."""
    covered = np.zeros(100, bool)
    for first, dur in intervals:
        covered[first : first + dur] = True
    begin = np.array([one for one, _ in intervals], np.int64)
    end = np.array([one + dur for one, dur in intervals], np.int64)
    seen = covered_ns(begin, end, np.array([lo]), np.array([lo + length]))
    assert seen.tolist() == [int(covered[lo : lo + length].sum())]
