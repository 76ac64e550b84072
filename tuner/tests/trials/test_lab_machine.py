"""What rcp-tune passes to the lab; no guest is booted."""

from __future__ import annotations

import shutil
from pathlib import Path

from click.testing import CliRunner

from rcp.tuner.cli import main


def test_the_lab_is_of_the_checkout_that_is_named(tmp_path: Path) -> None:
    (tmp_path / "rcp/fixtures/scenarios").mkdir(parents=True)
    shutil.copy(Path(__file__).parents[3] / "setup.cfg", tmp_path / "rcp")
    words = ["--slo", "p99=1ms", "--lab", "nosuch", "--study", str(tmp_path / "s.duckdb")]
    result = CliRunner().invoke(main, [*words, "--checkout", str(tmp_path / "rcp")])
    assert result.exit_code == 2
    note, error, *_ = result.stderr.splitlines()
    assert note == "rcp-tune: booting a guest with the stock kernel, to read its knobs"
    assert error.startswith(
        "rcp-tune: error: nosuch in the lab: no scenario 'nosuch' in "
        f"{tmp_path}/rcp/fixtures/scenarios"
    )
    assert not (tmp_path / "s.duckdb").exists()
