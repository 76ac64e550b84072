"""Damaged stores: every command says so in one line, whatever is damaged, and gives no answer."""

import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest
from click.testing import CliRunner

from rcp.analyzer.cli import main
from rcp.analyzer.db.seal import SealError, check_seal, seal
from rcp.analyzer.loading.load import load_spool
from rcp.analyzer.tests.conftest import ErrorOf
from rcp.probes.contract.spool import unpack
from rcp.tuner.cli import main as tune

RECORDINGS = Path(__file__).parents[3] / "fixtures/recordings"
PAGE_BYTES = 4096
BLOCKS_FROM = 3 * PAGE_BYTES  # a DuckDB file: three headers, then blocks of 256 KiB
BLOCK_BYTES = 1 << 18
SEAL_BYTES = 28
REMEDY = ": load its spool again with `rcp-trace recover`, or record anew."

Damage = Callable[[random.Random, bytes, bytes], bytes]


def overwritten(rng: random.Random, store: bytes, _: bytes) -> bytes:
    at = rng.randrange(len(store) - PAGE_BYTES)
    return store[:at] + rng.randbytes(PAGE_BYTES) + store[at + PAGE_BYTES :]


def truncated(rng: random.Random, store: bytes, _: bytes) -> bytes:
    return store[: rng.randrange(len(store))]


