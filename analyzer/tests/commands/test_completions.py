"""What a shell completes, asked of the programs as bash asks them."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import click
import duckdb
import pytest
from click.shell_completion import ShellComplete

from rcp.analyzer.db.store import open_store
from rcp.analyzer.latencies.quantiles import SHARES, TAILS

GROUPS = {"rcp-trace": "rcp.analyzer.cli", "rcp-tune": "rcp.tuner.cli", "rcp-lab": "rcp.lab.cli"}


def completed(line: str) -> list[str]:
    """Return what follows after TAB at the end of *line*."""
    return [value for _, value in items(line)]


def items(line: str) -> list[tuple[str, str]]:
    """Return the kinds and values that the shell gets: of kind file, it completes a path."""
    program, *words, incomplete = line.split(" ")
    main: click.Command = import_module(GROUPS[program]).main
    shell = ShellComplete(main, {}, program, "_COMPLETE")
    return [(item.type, item.value) for item in shell.get_completions(words, incomplete)]


@pytest.mark.parametrize(
    ("line", "some"),
    [
        ("rcp-trace re", ["record", "recover", "report"]),
        ("rcp-trace gate h", ["history"]),
        ("rcp-trace gate --max", ["--max-regression", "--max-failed", "--max-loss"]),
        ("rcp-trace record --profile p", ["postgresql"]),
        ("rcp-trace record --request fs", ["fsync"]),
        ("rcp-trace record --request po", ["poll", "postgresql"]),
        ("rcp-trace record --without lock", ["lock_wait"]),
        ("rcp-trace live --background co", ["comm:"]),
        ("rcp-trace roles x.duckdb --profile r", ["redis", "rocksdb"]),
        ("rcp-trace gate check --unit m", ["ms"]),
        (
            "rcp-trace gate check --slo tail9",
            ["tail90=", "tail95=", "tail99=", "tail999=", "tail9999="],
        ),
        ("rcp-trace gate check --max-regression ma", ["max="]),
        ("rcp-trace gate history base --quantile tail5", ["tail50"]),
        ("rcp-tune --sl", ["--slo"]),
        ("rcp-tune --slo p999", ["p999=", "p9999="]),
        ("rcp-tune --slo p99=1ms --lab wal", ["wal-vs-checkpoint"]),
        ("rcp-tune --lab wal-vs-checkpoint -e CHECK", ["CHECKPOINT_MIB="]),
        ("rcp-tune --slo p99=1ms --start r", ["redis", "rocksdb"]),
        ("rcp-tune profiles show m", ["mixed"]),
        ("rcp-tune keep r", ["redis", "rocksdb"]),
        ("rcp-tune verify r", ["redis", "rocksdb"]),
        ("rcp-tune verify redis m", ["mixed"]),
        ("rcp-tune st", ["status"]),
        ("rcp-lab run wal", ["wal-vs-checkpoint"]),
        ("rcp-lab run wal-vs-checkpoint -e PRESET=s", ["PRESET=sata_ssd", "PRESET=sata_ssd_plp"]),
        ("rcp-lab run --module rcp", ["rcpdisk"]),
    ],
)
def test_names_are_completed(line: str, some: list[str]) -> None:
    assert set(completed(line)) == set(some)


def test_figures_are_those_that_a_gate_knows() -> None:
    known = [name for name in (*SHARES, *TAILS) if "." not in name]
    assert completed("rcp-trace gate history base --quantile ") == sorted(known)


def test_disks_are_those_of_the_machine() -> None:
    disks = {path.name for path in Path("/sys/block").iterdir()}
    for command in ("rcp-tune", "rcp-tune keep best.toml", "rcp-tune verify best.toml"):
        assert set(completed(f"{command} --disk ")) <= disks


@pytest.mark.parametrize("command", ["keep", "verify"])
def test_settings_are_profiles_and_the_files_of_this_folder(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in (
        "rcp-tune.duckdb",
        "best.toml",
        "notes.txt",
        "x;y.toml",
        ".hidden.toml",
        "-o.toml",
    ):
        (tmp_path / name).touch()
    profiles = completed("rcp-tune profiles show ")
    line = f"rcp-tune {command} "
    assert completed(line) == sorted([*profiles, "best.toml", "rcp-tune.duckdb"])
    assert completed(f"{line}r") == ["rcp-tune.duckdb", "redis", "rocksdb"]


@pytest.mark.parametrize("word", ["./b", "/etc/sysctl.d/60", "no-such-name"])
def test_other_paths_of_settings_are_left_to_the_shell(word: str) -> None:
    for command in ("keep", "verify"):
        assert items(f"rcp-tune {command} {word}") == [("file", word)]


def test_ids_are_those_of_the_slowest_requests(recording: Path) -> None:
    with open_store(recording) as store:
        slowest = store.ask("SELECT request_id FROM request ORDER BY dur DESC LIMIT 20").rows
    ids = [str(request_id) for (request_id,) in slowest]
    assert ids
    assert set(completed(f"rcp-trace path {recording} ")) == set(ids)
    assert set(completed(f"rcp-trace path {recording} 1")) == {i for i in ids if i[0] == "1"}


def test_names_in_a_recording_are_completed(recording: Path) -> None:
    with open_store(recording) as store:
        kinds = {name for (name,) in store.ask("SELECT DISTINCT name FROM request").rows}
        tasks = "SELECT DISTINCT comm FROM request JOIN task USING (utid)"
        names = {name for (name,) in store.ask(tasks).rows}
        culprits = {c for (c,) in store.ask("SELECT DISTINCT culprit FROM inversion").rows}
    assert kinds
    assert culprits
    for command in ("report", "export"):
        assert set(completed(f"rcp-trace {command} {recording} --request ")) == kinds
        assert set(completed(f"rcp-trace {command} {recording} --task ")) == names
    assert set(completed(f"rcp-trace whatif {recording} --without ")) == culprits
    ids = completed(f"rcp-trace path {recording} 1")
    assert completed(f"rcp-trace report {recording} --request 1") == ids


@pytest.mark.parametrize("name", ["\x1b[31mx", "a b", "x;y", "$(id)", "a\nb", "`id`", "x'"])
def test_a_name_that_is_no_plain_word_is_not_completed(recording: Path, name: str) -> None:
    with duckdb.connect(recording) as store:
        (request_id,) = store.execute("SELECT min(request_id) FROM request").fetchone() or (0,)
        store.execute("UPDATE request SET name = 'plain'")
        store.execute("INSERT INTO request BY NAME SELECT * REPLACE (? AS name, 0 AS request_id) "
                      "FROM request WHERE request_id = ?", [name, request_id])  # fmt: skip
    assert completed(f"rcp-trace report {recording} --request ") == ["plain"]


def test_a_file_that_is_no_recording_completes_nothing(tmp_path: Path) -> None:
    (tmp_path / "x.duckdb").write_text("no")
    assert completed(f"rcp-trace path {tmp_path}/x.duckdb ") == []
    assert completed(f"rcp-trace path {tmp_path}/none.duckdb ") == []
