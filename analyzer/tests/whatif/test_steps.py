"""What is computed for all rows at once is what a step for each row gives."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rcp.analyzer.arrays.trace import Times
from rcp.analyzer.whatif.columns import Floats, IoRows, RequestRows
from rcp.analyzer.whatif.waits.backlog import saved_without
from rcp.analyzer.whatif.waits.device_time import _last, _summed, _up_to
from rcp.analyzer.whatif.waits.undisturbed import _middle

NS = st.integers(0, 50)
PARTS = st.sampled_from((0.0, 0.1, 1 / 3, 0.5, 0.999, 1.0))


@st.composite
def ios(draw: st.DrawFn) -> tuple[IoRows, Floats]:
    """Ios of two devices, and a culprit's part of each."""
    rows = draw(st.lists(st.tuples(st.integers(0, 1), NS, NS, NS, NS, PARTS), max_size=20))
    columns = list(zip(*rows, strict=True)) or [()] * 6
    dev, queued, waits, takes, solo = (np.array(column, np.int64) for column in columns[:5])
    issued, none = queued + waits, np.zeros(len(rows), np.int64)
    return IoRows(
        dev=dev,
        op=none,
        bytes=none,
        submitter=none,
        helper=none,
        is_by_kernel=none.astype(bool),
        queued=queued,
        got=queued,
        issued=issued,
        completed=issued + takes,
        asks_flush=none.astype(bool),
        to_media=none.astype(bool),
        solo_ns=solo,
        own_read_ns=none,
    ), np.array(columns[5], np.float64)


def served_again(disks: IoRows, on: Times, part: Floats) -> list[int]:
    """Serve one io after the other, in the order of their completion."""
    saved = []
    last = done = 0
    for io in on.tolist():
        queued, completed = int(disks.queued[io]), int(disks.completed[io])
        alone = int(min(disks.solo_ns[io], completed - disks.issued[io]))
        added = completed - max(queued, last)
        last = completed
        if part[io] < 1:
            served = max(queued, done) + round(added * (1 - part[io]))
            done = max(served, queued + alone) if part[io] == 0 else served
        saved.append(completed - done)
    return saved


@given(ios())
def test_a_backlog_is_served_as_io_by_io(given_ios: tuple[IoRows, Floats]) -> None:
    disks, part = given_ios
    expected = np.zeros(len(disks), np.int64)
    for dev in np.unique(disks.dev):
        on = np.flatnonzero(disks.dev == dev)
        if part[on].any():
            on = on[np.argsort(disks.completed[on], kind="stable")]
            expected[on] = served_again(disks, on, part)
    assert saved_without(disks, part).tolist() == expected.tolist()


@given(
    moments=st.lists(st.integers(10, 60), min_size=1, max_size=20),
    when=st.lists(st.integers(0, 70), max_size=20),
    data=st.data(),
)
def test_sums_between_moments_are_interpolated(
    moments: list[int], when: list[int], data: st.DataObject
) -> None:
    rates = data.draw(st.lists(PARTS, min_size=len(moments), max_size=len(moments)))
    times, asked = np.sort(np.array(moments, np.int64)), np.array(when, np.int64)
    gaps = np.diff(times, append=times[-1:])
    total = _summed(np.array(rates), gaps)
    found = _up_to(total, gaps, *_last(times, asked))
    assert found.tolist() == np.interp(asked, times, total).tolist()


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 2**50)), min_size=1, max_size=20))
def test_the_middle_of_each_kind_is_its_median(rows: list[tuple[int, int]]) -> None:
    kind, dur = (np.array(column, np.int64) for column in zip(*rows, strict=True))
    requests = RequestRows(kind, kind, kind, kind, kind, dur, dur)
    found = _middle(requests, kind, 5)
    assert all(found[number] == np.median(dur[kind == number]) for number in np.unique(kind))
