"""Counting ios by bisection, against pairing each window with each io."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rcp.analyzer.arrays.trace import Ios
from rcp.analyzer.blame.ahead import Windows, ios_ahead
from rcp.analyzer.blame.by_owner import UNIT, Measure
from rcp.analyzer.blame.device.solo import solo_service_ns
from rcp.analyzer.blame.owners import Owners
from rcp.analyzer.blame.suspects import Suspects
from rcp.analyzer.loading.task_table import build_tasks
from rcp.probes.contract.events import TASK

N_TASKS, PID = 4, 7


def suspects() -> Suspects:
    rows = np.zeros(N_TASKS - 1, TASK.dtype)
    rows["tid"] = rows["pid"] = np.arange(1, N_TASKS)
    rows["comm"] = b"worker"
    return Suspects(build_tasks(rows, [], [], 0))


def ios_of(rows: Sequence[tuple[int, int, int, int, int]]) -> Ios:
    """Ios from (issued, duration, bytes, device, owner)."""
    issued, dur, size, dev, owner = np.array(rows, np.int64).reshape(-1, 5).T
    return Ios(
        submitter=owner.astype(np.int32),
        queued=issued,
        got=issued,
        issued=issued,
        completed=issued + dur,
        bytes=size.astype(np.uint32),
        dev=dev.astype(np.uint32),
        op=np.ones(len(rows), np.uint8),
        asks_flush=np.zeros(len(rows), bool),
        to_media=np.zeros(len(rows), bool),
        throttled=np.zeros(len(rows), bool),
    )


IOS = st.lists(
    st.tuples(
        st.integers(0, 30),
        st.integers(0, 9),
        st.integers(0, 1 << 32 - 1),
        st.integers(1, 2),
        st.integers(-1, N_TASKS - 1),
    ),
    min_size=1,
    max_size=20,
)
WINDOWS = st.lists(
    st.tuples(st.integers(0, 30), st.integers(1, 9), st.integers(1, 3)), min_size=1, max_size=8
)


def pairs(ios: Ios, of: np.ndarray, lo: int, hi: int, dev: int) -> tuple[float, float, float]:
    """Ios, bytes and time held of the ios that overlap [lo, hi); of each io only its part ``of``.

    An io of length zero overlaps a window it lies in, and none that it only touches.
    """
    there = (ios.dev == dev) & (ios.issued < hi)
    gone = (ios.dev == dev) & (ios.completed <= lo)
    begin, end = np.clip(ios.issued, lo, hi), np.clip(ios.completed, lo, hi)
    weight = np.rint(of * UNIT) / UNIT
    size = np.rint(ios.bytes * of.astype(np.float32)).astype(np.int64)
    return (
        float(weight[there].sum() - weight[gone].sum()),
        int(size[there].sum()) - int(size[gone].sum()),
        float((weight * (end - begin) * (ios.dev == dev)).sum()),
    )


MEASURES = st.sampled_from(("bytes", "ios", "held"))
PARTS = st.lists(st.integers(0, 10), min_size=20, max_size=20)


@given(IOS, WINDOWS, PARTS, MEASURES)
def test_ahead_is_what_pairing_adds_up(
    rows: list[tuple[int, int, int, int, int]],
    asked: list[tuple[int, int, int]],
    parts: list[int],
    measure: Measure,
) -> None:
    ios, known = ios_of(rows), suspects()
    lo, dur, dev = np.array(asked, np.int64).T
    nobody = np.full(len(lo), -1, np.int32)
    windows = Windows(lo, lo + dur, dev, np.full(len(lo), PID), nobody)
    utid = np.where(ios.submitter > 0, ios.submitter, -1).astype(np.int32)
    share = (np.array(parts[: len(rows)]) / 10).astype(np.float32)
    ahead = ios_ahead(windows, ios, ios.issued, Owners(utid, share), known, measure)
    for at in range(len(lo)):
        window = int(lo[at]), int(lo[at] + dur[at]), int(dev[at])
        n_ios, size, held = pairs(ios, np.where(utid >= 0, share, 0), *window)
        n_all, size_all, held_all = pairs(ios, np.ones(len(rows)), *window)
        beside = ahead.beside
        assert (beside.n_ios[at], beside.bytes[at]) == (n_ios, size)
        if ahead.owner[at] < 0:
            continue
        assert (beside.n_all[at], beside.bytes_all[at]) == (n_all, size_all)
        expected = {
            "bytes": size / size_all if size_all else n_ios / n_all,
            "ios": n_ios / n_all if n_all else 0,
            "held": held / held_all if held_all else 0,
        }[measure]
        assert ahead.share[at] == pytest.approx(np.clip(expected, 0, 1))


@given(IOS, WINDOWS, PARTS, MEASURES)
def test_an_io_is_not_ahead_of_itself_whosever_it_is(
    rows: list[tuple[int, int, int, int, int]],
    asked: list[tuple[int, int, int]],
    parts: list[int],
    measure: Measure,
) -> None:
    """Of a suspect's io behind another one, a report said: 2 of 1 io ahead."""
    ios, known = ios_of(rows), suspects()
    lo, dur, _ = np.array(asked, np.int64).T
    share = (np.array(parts[: len(rows)]) / 10).astype(np.float32)
    utid = np.where((ios.submitter > 0) & (share > 0), ios.submitter, -1).astype(np.int32)
    for waits in range(len(rows)):
        others = np.flatnonzero(np.arange(len(rows)) != waits)
        at = np.full(len(lo), ios.dev[waits], np.int64), np.full(len(lo), PID)
        windows = Windows(lo, lo + dur, *at, np.full(len(lo), waits, np.int32))
        ahead = ios_ahead(windows, ios, ios.issued, Owners(utid, share), known, measure)
        without = ios_of([rows[other] for other in others])
        nobody = replace(windows, io=np.full(len(lo), -1, np.int32))
        owners = Owners(utid[others], share[others])
        expected = ios_ahead(nobody, without, without.issued, owners, known, measure)
        assert np.array_equal(ahead.beside.n_ios, expected.beside.n_ios)
        assert (ahead.beside.n_ios <= ahead.beside.n_all).all()
        assert np.array_equal(ahead.share, expected.share)


