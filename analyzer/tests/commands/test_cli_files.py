"""Files that are no recordings, or of another rcp: exactly what users read then."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import duckdb

from rcp.analyzer.db.store import STORE_VERSION
from rcp.fixtures.damage import without_checksums
from rcp.probes.contract.events import SCHEMA_VERSION
from rcp.probes.contract.spool import pack

if TYPE_CHECKING:
    from rcp.analyzer.tests.conftest import ErrorOf


def test_unknown_request(recording: Path, error_of: ErrorOf) -> None:
    message = f"{recording} has no request %s: request ids go from 1 to 2."
    assert error_of("path", recording, 99) == message % 99
    assert error_of("path", recording, "x") == message % "x"
    assert error_of("path", recording, "9" * 30) == message % ("9" * 30)


def test_missing_file(tmp_path: Path, error_of: ErrorOf) -> None:
    assert error_of("report", tmp_path / "no") == (
        f"{tmp_path}/no does not exist: `rcp-trace record` makes a recording."
    )


def test_file_that_is_no_recording(tmp_path: Path, error_of: ErrorOf) -> None:
    file = tmp_path / "x.duckdb"
    file.write_text("hello")
    assert error_of("report", file) == (
        f"{file} is not a recording: neither a DuckDB file nor a spool; `rcp-trace record` makes "
        "one."
    )


def test_truncated_recording(recording: Path, error_of: ErrorOf) -> None:
    with recording.open("r+b") as file:
        file.truncate(10_000)
    assert error_of("report", recording).startswith(f"{recording} ")


def test_foreign_database(tmp_path: Path, error_of: ErrorOf) -> None:
    file = tmp_path / "x.duckdb"
    duckdb.connect(str(file)).close()
    assert error_of("report", file) == (
        f"{file} is a DuckDB file but not a recording of rcp: load one with `rcp-trace recover "
        "SPOOL -o FILE`, or restore a damaged one from a copy."
    )


def test_a_study_is_named_with_the_command_that_reads_it(error_of: ErrorOf) -> None:
    study = Path(__file__).parents[3] / "fixtures/recordings/reads-vs-writers.duckdb"
    for command in (["report"], ["roles"], ["diff", study], ["sql", "FROM trial"]):
        assert error_of(command[0], study, *command[1:]) == (
            f"{study} is a study of rcp-tune, not a recording: read it with `rcp-tune explain`."
        )


def test_newer_store(recording: Path, error_of: ErrorOf) -> None:
    with duckdb.connect(str(recording)) as connection:
        connection.execute("UPDATE meta SET value = '99' WHERE key = 'store_version'")
    assert error_of("report", recording) == (
        f"{recording} has store version 99, newer than this rcp's {STORE_VERSION}: update rcp."
    )


def test_older_store(recording: Path, error_of: ErrorOf) -> None:
    with duckdb.connect(str(recording)) as connection:
        connection.execute("UPDATE meta SET value = '1' WHERE key = 'store_version'")
    assert error_of("report", recording) == (
        f"{recording} has store version 1, older than this rcp's {STORE_VERSION}: load its spool "
        "again with `rcp-trace recover`, or record anew."
    )


def test_older_spool(spool: Path, error_of: ErrorOf) -> None:
    for file in without_checksums(spool).glob("*.bin"):
        data = bytearray(file.read_bytes())
        data[8:12] = (1).to_bytes(4, "little")
        file.write_bytes(data)
    assert error_of("report", spool) == (
        f"{spool}/task.bin has spool version 1, older than this rcp's {SCHEMA_VERSION}: load it "
        "with the rcp that recorded it, or record anew."
    )


def test_folder_that_is_no_spool(tmp_path: Path, error_of: ErrorOf) -> None:
    assert error_of("report", tmp_path) == (
        f"{tmp_path} is not an rcp spool: it holds no record files."
    )


def test_foreign_spool(spool: Path, error_of: ErrorOf) -> None:
    for file in without_checksums(spool).glob("*.bin"):
        file.write_bytes(b"x" * 200)
    assert error_of("recover", spool) == (
        f"{spool}/task.bin is not an rcp spool file: its header is of another format."
    )


def test_damaged_archive(spool: Path, tmp_path: Path, error_of: ErrorOf) -> None:
    packed = tmp_path / "x.spool.tar.xz"
    pack(spool, packed)
    whole = packed.read_bytes()
    for data in (b"hello", whole[: len(whole) // 2], whole[:200] + b"\0" * 50 + whole[250:]):
        packed.write_bytes(data)
        assert error_of("report", packed).startswith(f"{packed} is not a packed rcp spool: ")
