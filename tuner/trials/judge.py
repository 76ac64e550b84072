"""Compute the figures of a raw trial: the quantile of each SLO, the objective, a CCDF."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rcp.analyzer.latencies.latency import Latencies, LatencyError
from rcp.analyzer.latencies.quantiles import quantile_ns
from rcp.analyzer.latencies.slo import Slo, measure
from rcp.tuner.trials.measurement import Measurement, Quantile, SloValue
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
        latencies = raw.run.latencies
        try:
            slos = [_slo_value(slo, latencies) for slo in self.slos]
            objective = self.objective.sign * figure(self.objective, raw.run, raw.disk_bytes)
        except (LatencyError, ObjectiveError) as error:
            return _without_figures(raw, str(error))
        return Measurement(
            proposed=raw.proposed,
            settings=raw.settings,
            objective=objective,
            slos=slos,
            quantiles=_quantiles(latencies),
            recording=raw.recording,
            workload_s=raw.run.duration_s,
            wall_s=raw.wall_s,
        )


def _without_figures(raw: RawTrial, why: str) -> Measurement:
    return Measurement(raw.proposed, raw.settings, None, failed=why, wall_s=raw.wall_s)


def _slo_value(slo: Slo, latencies: Latencies) -> SloValue:
    found = measure(slo, latencies)
    return SloValue(slo.text, found.value_ns, slo.bound_ns, found.n, found.n_beyond)


def _quantiles(latencies: Latencies) -> list[Quantile]:
    return [
        Quantile(kind, share, quantile_ns(times, share))
        for kind, times in sorted(latencies.by_kind.items())
        if len(times)
        for share in _CCDF_SHARES
    ]
