"""What a pattern of inversions costs at most: the quantile without its time, by hand."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rcp.analyzer.db.store import Store
from rcp.analyzer.latencies.gain import Gain, PatternOf, gains
from rcp.analyzer.latencies.quantiles import quantile_ns
from rcp.analyzer.loading.load import load_in_memory
from rcp.fixtures.synth import Synth

Load = Callable[[Synth], Store]
RULE = "comm:checkpointer"


def waits(*taken_ns: int, own: Sequence[int] = ()) -> Synth:
    """Requests of 1000 ns and *own*, and what a checkpointer's lock takes from each."""
    synth = Synth([("background", RULE)])
    writer = synth.task("writer", tid=10, target=True)
    holder = synth.task("checkpointer", tid=20)
    synth.sleep(holder, 1, 2)
    for at, taken in enumerate(taken_ns):
        ts = 100_000 * (at + 1)
        synth.request(writer, ts, ts + 1000 + taken + (own[at] if own else 0))
        if taken:
            synth.sleep(writer, ts + 500, ts + 500 + taken, waker=holder, stack=["down_read"])
    return synth


@pytest.fixture
def load(tmp_path: Path) -> Iterator[Load]:
    """Load a synthetic recording into a store."""
    with ExitStack() as opened:
        yield lambda synth: opened.enter_context(load_in_memory(synth.write(tmp_path / "a.spool")))


def pattern(store: Store) -> PatternOf:
    (found,) = store.query("SELECT DISTINCT kind, culprit, role_rule, pattern FROM inversion")
    return PatternOf(*found)


def test_the_time_of_the_pattern_is_subtracted_from_each_request(load: Load) -> None:
    store = load(waits(0, 0, 0, 7000))
    assert gains(store, "foreground", "", 0.99, [pattern(store)]) == [Gain(8000, 1000)]
    assert gains(store, "foreground", "", 0.5, [pattern(store)]) == [Gain(1000, 1000)]


def test_another_request_may_be_the_slowest_then(load: Load) -> None:
    synth = waits(0, 0, 7000)
    synth.request(10, 900_000, 903_000)
    store = load(synth)
    assert gains(store, "foreground", "", 0.99, [pattern(store)]) == [Gain(8000, 3000)]


def test_what_no_request_met_gains_nothing(load: Load) -> None:
    store = load(waits(0, 7000))
    other = pattern(store)._replace(culprit="nobody")
    assert gains(store, "foreground", "", 0.99, [other]) == [Gain(8000, 8000)]


@pytest.mark.parametrize(("role", "kind"), [("background", ""), ("foreground", "read")])
def test_no_requests_have_no_gain(load: Load, role: str, kind: str) -> None:
    store = load(waits(0, 7000))
    assert gains(store, role, kind, 0.99, [pattern(store)]) == []


@settings(max_examples=30)
@given(
    made=st.lists(
        st.tuples(st.integers(0, 20_000), st.integers(0, 20_000)), min_size=1, max_size=40
    ).filter(lambda made: any(taken for taken, _ in made)),
    share=st.sampled_from([0.5, 0.9, 0.99]),
)
def test_both_quantiles_are_those_of_the_latencies(
    tmp_path_factory: pytest.TempPathFactory, made: list[tuple[int, int]], share: float
) -> None:
    synth = waits(*(taken for taken, _ in made), own=[own for _, own in made])
    with load_in_memory(synth.write(tmp_path_factory.mktemp("gain") / "a.spool")) as store:
        found = gains(store, "foreground", "", share, [pattern(store)])
    now = np.array([1000 + own + taken for taken, own in made])
    without = np.array([1000 + own for _, own in made])
    assert found == [Gain(quantile_ns(now, share), quantile_ns(without, share))]
