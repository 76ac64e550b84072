"""The second curve of latencies: predicted, beside the recorded one."""

import json
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import Any
from weakref import ref

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rcp.analyzer.db.store import Store
from rcp.analyzer.tests.whatif.worlds import two_culprits
from rcp.analyzer.whatif.answer import FigureAfter, Ready, whatif
from rcp.analyzer.whatif.change import change
from rcp.analyzer.whatif.errors import WhatIfError
from rcp.fixtures.synth import Synth
from rcp.ui import browser as browsers
from rcp.ui.charts.overview import ccdf
from rcp.ui.info import whatif as info
from rcp.ui.info.overview import Point
from rcp.ui.info.whatif import Between, Choice, Forecast
from rcp.ui.source import Recording, demo_recording
from rcp.ui.tests.test_screens import said

Load = Callable[[Synth], Store]
Page = Callable[..., Any]

LATENCIES = st.lists(st.integers(0, 10**12), min_size=1, max_size=300)


def anew(store: Store, key: str, kind: str = "") -> Forecast | None:
    """Return a prediction by a memory of its own."""
    return info.forecast(store, key, kind, info.Memory())


def test_culprits_and_patterns_of_the_report_can_be_chosen(load: Load) -> None:
    assert info.choices(load(two_culprits())) == [
        Choice("comm:backup", "without backup"),
        Choice("comm:other", "without other"),
        Choice("#1", "without inversion #1: condition by backup"),
        Choice("#2", "without inversion #2: condition by other"),
    ]


def test_patterns_are_numbered_as_in_the_report() -> None:
    recording = Recording(demo_recording())
    ranked = "SELECT rank, kind, culprit FROM inversion_pattern ORDER BY rank LIMIT 12"
    of_report = recording.ask(lambda store: store.query(ranked))
    found = recording.ask_inversions(info.choices)
    recording.close()
    assert len(of_report) > 5
    assert [one for one in found if one.key.startswith("#")] == [
        Choice(f"#{rank}", f"without inversion #{rank}: {kind} by {culprit}")
        for rank, kind, culprit in of_report
    ]


def test_later_forecasts_are_those_of_a_first_one(load: Load) -> None:
    store, kept = load(two_culprits()), info.Memory()
    for key in ("comm:other", "comm:other", "#1", "device=2x", "comm:backup"):
        assert info.forecast(store, key, "", kept) == anew(store, key)
    with pytest.raises(WhatIfError, match="no task"):
        info.forecast(store, "comm:nobody", "", kept)


def reads(monkeypatch: pytest.MonkeyPatch) -> list[Store]:
    """Return a list that gets each store that is read for what-ifs."""
    found: list[Store] = []

    def read(store: Store) -> Ready:
        found.append(store)
        return Ready(store)

    monkeypatch.setattr(info, "Ready", read)
    return found


