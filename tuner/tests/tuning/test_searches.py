"""What every search keeps to: valid settings, the same after a replay, starts in their order."""

from collections.abc import Sequence
from typing import Any

import pytest

from rcp.tuner.knobs.knob import Settings, Value
from rcp.tuner.search import tpe
from rcp.tuner.search.gp import GpSearch
from rcp.tuner.search.observation import Observation, Search
from rcp.tuner.search.random import RandomSearch
from rcp.tuner.search.space import Space
from rcp.tuner.search.start import Start
from rcp.tuner.search.tpe import TpeSearch
from rcp.tuner.tests.knob_rows import choice, number
from rcp.tuner.tuning.searches import maker

KNOBS = (
    choice("pieces", default="big", choices=("big", "small")),
    number(
        "depth",
        unit="requests",
        backend="rcp",
        default=1,
        low=1,
        high=64,
        choices=(0,),
        needs={"pieces": ("small",)},
    ),
    number("wait", unit="ms", default=10, scale="linear", low=0, high=100),
)
SLO = "p99=1ms"
SEARCHES = (GpSearch, RandomSearch, TpeSearch)


def measured(settings: Settings) -> Observation:
    """Small pieces, few at once, meet the SLO; the more at once and the less waited the faster."""
    wait = settings["wait"]
    assert isinstance(wait, int)
    if settings["pieces"] == "big":
        return Observation(200 - wait, {SLO: 4.0})
    depth = settings["depth"]
    assert isinstance(depth, int)
    return Observation(100 - wait + 10 * (depth or 64) ** 0.5, {SLO: 0.3 + (depth or 64) / 20})


def tried(search: Search, count: int) -> list[tuple[dict[str, Value], Observation]]:
    trials = []
    for _ in range(count):
        settings = search.ask()
        trials.append((settings, measured(settings)))
        search.tell(*trials[-1])
    return trials


@pytest.mark.parametrize("kind", SEARCHES)
def test_asks_are_valid_whatever_was_told(kind: Any) -> None:
    search = kind(KNOBS, [SLO], seed=3)
    search.tell({"pieces": "big", "wait": 10}, Observation(0, failed="the workload died"))
    search.tell({"pieces": "small", "depth": 0, "wait": 0}, Observation(-5, {SLO: 1e9}))
    for settings, _ in tried(search, 12):
        assert Space(KNOBS).present(settings) == settings
        assert ("depth" in settings) == (settings["pieces"] == "small")
        for knob in KNOBS:
            assert knob.name not in settings or knob.allows(settings[knob.name])


@pytest.mark.parametrize("kind", SEARCHES)
def test_a_replay_asks_the_same_again(kind: Any) -> None:
    trials = tried(kind(KNOBS, [SLO], seed=5), 9)
    for stop in (2, 6, 8):
        again = kind(KNOBS, [SLO], seed=5)
        for settings, observation in trials[:stop]:
            again.tell(settings, observation)
        assert again.ask() == trials[stop][0]
        assert again.ask() == trials[stop][0]


@pytest.mark.parametrize("kind", SEARCHES)
def test_another_seed_asks_otherwise(kind: Any) -> None:
    asked = [[settings for settings, _ in tried(kind(KNOBS, [SLO], seed=s), 6)] for s in (1, 2)]
    assert asked[0] != asked[1]


@pytest.mark.parametrize("kind", SEARCHES)
def test_starts_come_first_and_once(kind: Any) -> None:
    starts = [
        Start({"pieces": "big", "wait": 10}, "as it is"),
        Start({"pieces": "small", "depth": 8, "wait": 10}, "what the paper says"),
        Start({"pieces": "small", "depth": 1, "wait": 10}, "less of it"),
    ]
    search = kind(KNOBS, [SLO], seed=0, starts=starts)
    told: Sequence[int] = (0, 1)
    for at in told:
        assert (search.ask(), search.why) == (starts[at].settings, starts[at].why)
        # a baseline between two trials uses up no start
        search.tell(starts[0].settings, measured(starts[0].settings))
        if at:
            search.tell(starts[at].settings, measured(starts[at].settings))
    assert search.ask() == starts[2].settings
    # the kernel made something else of it
    search.tell({"pieces": "small", "depth": 2, "wait": 10}, Observation(1, {SLO: 1}))
    search.ask()
    assert search.why not in [start.why for start in starts]


@pytest.mark.parametrize("kind", SEARCHES)
def test_knobs_that_do_not_move_keep_their_default(kind: Any) -> None:
    asked = tried(kind(KNOBS, [SLO], seed=1, moving=["pieces", "depth"]), 10)
    assert {settings["wait"] for settings, _ in asked} == {10}
    assert {settings["pieces"] for settings, _ in asked} == {"big", "small"}


def test_what_a_start_changes_moves_too_and_later_all_does() -> None:
    start = Start({"pieces": "big", "wait": 50}, "what the manual says")
    search = GpSearch(KNOBS, [SLO], seed=1, starts=[start], moving=["pieces"], widen_after=9)
    asked = [settings for settings, _ in tried(search, 14)]
    assert len({settings["wait"] for settings in asked}) > 2
    assert {settings.get("depth", 1) for settings in asked[:9]} == {1}
    assert {settings.get("depth", 1) for settings in asked[9:]} != {1}


@pytest.mark.parametrize("kind", SEARCHES)
def test_a_trial_without_an_slo_is_refused(kind: Any) -> None:
    with pytest.raises(ValueError, match=r"^a trial has no ratio for p99=1ms$"):
        kind(KNOBS, [SLO]).tell({"pieces": "big", "wait": 1}, Observation(1.0))


def test_without_optuna_the_remedy_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> Any:
        raise ImportError(name)

    monkeypatch.setattr("importlib.import_module", missing)
    with pytest.raises(tpe.SearchMissingError) as error:
        TpeSearch(KNOBS, [SLO])
    assert str(error.value) == (
        "search tpe: optuna is not installed: pip install 'optuna>=5', or choose another search"
    )


@pytest.mark.parametrize("name", ["gp", "tpe", "random"])
def test_without_advice_a_search_begins_with_the_defaults_alone(name: str) -> None:
    knobs = (
        *KNOBS,
        number(
            "disk.max_sectors_kb", unit="KiB", default=1280, low=4, high=1280, helps=("device",)
        ),
    )
    defaults = Space(knobs).defaults()
    small = {**defaults, "disk.max_sectors_kb": 128}  # which is what is advised for that knob
    for advised in (True, False):
        search = maker(name, [SLO], 1, advised=advised)(knobs, [])
        first, second = (settings for settings, _ in tried(search, 2))
        assert first == defaults
        assert (second == small) == advised
