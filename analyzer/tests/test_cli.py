"""What users type, and exactly what they read when it goes wrong."""

import csv
import io
import json
from pathlib import Path

import duckdb
import pytest
from click.testing import CliRunner, Result

from rcp.analyzer.cli import main
from rcp.analyzer.store import STORE_VERSION
from rcp.fixtures.synth import Synth
from rcp.probes.events import SCHEMA_VERSION, WaitReason
from rcp.probes.spool import pack


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def example() -> Synth:
    synth = Synth([("background", "comm:checkpointer")])
    fg = synth.task("writer", tid=10, target=True)
    jbd2 = synth.task("jbd2/nvme0n1-8", tid=5, kthread=True)
    bg = synth.task("checkpointer", tid=20)
    synth.sleep(bg, 1, 2)
    for ts in (1000, 1_000_000):
        synth.request(fg, ts, ts + 100)
    synth.sleep(fg, 1010, 1090, waker=jbd2, reason=WaitReason.JOURNAL_COMMIT)
    sectors = synth.io(bg, 1030, 1084, issued=1040)
    synth.sleep(jbd2, 1020, 1085, io=sectors, stack=["folio_wait_writeback"])
    synth.lose("sleep", lost=3)
    synth.lose("sleep", excluded=9)
    return synth


@pytest.fixture
def spool(tmp_path: Path) -> Path:
    return example().write(tmp_path / "x.spool")


@pytest.fixture
def recording(spool: Path) -> Path:
    target = spool.with_name("x.duckdb")
    assert run("recover", spool).exit_code == 0
    return target


def error_of(*arguments: object) -> str:
    """The one line of an error; also checks its form."""
    result = run(*arguments)
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert result.stderr.startswith("rcp-trace: error: ")
    assert result.stderr.count("\n") == 1
    return result.stderr.removeprefix("rcp-trace: error: ").rstrip("\n")


def test_report_text(recording: Path) -> None:
    lines = run("report", recording).stdout.splitlines()
    assert " ".join(lines[:2]).strip() == (
        "1 of 2 foreground fsync requests was held up by background work, 65 % of its time; "
        "mostly checkpointer (io_dependency through jbd2)."
    )
    for line in (
        "host      synth, kernel 6.12.0, hardware clock",
        "  journal_commit  j_wait_done_commit      1  80 ns   80 ns   80 ns   80 ns  40.0 %",
        "  #1 io_dependency by checkpointer (background: comm:checkpointer)",
        "     confidence medium (0.50): 50 % of events lost",
        "     fsync → journal_commit (jbd2/nvme*n*-*) → page_writeback → io by checkpointer",
        "  request 1: fsync by writer (tid 10, foreground) took 100 ns, 65 ns (65.0 %) of it held "
        "up",
        "       +40 ns     45 ns      its write of 4 KiB on nvme0n1 is at the device",
        "  sleep: 3 lost of 6",
        "  9 events of the recorder itself were left out",
    ):
        assert line in lines
    assert max(map(len, lines)) < 100


def test_report_is_the_same_of_every_kind_of_file(
    spool: Path, recording: Path, tmp_path: Path
) -> None:
    packed = tmp_path / "x.spool.tar.xz"
    pack(spool, packed)
    texts = {run("report", file).stdout for file in (spool, recording, packed)}
    assert len(texts) == 1


def test_report_json(recording: Path) -> None:
    told = json.loads(run("report", recording, "--format", "json").stdout)
    assert told["answer"]["n_held_up"] == 1
    assert told["patterns"][0]["kind"] == "io_dependency"
    assert told["waits"][1]["paper_name"] == "j_wait_done_commit"
    assert told["worst"]["request_id"] == 1
    loss = {"probe": "sleep", "written": 3, "lost": 3, "excluded": 9}
    assert [told_of for told_of in told["losses"] if told_of["lost"]] == [loss]


def test_report_csv(recording: Path) -> None:
    blocks = run("report", recording, "--format", "csv").stdout.split("\n\n")
    waits = next(block for block in blocks if block.startswith("# waits\n"))
    rows = list(csv.DictReader(io.StringIO(waits.partition("\n")[2])))
    assert [(row["reason"], row["total_ns"]) for row in rows] == [
        ("cpu", "120"),
        ("journal_commit", "80"),
    ]