def test_a_recording_is_read_once_for_all_forecasts(
    load: Load, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = reads(monkeypatch)
    first, second = load(two_culprits()), load(two_culprits())
    of_first, of_second = info.Memory(), info.Memory()
    info.forecast(first, "comm:other", "", of_first)
    info.forecast(first, "comm:backup", "", of_first)
    assert read == [first]
    info.forecast(second, "comm:other", "", of_second)
    # Only the recording that was asked last is kept: one may take a gigabyte.
    info.forecast(first, "comm:backup", "", of_first)
    assert read == [first, second, first]


def test_of_two_recordings_predicted_at_once_one_is_kept(
    load: Load, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept: list[ref[Ready]] = []

    def read(store: Store) -> Ready:
        kept.append(ref(found := Ready(store)))
        return found

    monkeypatch.setattr(info, "Ready", read)
    both = [(load(two_culprits()), info.Memory()) for _ in range(2)]
    together = Barrier(2)

    def predict(store: Store, memory: info.Memory) -> None:
        together.wait()
        info.forecast(store, "comm:other", "", memory)

    with ThreadPoolExecutor(2) as pool:
        for done in [pool.submit(predict, *one) for one in both]:
            done.result()
    assert [one() is None for one in kept] == [True, False]


def test_what_was_read_of_a_long_recording_is_not_kept(
    load: Load, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = reads(monkeypatch)
    monkeypatch.setattr(info, "_KEPT_SEGMENTS_MAX", 5)
    store, kept = load(two_culprits()), info.Memory()
    for key in ("comm:other", "comm:other", "comm:backup"):
        info.forecast(store, key, "", kept)
    assert read == [store, store], "the last prediction is kept"


def test_a_memory_ends_with_its_recording(load: Load) -> None:
    kept = info.Memory()
    info.forecast(load(two_culprits()), "comm:other", "", kept)
    gone = ref(kept)
    del kept
    assert gone() is None


def test_a_prediction_is_a_curve_an_interval_and_figures(load: Load) -> None:
    found = anew(load(two_culprits()), "comm:other")
    assert found is not None
    assert (found.change, found.n, found.n_faster) == ("without other", 6, 1)
    # Without the other the slow read takes 4 µs: five of six take longer, 6 µs.
    assert found.points == [Point(4000, 5, 5 / 6), Point(6000, 0, 0.0)]
    # Here all three models say the same.
    assert found.interval == [Between(4000, 5 / 6, 5 / 6), Between(6000, 0.0, 0.0)]
    assert found.figures == [
        FigureAfter("p50", 6000, 6000, 6000, 6000),
        FigureAfter("p99", 10_000, 6000, 6000, 6000),
        FigureAfter("p99.9", 10_000, 6000, 6000, 6000),
        FigureAfter("max", 10_000, 6000, 6000, 6000),
    ]


@pytest.mark.parametrize("key", ["comm:backup", "#2"])
def test_the_figures_are_those_of_the_command(load: Load, key: str) -> None:
    store = load(two_culprits())
    found = anew(store, key)
    (kind,) = whatif(store, change(store, [key], [])).kinds
    assert found is not None
    assert found.figures == [one for one in kind.figures if one.name != "mean"]
    assert found.n_faster == kind.n_faster > 0


def test_requests_of_another_kind_have_no_prediction(load: Load) -> None:
    assert anew(load(two_culprits()), "comm:other", "fsync") is None


@given(latencies=LATENCIES)
def test_a_predicted_curve_goes_from_the_fastest_to_the_slowest(latencies: list[int]) -> None:
    ordered = np.sort(np.array(latencies))
    points = info._points(ordered)
    assert points[-1] == Point(max(latencies), 0, 0.0)
    for point in points:
        assert point.n_slower == sum(latency > point.dur_ns for latency in latencies)
    # Two points are in different steps, and no latency is further than a step from one.
    at = np.searchsorted([point.dur_ns for point in points], ordered)
    nearest = np.array([point.dur_ns for point in points])[at]
    assert (nearest <= np.maximum(ordered, 1) * 2 ** (1 / 24) + 1).all()


@given(latencies=LATENCIES, later=st.integers(0, 10**6))
def test_an_interval_is_between_two_curves(latencies: list[int], later: int) -> None:
    low = np.sort(np.array(latencies))
    found = info._interval(low, low + later)
    at = [one.dur_ns for one in found]
    assert at == sorted(set(at))
    assert (at[-1], found[-1]) == (max(latencies) + later, Between(at[-1], 0.0, 0.0))
    for one in found:
        assert one.low == sum(latency > one.dur_ns for latency in latencies) / len(latencies)
        slower = sum(latency + later > one.dur_ns for latency in latencies)
        assert one.low <= one.high == slower / len(latencies)


def forecast() -> Forecast:
    figures = [FigureAfter("p99", 900, 300, 200, 400)]
    interval = [Between(100, 0.5, 0.5), Between(200, 0.0, 0.5), Between(400, 0.0, 0.0)]
    return Forecast(
        "without <b>", 2, 1, [Point(100, 1, 0.5), Point(300, 0, 0.0)], interval, figures
    )


def test_without_a_choice_nothing_is_predicted_on_the_chart() -> None:
    points = [Point(100, 1, 0.5), Point(900, 0, 0.0)]
    assert "predicted" not in json.dumps(ccdf(points, [], [], False))


def test_a_prediction_is_drawn_beside_what_was_recorded() -> None:
    points = [Point(100, 1, 0.5), Point(900, 0, 0.0)]
    spec = ccdf(points, [], [], False, forecast())
    layers = {layer["data"]["name"]: layer for layer in spec["layer"]}
    named = [layers[name]["encoding"]["color"]["datum"] for name in ("points", "predicted")]
    assert named == ["recorded", "predicted without <b>"]
    assert layers["predicted"]["mark"]["strokeDash"]
    # Half of the two requests take more than 100 ns; the slower one is between 200 and 400 ns.
    assert [(row["dur"], row["share"], row["high"]) for row in spec["datasets"]["interval"]] == [
        (100, 1.0, 1.0),
        (100, 0.5, 0.5),
        (200, 0.05, 0.5),
        (400, 0.05, 0.05),
    ]
    # The recorded curve is the same with and without a prediction.
    assert spec["datasets"]["points"] == ccdf(points, [], [], False)["datasets"]["points"]


def test_an_axis_covers_what_is_predicted_to_be_faster_than_all() -> None:
    spec = ccdf([Point(500, 1, 0.5), Point(900, 0, 0.0)], [], [], False, forecast())
    assert spec["layer"][0]["encoding"]["x"]["scale"]["domain"][0] == 100


def test_a_choice_is_offered_and_answered(page: Page, saved: Any) -> None:
    app = page("overview", saved(two_culprits(), "two.duckdb"))
    (box,) = [box for box in app.selectbox if box.label == "What if"]
    assert "predicted" not in said(app)
    box.select("comm:other").run()
    assert not app.exception
    assert app.query_params["whatif"] == "comm:other"
    assert (
        "Without other, 1 of 6 requests would be faster. This is a prediction by a model, not a "
        "measurement." in said(app)
    )
    tiles = {tile.label: tile.value for tile in app.metric}
    assert tiles["p99 predicted"] == "6 µs"
    assert "recorded 10 µs; range 6 µs to 6 µs" in said(app)


def test_only_foreground_requests_are_predicted(page: Page, saved: Any) -> None:
    path = saved(two_culprits(), "two.duckdb")
    app = page("overview", path, role="all", whatif="comm:other")
    assert not app.exception
    assert "What if" not in [box.label for box in app.selectbox]
    assert "predicted" not in said(app)


def test_an_address_that_names_nobody_is_told(page: Page, saved: Any) -> None:
    app = page("overview", saved(two_culprits(), "two.duckdb"), whatif="comm:nobody")
    assert not app.exception
    (error,) = app.error
    assert error.value.replace("\\", "") == (
        "the recording has no task 'comm:nobody'. Culprits: backup, other."
    )


def test_a_key_that_names_nothing_is_refused(load: Load) -> None:
    with pytest.raises(WhatIfError, match="has no inversion #9: they go from #1 to #2"):
        anew(load(two_culprits()), "#9")


def see(page: Any, text: str | re.Pattern[str]) -> None:
    page.get_by_text(text).first.wait_for()


def test_a_keyboard_asks_what_if(server: browsers.Server, chromium: Any) -> None:
    with browsers.page(chromium) as (opened, log):
        opened.goto(server.url)
        box = opened.get_by_role("combobox", name="What if")
        box.focus()
        opened.keyboard.type("without checkpointer")
        opened.keyboard.press("Enter")
        opened.wait_for_url("**whatif=comm*")
        see(opened, "Without checkpointer, 3999 of 3999 requests would be faster.")
        see(opened, re.compile(r"recorded 15\.4 ms; range [12]\.\d+ ms to [23]\.\d+ ms"))
        opened.locator("svg.marks").get_by_text("predicted without checkpointer").wait_for()
        opened.reload()  # the address has the choice
        see(opened, "Without checkpointer, 3999 of 3999 requests would be faster.")
        assert log.errors == []


def test_a_link_names_an_inversion_or_a_faster_device(
    server: browsers.Server, chromium: Any, tmp_path: Path
) -> None:
    with browsers.page(chromium) as (opened, log):
        opened.goto(f"{server.url}/?whatif=%231")
        see(opened, "Without inversion #1,")
        opened.goto(f"{server.url}/?whatif=device%3D2x")
        see(opened, "With device 2 times as fast,")
        assert log.errors == []
