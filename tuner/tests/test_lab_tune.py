"""rcp-tune from start to end in the lab: a real kernel, a real ext4, a simulated disk."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from rcp.fixtures.processes import HANG_S, comes_true, emulators

pytestmark = [pytest.mark.lab, pytest.mark.usefixtures("lab")]


def _rcp_tune(*words: str, expect: tuple[int, ...] = (0,)) -> str:
    command = [str(Path(sys.executable).with_name("rcp-tune")), *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode in expect, done.stderr
    return done.stdout


def _tuned(study: Path, *more: str) -> dict[str, Any]:
    """What a short tuning on the stock kernel says; *study* is where it is kept."""
    words = ["--slo", "p90=3ms@read", "--lab", "reads-vs-compaction", "--knobs", "stock"]
    words += ["--confirm", "1", "--no-ablation", *more, "--study", str(study), "--format", "json"]
    told: dict[str, Any] = json.loads(_rcp_tune(*words, expect=(0, 1)))
    return told


def _trials(study: Path) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads(_rcp_tune("show", str(study), "--format", "json"))
    assert not any(row["failed"] for row in rows), rows
    return rows


def test_a_dry_run_asks_a_guest_for_its_knobs_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    told = _rcp_tune("--dry-run", "--slo", "p90=3ms@read", "--lab", "reads-vs-compaction")
    assert "\n  disk.scheduler = mq-deadline; tried: bfq, kyber, mq-deadline, none; " in told
    assert "\n  I/O cut into pieces of 128 KiB: disk.max_sectors_kb=128\n" in told
    assert list(tmp_path.iterdir()) == []


@pytest.mark.heavy  # two of its trials are recorded, which takes minutes each
def test_causes_are_told_and_what_is_tried_helps(tmp_path: Path) -> None:
    study = tmp_path / "study.duckdb"
    told = _tuned(study, "-e", "REQUESTS=300", "--trials", "3")
    assert any(cause["culprit"] == "fio (background)" for cause in told["causes"]), told["text"]
    rows = _trials(study)
    assert [row["phase"] for row in rows[:5]] == ["baseline", "record", *["search"] * 3]
    # The baseline misses by much; something that was tried changes it.
    ratios = [row["ratios"]["p90=3ms@read"] for row in rows[:5] if row["phase"] != "record"]
    assert ratios[0] > 1
    assert min(ratios) < ratios[0] * 0.9
    assert told_once(_rcp_tune("explain", str(study)), "p90=3ms@read on lab: reads-vs-compaction")


def told_once(text: str, words: str) -> bool:
    """Whether *text* has *words* once."""
    return text.count(words) == 1


@pytest.mark.parametrize(
    ("number", "status"), [(signal.SIGTERM, 143), (signal.SIGINT, 130), (signal.SIGKILL, -9)]
)
def test_no_guest_outlives_the_tuner(tmp_path: Path, number: signal.Signals, status: int) -> None:
    study = tmp_path / "study.duckdb"
    command = [str(Path(sys.executable).with_name("rcp-tune")), "--slo", "p90=3ms@read"]
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    tuner = subprocess.Popen(
        [*command, "--lab", "reads-vs-compaction", "--study", str(study)],
        env={**os.environ, "TMPDIR": str(scratch)},
        start_new_session=True,
    )
    trials = study.with_suffix(".trials")
    try:
        assert comes_true(lambda: emulators(trials) != [])
        tuner.send_signal(number)
        assert tuner.wait(HANG_S) == status
    finally:
        tuner.kill()
        tuner.wait()
    assert comes_true(lambda: emulators(trials) == [])
    # rcp-lab ended in order, even without a tuner to ask it.
    assert comes_true(lambda: list(scratch.iterdir()) == [])
