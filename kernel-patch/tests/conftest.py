from pathlib import Path

import pytest


@pytest.fixture
def cache_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache of this test's own."""
    monkeypatch.setenv("RCP_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "lab"


@pytest.fixture
def scenarios(tmp_path: Path) -> Path:
    """A folder with one good scenario, "hello", and a helper script beside it."""
    root = tmp_path / "scenarios"
    (root / "hello").mkdir(parents=True)
    (root / "common.sh").write_text('greet() { echo "hello $1"; }\n')
    (root / "hello" / "run.sh").write_text(
        '#!/bin/sh\n. ../common.sh\ngreet "$WHO" > $RCP_LAB_OUT/greeting.txt\nexit "$1"\n'
    )
    (root / "hello" / "scenario.toml").write_text(
        'title = "Says hello"\ntypical_wall_s = 20\nmodules = ["null_blk"]\n'
    )
    return root
