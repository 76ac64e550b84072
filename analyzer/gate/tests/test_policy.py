"""What an inconclusive verdict means for the build."""

from __future__ import annotations

import pytest

from rcp.analyzer.gate import limits
from rcp.analyzer.gate.judge import Rules, judge
from rcp.analyzer.gate.judgement import Judgement, Verdict
from rcp.analyzer.gate.policy import NoisePolicy, Outcome
from rcp.analyzer.gate.tests.conftest import runs_of

P99 = Rules(limits.parse("p99=5%"))


def noisy() -> Judgement:
    """Runs that differ by half."""
    values = [[round(1000 * factor * n) for n in range(1, 3000)] for factor in (0.5, 1, 2, 0.7, 3)]
    return judge(runs_of(values), runs_of(values), P99)


def short() -> Judgement:
    """Two runs a side."""
    return judge(runs_of([range(1, 9000)] * 2), runs_of([range(1, 9000)] * 2), P99)


def refused() -> Judgement:
    """A clock that is too coarse."""
    return judge(runs_of([[7] * 3000] * 6), runs_of([[7] * 3000] * 6), P99)


@pytest.mark.parametrize(
    ("policy", "statuses"),
    [(NoisePolicy.PASS, (0, 0, 3)), (NoisePolicy.WARN, (0, 3, 3)), (NoisePolicy.FAIL, (3, 3, 3))],
)
def test_noise_warns_and_a_short_setup_fails(
    policy: NoisePolicy, statuses: tuple[int, int, int]
) -> None:
    outcome, judgements = Outcome(policy), (noisy(), short(), refused())
    assert {one.verdict for one in judgements} == {Verdict.INCONCLUSIVE}
    assert tuple(outcome.status(one) for one in judgements) == statuses


def test_only_a_build_that_passes_is_warned_of() -> None:
    assert [bool(Outcome(policy).warning(noisy())) for policy in NoisePolicy] == [
        False,
        True,
        False,
    ]
    assert not Outcome().warning(short())


def test_a_verdict_has_its_own_status() -> None:
    base = runs_of([[n * (1000 + run) for n in range(1, 3000)] for run in range(6)])
    worse = runs_of([[n * (1200 + run) for n in range(1, 3000)] for run in range(6)])
    assert Outcome().status(judge(base, worse, P99)) == 1
    assert Outcome(regression_exit=7).status(judge(base, worse, P99)) == 7
    assert Outcome(inconclusive_exit=9).status(short()) == 9
    assert Outcome(NoisePolicy.FAIL).status(judge(base, base, P99)) == 0