def with_a_page_of_another(rng: random.Random, store: bytes, other: bytes) -> bytes:
    at = rng.randrange(min(len(store), len(other)) // PAGE_BYTES) * PAGE_BYTES
    return store[:at] + other[at : at + PAGE_BYTES] + store[at + PAGE_BYTES :]


def with_a_block_of_another(rng: random.Random, store: bytes, other: bytes) -> bytes:
    """DuckDB's own checksum of that block is right."""
    n_blocks = (min(len(store), len(other)) - BLOCKS_FROM) // BLOCK_BYTES
    at = BLOCKS_FROM + rng.randrange(n_blocks) * BLOCK_BYTES
    return store[:at] + other[at : at + BLOCK_BYTES] + store[at + BLOCK_BYTES :]


def in_another_order(rng: random.Random, store: bytes, _: bytes) -> bytes:
    n_blocks = (len(store) - BLOCKS_FROM) // BLOCK_BYTES
    a, b = sorted(BLOCKS_FROM + n * BLOCK_BYTES for n in rng.sample(range(n_blocks), 2))
    parts = (store[:a], store[b : b + BLOCK_BYTES], store[a + BLOCK_BYTES : b])
    return b"".join((*parts, store[a : a + BLOCK_BYTES], store[b + BLOCK_BYTES :]))


DAMAGES: tuple[Damage, ...] = (
    overwritten,
    truncated,
    with_a_page_of_another,
    with_a_block_of_another,
    in_another_order,
)

COMMANDS: tuple[tuple[str, ...], ...] = (
    ("report", "FILE"),
    ("path", "FILE", "1"),
    ("sql", "FILE", "FROM inversion_pattern"),
    ("roles", "FILE"),
    ("roles", "FILE", "--set", "background=comm:x", "-o", "OUT", "--force"),
    ("diff", "FILE", "WHOLE"),
    ("diff", "WHOLE", "FILE"),
    ("export", "FILE", "--folded", "-o", "-"),
    ("export", "FILE", "--perfetto", "-o", "OUT", "--force"),
    ("export", "FILE", "--parquet", "FOLDER", "--force"),
    ("gate", "FILE", "--slo", "p99=50ms@fsync"),
    ("gate", "FILE", "--baseline", "WHOLE"),
)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Two stores of real recordings."""
    folder = tmp_path_factory.mktemp("whole")
    stores = []
    for name in ("wal-vs-checkpoint", "wal-alone"):
        (folder / name).mkdir()
        spool = unpack(RECORDINGS / f"{name}.spool.tar.xz", folder / name)
        load_spool(spool, folder / f"{name}.duckdb")
        stores.append(folder / f"{name}.duckdb")
    return stores


@pytest.mark.parametrize("damage", DAMAGES)
def test_no_command_answers_from_a_damaged_store(
    whole: list[Path], tmp_path: Path, error_of: ErrorOf, damage: Damage
) -> None:
    """48 copies of each kind, each asked by one command."""
    rng = random.Random(damage.__name__)
    store, other = (path.read_bytes() for path in whole)
    places = {"WHOLE": str(whole[1]), "OUT": str(tmp_path / "out"), "FOLDER": str(tmp_path / "f")}
    n_damaged = 0
    while n_damaged < 4 * len(COMMANDS):
        damaged = damage(rng, store, other)
        if damaged == store:
            continue  # both have zeros there
        command = COMMANDS[n_damaged % len(COMMANDS)]
        n_damaged += 1
        file = tmp_path / "x.duckdb"
        file.write_bytes(damaged)
        words = [places.get(word, str(file) if word == "FILE" else word) for word in command]
        message = error_of(*words)
        assert message.startswith(f"{file} "), message
        assert message.endswith(REMEDY) or " is not a recording: " in message, message
        assert not (tmp_path / "out").exists(), command


def test_a_store_without_a_seal_is_read_as_far_as_duckdb_finds_it_whole(
    whole: list[Path], tmp_path: Path
) -> None:
    """DuckDB checks the blocks it reads: an answer rests on whole ones, or there is none."""
    rng = random.Random("unsealed")
    file = tmp_path / "x.duckdb"
    unsealed = whole[0].read_bytes()[:-SEAL_BYTES]
    file.write_bytes(unsealed)
    expected = CliRunner().invoke(main, ["report", str(file)]).stdout
    n_refused = 0
    for _ in range(24):
        file.write_bytes(overwritten(rng, unsealed, b""))
        result = CliRunner().invoke(main, ["report", str(file)])
        if result.exit_code == 0:
            assert result.stdout == expected
            continue
        n_refused += 1
        assert result.exit_code == 2, result.output
        assert result.stderr.count("\n") == 1
        assert result.stderr.startswith(f"rcp-trace: error: {file} is damaged: ")
    assert n_refused > 0


STUDY = RECORDINGS / "reads-vs-writers.duckdb"
STUDY_COMMANDS: tuple[tuple[str, ...], ...] = (
    ("show", "FILE"),
    ("explain", "FILE"),
    ("status", "FILE"),
    ("export", "FILE"),
    ("compare", "FILE", "WHOLE"),
    ("merge", "WHOLE", "FILE", "-o", "OUT"),
    ("keep", "FILE", "--format", "sysctl"),
)


def tuner_error(tmp_path: Path, command: tuple[str, ...], file: Path) -> str:
    """The one line of a command on a damaged study; empty if it had an answer."""
    places = {"FILE": str(file), "WHOLE": str(STUDY), "OUT": str(tmp_path / "out.duckdb")}
    result = CliRunner().invoke(tune, [places.get(word, word) for word in command])
    if result.exit_code == 0:
        (tmp_path / "out.duckdb").unlink(missing_ok=True)
        return ""
    assert not (tmp_path / "out.duckdb").exists(), command
    assert result.exit_code == 2, (command, result.output, result.exception)
    assert result.stderr.startswith("rcp-tune: error: "), result.stderr
    assert result.stderr.count("\n") == 1
    return result.stderr


@pytest.mark.parametrize("command", STUDY_COMMANDS, ids=lambda command: command[0])
def test_no_command_of_the_tuner_ends_in_a_traceback(
    tmp_path: Path, command: tuple[str, ...]
) -> None:
    rng = random.Random(command[0])
    study = STUDY.read_bytes()
    file = tmp_path / "study.duckdb"
    errors = []
    for damage in [overwritten, truncated] * 8:
        file.write_bytes(damage(rng, study, b""))
        errors.append(tuner_error(tmp_path, command, file))
    assert any(errors)


CHANGES = (
    "DELETE FROM meta",
    "UPDATE meta SET value = '{'",
    "UPDATE meta SET value = '-1'",
    "DROP TABLE trial_quantile",
    "DELETE FROM trial_quantile",
    "DELETE FROM knob",
)


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("command", STUDY_COMMANDS, ids=lambda command: command[0])
def test_values_that_rcp_does_not_write_end_in_one_line(
    tmp_path: Path, command: tuple[str, ...], change: str
) -> None:
    """DuckDB finds nothing wrong with them."""
    file = tmp_path / "study.duckdb"
    shutil.copy(STUDY, file)
    with duckdb.connect(str(file)) as store:
        store.execute(change)
    tuner_error(tmp_path, command, file)


@pytest.mark.parametrize("value", ["{", "9" * 5000, "[" * 100_000, "null", '"x"'])
def test_a_recording_whose_facts_were_changed_ends_in_one_line(recording: Path, value: str) -> None:
    with duckdb.connect(str(recording)) as store:
        store.execute("UPDATE meta SET value = ? WHERE key <> 'store_version'", [value])
    for command in (["report"], ["diff", str(recording)], ["roles"]):
        result = CliRunner().invoke(main, [*command, str(recording)])
        assert result.exit_code in (0, 2), (command, result.exception)
        assert result.exit_code == 0 or result.stderr.count("\n") == 1


@pytest.mark.parametrize("name", ["task", "sleep", "io", "request"])
def test_a_spool_whose_records_were_overwritten_ends_in_one_line(
    tmp_path: Path, spool: Path, name: str
) -> None:
    rng = random.Random(name)
    records = (spool / f"{name}.bin").read_bytes()
    for _ in range(12):
        at = rng.randrange(len(records))
        (spool / f"{name}.bin").write_bytes((records[:at] + rng.randbytes(64))[: len(records)])
        target = str(tmp_path / "out.duckdb")
        result = CliRunner().invoke(main, ["recover", str(spool), "-o", target, "--force"])
        assert result.exit_code in (0, 2), result.exception
        assert result.exit_code == 0 or result.stderr.count("\n") == 1, result.stderr


def test_a_fault_of_rcp_on_a_sealed_store_keeps_its_traceback(
    recording: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rcp.analyzer.db.errors._unverified", "")
    monkeypatch.setattr("rcp.analyzer.reports.report.report", lambda store: 1 / 0)
    result = CliRunner().invoke(main, ["report", str(recording)])
    assert isinstance(result.exception, ZeroDivisionError)


def test_a_pipe_is_not_waited_for(tmp_path: Path, error_of: ErrorOf) -> None:
    os.mkfifo(tmp_path / "x.duckdb")
    assert error_of("report", tmp_path / "x.duckdb").endswith("x.duckdb is not a regular file.")
    result = CliRunner().invoke(tune, ["show", str(tmp_path / "x.duckdb")])
    assert (result.exit_code, result.stderr.count("\n")) == (2, 1)


def test_a_name_that_is_not_utf8(recording: Path, error_of: ErrorOf) -> None:
    name = recording.with_name(os.fsdecode(b"\xff\x1b.duckdb"))
    recording.rename(name)
    message = error_of("report", name)
    assert message.endswith("\\udcff\\u001b.duckdb has a name that is not UTF-8: rename it.")


def test_a_log_beside_a_sealed_store(recording: Path, error_of: ErrorOf) -> None:
    log = recording.with_name(f"{recording.name}.wal")
    log.write_bytes(b"x")
    message = error_of("report", recording)
    assert message == (f"{recording} is damaged: {log} holds changes that are not in it{REMEDY}")


def test_the_explorer_does_not_start_on_a_damaged_store(recording: Path, error_of: ErrorOf) -> None:
    recording.write_bytes(recording.read_bytes()[:PAGE_BYTES])
    assert " is damaged: " in error_of("explore", recording, "--no-browser", "--port", 8987)


def test_a_changed_byte_is_found(tmp_path: Path) -> None:
    file = tmp_path / "x"
    file.write_bytes(b"0123456789")
    seal(file)
    check_seal(file)
    file.write_bytes(file.read_bytes().replace(b"5", b"6"))
    with pytest.raises(SealError, match="its checksum does not match"):
        check_seal(file)


def test_a_hole_before_the_seal_is_found(tmp_path: Path) -> None:
    file = tmp_path / "x"
    file.write_bytes(b"0123456789")
    seal(file)
    file.write_bytes(file.read_bytes()[3:])
    with pytest.raises(SealError, match="it had 10 bytes and has 7"):
        check_seal(file)


def test_what_was_never_sealed_passes(recording: Path, tmp_path: Path) -> None:
    for content in (b"", b"short", recording.read_bytes()[:-SEAL_BYTES]):
        (tmp_path / "x").write_bytes(content)
        check_seal(tmp_path / "x")


def test_a_store_that_duckdb_has_written_again_is_read(recording: Path) -> None:
    """As users do who change a copy. The file grows and shrinks with it."""
    sizes = []
    for n in range(4):
        seal(recording)
        with duckdb.connect(str(recording)) as store:
            comm = f"checkpoint{n}"
            store.execute("UPDATE task SET comm = ? WHERE comm LIKE 'checkpoint%'", [comm])
        result = CliRunner().invoke(main, ["sql", str(recording), "SELECT comm FROM task"])
        assert comm in result.stdout, result.stderr
        sizes.append(recording.stat().st_size)
    assert len(set(sizes)) > 1


@pytest.mark.parametrize(("iteration", "is_read"), [(7, False), (8, True), (6, False)])
def test_a_seal_holds_until_the_headers_are_written_again(
    tmp_path: Path, iteration: int, is_read: bool
) -> None:
    """Sealed at iteration 7, with a byte changed behind the headers since."""
    file = tmp_path / "x"
    headers = bytearray(BLOCKS_FROM)
    headers[PAGE_BYTES + 8] = 7
    file.write_bytes(headers + b"block")
    seal(file)
    headers[PAGE_BYTES + 8] = iteration
    file.write_bytes(headers + b"black" + file.read_bytes()[-SEAL_BYTES:])
    if is_read:
        check_seal(file)
    else:
        with pytest.raises(SealError):
            check_seal(file)


def test_duckdb_reads_a_sealed_store(recording: Path, error_of: ErrorOf) -> None:
    copy = recording.with_name("copy.duckdb")
    shutil.copy(recording, copy)
    check_seal(copy)
    assert CliRunner().invoke(main, ["report", str(copy)]).exit_code == 0
