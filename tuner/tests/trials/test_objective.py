"""What a search is to have more of, computed from trials."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rcp.analyzer.latencies.latency import Latencies, Points
from rcp.analyzer.latencies.quantiles import SHARES, quantile_ns
from rcp.tuner.trials.objective import DiskMeter, Objective, ObjectiveError, figure, parse
from rcp.tuner.trials.workload import Run

SECOND_NS = 10**9


def trial(values: list[int], seconds: float = 2.0, **told: float) -> Run:
    latencies = Latencies("stdout", {"fsync": np.array(values, np.int64)}, values=told)
    return Run(latencies, 5, 5 + round(seconds * SECOND_NS), 0, values=told)


@pytest.mark.parametrize(
    ("text", "expected", "unit", "sign"),
    [
        ("background", Objective("background", "background"), "bytes/s", 1),
        (" throughput ", Objective("throughput", "throughput"), "requests/s", 1),
        ("p99", Objective("quantile", "p99", 0.99), "ns", -1),
        ("P99.9@fsync", Objective("quantile", "P99.9@fsync", 0.999, "fsync"), "ns", -1),
    ],
)
def test_an_objective_is_a_word_or_a_quantile(
    text: str, expected: Objective, unit: str, sign: int
) -> None:
    found = parse(text)
    assert found == expected
    assert (found.unit, found.sign) == (unit, sign)


@pytest.mark.parametrize("text", ["", "latency", "p98", "p99@", "background@fsync"])
def test_an_unknown_objective_is_told(text: str) -> None:
    with pytest.raises(ObjectiveError) as error:
        parse(text)
    assert str(error.value) == (
        f"unknown objective {text!r}: write background, throughput, "
        "or a quantile such as p99 or p99@fsync."
    )


@given(
    values=st.lists(st.integers(0, 10**12), min_size=1, max_size=100),
    name=st.sampled_from(sorted(SHARES)),
)
def test_a_quantile_is_that_of_the_latencies(values: list[int], name: str) -> None:
    expected = quantile_ns(np.array(values, np.int64), SHARES[name])
    assert figure(parse(name), trial(values)) == expected
    assert figure(parse(f"{name}@fsync"), trial(values)) == expected


@given(n=st.integers(1, 1000), seconds=st.floats(0.01, 1000))
def test_throughput_is_requests_over_the_trials_time(n: int, seconds: float) -> None:
    found = figure(parse("throughput"), trial([1] * n, seconds))
    assert found * seconds == pytest.approx(n, rel=1e-6)


def test_throughput_is_of_the_time_that_the_source_says() -> None:
    made = trial([1] * 10)
    spanned = replace(made, latencies=replace(made.latencies, interval_s=(3.0, 8.0)))
    assert figure(parse("throughput"), spanned) == 2.0


@given(
    disk=st.integers(0, 10**12),
    read=st.integers(0, 10**12),
    written=st.integers(0, 10**12),
    seconds=st.floats(0.1, 100),
)
def test_the_background_is_what_the_disk_moved_but_for_the_workload(
    disk: int, read: int, written: int, seconds: float
) -> None:
    made = replace(trial([1], seconds), read_bytes=read, written_bytes=written)
    found = figure(parse("background"), made, disk)
    assert found >= 0
    assert found * made.duration_s == pytest.approx(max(0, disk - read - written))


def test_a_result_that_was_printed_counts_first() -> None:
    made = trial([1, 2], background=77.0, throughput=5.0)
    assert figure(parse("background"), made, 10**9) == 77.0
    assert figure(parse("throughput"), made) == 5.0


@pytest.mark.parametrize(
    ("text", "made", "message"),
    [
        (
            "background",
            trial([1]),
            "stdout does not give the background's I/O: "
            "print it (background=123456 bytes/s), or name the disk.",
        ),
        (
            "throughput",
            trial([]),
            "stdout does not give the throughput: print it (throughput=1200 /s), or every latency.",
        ),
        (
            "p99@read",
            trial([1]),
            "stdout has no 'read' requests for p99@read: it has fsync.",
        ),
    ],
)
def test_what_a_trial_does_not_tell_is_named(text: str, made: Run, message: str) -> None:
    with pytest.raises(ObjectiveError) as error:
        figure(parse(text), made)
    assert str(error.value) == message


def test_a_quantile_can_come_from_a_table() -> None:
    table = Latencies("x.csv", points={"SET": Points({0.99: 7}, 0)})
    assert figure(parse("p99"), Run(table, 0, SECOND_NS)) == 7


def test_a_disk_that_is_not_there_is_told() -> None:
    with pytest.raises(ObjectiveError) as error:
        DiskMeter("nosuchdisk")
    assert str(error.value) == "there is no disk 'nosuchdisk': name one of /sys/block."


def test_a_disk_counts_what_it_moves() -> None:
    disks = sorted(path.name for path in Path("/sys/block").iterdir() if (path / "stat").exists())
    if not disks:
        pytest.skip("this machine shows no disk in /sys/block")
    assert DiskMeter(disks[0]).moved_bytes() >= 0
