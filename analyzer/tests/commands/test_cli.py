"""What users type, and what they read."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner, Result

from rcp.analyzer.cli import main
from rcp.fixtures.synth import Synth
from rcp.probes.contract.events import WaitReason
from rcp.probes.contract.spool import pack

if TYPE_CHECKING:
    from rcp.analyzer.tests.conftest import ErrorOf


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def test_report_text(recording: Path) -> None:
    lines = run("report", recording).stdout.splitlines()
    assert " ".join(lines[:3]).strip() == (
        "Incomplete recording: the recorder lost 50.0 % of the sleeps and ios. Background work "
        "delayed 1 of 2 foreground fsync requests, for 65 % of its time. Main culprit: "
        "checkpointer (io_dependency, through jbd2)."
    )
    for line in (
        "host      synth, kernel 6.12.0, hardware clock",
        "  journal_commit  j_wait_done_commit      1  80 ns   80 ns   80 ns   80 ns  40.0 %",
        "  #1 io_dependency by checkpointer (background: comm:checkpointer)",
        "     confidence medium (0.50): 50 % of events lost",
        "     fsync → journal_commit (jbd2/nvme*n*-*) → page_writeback → io by checkpointer",
        "  request 1: fsync by writer (tid 10, foreground) took 100 ns; "
        "background work delayed it by 65 ns",
        "    (65.0 %)",
        "        65 ns io_dependency by checkpointer",
        f"{'':14}fsync → journal_commit (jbd2/nvme0n1-8) → page_writeback → io by checkpointer",
        "       +40 ns     45 ns      its write of 4 KiB on nvme0n1 is at the device",
        "  sleep: 3 lost of 6",
        "  9 recorder events excluded",
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
    output = json.loads(run("report", recording, "--format", "json").stdout)
    assert output["answer"]["n_held_up"] == 1
    assert output["patterns"][0]["kind"] == "io_dependency"
    assert output["waits"][1]["paper_name"] == "j_wait_done_commit"
    assert output["worst"]["request_id"] == 1
    loss = {"probe": "sleep", "written": 3, "lost": 3, "excluded": 9, "missing": 0}
    assert [row for row in output["losses"] if row["lost"]] == [loss]


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


def test_report_answers_for_the_outermost_requests(tmp_path: Path) -> None:
    synth = Synth([("background", "comm:rsync")], request_points={"65536": "transaction"})
    fg, bg = synth.task("postgres", target=True), synth.task("rsync")
    synth.request(fg, 1000, 2000, nr=65536)
    synth.request(fg, 1100, 1400)
    synth.sleep(fg, 1150, 1350, waker=bg, owner=bg, reason=WaitReason.LOCK)
    synth.request(fg, 3000, 0, nr=65536)  # under way when the recording ended
    synth.request(fg, 3100, 3400)
    synth.sleep(fg, 3150, 3350, waker=bg, owner=bg, reason=WaitReason.LOCK)
    report = run("report", synth.write(tmp_path / "x.spool"), "--format", "json")
    answer = json.loads(report.stdout)["answer"]
    assert (answer["n_foreground"], answer["n_held_up"]) == (2, 2)
    assert answer["share"] == pytest.approx(400 / 1300)


def test_report_answers_for_clients_that_wait_for_one_thread_at_once(tmp_path: Path) -> None:
    synth = Synth()
    server = synth.task("redis-server", target=True)
    synth.request(server, 1000, 2000, nr=1 << 17)
    synth.request(server, 1100, 1900, nr=1 << 17)
    synth.request(server, 1200, 1300)  # an fsync inside both
    report = run("report", synth.write(tmp_path / "x.spool"), "--format", "json")
    assert json.loads(report.stdout)["answer"]["n_foreground"] == 2


def test_report_without_inversion(tmp_path: Path) -> None:
    synth = Synth()
    fg = synth.task("writer", target=True)
    synth.request(fg, 100, 200)
    first = run("report", synth.write(tmp_path / "x.spool")).stdout.splitlines()[0]
    assert (
        first == "No inversion found: none of 1 foreground fsync request waited for "
        "background work."
    )


def test_report_of_nothing(tmp_path: Path) -> None:
    result = run("report", Synth().write(tmp_path / "x.spool", finished=False))
    assert result.exit_code == 0
    assert result.stdout.startswith(
        "Incomplete recording: the recorder was killed. No foreground request finished: "
    )
    assert "the recorder was killed: the recording ends with what it had written" in result.stdout


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
        (
            "SELECT 1; DROP TABLE io",
            "2 SQL statements were given: give one, and run the others after it.",
        ),
        ("", "there is no SQL statement: give one, such as 'FROM inversion_pattern'."),
        ("/* nothing */", "there is no SQL statement: give one, such as "),
        (
            "PRAGMA database_list",
            "a recording is only queried, PRAGMA is no query: ask with SELECT, FROM, WITH, SHOW, "
            "DESCRIBE or EXPLAIN.",
        ),
        ("PIVOT io ON op", "a recording is only queried, this statement is no query: "),
        ("FROM read_text('/etc/hostname')", 'bad SQL: Cannot access file "/etc/hostname"'),
        ("SELECT 1 / 'x'", "bad SQL: Could not convert string 'x' to "),
    ],
)
def test_sql_that_cannot_be_answered(
    recording: Path, spool: Path, query: str, message: str, in_memory: bool, error_of: ErrorOf
) -> None:
    assert error_of("sql", spool if in_memory else recording, query).startswith(message)


def test_recover_refuses_to_replace_unless_forced(
    spool: Path, recording: Path, error_of: ErrorOf
) -> None:
    assert error_of("recover", spool) == (
        f"{recording} already exists: use --force to replace it, or -o."
    )
    result = run("recover", spool, "--force")
    assert result.exit_code == 0
    lost = "Incomplete recording: the recorder lost 50.0 % of the sleeps and ios."
    assert result.stderr.splitlines() == [
        f"rcp-trace: warning: {recording}: {lost}",
        f"{recording} written; read it with `rcp-trace report {recording}`.",
    ]
    assert spool.is_dir()


def test_recover_reads_nothing_that_it_has_written(
    spool: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[Path] = []
    monkeypatch.setattr("rcp.analyzer.loading.opening.open_store", opened.append)
    result = run("recover", spool, "-o", tmp_path / "new.duckdb")
    assert (result.exit_code, opened) == (0, [])
    assert f"{tmp_path}/new.duckdb: Incomplete recording: the recorder lost" in result.stderr


def test_recover_to_where_nothing_can_be_written(spool: Path, error_of: ErrorOf) -> None:
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
        assert result.exit_code == 0, (name, result.output)
        assert "Examples:" in result.stdout, name


@pytest.mark.parametrize("turn", ["first", "second"])
def test_no_test_changes_the_help_of_another(turn: str) -> None:
    assert run("report", "-h").exit_code == 0, turn
    # As a test may that only parses; run a second time, this one would find no -h.
    main.commands["report"]._help_option = None
    main.commands["report"].make_context("report", ["x.duckdb"], resilient_parsing=True)


def test_version() -> None:
    assert run("--version").stdout.startswith("rcp-trace, version ")
