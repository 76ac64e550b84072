"""What is predicted without all inversions of some kinds."""

from collections.abc import Callable

import pytest

from rcp.analyzer.db.store import Store
from rcp.analyzer.latencies.slo import parse
from rcp.analyzer.tests.whatif.worlds import READER, two_culprits, world
from rcp.analyzer.whatif import unasked
from rcp.analyzer.whatif.by_kind import WithoutKinds, kinds_found, without_kinds
from rcp.fixtures.synth import READ, Synth

Load = Callable[[Synth], Store]
CONDITION = ("condition",)


def test_all_inversions_of_the_kinds_are_taken_away(load: Load) -> None:
    store = load(two_culprits())
    assert kinds_found(store) == ["condition"]
    # Both the other's 6 µs and the backup's 2 µs are gone: each read takes 4 µs.
    assert without_kinds(store, [CONDITION], parse("p99=1ms,p50=1ms@read")) == [
        WithoutKinds(CONDITION, "p99=1ms", 10_000, 4000, 4000, 4000),
        WithoutKinds(CONDITION, "p50=1ms@read", 6000, 4000, 4000, 4000),
    ]


def test_a_kind_that_delayed_nothing_brings_nothing(load: Load) -> None:
    (found,) = without_kinds(load(two_culprits()), [("queue",)], parse("p99=1ms"))
    assert found.predicted_ns == found.recorded_ns == 10_000


def test_a_kind_of_request_that_was_not_recorded_has_no_prediction(load: Load) -> None:
    assert without_kinds(load(two_culprits()), [CONDITION], parse("p99=1ms@fsync")) == []


def test_without_inversions_nothing_is_predicted(load: Load) -> None:
    synth = world()
    synth.request(READER, 1000, 2000, nr=READ)
    assert kinds_found(load(synth)) == []


def test_a_recording_that_is_too_long_is_not_predicted(
    load: Load, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(unasked, "SEGMENTS_MAX", 3)
    assert without_kinds(load(two_culprits()), [CONDITION], parse("p99=1ms")) == []
