"""A pytest fixture, ``rcp_gate``: a test that fails when latencies got worse.

    def test_the_tail_of_put(rcp_gate, store):
        rcp_gate("put", lambda: [store.timed_put(n) for n in range(20_000)], unit="s")

``pytest --rcp-gate-save`` saves what it measures as the baseline. Without the option, the test is
compared with the baseline in the folder ``--rcp-gate-baseline``.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import pytest

if TYPE_CHECKING:
    from rcp.analyzer.gate.judge import Rules
    from rcp.analyzer.gate.judgement import Judgement
    from rcp.analyzer.gate.side import Run

Values = Sequence[float]
Measure = Callable[[], "Values | Mapping[str, Values]"]
"""Makes one run and returns its latencies, or those of each kind of request."""

RUNS = 8


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of the fixture."""
    group = parser.getgroup("rcp_gate", "latency regression gate")
    group.addoption(
        "--rcp-gate-baseline",
        type=Path,
        default=Path("rcp-gate"),
        metavar="DIR",
        help="folder of rcp_gate's baselines, one per name (default: rcp-gate)",
    )
    group.addoption(
        "--rcp-gate-save", action="store_true", help="save what rcp_gate measures as the baseline"
    )


@dataclass(frozen=True)
class Gate:
    """The fixture's value; call it to check latencies."""

    baselines: Path
    saving: bool

    def __call__(
        self,
        name: str,
        measure: Measure,
        *,
        unit: str,
        runs: int = RUNS,
        max_regression: str = "p99=5%",
        slo: str | None = None,
        max_attempts: int = 2,
        inconclusive: Literal["pass", "warn", "fail"] = "warn",
    ) -> Judgement | None:
        """Make runs, compare them with the baseline *name*, fail the test if they are worse.

        *unit* is the latencies' unit: ns, us, ms or s. A suspected regression is confirmed with as
        many fresh runs, unless *max_attempts* is 1. *inconclusive* says what to do if noise is too
        large for a verdict; with ``warn``, too few runs or requests still fail. Returns the
        judgement; None when saving.
        """
        from rcp.analyzer.gate import limits
        from rcp.analyzer.gate.judge import Rules, judge
        from rcp.analyzer.gate.output.advice import advised
        from rcp.analyzer.gate.saving import save_runs, shortages
        from rcp.analyzer.latencies.slo import parse

        made = _make_runs(name, measure, unit, runs)
        folder = self.baselines / name
        if self.saving:
            save_runs(made, folder)
            for lack in shortages(made):
                warnings.warn(f"rcp_gate {name}: {lack}", stacklevel=2)
            return None
        base = _baseline(folder)
        bounds = parse(slo, tails=True) if slo is not None else ()
        rules = Rules(limits.parse(max_regression), bounds)
        judgement = judge(base, made, rules)
        if max_attempts > 1:
            judgement, made = _confirmed(judgement, base, made, measure, unit, rules)
        return _told(name, advised(judgement, base, made), inconclusive)


def _told(name: str, judgement: Judgement, inconclusive: str) -> Judgement:
    """Fail the test or warn as the judgement asks for; return it."""
    from rcp.analyzer.gate.output.render import headline, text
    from rcp.analyzer.gate.policy import NoisePolicy, Outcome

    outcome = Outcome(NoisePolicy(inconclusive))
    if outcome.fails(judgement):
        pytest.fail(text(judgement), pytrace=False)
    if outcome.warning(judgement):
        warnings.warn(f"rcp_gate {name}: {headline(judgement)}", stacklevel=3)
    return judgement


def _baseline(folder: Path) -> list[Run]:
    from rcp.analyzer.gate.side import Reading, read_side

    if not folder.exists():
        pytest.fail(
            f"there is no baseline {folder}: save the first one with `pytest --rcp-gate-save`.",
            pytrace=False,
        )
    return read_side([str(folder)], Reading())


def _confirmed(
    judgement: Judgement,
    base: Sequence[Run],
    made: list[Run],
    measure: Measure,
    unit: str,
    rules: Rules,
) -> tuple[Judgement, list[Run]]:
    """Return the judgement and the candidate's runs, with fresh ones if they may tell more."""
    from rcp.analyzer.gate.sequential import judge_again, worth_more_runs

    if not worth_more_runs(judgement, 2 * len(made)):
        return judgement, made
    every = [*made, *_make_runs("again", measure, unit, len(made))]
    return judge_again(base, every, rules, in_turn=False), every


def _make_runs(name: str, measure: Measure, unit: str, runs: int) -> list[Run]:
    """Make runs; raise LatencyError if their latencies are not valid."""
    import numpy as np

    from rcp.analyzer.gate import host
    from rcp.analyzer.gate.side import Run
    from rcp.analyzer.latencies.latency import Latencies, to_ns, unit_ns
    from rcp.analyzer.latencies.lines import NO_KIND

    scale, made = unit_ns(unit, name), []
    for number in range(1, runs + 1):
        measured = measure()
        by_kind = measured if isinstance(measured, Mapping) else {NO_KIND: measured}
        source = f"{name}, run {number}"
        times = {
            kind: to_ns(np.asarray(values, np.float64), scale, source)
            for kind, values in by_kind.items()
            if len(values)
        }
        made.append(Run(source, Latencies(source, times), host.here()))
    return made


@pytest.fixture
def rcp_gate(request: pytest.FixtureRequest) -> Gate:
    """Fail the test when latencies are worse than the saved baseline."""
    config = request.config
    return Gate(config.getoption("--rcp-gate-baseline"), config.getoption("--rcp-gate-save"))
