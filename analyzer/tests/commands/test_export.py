"""``rcp-trace export``: what users type, and exactly what they read when it goes wrong."""

import json
import re
from pathlib import Path

import pyarrow.parquet
import pytest
from click.testing import CliRunner, Result

from rcp.analyzer.cli import main
from rcp.analyzer.commands.selecting import OFFSET
from rcp.analyzer.db.store import open_store
from rcp.analyzer.loading.load import load_spool
from rcp.fixtures.synth import Synth


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["export", *map(str, arguments)])


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    synth = Synth([("foreground", "comm:writer")])
    fg, other = synth.task("writer", tid=10, target=True), synth.task("other", tid=11)
    synth.request(fg, 1_000_000, 1_000_300)
    synth.request(fg, 2_000_000, 2_000_100)
    synth.request(fg, 3_000_000, 3_000_200)
    synth.request(fg, 4_000_000, 0)
    synth.request(other, 5_000_000, 5_900_000)
    load_spool(synth.write(tmp_path / "x.spool"), tmp_path / "x.duckdb")
    return tmp_path / "x.duckdb"


def error_of(*arguments: object) -> str:
    result = run(*arguments)
    assert result.exit_code == 2, result.output
    assert result.stderr.count("\n") == 1
    return result.stderr.removeprefix("rcp-trace: error: ").rstrip("\n")


def test_the_output_stands_beside_the_recording(recording: Path) -> None:
    result = run(recording, "--perfetto")
    target = recording.with_name("x.pftrace")
    assert result.stderr == f"{target} written; open it at https://ui.perfetto.dev.\n"
    assert target.stat().st_size > 0
    assert not list(recording.parent.glob(".*"))
    assert error_of(recording, "--perfetto") == (
        f"{target} already exists: use --force to replace it, or -o."
    )
    assert run(recording, "--perfetto", "--force").exit_code == 0


def test_a_dash_is_stdout(recording: Path) -> None:
    result = run(recording, "--perfetto", "-o", "-")
    run(recording, "--perfetto")
    assert result.stdout_bytes == recording.with_name("x.pftrace").read_bytes()
    assert result.stderr == ""


def test_errors_are_one_line(recording: Path) -> None:
    assert error_of(recording) == (
        "no format was given: choose --perfetto, --folded, --speedscope, --otlp or --parquet."
    )
    assert error_of(recording, "--perfetto", "--folded") == (
        "2 formats were given: choose --perfetto, --folded, --speedscope, --otlp or --parquet."
    )
    assert error_of(recording, "--perfetto", "--request", 9) == (
        f"{recording} has no request 9: request ids go from 1 to 5."
    )
    assert error_of(recording, "--perfetto", "--request", 4) == (
        "request 4 did not finish: it has no critical path."
    )
    assert error_of(recording, "--perfetto", "--from", "2s", "--to", "1s") == (
        "--from 2 s must come before --to 1 s."
    )
    result = run(recording, "--perfetto", "--from", "1h")
    assert result.exit_code == 2
    assert result.stderr.splitlines()[-1] == (
        "Error: Invalid value for '--from': '1h' is not a time: write it like 1.5s or 200ms."
    )


def test_parquet_holds_every_table_whole(recording: Path, tmp_path: Path) -> None:
    folder = tmp_path / "it's tables"
    result = run(recording, "--parquet", folder)
    assert result.exit_code == 0, result.stderr
    with open_store(recording) as store:
        counts = {table: store.query(f"SELECT count(*) FROM {table}")[0][0]
                  for table in store.tables()}  # fmt: skip
    assert result.stderr == (
        f"{folder}: {sum(counts.values())} rows of {len(counts)} tables written.\n"
    )
    assert {path.name for path in folder.iterdir()} == {f"{name}.parquet" for name in counts}
    assert counts["request"] == 5
    for name, n_rows in counts.items():
        assert pyarrow.parquet.read_table(folder / f"{name}.parquet").num_rows == n_rows, name
    rows = pyarrow.parquet.read_table(folder / "request.parquet").to_pylist()
    assert [row["dur"] for row in rows] == [300, 100, 200, None, 900_000]


def test_parquet_has_rules_of_its_own(recording: Path, tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("")
    assert error_of(recording, "--parquet", tmp_path / "taken") == (
        f"{tmp_path / 'taken'} is not an empty folder: use --force to write into it."
    )
    assert error_of(recording, "--parquet", tmp_path) == (
        f"{tmp_path} is not an empty folder: use --force to write into it."
    )
    assert run(recording, "--parquet", tmp_path, "--force").exit_code == 0
    assert error_of(recording, "--parquet", tmp_path / "x", "--slowest", 3) == (
        "--parquet writes every table whole: leave out -o, --request, --task, --slowest, "
        "--from, --to."
    )


def test_a_full_disk_is_told_with_the_file_and_leaves_no_folder(
    recording: Path, tmp_path: Path, small_files: None
) -> None:
    folder = tmp_path / "out" / "it's tables"
    told = error_of(recording, "--parquet", folder)
    assert re.fullmatch(re.escape(f"{folder}/") + r"\w+\.parquet: File too large\.", told), told
    assert not folder.parent.exists()
    trace = tmp_path / "x.pftrace"
    assert error_of(recording, "--perfetto", "-o", trace) == f"{trace}: File too large."
    assert not trace.exists()


def test_parquet_that_fails_leaves_what_was_there(
    recording: Path, tmp_path: Path, small_files: None
) -> None:
    folder = tmp_path / "tables"
    folder.mkdir()
    (folder / "mine").write_text("")
    assert "File too large" in error_of(recording, "--parquet", folder, "--force")
    assert [path.name for path in folder.iterdir()] == ["mine"]


def test_flame_graphs_stand_beside_the_recording(recording: Path) -> None:
    assert run(recording, "--folded").exit_code == 0
    assert recording.with_name("x.folded").read_text() == ""  # its requests never waited
    assert run(recording, "--speedscope").exit_code == 0
    exported = json.loads(recording.with_name("x.speedscope.json").read_text())
    assert [profile["name"] for profile in exported["profiles"]] == [
        "fsync 1: 300 ns",
        "fsync 3: 200 ns",
        "fsync 2: 100 ns",
    ]


@pytest.mark.parametrize(
    ("text", "ns"),
    [
        ("1.5s", 1_500_000_000),
        ("2", 2_000_000_000),
        ("200ms", 200_000_000),
        ("7us", 7_000),
        ("3 µs", 3_000),
        ("12ns", 12),
    ],
)
def test_times_have_units(text: str, ns: int) -> None:
    assert OFFSET.convert(text, None, None) == ns
