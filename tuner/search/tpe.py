"""Optuna's tree-structured Parzen estimator, for comparison: the only door to optuna."""

from __future__ import annotations

import importlib
import math
import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rcp.tuner.knobs.knob import Knob, Settings, Value
from rcp.tuner.search.history import History
from rcp.tuner.search.observation import Observation, Search
from rcp.tuner.search.space import specials
from rcp.tuner.search.start import Start

# Choice for "a number in the range", beside the special values.
_IN_RANGE = "range"
_FAILED_RATIO = 20.0


class SearchMissingError(Exception):
    """A search needs a package that is not installed; the text says which, and the remedy."""


def _optuna() -> Any:
    try:
        optuna = importlib.import_module("optuna")
    except ImportError:
        raise SearchMissingError(
            "search tpe: optuna is not installed: pip install 'optuna>=5', or choose another search"
        ) from None
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    return optuna


class TpeSearch(Search):
    """Settings proposed by optuna's TPE sampler; see GpSearch for the parameters."""

    def __init__(
        self,
        knobs: Sequence[Knob],
        slos: Sequence[str],
        *,
        seed: int = 0,
        starts: Iterable[Start] = (),
        moving: Iterable[str] | None = None,
    ) -> None:
        """Start without trials; raises SearchMissingError without optuna."""
        self._optuna = _optuna()
        self._history = History(knobs, slos, starts, moving)
        self._seed = seed

    def tell(self, settings: Settings, observation: Observation) -> None:
        """Add the trial of *settings*."""
        self._history.tell(settings, observation)

    def ask(self) -> dict[str, Value]:
        """Return the settings to try next: the same until the next ``tell``."""
        if (start := self._history.start()) is not None:
            self.why = start.why
            return dict(start.settings)
        self.why = "proposed by optuna's TPE"
        with warnings.catch_warnings():
            # "group" is marked experimental; it models knobs apart that never exist together.
            warnings.simplefilter("ignore")
            sampler = self._optuna.samplers.TPESampler(
                # A seed per proposal: a replay does not restore a sampler's state.
                seed=self._seed * 100_003 + len(self._history.trials),
                multivariate=True,
                group=True,
            )
        study = self._optuna.create_study(direction="maximize", sampler=sampler)
        study.add_trials([self._frozen(*trial) for trial in self._history.trials])
        trial = study.ask()
        return self._suggested(trial)

    def _suggested(self, trial: Any) -> dict[str, Value]:
        """Ask optuna for each knob that exists under the knobs decided before it."""
        space = self._history.space
        moving = {knob.name for knob in space.moving}
        settings: dict[str, Value] = {}
        waiting = list(space.knobs)
        while ready := [knob for knob in waiting if knob.exists(settings)]:
            for knob in ready:
                waiting.remove(knob)
                moves = knob.name in moving
                settings[knob.name] = _suggest(trial, knob) if moves else knob.default
        return space.within(settings)

    def _frozen(self, settings: Settings, observation: Observation) -> Any:
        params: dict[str, Any] = {}
        distributions: dict[str, Any] = {}
        for knob in self._history.space.moving:
            if knob.name in settings:
                values, ranges = _parameters(self._optuna, knob, settings[knob.name])
                params |= values
                distributions |= ranges
        ratios = (observation.ratios.get(slo, _FAILED_RATIO) for slo in self._history.slos)
        far = [_FAILED_RATIO for _ in self._history.slos] if observation.failed else list(ratios)
        return self._optuna.trial.create_trial(
            params=params,
            distributions=distributions,
            value=observation.objective if math.isfinite(observation.objective) else 0.0,
            constraints={
                slo: math.log(max(ratio, 1e-3))
                for slo, ratio in zip(self._history.slos, far, strict=True)
            },
        )


def _suggest(trial: Any, knob: Knob) -> Value:
    if knob.scale == "choice":
        value: Value = trial.suggest_categorical(knob.name, list(knob.choices))
        return value
    others = specials(knob)
    if others:
        which = trial.suggest_categorical(f"{knob.name}?", [_IN_RANGE, *map(str, others)])
        if which != _IN_RANGE:
            return next(value for value in others if str(value) == which)
    number: int = trial.suggest_int(knob.name, knob.low, knob.high, log=knob.scale == "log")
    return number


def _parameters(
    optuna: Any, knob: Knob, value: Value
) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """Return optuna's parameters for a knob's value, and the distribution of each."""
    kinds = optuna.distributions
    if knob.scale == "choice":
        return {knob.name: value}, {knob.name: kinds.CategoricalDistribution(knob.choices)}
    others = specials(knob)
    params: dict[str, Any] = {}
    distributions: dict[str, Any] = {}
    if others:
        name = f"{knob.name}?"
        words = [_IN_RANGE, *map(str, others)]
        params[name] = str(value) if value in others else _IN_RANGE
        distributions[name] = kinds.CategoricalDistribution(words)
    if value not in others:
        params[knob.name] = min(max(int(value), knob.low), knob.high)
        log = knob.scale == "log"
        distributions[knob.name] = kinds.IntDistribution(knob.low, knob.high, log=log)
    return params, distributions
