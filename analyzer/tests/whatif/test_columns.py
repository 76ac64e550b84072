"""What is read for a what-if: as views and plain searches have it, in a fraction of their time."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rcp.analyzer.db.store import Store
from rcp.analyzer.loading.opening import open_recording
from rcp.analyzer.whatif.answer import Ready
from rcp.analyzer.whatif.change import blamed_tasks
from rcp.analyzer.whatif.columns import RequestRows, Totals
from rcp.analyzer.whatif.predict import predict
from rcp.analyzer.whatif.recorded import _in_order, positions, read_on_cpu, read_recorded

RECORDINGS = Path(__file__).parents[3] / "fixtures/recordings"
NUMBERS = st.integers(0, 2**63)


@pytest.fixture(scope="module")
def store() -> Store:
    return open_recording(RECORDINGS / "wal-vs-checkpoint.spool.tar.xz")


@given(
    keys=st.sets(NUMBERS, max_size=30) | st.sets(st.integers(5, 40), max_size=30),
    wanted=st.lists(NUMBERS | st.integers(0, 45), max_size=30),
)
def test_positions_are_those_of_the_keys(keys: set[int], wanted: list[int]) -> None:
    ordered = sorted(keys)
    found = positions(np.array(ordered, np.uint64), np.array(wanted, np.uint64))
    assert found.tolist() == [ordered.index(key) if key in keys else -1 for key in wanted]


@given(values=st.lists(st.tuples(st.integers(0, 9), st.integers(0, 2**60)), max_size=6))
def test_totals_are_exact_sums_by_request(values: list[tuple[int, int]]) -> None:
    values.sort()
    request, ns = (np.array([row[at] for row in values], np.int64) for at in (0, 1))
    expected = [sum(dur for of, dur in values if of == number) for number in range(10)]
    assert Totals(request)(ns, 10).tolist() == expected


def test_what_depends_on_columns_alone_is_worked_out_once() -> None:
    calls = []
    none = np.zeros(0, np.int64)
    rows = RequestRows(none, none, none, none, none, none, none)

    def work(of: RequestRows) -> int:
        calls.append(of)
        return len(of)

    assert [rows.once(work), rows.once(work)] == [0, 0]
    assert len(calls) == 1


@given(order=st.permutations(range(12)))
def test_segments_that_come_in_another_order_are_put_in_theirs(order: list[int]) -> None:
    none = np.zeros(0, np.int64)
    requests = RequestRows(none, np.array([1, 2, 4]), none, none, none, none, none)
    rows = {
        "segment_id": np.arange(12)[order],
        "request_id": np.array([1, 1, 1, 4, 4, 2, 2, 2, 2, 4, 4, 4])[order],
    }
    found, request = _in_order(rows, requests)
    assert found["segment_id"].tolist() == [0, 1, 2, 5, 6, 7, 8, 3, 4, 9, 10, 11]
    assert request.tolist() == [0] * 3 + [1] * 4 + [2] * 5


def test_inversions_are_numbered_as_the_view_numbers_them(store: Store) -> None:
    expected = store.query(
        "SELECT rank, sum(inversion.dur)::BIGINT FROM inversion JOIN inversion_pattern"
        " USING (kind, culprit, role, role_rule, pattern) GROUP BY rank ORDER BY rank"
    )
    blamed = read_recorded(store).blamed
    found = [(rank, blamed.dur[blamed.rank == rank].sum()) for rank in np.unique(blamed.rank)]
    assert found == expected


@pytest.mark.parametrize("comm", ["checkpointer", "kworker%", "jbd2%"])
def test_when_tasks_ran_is_as_the_view_has_it(store: Store, comm: str) -> None:
    utids = [utid for (utid,) in store.query("SELECT utid FROM task WHERE comm LIKE $1", [comm])]
    expected = store.query(
        "SELECT utid, cpu, ts, ts + dur FROM on_cpu JOIN task USING (utid) WHERE on_cpu.dur > 0"
        " AND cpu IS NOT NULL AND (list_contains($1::INTEGER[], utid) OR role = 'kernel')",
        [utids],
    )
    for kernel in (None, read_on_cpu(store, ())):
        found = read_on_cpu(store, utids, kernel)
        assert (np.diff(found.ts) >= 0).all()
        rows = zip(found.utid, found.cpu, found.ts, found.end_ns, strict=True)
        assert sorted(rows) == sorted(expected)


def test_a_later_prediction_is_as_if_it_were_the_first(store: Store) -> None:
    ready = Ready(store)
    for _, change in blamed_tasks(store)[:3]:
        later, arrivals = ready.predict(store, change)
        first = predict(read_recorded(store), read_on_cpu(store, change.utids), change, arrivals)
        for name in ("recorded_ns", "predicted_ns", "low_ns", "high_ns"):
            assert np.array_equal(getattr(later, name), getattr(first, name))
