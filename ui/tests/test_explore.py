"""The schema as a page shows it, and the answers to a user's queries."""

from collections.abc import Callable
from typing import Any

import pytest

from rcp.analyzer.db.modules import read_modules
from rcp.analyzer.db.sandbox import Limits
from rcp.fixtures.explored import one_request
from rcp.fixtures.synth import Synth
from rcp.ui.info import explore
from rcp.ui.info.explore import Answer, Field, answer

Page = Callable[..., Any]
LIMITS = Limits(seconds=30, rows=2)


def test_every_documented_relation_is_offered_once(load: Any) -> None:
    found = explore.relations(load(Synth()))
    assert sorted(one.name for one in found) == sorted(module.name for module in read_modules())
    assert found[0].layer == "base"


def test_fields_are_in_order_and_explained(load: Any) -> None:
    fields = explore.fields(load(Synth()), "meta")
    assert fields == [
        Field("key", "VARCHAR", "name of the fact"),
        Field("value", "VARCHAR", "its value, as JSON"),
    ]


def test_examples_run(load: Any) -> None:
    store = load(one_request())
    for _, sql in explore.EXAMPLES:
        assert answer(store, sql, LIMITS).columns


def test_numbers_stay_numbers_where_a_browser_is_exact(load: Any) -> None:
    sql = "SELECT 1 AS a, 2::UBIGINT ** 63 AS b, [3] AS c, NULL AS d, true AS e, 9007199254740993 f"
    found = answer(load(Synth()), sql, LIMITS)
    assert found == Answer(
        columns=["a", "b", "c", "d", "e", "f"],
        is_number=[True, True, False, False, False, False],
        rows=[(1, 2.0**63, "[3]", None, "True", "9007199254740993")],
        is_cut=False,
    )


def test_files_hold_what_the_page_does_not_show(load: Any) -> None:
    store = load(Synth())
    sql = "SELECT range AS n, '<b>' AS text FROM range(3)"
    assert answer(store, sql, LIMITS).is_cut
    assert explore.saved_csv(store, sql, explore.SAVED) == b"n,text\n0,<b>\n1,<b>\n2,<b>\n"
    assert explore.saved_parquet(store, sql, explore.SAVED).startswith(b"PAR1")


def test_a_link_with_a_query_shows_its_rows(page: Page, saved: Any) -> None:
    sql = "SELECT '**bold**' AS \"<i>\", count(*) AS n FROM request"
    shown = page("sql", saved(one_request(), "one.duckdb"), sql=sql, table="sleep")
    assert not shown.exception
    assert not shown.error
    rows, schema = (frame.value for frame in shown.dataframe)
    assert rows.values.tolist() == [["**bold**", 1]]
    assert "sleep_id" in schema["name"].tolist()


def test_a_query_that_runs_for_ever_is_one_line(
    page: Page, saved: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(explore, "SHOWN", Limits(seconds=0.2, rows=10))
    sql = "SELECT count(*) FROM range(1000000000) a, range(1000) b"
    shown = page("sql", saved(one_request(), "one.duckdb"), sql=sql)
    assert not shown.exception
    (error,) = shown.error
    assert "the query was stopped after 0.2 s" in error.value.replace("\\", "")
    assert "\n" not in error.value
