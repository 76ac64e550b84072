"""rcp-tune from start to end in the lab: a real kernel, a real ext4, a simulated disk."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.lab, pytest.mark.usefixtures("lab")]


def _rcp_tune(*words: str, expect: tuple[int, ...] = (0,)) -> str:
    command = [str(Path(sys.executable).with_name("rcp-tune")), *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode in expect, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], Path]:
    """A short tuning on the stock kernel, and its study."""
    study = tmp_path_factory.mktemp("tune") / "study.duckdb"
    words = ["--slo", "p99=3ms@read", "--lab", "reads-vs-compaction", "-e", "REQUESTS=300"]
    words += ["--knobs", "stock", "--trials", "3", "--confirm", "1", "--no-ablation"]
    told = _rcp_tune(*words, "--study", str(study), "--format", "json", expect=(0, 1))
    return json.loads(told), study


def test_the_baseline_was_recorded_and_tells_whose_work_it_waits_for(
    found: tuple[dict[str, Any], Path],
) -> None:
    told, _ = found
    assert told["causes"], told["text"]
    assert any(cause["culprit"] == "fio" for cause in told["causes"])


def test_trials_differ_by_their_settings_and_are_all_there(
    found: tuple[dict[str, Any], Path],
) -> None:
    _, study = found
    rows = json.loads(_rcp_tune("show", str(study), "--format", "json"))
    assert [row["phase"] for row in rows[:4]] == ["baseline", "search", "search", "search"]
    assert not any(row["failed"] for row in rows), rows
    # The baseline misses by much; something that was tried changes it.
    ratios = [row["ratios"]["p99=3ms@read"] for row in rows[:4]]
    assert ratios[0] > 1
    assert min(ratios) < ratios[0] * 0.9
    assert told_once(_rcp_tune("explain", str(study)), "p99=3ms@read on lab: reads-vs-compaction")


def told_once(text: str, words: str) -> bool:
    """Whether *text* has *words* once."""
    return text.count(words) == 1