DAY = 86_400_000_000_000


@given(IOS, WINDOWS, st.integers(0, 1 << 62))
def test_shares_of_time_are_exact_however_late_it_is(
    rows: list[tuple[int, int, int, int, int]], asked: list[tuple[int, int, int]], boot: int
) -> None:
    """Sums of times exceed 64 bits; the time held does not, in a day and among many ios."""
    lo, dur, dev = np.array(asked, np.int64).T
    nobody = np.full(len(lo), -1, np.int32)
    shares = []
    for begin, unit in ((0, 1), (boot, 1), (0, DAY // 100)):
        ios = ios_of([(begin + i * unit, d * unit, b, v, o) for i, d, b, v, o in rows])
        windows = Windows(
            begin + lo * unit, begin + (lo + dur) * unit, dev, np.full(len(lo), PID), nobody
        )
        owners = Owners(
            np.where(ios.submitter > 0, ios.submitter, -1).astype(np.int32),
            np.full(len(rows), 0.3, np.float32),
        )
        shares.append(ios_ahead(windows, ios, ios.issued, owners, suspects(), "held").share)
    assert np.allclose(shares[0], shares[1])
    assert np.allclose(shares[0], shares[2])


@given(IOS)
def test_solo_time_is_of_ios_that_no_other_overlapped(
    rows: list[tuple[int, int, int, int, int]],
) -> None:
    # All alike, so that the median is over all that ran alone.
    ios = ios_of([(issued, dur + 1, 4096, 1, owner) for issued, dur, _, _, owner in rows])
    alone = [
        int(ios.completed[one] - ios.issued[one])
        for one in range(len(rows))
        if not any(
            ios.issued[other] < ios.completed[one] and ios.completed[other] > ios.issued[one]
            for other in range(len(rows))
            if other != one
        )
    ]
    solo, guessed = solo_service_ns(ios)
    service = ios.completed - ios.issued
    expected = sorted(alone)[len(alone) // 2] if alone else int(service.min())
    assert solo.tolist() == [expected] * len(rows)
    assert guessed.tolist() == [not alone] * len(rows)


@pytest.mark.parametrize("measure", ["bytes", "ios", "held"])
def test_no_question_needs_no_answer(measure: Measure) -> None:
    ios = ios_of([(0, 1, 1, 1, 1)])
    empty = np.zeros(0, np.int64)
    windows = Windows(empty, empty, empty, empty, np.zeros(0, np.int32))
    owners = Owners(ios.submitter, np.ones(1, np.float32))
    assert len(ios_ahead(windows, ios, ios.issued, owners, suspects(), measure).owner) == 0
