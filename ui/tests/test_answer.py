"""The overview begins with the answer, in the words and numbers of the report."""

from collections.abc import Callable
from typing import Any

import pytest

from rcp.analyzer.db.store import Store, open_store
from rcp.analyzer.latencies.slo import parse
from rcp.analyzer.reports.report import report
from rcp.fixtures.explored import durations, journal, one_request
from rcp.fixtures.synth import Synth
from rcp.probes.contract.events import SOCKET_REQUEST_NR
from rcp.probes.contract.percent import percent
from rcp.ui.info import answer, inversions, overview
from rcp.ui.tests.test_screens import said

Load = Callable[[Synth], Store]
Page = Callable[..., Any]
OF = ("foreground", "")


def nested() -> Synth:
    """A transaction with a delayed fsync inside, an unfinished one with a delayed fsync, and a
    request inside one of its own name."""
    synth = Synth([("background", "comm:checkpointer")])
    writer = synth.task("writer", tid=10, target=True)
    other = synth.task("other", tid=11, target=True)
    holder = synth.task("checkpointer", tid=20)
    synth.sleep(holder, 1, 2)
    synth.request(writer, 1000, 9000, nr=SOCKET_REQUEST_NR)
    synth.request(writer, 2000, 5000)
    synth.request(other, 1000, 0, nr=SOCKET_REQUEST_NR)
    synth.request(other, 2000, 5000)
    synth.request(writer, 20_000, 30_000)
    synth.request(writer, 21_000, 29_000)
    for task in (writer, other):
        synth.sleep(task, 2500, 4500, waker=holder, stack=["down_read"])
    synth.sleep(writer, 22_000, 23_000, waker=holder, stack=["down_read"])
    return synth


@pytest.mark.parametrize("made", [one_request(), journal(3), durations(5, 6), Synth(), nested()])
def test_tiles_have_the_numbers_of_the_reports_sentence(load: Load, made: Synth) -> None:
    store = load(made)
    told, totals = answer.answer(store), overview.totals(store, *OF)
    assert (totals.n, totals.n_held_up) == (told.n_foreground, told.n_held_up)
    assert totals.share == told.share


def test_the_page_begins_with_the_reports_sentence(page: Page, saved: Any) -> None:
    path = saved(journal(3), "three.duckdb")
    with open_store(path) as store:
        first = report(store).answer
    app = page("overview", path)
    assert f"**{first.sentence}**" in said(app)
    tiles = {tile.label: tile.value for tile in app.metric}
    assert tiles == {
        "requests": str(first.n_foreground),
        "delayed": str(first.n_held_up),
        "of their time": percent(first.share, 0),
    }


def test_the_worst_patterns_are_those_the_inversions_begin_with(load: Load) -> None:
    store = load(journal(3))
    found = answer.worst(store, *OF, 0.5)
    assert [one.pattern for one in found] == inversions.patterns(store, *OF, inversions.Filter())
    (gain,) = [one.gain for one in found]
    assert gain is not None
    assert (gain.now_ns, gain.without_ns) == (1000, 1000 - 740)


def test_a_worst_pattern_is_one_click_from_its_requests(
    page: Page, visit: Page, saved: Any
) -> None:
    app = page("overview", saved(journal(30), "many.duckdb"))
    words = said(app)
    assert "without it p50 would fall from 1.00 µs to 260 ns at best" in words
    (link,) = [
        element.proto
        for element in app.main
        if getattr(getattr(element, "proto", None), "label", "").startswith("fsync waits for")
    ]
    assert "pattern=" in link.query_string


@pytest.mark.parametrize(
    ("n", "slo", "share"),
    [
        (5, "", None),
        (20, "", 0.5),
        (999, "", 0.9),
        (1000, "", 0.99),
        (9_999, "p999=1ms", 0.99),
        (10_000, "p999=1ms", 0.999),
        (10_000, "max=1ms", 0.99),
    ],
)
def test_gains_are_told_at_a_quantile_with_enough_requests(
    n: int, slo: str, share: float | None
) -> None:
    assert answer.judged_share(n, parse(slo) if slo else ()) == share
