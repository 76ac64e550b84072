import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

from rcp.probes import live
from rcp.probes.commands.analysis import Analysis
from rcp.probes.commands.live import live_command
from rcp.probes.contract.events import IO, REQUEST, SLEEP, TASK
from rcp.probes.live import History, Live, LivePlan
from rcp.probes.signals import Signals

if TYPE_CHECKING:
    from rcp.probes.tests.conftest import ArraySource, Clock

META: dict[str, Any] = {"clock": {"started_monotonic_ns": 1}}
S, MS = 1_000_000_000, 1_000_000


def sleeps(*tids: int) -> np.ndarray:
    rows = np.zeros(len(tids), SLEEP.dtype)
    rows["tid"] = tids
    return rows


def test_history_returns_what_came_since_a_time_and_all_names() -> None:
    history = History()
    history.add(TASK, np.ones(1, TASK.dtype), 1 * S)
    for second in range(1, 6):
        history.add(SLEEP, sleeps(second), second * S)
    rows = history.since(4 * S)
    assert rows["sleep"]["tid"].tolist() == [4, 5]
    assert len(rows["task"]) == 1
    assert "io" not in rows


def test_history_is_bounded_in_time_and_in_records(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "RECORDS_MAX", 30)
    history = History()
    for second in range(1, 100):
        history.add(SLEEP, sleeps(second), second * S)
        history.forget(second * S)
    assert history.since(0)["sleep"]["tid"].tolist() == list(range(89, 100))
    history.add(SLEEP, sleeps(*[7] * 25), 99 * S)
    history.forget(99 * S)
    assert len(history.since(0)["sleep"]) == 30


@pytest.fixture
def signals() -> Iterator[Signals]:
    caught = Signals()
    with caught.caught():
        yield caught


def watch(source: "ArraySource", clock: "Clock", signals: Signals, count: int | None = 1) -> Live:
    """One-second intervals of a clock that every drain moves on by a quarter of one."""
    plan = LivePlan(S, count, max_cpu=0.1)
    source.fill = 1.0  # do not wait long for a drain
    inner = source.on_drain

    def moved() -> None:
        clock.pass_s(0.25)
        inner()

    source.on_drain = moved
    return Live(source, META, plan, signals, clock)


def test_an_interval_holds_its_requests_and_what_happened_since_they_began(
    source: "ArraySource", clock: "Clock", signals: Signals
) -> None:
    start = clock.now_ns
    n_drains = 0

    def happen() -> None:
        nonlocal n_drains
        n_drains += 1
        source.put("sleep", tid=n_drains, stack_id=n_drains)
        if n_drains == 7:  # in the second interval, begun in the first
            source.put("request", ts=start + S * 3 // 4, end_ns=clock.now_ns, tid=1)

    source.on_drain = happen
    first, second, third = watch(source, clock, signals, count=3).intervals()
    assert first.spool.records(SLEEP)["tid"].tolist() == [1, 2, 3, 4]
    assert len(first.spool.records(REQUEST)) == 0
    assert second.spool.records(SLEEP)["tid"].tolist() == [3, 4, 5, 6, 7, 8]
    assert second.spool.records(REQUEST)["tid"].tolist() == [1]
    assert len(third.spool.records(REQUEST)) == 0
    assert set(second.spool.stacks()) >= {3, 8}
    assert (second.dur_ns, second.n_events, second.n_left_out) == (S, 5, 0)
    assert second.spool.meta["clock"]["started_monotonic_ns"] == start + S
    assert len(second.spool.records(IO)) == 0


def test_losses_are_those_of_the_interval(
    source: "ArraySource", clock: "Clock", signals: Signals
) -> None:
    source.lost["sleep"] = 100  # before
    source.on_drain = lambda: source.lost.update(sleep=source.lost["sleep"] + 1)
    lost = [interval.n_lost for interval in watch(source, clock, signals, count=2).intervals()]
    assert lost == [4, 4]


def test_a_request_older_than_what_is_kept_is_left_out_and_counted(
    source: "ArraySource", clock: "Clock", signals: Signals
) -> None:
    source.put("sleep", tid=1)
    source.put("request", ts=5, end_ns=clock.now_ns)
    (interval,) = watch(source, clock, signals).intervals()
    assert (len(interval.spool.records(REQUEST)), interval.n_left_out) == (0, 1)


def test_slow_analysis_lengthens_the_interval_and_says_so(
    source: "ArraySource", clock: "Clock", signals: Signals
) -> None:
    shown = watch(source, clock, signals, count=3)
    durations, notes = [], []
    for interval, cpu_s in zip(shown.intervals(), (0.05, 0.3, 0.01), strict=True):
        durations.append(interval.dur_ns)
        notes.append(interval.note)
        shown.fit_interval(cpu_s)
    assert durations == [S, S, 3 * S]
    assert notes == [
        "",
        "",
        "analysis took 0.30 s: the interval is 3.0 s to stay below 10 % of one CPU (--max-cpu)",
    ]


def test_a_signal_ends_it(source: "ArraySource", clock: "Clock", signals: Signals) -> None:
    source.on_drain = lambda: os.kill(os.getpid(), signal.SIGINT)
    assert list(watch(source, clock, signals, count=None).intervals()) == []


def run(*arguments: str) -> Result:
    command = live_command(Analysis(lambda spool: {}, lambda report: ""))
    return CliRunner().invoke(command, arguments)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--interval", "x"], "--interval 'x': give a number and a unit, as in 50ms."),
        (["--interval", "2d"], "--interval '2d': give a unit: ns, us, ms, s, m or h."),
        (["--interval", "0.1"], "--interval '0.1': give at least 0.5 s."),
    ],
)
def test_bad_input_ends_in_one_line_and_status_2(arguments: list[str], message: str) -> None:
    result = run(*arguments)
    assert (result.exit_code, result.stderr) == (2, f"rcp-trace: error: {message}\n")


def test_it_takes_what_chooses_and_nothing_that_writes() -> None:
    text = run("--help").output
    assert all(option in text for option in ("--pid", "--container", "--background", "--request"))
    assert not any(option in text for option in ("--output", "--keep", "--duration"))


def test_the_callers_folder_stays_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run("--interval", "x")
    assert list(tmp_path.iterdir()) == []
