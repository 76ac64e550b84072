"""What is shown of trials: a table for who reads, one that grows for who watches."""

from __future__ import annotations

import io
import time

import pytest
from rich.console import Console

from rcp.analyzer.text import brief_duration
from rcp.tuner.commands.live_table import LiveTable
from rcp.tuner.commands.progress import Progress
from rcp.tuner.studies.listing import Listing
from rcp.tuner.studies.records import TrialRow
from rcp.tuner.studies.wording import objective_text

BASELINE = TrialRow(
    trial_id=1,
    phase="baseline",
    proposed={},
    settings={},
    why="",
    seed=1,
    wall_s=9.0,
    objective=147.2e6,
    failed="",
    recording=None,
    ratios={"p99=10ms": 4.05},
)
MET = BASELINE._replace(
    trial_id=2,
    phase="search",
    settings={"a": 1, "b": 2},
    seed=2,
    objective=1.9e9,
    ratios={"p99=10ms": 0.5},
)
FAILED = MET._replace(
    trial_id=3, settings={"a": 7}, seed=3, objective=None, failed="it hung", ratios={}
)
ROWS = [BASELINE, MET, FAILED]


def listing() -> Listing:
    return Listing({"p99=10ms": 10_000_000}, "background", {"b": 2})


def test_a_table_shows_what_was_measured_with_units_and_what_differs_from_before() -> None:
    assert list(listing().lines(ROWS)) == [
        "trial  phase     p99=10ms        background  set",
        "    1  baseline  40.5 ms missed  147 MB/s    nothing set",
        "    2  search    5 ms met        1.9 GB/s    a=1",
        "    3  search    –               –           failed: it hung; a=7",
    ]


def test_figures_have_few_digits_and_never_an_exponent() -> None:
    assert [brief_duration(ns) for ns in (999, 5e6, 40.54e6, 999.7e6)] == [
        *("999 ns", "5 ms", "40.5 ms", "1000 ms")
    ]
    assert objective_text("background", 999.8e6) == "1000 MB/s"
    assert objective_text("throughput", 12_345) == "12340/s"


@pytest.fixture
def no_time_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "monotonic", lambda: 0.0)


@pytest.mark.usefixtures("no_time_passes")
def test_without_a_terminal_each_trial_is_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    with Progress(listing(), "background", watched=False) as progress:
        for row in ROWS:
            progress.begun(row.phase, "", row.settings)
            progress.ended(row, 30.0)
        progress.note("no time left")
    lines = capsys.readouterr().err.splitlines()
    assert [line.partition(" (")[0] for line in lines] == [
        "rcp-tune: trial 1, baseline: p99=10ms 40.5 ms missed, background 147 MB/s, nothing set",
        "rcp-tune: trial 2, search: p99=10ms 5 ms met, background 1.9 GB/s, a=1",
        "rcp-tune: trial 3, search: failed: it hung; a=7",
        "rcp-tune: no time left",
    ]
    assert "(no trial meets the SLOs yet; 0 s spent, 30 s left)" in lines[0]
    assert "(best so far: 1.9 GB/s; 0 s spent, 30 s left)" in lines[2]


@pytest.mark.usefixtures("no_time_passes")
def test_the_best_so_far_is_that_of_all_trials_of_the_study(
    capsys: pytest.CaptureFixture[str],
) -> None:
    worse = MET._replace(trial_id=4, objective=1.1e9)
    with Progress(listing(), "background", before=ROWS, watched=False) as progress:
        progress.ended(worse, None)
    assert "(best so far: 1.9 GB/s; 0 s spent)" in capsys.readouterr().err
    with Progress(listing(), "background", before=ROWS[:1], watched=False) as progress:
        progress.ended(ROWS[0], None)
        progress.ended(worse, None)
    first, second = capsys.readouterr().err.splitlines()
    assert "(no trial meets the SLOs yet; " in first
    assert "(best so far: 1.1 GB/s; " in second


def test_the_live_table_keeps_the_newest_rows_that_fit_the_terminal() -> None:
    out = io.StringIO()
    console = Console(file=out, width=60, height=9, force_terminal=True)
    with LiveTable(listing().head, console=console) as table:
        for row in ROWS:
            table.add(listing().cells(row))
        table.below("best so far: 1.9 GB/s")
        out.truncate(0)
    last = out.getvalue()
    assert "40.5 ms" not in last  # nine rows hold two trials beside all else
    assert "1.9 GB/s" in last
    assert "it hung" in last