def test_report_counts_requests_inside_others_once(tmp_path: Path) -> None:
    synth = Synth(request_points={"65536": "transaction"})
    fg = synth.task("postgres", target=True)
    synth.request(fg, 1000, 2000, nr=65536)
    synth.request(fg, 1100, 1200)
    synth.request(fg, 1300, 1400)
    lines = run("report", synth.write(tmp_path / "x.spool")).stdout.splitlines()
    requests = lines[lines.index("Requests") + 1 :]
    assert requests[0].split()[-1] == "inside"
    assert [line.split()[0::2][:2] + line.split()[-1:] for line in requests[1:3]] == [
        ["transaction", "1", "2"],
        ["fsync", "2", "0"],
    ]
    waits = lines[lines.index("Where foreground requests waited") + 2]
    assert waits.split() == ["cpu", "1", *["1.00", "µs"] * 4, "100.0", "%"]


def test_report_without_inversion(tmp_path: Path) -> None:
    synth = Synth()
    fg = synth.task("writer", target=True)
    synth.request(fg, 100, 200)
    first = run("report", synth.write(tmp_path / "x.spool")).stdout.splitlines()[0]
    assert (
        first == "No inversion found: none of 1 foreground fsync requests waited for "
        "background work."
    )


def test_report_of_nothing(tmp_path: Path) -> None:
    result = run("report", Synth().write(tmp_path / "x.spool", finished=False))
    assert result.exit_code == 0
    assert result.stdout.startswith("No foreground request was finished: ")
    assert "the recorder was killed: this is what it had written by then" in result.stdout


def test_path(recording: Path) -> None:
    text = run("path", recording, 1).stdout
    assert (
        "     +10 ns     80 ns  writer waits: journal_commit, until woken by jbd2/nvme0n1-8 "
        "(kernel)" in text.splitlines()
    )
    rows = json.loads(run("path", recording, 1, "--format", "json").stdout)
    assert sum(row["dur_ns"] for row in rows) == 100
    assert rows[4]["kind"] == "device"
    assert rows[4]["submitter"] == "checkpointer"
    assert run("path", recording, 1, "--format", "csv").stdout.count("\n") == len(rows) + 1


def test_sql(recording: Path) -> None:
    query = "SELECT name, count(*) AS n FROM request GROUP BY name"
    assert run("sql", recording, query).stdout == "name   n\nfsync  2\n"
    assert run("sql", recording, query, "--format", "csv").stdout == "name,n\nfsync,2\n"
    assert json.loads(run("sql", recording, query, "--format", "json").stdout) == [
        {"name": "fsync", "n": 2}
    ]


@pytest.mark.parametrize("in_memory", [True, False])
@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("SELEC 1", 'bad SQL: syntax error at or near "SELEC".'),
        (
            "SELECT * FROM nothing_like_it",
            "bad SQL: Table with name nothing_like_it does not exist",
        ),
        (
            "DELETE FROM io",
            "a recording is only read, DELETE would change it: copy the file and "
            "use the duckdb shell to change the copy.",
        ),
        ("COPY io TO '/tmp/rcp-test.csv'", "a recording is only read, COPY would change it"),
        ("SELECT 1; DROP TABLE io", "expected one SQL statement, got 2: ask one by one."),
        ("", "expected one SQL statement, got 0: ask one by one."),
        ("FROM read_text('/etc/hostname')", 'bad SQL: Cannot access file "/etc/hostname"'),
        ("SELECT 1 / 'x'", "bad SQL: Could not convert string 'x' to "),
    ],
)
def test_sql_that_cannot_be_answered(
    recording: Path, spool: Path, query: str, message: str, in_memory: bool
) -> None:
    assert error_of("sql", spool if in_memory else recording, query).startswith(message)


def test_unknown_request(recording: Path) -> None:
    message = f"{recording} has no request %s: request ids go from 1 to 2."
    assert error_of("path", recording, 99) == message % 99
    assert error_of("path", recording, "x") == message % "x"
    assert error_of("path", recording, "9" * 30) == message % ("9" * 30)


def test_missing_file(tmp_path: Path) -> None:
    assert error_of("report", tmp_path / "no") == (
        f"{tmp_path}/no does not exist: `rcp-trace record` makes a recording."
    )


