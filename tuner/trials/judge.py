"""Compute the figures of a raw trial: the quantile of each SLO, the objective, a CCDF.

A quantile is judged by the gate's rule: ten requests lie beyond it. A trial with fewer has no
figures, and says why. The requests of several trials are never pooled: slow requests come in
bursts, so that the tail of a pool is that of its worst run.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from rcp.analyzer.latencies.latency import Latencies, LatencyError
from rcp.analyzer.latencies.quantiles import BEYOND_MIN, PARTS, quantile_ns
from rcp.analyzer.latencies.slo import Measured, Slo, measure, measured
from rcp.tuner.trials.measurement import Measurement, Quantile, Shortage, SloValue
from rcp.tuner.trials.objective import Objective, ObjectiveError, figure
from rcp.tuner.trials.raw import RawTrial

_CCDF_SHARES = (0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.995, 0.999, 0.9995, 0.9999, 1.0)


@dataclass(frozen=True)
class Judge:
    """Judges trials by the SLOs and the objective."""

    slos: Sequence[Slo]
    objective: Objective

    def judge(self, raw: RawTrial) -> Measurement:
        """Return the figures of a trial; ``failed`` says why there are none."""
        if raw.failed or raw.run is None:
            return _without_figures(raw, raw.failed or "the trial left no latencies")
        latencies, is_cut_short = raw.run.latencies, raw.run.aborted
        try:
            found = [(slo, _measured(slo, latencies, is_cut_short)) for slo in self.slos]
            objective = self.objective.sign * figure(self.objective, raw.run, raw.disk_bytes)
            short = _worst(_shortages([*found, *self._of_objective(latencies)]))
        except (LatencyError, ObjectiveError) as error:
            return _without_figures(raw, str(error))
        return Measurement(
            proposed=raw.proposed,
            settings=raw.settings,
            objective=None if short else objective,
            slos=[_value(slo, one) for slo, one in found],
            quantiles=_quantiles(latencies),
            failed=short.text if short else "",
            shortage=short,
            recording=raw.recording,
            workload_s=raw.run.duration_s,
            wall_s=raw.wall_s,
        )

    def _of_objective(self, latencies: Latencies) -> Iterator[tuple[Slo, Measured]]:
        if (slo := self.objective.as_slo()) is not None:
            yield slo, measure(slo, latencies)


def _without_figures(raw: RawTrial, why: str) -> Measurement:
    return Measurement(raw.proposed, raw.settings, None, failed=why, wall_s=raw.wall_s)


def _value(slo: Slo, found: Measured) -> SloValue:
    return SloValue(slo.text, found.value_ns, slo.bound_ns, found.n, found.n_beyond)


def _measured(slo: Slo, latencies: Latencies, is_cut_short: bool) -> Measured:
    """Return the quantile of an SLO; of a trial that was cut short, perhaps a lower bound of it.

    A lower quantile that has enough requests, and is above the SLO's bound, shows that the SLO is
    missed.
    """
    found = measure(slo, latencies)
    if found.enough or not is_cut_short or found.n <= BEYOND_MIN:
        return found
    lower = (found.n - BEYOND_MIN) * PARTS // found.n / PARTS
    least = measure(replace(slo, quantile=lower), latencies)
    return least if least.enough and least.value_ns > slo.bound_ns else found


def shortage_of(slo: Slo, value: SloValue) -> str:
    """Return why the measured value of an SLO cannot be judged, "" if it can."""
    return measured(slo, value.value_ns, value.n_requests, value.n_beyond).shortage(slo)


def _shortages(found: Sequence[tuple[Slo, Measured]]) -> Iterator[Shortage]:
    for slo, one in found:
        if text := one.shortage(slo):
            yield Shortage(text.rstrip("."), one.n, one.n_needed)


def _worst(found: Iterator[Shortage]) -> Shortage | None:
    return max(found, key=lambda one: one.n_needed, default=None)


def _quantiles(latencies: Latencies) -> list[Quantile]:
    return [
        Quantile(kind, share, quantile_ns(times, share))
        for kind, times in sorted(latencies.by_kind.items())
        if len(times)
        for share in _CCDF_SHARES
    ]
