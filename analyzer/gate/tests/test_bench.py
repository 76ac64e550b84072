"""A short run of the benchmark; `make gate-bench` makes the page."""

from click.testing import CliRunner

from rcp.analyzer.gate.bench import rates
from rcp.analyzer.gate.bench.simulated import Workload


def test_the_page_has_every_method() -> None:
    result = CliRunner().invoke(rates.main, ["--repetitions", "2", "--peer-repetitions", "1"])
    assert result.exit_code == 0, result.output
    assert "| Mann-Whitney on all latencies | " in result.stdout
    assert "## Time" in result.stdout


def test_confirmation_takes_alarms_away_and_keeps_power() -> None:
    workload = Workload(requests=4000, stalls=3)
    alarms = {}
    for factor in (1.0, 1.3):
        (first, confirmed), _ = rates.gate_rates(workload, "x", factor, "p99=5%", 12)
        alarms[factor] = first.alarms, confirmed.alarms
    assert alarms[1.0][1] <= 1
    assert alarms[1.3][1] >= 11
