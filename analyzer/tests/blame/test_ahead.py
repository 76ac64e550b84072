"""Counting ios by bisection, against pairing each window with each io."""

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rcp.analyzer.arrays.tasks import build_tasks
from rcp.analyzer.arrays.trace import Ios
from rcp.analyzer.blame.ahead import Windows, ios_ahead, solo_service_ns
from rcp.analyzer.blame.suspects import Owners, Suspects
from rcp.probes.contract.events import TASK

N_TASKS, PID = 4, 7


def suspects() -> Suspects:
    rows = np.zeros(N_TASKS - 1, TASK.dtype)
    rows["tid"] = rows["pid"] = np.arange(1, N_TASKS)
    rows["comm"] = b"worker"
    return Suspects(build_tasks(rows, [], []))


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


@given(IOS, WINDOWS, st.booleans())
def test_ahead_is_what_pairing_counts(
    rows: list[tuple[int, int, int, int, int]], asked: list[tuple[int, int, int]], by_count: bool
) -> None:
    ios, known = ios_of(rows), suspects()
    lo, dur, dev = np.array(asked, np.int64).T
    nobody = np.full(len(lo), -1, np.int32)
    windows = Windows(lo, lo + dur, dev, np.full(len(lo), PID), nobody)
    owners = Owners(
        np.where(ios.submitter > 0, ios.submitter, -1).astype(np.int32),
        np.ones(len(rows), np.float32),
    )
    ahead = ios_ahead(windows, ios, ios.issued, owners, known, by_count)
    for at in range(len(lo)):
        # Some zero-length ios lie inside a window, none overlaps one it only touches.
        beside = (ios.issued < lo[at] + dur[at]) & (ios.dev == dev[at])
        ended = (ios.completed <= lo[at]) & (ios.dev == dev[at])
        mine = owners.utid >= 0
        count = int((beside & mine).sum()) - int((ended & mine).sum())
        size = int(ios.bytes[beside & mine].sum(dtype=int))
        size -= int(ios.bytes[ended & mine].sum(dtype=int))
        assert (ahead.n_ios[at], ahead.bytes[at]) == (count, size)


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


@pytest.mark.parametrize("by_count", [True, False])
def test_no_question_needs_no_answer(by_count: bool) -> None:
    ios = ios_of([(0, 1, 1, 1, 1)])
    empty = np.zeros(0, np.int64)
    windows = Windows(empty, empty, empty, empty, np.zeros(0, np.int32))
    owners = Owners(ios.submitter, np.ones(1, np.float32))
    assert len(ios_ahead(windows, ios, ios.issued, owners, suspects(), by_count).owner) == 0
