"""A pattern of inversions has one number: in the report, the what-ifs and the explorer."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rcp.analyzer.db.part import part_of
from rcp.analyzer.db.queries import query
from rcp.analyzer.db.store import Store
from rcp.analyzer.loading.load import load_in_memory
from rcp.analyzer.tests.whatif.worlds import two_culprits
from rcp.analyzer.whatif.recorded import read_recorded
from rcp.ui.queries import query as ui_query
from rcp.ui.source import prepare_requests

_COLUMNS = "kind, culprit, role, role_rule, pattern"
_INSERT = (
    f"INSERT INTO inversion (inversion_id, request_id, {_COLUMNS}, dur, confidence)"
    " VALUES ($1, 1, $2, $3, $4, $5, $6, $7, 1)"
)
Pattern = tuple[str, str, str, str, str, int]
"""The columns, and the time of its only inversion in ns."""

EQUALS = st.sets(
    st.tuples(*(st.sampled_from("ab") for _ in range(5)), st.integers(1, 2)),
    min_size=2,
    max_size=12,
)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    folder: Path = tmp_path_factory.mktemp("numbers")
    with load_in_memory(two_culprits().write(folder / "x.spool")) as found:
        prepare_requests(found)
        yield found


def put(store: Store, patterns: list[Pattern]) -> None:
    """Let a recording have these inversions alone, in this order."""
    store.write("DELETE FROM inversion")
    for number, pattern in enumerate(patterns):
        store.write(_INSERT, [number, *pattern])
    store.write("DROP TABLE IF EXISTS digest.pattern")
    store.write(ui_query("digest/pattern"))


@given(patterns=EQUALS.flatmap(lambda found: st.permutations(sorted(found))))
def test_patterns_that_took_as_long_have_one_order_everywhere(
    store: Store, patterns: list[Pattern]
) -> None:
    put(store, patterns)
    costs: dict[tuple[str, ...], int] = {}
    for *of, dur in patterns:
        costs[tuple(of)] = costs.get(tuple(of), 0) + dur
    expected = sorted(costs, key=lambda of: (-costs[of], of[4], *of[:4]))
    assert store.query(f"SELECT {_COLUMNS} FROM inversion_pattern ORDER BY rank") == expected
    assert store.query(f"SELECT {_COLUMNS} FROM digest.pattern ORDER BY pattern_id") == expected
    with part_of(store, [1]) as part:
        assert part.query(f"SELECT {_COLUMNS} FROM pattern_number ORDER BY rank") == expected
        assert part.query(f"SELECT {_COLUMNS} FROM inversion_pattern ORDER BY rank") == expected
    kind, culprit, role, _, pattern = expected[0]
    assert store.query(query("answer/culprit")) == [(kind, culprit, role, pattern)]
    ranks = [expected.index(tuple(of)) + 1 for *of, _ in patterns]
    assert sorted(read_recorded(store).blamed.rank.tolist()) == sorted(ranks)
