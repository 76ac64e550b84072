"""A tail is advised where it would tell sooner, and nowhere else."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from rcp.analyzer.gate import limits
from rcp.analyzer.gate.judge import Rules, judge
from rcp.analyzer.gate.output.advice import advised
from rcp.analyzer.gate.side import Run
from rcp.analyzer.gate.tests.conftest import Gate, runs_of
from rcp.analyzer.latencies import slo

P999 = Rules(limits.parse("p999=5%"))
STALLED = 40


def stalled(delays_ms: list[float], requests: int = 20_000) -> list[Run]:
    """Runs of latencies from 1 to 2 ms, of which 0.2 % stall: as long in a run as is given."""
    ordinary = np.linspace(1e6, 2e6, requests - STALLED).astype(int).tolist()
    return runs_of([[*ordinary, *[int(delay * 1e6)] * STALLED] for delay in delays_ms])


DELAYS = [6.0, 12.0, 8.0, 15.0, 9.0, 7.0, 11.0, 13.0]


def test_a_tail_that_needs_half_the_runs_is_advised() -> None:
    a, b = stalled(DELAYS), stalled(DELAYS[::-1])
    judgement = judge(a, b, P999)
    (before,), (after,) = judgement.tested, advised(judgement, a, b).tested
    assert before.runs_needed is not None
    assert after.why.startswith(f"{before.why}; ")
    told = after.why.removeprefix(f"{before.why}; for as large a growth of the ")
    name, n = told.removesuffix(" are").split(", ")
    assert 2 * int(n) <= before.runs_needed
    assert name == "tail99"
    # What is said is so: of that tail, as many runs are told to suffice for the same growth.
    (tail,) = judge(a, b, Rules(limits.parse("tail99=5%"))).tested
    assert tail.runs_needed is None or tail.runs_needed <= max(int(n), len(a) + 1)


def test_no_tail_is_advised_that_would_not_tell_sooner() -> None:
    factors = np.array([0.6, 1.2, 0.8, 1.5, 0.9, 0.7, 1.1, 1.3])

    def side(factors: list[float]) -> list[Run]:
        each = [(np.linspace(1e6, 2e6, 20_000) * one).astype(int).tolist() for one in factors]
        return runs_of(each)

    a, b = side(factors.tolist()), side(factors[::-1].tolist())
    judgement = judge(a, b, P999)
    assert judgement.tested[0].verdict == "inconclusive"
    assert advised(judgement, a, b) == judgement


def test_nothing_is_advised_beside_a_verdict_or_a_setup_that_is_short() -> None:
    a, b = stalled(DELAYS), stalled(DELAYS[::-1])
    for sides in ((a, a[:1]), (stalled([9.0] * 8), stalled([18.0] * 8)), ([], b)):
        rules = P999 if sides[0] else Rules((), slo.parse("p999=1s"))
        judgement = judge(*sides, rules)
        assert advised(judgement, *sides).tested == list(judgement.tested)


def test_the_advice_is_printed(tmp_path: Path, gate: Gate) -> None:
    paths: list[Path] = []
    for side, runs in (("new", stalled(DELAYS)), ("old", stalled(DELAYS[::-1]))):
        for number, run in enumerate(runs):
            lines = [f"{ns}ns" for ns in run.latencies.by_kind["read"].tolist()]
            paths.append(tmp_path / f"{side}{number}.txt")
            paths[-1].write_text("".join(f"{line}\n" for line in lines))
    result = gate(*paths[:8], "-b", *paths[8:], "--max-regression", "p999=5%")
    assert result.exit_code == 0
    assert "; for as large a growth of the tail99, " in " ".join(result.stdout.split())
