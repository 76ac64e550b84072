"""What a spool no longer has is said first, lowers the confidence, and fails the gate."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from random import Random
from typing import Any

import pytest
from click.testing import CliRunner, Result

from rcp.analyzer.cli import main
from rcp.fixtures.damage import without_checksums
from rcp.fixtures.synth import Synth
from rcp.probes.contract.events import RECORDS, REQUEST, SLEEP, Record, WaitReason

N_REQUESTS = 1200
SLO = "p99=1ms"


def recorded() -> Synth:
    """Fsyncs of 1 to 2.2 us, each waiting for a lock of the checkpointer."""
    synth = Synth([("background", "comm:checkpointer")])
    writer = synth.task("writer", tid=10, target=True)
    holder = synth.task("checkpointer", tid=20)
    synth.sleep(holder, 1, 2)
    for at in range(1, N_REQUESTS + 1):
        begin = at * 10_000
        synth.request(writer, begin, begin + 1000 + at)
        synth.sleep(
            *(writer, begin + 100, begin + 900),
            waker=holder,
            reason=WaitReason.LOCK,
            stack=["down_read"],
        )
    return synth


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return recorded().write(tmp_path_factory.mktemp("whole") / "x.spool", batch_rows=50)


@pytest.fixture(scope="module")
def whole_report(whole: Path) -> dict[bool, str]:
    """The report of the whole spool, by whether its checksums are missing."""
    with_checksums = run("report", whole).stdout
    old = without_checksums(Path(shutil.copytree(whole, whole.with_name("old") / whole.name)))
    return {False: with_checksums, True: run("report", old).stdout}


@pytest.fixture
def spool(whole: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(whole, tmp_path / "x.spool"))


def run(*arguments: object) -> Result:
    result = CliRunner().invoke(main, [str(argument) for argument in arguments])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


def first_line(spool: Path) -> str:
    result = run("report", spool)
    assert result.exit_code == 0, result.output
    return " ".join(result.stdout.partition("\n\n")[0].split())


def report_of(spool: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(run("report", spool, "--format", "json").stdout)
    return found


def gate(spool: Path, *options: object) -> Result:
    return run("gate", spool, "--slo", SLO, *options)


def cut(spool: Path, record: Record, share: float) -> None:
    file = spool / f"{record.name}.bin"
    data = file.read_bytes()
    file.write_bytes(data[: int(len(data) * share)])


def test_a_whole_spool_says_nothing_and_passes(spool: Path) -> None:
    assert first_line(spool).startswith(f"Background work delayed {N_REQUESTS} of {N_REQUESTS} ")
    assert gate(spool).exit_code == 0


@pytest.mark.parametrize("record", [SLEEP, REQUEST], ids=lambda record: record.name)
@pytest.mark.parametrize("is_old", [False, True])
def test_a_cut_file_is_said_first_and_fails_the_gate(
    spool: Path, record: Record, is_old: bool
) -> None:
    if is_old:
        without_checksums(spool)
    cut(spool, record, 0.9)
    line = first_line(spool)
    assert line.startswith("Incomplete recording: ")
    assert f" of {N_REQUESTS + (record == SLEEP)} {record.name} records are missing" in line
    found = report_of(spool)
    (loss,) = [row for row in found["losses"] if row["missing"]]
    assert loss["probe"] == record.name
    assert f"Incomplete recording: {loss['missing']} of {loss['written']} " in line
    assert found["answer"]["incomplete"].startswith("Incomplete")
    result = gate(spool)
    assert result.exit_code == 3
    assert "is incomplete: " in " ".join(result.output.split())
    assert gate(spool, "--max-loss", 1_000_000).exit_code == 0


ANSWERS = {
    "path": ("path", "{}", "1"),
    "path as JSON": ("path", "{}", "1", "--format", "json"),
    "roles": ("roles", "{}"),
    "sql": ("sql", "{}", "SELECT count(*) FROM request"),
    "diff": ("diff", "{whole}", "{}"),
    "whatif": ("whatif", "{}", "--without", "checkpointer"),
    "export": ("export", "{}", "-o", "{target}.pftrace", "--perfetto"),
    "summary": ("summary", "{}", "-o", "{target}.parquet", "--day", "2026-01-31"),
    "recover": ("recover", "{}", "-o", "{target}.duckdb"),
    "gate save": ("gate", "save", "{}", "-o", "{target}"),
}


@pytest.mark.parametrize("command", ANSWERS.values(), ids=ANSWERS)
def test_every_answer_from_a_cut_recording_says_so(
    spool: Path, whole: Path, tmp_path: Path, command: tuple[str, ...]
) -> None:
    cut(spool, SLEEP, 0.9)
    names = {"whole": whole, "target": tmp_path / "target"}
    result = run(*(word.format(spool, **names) for word in command))
    assert result.exit_code == 0, result.output
    said = " ".join(result.stderr.split())
    assert f" warning: {tmp_path / 'target.duckdb' if command[0] == 'recover' else spool}: " in said
    assert said.count("Incomplete recording: ") == 1
    assert "Incomplete" not in result.stdout


def test_a_save_of_a_cut_recording_is_refused_as_the_recording_is(
    spool: Path, whole: Path, tmp_path: Path
) -> None:
    cut(spool, SLEEP, 0.9)
    assert run("gate", "save", spool, "-o", tmp_path / "base").exit_code == 0
    of_save, of_spool = (
        run("gate", whole, "--baseline", side) for side in (tmp_path / "base", spool)
    )
    assert of_save.exit_code == of_spool.exit_code == 3
    assert "is incomplete: " in " ".join(of_spool.stdout.split())
    assert of_save.stdout.partition("\n\n")[0] == of_spool.stdout.partition("\n\n")[0]


def test_a_change_of_roles_says_it_once(spool: Path, tmp_path: Path) -> None:
    cut(spool, SLEEP, 0.9)
    target = tmp_path / "x.duckdb"
    run("recover", spool, "-o", target)
    result = run("roles", target, "--set", "foreground=comm:writer")
    assert result.exit_code == 0, result.output
    assert result.stderr.count("Incomplete recording: ") == 1


def test_missing_sleeps_lower_the_confidence(spool: Path) -> None:
    cut(spool, SLEEP, 0.5)
    (pattern,) = report_of(spool)["patterns"]
    assert pattern["confidence"] < 0.9
    assert pattern["why_lowered"][0].endswith("of events lost")


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record.name)
def test_a_deleted_file_is_a_loss_of_all_its_records(spool: Path, record: Record) -> None:
    n = len(recorded().records(record))
    (spool / f"{record.name}.bin").unlink()
    line = first_line(spool)
    if n:
        assert line.startswith(f"Incomplete recording: all {n} {record.name} records are missing")
    else:
        assert not line.startswith("Incomplete")


@pytest.mark.parametrize("is_old", [False, True])
@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record.name)
def test_a_garbage_tail_changes_nothing(
    spool: Path, whole_report: dict[bool, str], record: Record, is_old: bool
) -> None:
    if is_old:
        without_checksums(spool)
    with (spool / f"{record.name}.bin").open("ab") as file:
        file.write(Random(record.name).randbytes(100 * record.size_bytes))
    without_note = [
        line for line in run("report", spool).stdout.splitlines() if "bytes" not in line
    ]
    assert without_note == whole_report[is_old].splitlines()


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record.name)
def test_a_garbage_tail_of_a_killed_old_spool_is_damaged_records(
    spool: Path, record: Record
) -> None:
    """No counter of its time tells where the records end."""
    without_checksums(spool)
    (spool / "end.json").unlink()
    with (spool / f"{record.name}.bin").open("ab") as file:
        file.write(Random(record.name).randbytes(300 * record.size_bytes))
    line = first_line(spool)
    assert line.startswith("Incomplete recording: ")
    assert run("recover", spool, "-o", spool.with_name("x.duckdb")).exit_code == 0


def test_a_flipped_bit_costs_what_its_checksum_covers(spool: Path) -> None:
    data = bytearray((spool / "sleep.bin").read_bytes())
    data[-20] ^= 4
    (spool / "sleep.bin").write_bytes(data)
    assert first_line(spool).startswith(
        f"Incomplete recording: 1 of {N_REQUESTS + 1} sleep records are missing or damaged. "
    )


@pytest.mark.parametrize("name", ["meta.json", "counters.json", "end.json"])
def test_changed_facts_are_said_first_and_fail_the_gate(spool: Path, name: str) -> None:
    text = (spool / name).read_text()
    (spool / name).write_text(text.replace('"', '" ', 1).replace('" ', '"', 1) + " ")
    assert not first_line(spool).startswith("Incomplete")  # only a space more
    (spool / name).write_text(text.replace("1", "2").replace("duration", "durations"))
    assert first_line(spool).startswith(f"Incomplete recording: {name} is damaged: ")
    assert gate(spool).exit_code == 3


def test_an_old_spool_says_that_nothing_vouches_for_it(spool: Path) -> None:
    note = "its spool had no checksums: wrong values in its records are not found"
    assert note not in run("report", spool).stdout
    assert note in run("report", without_checksums(spool)).stdout


def test_the_store_keeps_what_its_spool_missed(spool: Path, tmp_path: Path) -> None:
    cut(spool, SLEEP, 0.5)
    target = tmp_path / "x.duckdb"
    assert run("recover", spool, "-o", target).exit_code == 0
    assert run("report", target).stdout == run("report", spool).stdout
    asked = "SELECT probe, cpu, missing > 0 FROM loss WHERE missing > 0"
    assert run("sql", target, asked, "--format", "csv").stdout.split() == [
        "probe,cpu,(missing",
        ">",
        "0)",
        "sleep,,True",
    ]
    again = tmp_path / "y.duckdb"
    run("roles", target, "--set", "background=comm:x", "-o", again)
    assert first_line(again).startswith("Incomplete recording: ")