def test_file_that_is_no_recording(tmp_path: Path) -> None:
    file = tmp_path / "x.duckdb"
    file.write_text("hello")
    assert error_of("report", file) == (
        f"{file} is not a recording: neither a DuckDB file nor a spool; `rcp-trace record` makes "
        "one."
    )


def test_truncated_recording(recording: Path) -> None:
    with recording.open("r+b") as file:
        file.truncate(10_000)
    assert error_of("report", recording).startswith(f"{recording} ")


def test_foreign_database(tmp_path: Path) -> None:
    file = tmp_path / "x.duckdb"
    duckdb.connect(str(file)).close()
    assert error_of("report", file) == (
        f"{file} is a DuckDB file but not a recording of rcp: load one with `rcp-trace recover "
        "SPOOL -o FILE`."
    )


def test_newer_store(recording: Path) -> None:
    with duckdb.connect(str(recording)) as connection:
        connection.execute("UPDATE meta SET value = '99' WHERE key = 'store_version'")
    assert error_of("report", recording) == (
        f"{recording} has store version 99, newer than this rcp's {STORE_VERSION}: update rcp."
    )


def test_older_store(recording: Path) -> None:
    with duckdb.connect(str(recording)) as connection:
        connection.execute("UPDATE meta SET value = '1' WHERE key = 'store_version'")
    assert error_of("report", recording) == (
        f"{recording} has store version 1, older than this rcp's {STORE_VERSION}: load its spool "
        "again with `rcp-trace recover`, or record anew."
    )


def test_older_spool(spool: Path) -> None:
    file = spool / "sleep.bin"
    data = bytearray(file.read_bytes())
    data[8:12] = (1).to_bytes(4, "little")
    file.write_bytes(data)
    assert error_of("report", spool) == (
        f"{file} has spool version 1, older than this rcp's {SCHEMA_VERSION}: load it with the "
        "rcp that recorded it, or record anew."
    )


def test_folder_that_is_no_spool(tmp_path: Path) -> None:
    assert error_of("report", tmp_path) == (
        f"{tmp_path} is not an rcp spool: it holds no record files."
    )


def test_foreign_spool(spool: Path) -> None:
    (spool / "io.bin").write_bytes(b"x" * 200)
    assert error_of("recover", spool) == (
        f"{spool}/io.bin is not an rcp spool file: its header is foreign."
    )


def test_damaged_archive(spool: Path, tmp_path: Path) -> None:
    packed = tmp_path / "x.spool.tar.xz"
    pack(spool, packed)
    whole = packed.read_bytes()
    for data in (b"hello", whole[: len(whole) // 2], whole[:200] + b"\0" * 50 + whole[250:]):
        packed.write_bytes(data)
        assert error_of("report", packed).startswith(f"{packed} is not a packed rcp spool: ")


def test_recover_refuses_to_replace_unless_forced(spool: Path, recording: Path) -> None:
    assert error_of("recover", spool) == (
        f"{recording} already exists: use --force to replace it, or -o."
    )
    result = run("recover", spool, "--force")
    assert result.exit_code == 0
    assert result.stderr == (f"{recording} written; read it with `rcp-trace report {recording}`.\n")
    assert spool.is_dir()


def test_recover_to_where_nothing_can_be_written(spool: Path) -> None:
    target = spool / "no" / "x.duckdb"
    assert error_of("recover", spool, "-o", target).startswith(f"{target} cannot be written: ")


def test_recover_packed(spool: Path, tmp_path: Path) -> None:
    packed = tmp_path / "y.spool.tar.xz"
    pack(spool, packed)
    assert run("recover", packed).exit_code == 0
    assert run("report", tmp_path / "y.duckdb").exit_code == 0


def test_schema() -> None:
    assert run("schema").stdout.startswith("# Schema of a recording\n")


def test_every_command_explains_itself() -> None:
    for name in ["", *main.commands]:
        result = run(*filter(None, [name]), "-h")
        assert result.exit_code == 0
        if name == "" or main.commands[name].callback.__module__ == "rcp.analyzer.cli":
            assert "Examples:" in result.stdout, name


def test_version() -> None:
    assert run("--version").stdout.startswith("rcp-trace, version ")
