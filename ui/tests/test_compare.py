"""Two recordings beside each other: what changed, and what of it is more than chance."""

import math
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qsl

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rcp.analyzer.compare.by_kind import Tally
from rcp.analyzer.compare.diff import compare
from rcp.analyzer.compare.render import verdict
from rcp.analyzer.db.store import Store
from rcp.analyzer.reports.answer import answer
from rcp.fixtures.explored import one_request
from rcp.fixtures.synth import FDATASYNC, FSYNC, Synth
from rcp.ui.charts import compare as charts
from rcp.ui.info import overview
from rcp.ui.info.compare import N_STRETCHES, Compared, compared, half_interval, side, sizes
from rcp.ui.info.inversions import pattern_key
from rcp.ui.tests.test_screens import said

Page = Callable[..., Any]
FG = "foreground"


def recording(n: int, wait_ns: int, culprit: str = "checkpointer", spread_ns: int = 0) -> Synth:
    """*n* requests of 1000 ns more than they wait for *culprit*; every other one longer."""
    synth = Synth([("background", f"comm:{culprit}")])
    fg = synth.task("writer", tid=10, target=True)
    bg = synth.task(culprit, tid=20)
    synth.sleep(bg, 1, 2)
    for at in range(n):
        ts = 10_000 * (at + 1)
        wait = wait_ns + (spread_ns if at // 10 % 2 else -spread_ns)
        synth.request(fg, ts, ts + 1000 + wait)
        if wait:
            synth.sleep(fg, ts + 500, ts + 500 + wait, waker=bg)
    return synth


def sides(load: Any, a: Synth, b: Synth) -> Compared:
    of_a, of_b = side(load(a), FG, ""), side(load(b), FG, "")
    assert of_a is not None
    assert of_b is not None
    return compared(of_a, of_b, ("A", "B"), "fsync", FG)


def test_no_requests_are_no_side(load: Any) -> None:
    assert side(load(Synth()), FG, "") is None


def test_a_side_counts_by_stretch(load: Any) -> None:
    found = side(load(recording(100, 2000)), FG, "")
    assert found is not None
    assert found.stretches == [5] * 20
    assert found.measured.load.n == 100
    assert found.measured.load.total_ns == 100 * 3000
    assert sum(sum(parts.values()) for parts in found.reasons.values()) == 100 * 3000
    assert all(set(parts) == set(range(20)) for parts in found.reasons.values())


@given(n=st.integers(1, 2000))
def test_stretches_are_those_of_ntile(n: int) -> None:
    parts = "SELECT ntile($2) OVER (ORDER BY n) AS part FROM range($1) t(n)"
    sql = f"SELECT count(*) FROM ({parts}) GROUP BY part ORDER BY part"
    with Store.create(None, schema=["SELECT 1"]) as store:
        expected = store.query(sql, [n, N_STRETCHES])
    assert sizes(n) == [many for (many,) in expected]


def test_a_request_counts_once_for_a_culprit_of_two_role_rules(load: Any) -> None:
    """Its two inversions of one pattern are by threads that have one name, but two rules."""
    synth = Synth([("background", "pid:20"), ("background", "pid:30")])
    fg = synth.task("writer", tid=10, target=True)
    for tid in (20, 30):
        synth.sleep(synth.task("backup", tid=tid), 1, 2)
    for at in range(1, 101):
        ts = 10_000 * at
        synth.request(fg, ts, ts + 5000)
        for culprit, begin, dur in ((20, 500, 1000), (30, 3000, 1200)):
            if culprit == 20 or at % 2:
                synth.sleep(fg, ts + begin, ts + begin + dur, waker=culprit)
    store = load(synth)
    rules = store.query("SELECT role_rule, count(*) FROM inversion GROUP BY ALL ORDER BY ALL")
    assert rules == [("pid:20", 100), ("pid:30", 50)]
    found = side(store, FG, "")
    assert found is not None
    (pattern,) = found.known
    assert found.measured.patterns == {pattern: Tally(100, 100 * 1000 + 50 * 1200)}
    assert found.measured.culprits == {"condition by backup": Tally(100, 160_000)}
    of = found.known[pattern]
    # The longest inversion is by the second thread.
    assert found.keys[pattern] == pattern_key(of.kind, of.culprit, "pid:30", of.pattern)


def test_the_interval_comes_of_how_stretches_differ() -> None:
    # Means 4 and 6 in turn: variance 20/19; 1 in all stretches of B: none. A request each.
    a = {at: 4 if at % 2 else 6 for at in range(20)}
    sizes = [5] * 20
    fives = {at: 5 * value for at, value in a.items()}
    half = half_interval(fives, dict.fromkeys(range(20), 5), sizes, sizes)
    assert half == pytest.approx(2.093 * math.sqrt(20 / 19 / 20))


def test_few_requests_promise_nothing() -> None:
    assert half_interval({}, {}, [4] * 20, [5] * 20) is None


def test_the_screen_says_what_diff_and_the_report_say(load: Any) -> None:
    a, b = recording(100, 4000), recording(100, 2000, "backup")
    told = compare(load(a), load(b))
    assert sides(load, a, b).verdict == verdict(told)
    (kind,) = told.kinds
    for store, delayed in ((load(a), kind.a_delayed), (load(b), kind.b_delayed)):
        first, totals = answer(store), overview.totals(store, FG, "")
        assert (first.n_held_up, first.share) == delayed
        assert (totals.n_held_up, totals.share) == delayed


def test_a_culprit_that_is_gone_and_one_that_came(load: Any) -> None:
    found = sides(load, recording(100, 4000, "checkpointer"), recording(100, 2000, "backup"))
    (gone,), (new,) = found.vanished, found.appeared
    assert gone.pattern is not None
    assert new.pattern is not None
    assert (gone.pattern.culprit, gone.change.a_ns, gone.change.b_ns) == ("checkpointer", 4000, 0)
    assert (new.pattern.culprit, new.change.a_ns, new.change.b_ns) == ("backup", 0, 2000)
    assert gone.is_significant
    assert gone.change.a_per_1000 == 1000
    assert 0 < (gone.confidence or 0) <= 1
    assert not found.changed
    assert "gone: " in found.verdict


def test_a_change_within_the_spread_is_not_beyond_chance(load: Any) -> None:
    found = sides(load, recording(200, 4000, spread_ns=1500), recording(200, 4100, spread_ns=1500))
    (pattern,) = found.changed
    assert pattern.change.delta_ns == pytest.approx(100)
    assert not pattern.is_significant


def test_a_recording_beside_itself_has_not_changed(load: Any) -> None:
    found = sides(load, recording(100, 4000), recording(100, 4000))
    assert (found.vanished, found.appeared, found.changed) == ([], [], [])
    assert all(shift.change.delta_ns == 0 for shift in found.reasons)


def test_pictures_hold_both_recordings_and_the_intervals(load: Any) -> None:
    found = sides(load, recording(100, 4000), recording(10, 2000))
    rows = charts.reasons(found.reasons, False)["datasets"]["reasons"]
    assert {row["interval"] for row in rows} == {"too few requests"}
    assert charts.ccdf([[], []], ["A", "B"], True)["datasets"]["points"] == []


def test_without_a_second_recording_the_page_says_what_to_do(page: Page, saved: Any) -> None:
    words = said(page("compare", saved(one_request(), "one.duckdb")))
    assert "Choose a second recording" in words.replace("\\", "")


def test_the_page_tells_what_vanished_and_what_appeared(page: Page, saved: Any) -> None:
    hostile = "<b>**x**"
    before = saved(recording(100, 4000, "checkpointer"), "before.duckdb")
    shown = page("compare", before, saved(recording(100, 2000, hostile), "after.duckdb"))
    assert not shown.exception
    assert not shown.error
    words = said(shown).replace("\\", "")
    assert "Only in A" in words
    assert "Only in B" in words
    assert "condition by checkpointer: -4.00 µs" in words
    assert f"by {hostile}: +2.00 µs" in words


def two_chains(wait_ns: int) -> Synth:
    """100 requests, each other one of another kind, that wait for the same thread."""
    synth = Synth([("background", "comm:checkpointer")])
    fg = synth.task("writer", tid=10, target=True)
    bg = synth.task("checkpointer", tid=20)
    synth.sleep(bg, 1, 2)
    for at in range(100):
        ts = 10_000 * (at + 1)
        synth.request(fg, ts, ts + 1000 + wait_ns, nr=FSYNC if at % 2 else FDATASYNC)
        synth.sleep(fg, ts + 500, ts + 500 + wait_ns, waker=bg)
    return synth


def test_a_patterns_link_leads_to_its_own_requests(page: Page, saved: Any, visit: Page) -> None:
    a, b = saved(two_chains(4000), "a.duckdb"), saved(two_chains(2000), "b.duckdb")
    shown = page("compare", a, b)
    links = [e.proto for e in shown.main if "Requests in " in str(getattr(e, "proto", ""))]
    found = [dict(parse_qsl(link.query_string)) for link in links]
    assert [params["file"] for params in found] == [str(a), str(b)] * 2
    # Of one kind and culprit, but of two patterns, each with the same key in both recordings.
    assert {(params["inversion"], params["culprit"]) for params in found} == {
        ("condition", "checkpointer")
    }
    keys = [params["pattern"] for params in found]
    assert keys[0] == keys[1] != keys[2] == keys[3]
    for params in found[::2]:
        listed = visit(page("overview", a, b), "inversions", **params)
        assert not listed.exception
        assert "Delayed requests" in said(listed)


def test_a_recording_without_such_requests_is_named(page: Page, saved: Any) -> None:
    shown = page("compare", saved(one_request(), "one.duckdb"), saved(Synth(), "empty.duckdb"))
    assert not shown.exception
    assert "B: empty.duckdb has no finished requests" in said(shown).replace("\\", "")
