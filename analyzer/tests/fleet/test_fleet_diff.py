"""What changed between two days: culprits that are new, hosts that got worse."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rcp.analyzer.tests.fleet.conftest import Add, Run

USUAL = [1000 + 10 * n for n in range(300)] + [90_000] * 4


def compared(run: Run, fleet: Path, *words: object, status: int = 0) -> dict[str, Any]:
    done = run("fleet", "diff", fleet, *words, "--format", "json")
    assert done.exit_code == status, done.output
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def two_days(add: Add) -> None:
    for host in ("db1", "db2", "db3"):
        add(host, 0, durs_ns=USUAL)
        slow = [90_000] * 30 if host == "db3" else []
        culprit = "backup" if host == "db3" else "checkpointer"
        add(host, 1, durs_ns=[*USUAL, *slow], culprit=culprit)


def test_a_new_culprit_and_a_host_that_got_worse(add: Add, fleet: Path, run: Run) -> None:
    two_days(add)
    found = compared(run, fleet)
    (kind,) = found["kinds"]
    status = {change["what"]: change["status"] for change in kind["culprits"]}
    assert status == {"io_dependency by backup": "new", "io_dependency by checkpointer": "less"}
    assert "new: io_dependency by backup" in found["verdict"]
    (worse,) = found["hosts"]
    assert (worse["host"], worse["a_n"], worse["b_n"]) == ("db3", 304, 334)
    assert worse["a_share"] == pytest.approx(4 / 304)
    assert worse["b_share"] == pytest.approx(34 / 334)
    assert worse["culprit"] == "io_dependency by backup"


def test_the_text_begins_with_the_verdict(add: Add, fleet: Path, run: Run) -> None:
    two_days(add)
    done = run("fleet", "diff", fleet, "day=2026-01-01", "day=2026-01-02")
    assert done.exit_code == 0, done.output
    lines = done.stdout.splitlines()
    assert lines[0].startswith("fsync p50 ")
    assert "Coverage of A" in lines
    assert "  read 3 recordings of 3 hosts" in lines
    assert any(line.startswith("  db3   fsync") for line in lines)


def test_a_day_with_itself_differs_in_nothing(add: Add, fleet: Path, run: Run) -> None:
    add("db1", durs_ns=USUAL)
    found = compared(run, fleet, "day=2026-01-01", "day=2026-01-01")
    (kind,) = found["kinds"]
    assert {change["status"] for change in kind["culprits"]} == {"same"}
    assert found["hosts"] == []
    assert {q["ratio"] for q in kind["quantiles"] if not q["why_not"]} == {1.0}


def test_kernels_are_parts_too(add: Add, fleet: Path, run: Run) -> None:
    add("db1", kernel="6.12.1", durs_ns=USUAL)
    add("db2", kernel="6.12.9", durs_ns=[2 * dur for dur in USUAL])
    (kind,) = compared(run, fleet, "kernel=6.12.1", "kernel=6.12.9")["kinds"]
    ratios = [quantile["ratio"] for quantile in kind["quantiles"] if not quantile["why_not"]]
    assert ratios == pytest.approx([2.0] * len(ratios), rel=0.006)
    assert ratios


def test_csv_has_the_hosts(add: Add, fleet: Path, run: Run) -> None:
    two_days(add)
    done = run("fleet", "diff", fleet, "--format", "csv")
    assert "# hosts\nhost,kind,a_n,b_n,a_share,b_share,culprit\ndb3,fsync,304,334," in done.stdout


def test_an_incomplete_part_has_status_3(add: Add, fleet: Path, run: Run, tmp_path: Path) -> None:
    two_days(add)
    (tmp_path / "hosts").write_text("db1\ndb2\ndb3\ndb4\n")
    found = compared(run, fleet, "--hosts", tmp_path / "hosts", status=3)
    assert found["a_coverage"]["missing"] == found["b_coverage"]["missing"] == ["db4"]


def test_errors_are_one_line(add: Add, fleet: Path, run: Run) -> None:
    add("db1")
    done = run("fleet", "diff", fleet)
    assert (done.exit_code, done.stderr) == (
        2,
        f"rcp-trace: error: {fleet} has one day only: name two parts, such as kernel=….\n",
    )
    done = run("fleet", "diff", fleet, "day=2026-01-01")
    assert done.stderr == (
        "rcp-trace: error: one part was given: give two, such as day=2026-01-30 day=2026-01-31.\n"
    )
    done = run("fleet", "diff", fleet, "day=2026-01-01", "day=2026-01-09")
    assert done.stderr == (
        f"rcp-trace: error: {fleet} (day=2026-01-09) has no summaries of day=2026-01-09: choose "
        "another part.\n"
    )
