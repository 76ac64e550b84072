"""A fleet that lost events says so first, with the figure that each host's own report gives."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from rcp.analyzer.fleet.header import KEY, SummaryHeader
from rcp.analyzer.fleet.losses import recorded_share
from rcp.analyzer.tests.fleet.conftest import Add, Run
from rcp.analyzer.tests.fleet.hosts import recorded
from rcp.probes.contract.events import REQUEST, SLEEP, Record

DURS_NS = [1000] * 12
"""Twelve requests: 12 records of them, 1 + 2 * 12 = 25 sleeps and 12 ios."""

_HEADER_BYTES = 64  # of a file with records (probes/contract/spool.py)


def cut(spool: Path, record: Record, n_left: int) -> Path:
    os.truncate(spool / f"{record.name}.bin", _HEADER_BYTES + n_left * record.size_bytes)
    return spool


@pytest.fixture
def add_cut(tmp_path: Path, fleet: Path, run: Run) -> Add:
    """Add the recording of a host of which *n_left* records of a type are left."""

    def of(host: str, record: Record, n_left: int) -> Path:
        whole = recorded(host, durs_ns=DURS_NS).write(tmp_path / f"{host}.spool", batch_rows=5)
        spool = cut(whole, record, n_left)
        assert run("summary", spool, "--fleet", fleet).exit_code == 0
        return spool

    return of


def first_line(run: Run, *words: object) -> str:
    done = run("fleet", *words)
    assert done.exit_code == 0, done.output
    return " ".join(done.stdout.partition("\n\n")[0].split())


def told(run: Run, *words: object) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(run("fleet", *words, "--format", "json").stdout)
    return found


def test_the_report_begins_with_what_was_lost(
    add: Add, add_cut: Add, fleet: Path, run: Run
) -> None:
    add("db1", durs_ns=DURS_NS)
    spool = add_cut("db2", SLEEP, 15)  # 10 of 25 are missing
    lost = "Incomplete: 1 of 2 hosts lost 40.0 % of its sleeps and ios."
    assert first_line(run, "report", fleet).startswith(f"2026-01-01: {lost} Background work ")
    assert "40 % of events lost" in run("report", spool).stdout
    found = told(run, "report", fleet)
    assert found["incomplete"] == lost
    assert found["answer"].startswith("Background work ")
    (lossy,) = found["coverage"]["lossy"]
    # of all probes 10 are missing and 25 + 12 + 12 were recorded, and three tasks
    assert (lossy["host"], lossy["n_lost"], lossy["n_written"]) == ("db2", 10, 52)
    assert lossy["lost_share"] == pytest.approx(0.4)
    assert f"coverage\n{lost}\n" in run("fleet", "report", fleet, "--format", "csv").stdout


def test_the_host_that_lost_most_is_the_bound_of_several(
    add: Add, add_cut: Add, fleet: Path, run: Run
) -> None:
    add("db1", durs_ns=DURS_NS, lost=75)  # 75 of 25 + 75
    add_cut("db2", SLEEP, 15)
    add("db3", durs_ns=DURS_NS)
    assert "Incomplete: 2 of 3 hosts lost up to 75.0 % of their sleeps and ios. " in first_line(
        run, "report", fleet
    )


def test_other_damage_is_said_first_too(add: Add, add_cut: Add, fleet: Path, run: Run) -> None:
    add("db1", durs_ns=DURS_NS, lost=75)
    add_cut("db2", REQUEST, 6)
    assert (
        ": Incomplete: 1 of 2 hosts lost 75.0 % of its sleeps and ios; 1 of 2 hosts has a "
        "recording that is cut short or damaged. "
    ) in first_line(run, "report", fleet)


def test_little_is_not_said_first(add: Add, fleet: Path, run: Run) -> None:
    add("db1", durs_ns=[1000] * 60, lost=1)  # 1 of 121 + 1
    assert first_line(run, "report", fleet).startswith("2026-01-01: Background work ")
    assert told(run, "report", fleet)["incomplete"] == ""


def test_a_comparison_gives_the_figure_of_the_recordings(
    add: Add, add_cut: Add, fleet: Path, run: Run, tmp_path: Path
) -> None:
    add("db1", durs_ns=DURS_NS)
    spool = add_cut("db2", SLEEP, 15)
    words = ("diff", fleet, "host=db1", "host=db2")
    lost = "Incomplete: 1 of 1 host of B lost 40.0 % of its sleeps and ios."
    assert first_line(run, *words).startswith(f"{lost} ")
    figure = "40.0 % of its sleeps and ios were lost"
    assert figure in " ".join(run("fleet", *words).stdout.split())
    whole = recorded("db1", durs_ns=DURS_NS).write(tmp_path / "whole.spool")
    assert figure in " ".join(run("diff", whole, spool).stdout.split())
    found = told(run, *words)
    assert found["incomplete"] == lost
    assert found["a"]["recorded_share"] == 1
    assert found["b"]["recorded_share"] == pytest.approx(0.6)
    assert f"# coverage\npart,coverage\n,{lost}\n" in run("fleet", *words, "--format", "csv").stdout


def header(**facts: Any) -> SummaryHeader:
    return SummaryHeader("0" * 64, "db1", "2026-01-01", 0, 1, **facts)


def test_the_share_is_of_what_verdicts_rest_on() -> None:
    # 60 of 80 sleeps, half the ios; requests do not count
    losses = {"sleep": [70, 10, 10], "io": [20, 0, 10], "request": [5, 5, 0]}
    assert recorded_share([header(losses=losses)]) == pytest.approx(60 / 80 * 10 / 20)


def test_recordings_count_by_their_events() -> None:
    lossy = header(losses={"sleep": [100, 0, 50]})
    assert recorded_share([lossy, header(losses={"sleep": [300, 100, 0]})]) == 350 / 500


def test_a_summary_without_losses_by_probe_has_the_share_of_all_events() -> None:
    old = header(n_written=90, n_lost=5, n_missing=5)
    assert recorded_share([old]) == pytest.approx(0.9)
    assert recorded_share([header()]) == 1


@pytest.mark.parametrize("losses", [[], {"sleep": [1]}, {"sleep": 3}, {"sleep": [1, "x", 2]}])
def test_losses_that_are_none_are_a_damaged_header(
    add: Add, fleet: Path, run: Run, losses: object
) -> None:
    path = add("db1")
    add("db2")
    table = pq.read_table(path, partitioning=None)
    stored = json.loads(pq.read_metadata(path).metadata[KEY.encode()])
    pq.write_table(
        table.replace_schema_metadata({KEY: json.dumps({**stored, "losses": losses})}), path
    )
    (failed,) = told(run, "report", fleet)["coverage"]["failed"]
    assert failed["why"] == "its header is damaged"
