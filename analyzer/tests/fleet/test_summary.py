"""A summary holds what the recording's own tables say, and is the same however it is made."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import duckdb
import pytest

from rcp.analyzer.db.arrow import parquet_metadata
from rcp.analyzer.db.queries import query
from rcp.analyzer.fleet.header import KEY, HeaderError, OtherVersionError, day_of, from_json
from rcp.analyzer.fleet.layout import part_named, place_of
from rcp.analyzer.fleet.summary import COLUMNS, header_of, make_entries, rows_of, write_summary
from rcp.analyzer.loading.load import load_spool
from rcp.analyzer.loading.opening import open_recording
from rcp.analyzer.tests.fleet.conftest import Add, Run
from rcp.analyzer.tests.fleet.hosts import recorded
from rcp.fixtures.synth import Synth
from rcp.probes.contract.spool import pack

RECORDING = Path(__file__).parents[3] / "fixtures/recordings/wal-vs-checkpoint.spool.tar.xz"


def written(spool: Path, target: Path, **options: Any) -> Path:
    with open_recording(spool) as store:
        write_summary(header_of(store, **options), rows_of(store), target)
    return target


def asked(path: Path, sql: str) -> list[tuple[Any, ...]]:
    return duckdb.connect().sql(f"SELECT {sql}".replace("SUMMARY", f"'{path}'")).fetchall()


def test_rows_of_three_requests(tmp_path: Path) -> None:
    summary = written(recorded().write(tmp_path / "x.spool"), tmp_path / "x.parquet")
    sql = "part, reason, culprit, bucket, n, n_blocked, dur_ns, blocked_ns, max_ns FROM SUMMARY"
    rows = asked(summary, sql)
    # 1000, 2000 and 4000 ns, one octave apart; half of each is a wait for a commit, and all but
    # 30 ns of that is the checkpointer's io.
    assert [row for row in rows if row[0] == "request"] == [
        ("request", "", "", 1275, 1, 1, 1000, 470, 1000),
        ("request", "", "", 1275 + 128, 1, 1, 2000, 970, 2000),
        ("request", "", "", 1275 + 256, 1, 1, 4000, 1970, 4000),
    ]
    assert [row[7] for row in rows if row[1] == "journal_commit"] == [490, 990, 1990]
    assert [row[2:] for row in rows if row[0] == "pattern"] == [
        row[2:] for row in rows if row[0] == "culprit"
    ]
    assert [row[2:] for row in rows if row[0] == "culprit"] == [
        ("checkpointer", 1275, 1, 1, 1000, 470, 470),
        ("checkpointer", 1275 + 128, 1, 1, 2000, 970, 970),
        ("checkpointer", 1275 + 256, 1, 1, 4000, 1970, 1970),
    ]


def test_the_parts_add_up_to_the_recordings_own_tables(tmp_path: Path) -> None:
    summary = written(RECORDING, tmp_path / "x.parquet")
    with open_recording(RECORDING) as store:
        latency = store.query(
            "SELECT name, role, n, dur, max_dur FROM request_latency ORDER BY ALL"
        )
        waits = store.query(
            "SELECT name, role, reason, n_requests, dur FROM wait_by_kind ORDER BY ALL"
        )
        culprits = store.query(
            "SELECT name, role, kind, culprit, pattern, n_requests, dur FROM pattern_by_kind "
            "ORDER BY ALL"
        )
    assert latency == asked(
        summary,
        "kind, role, sum(n), sum(dur_ns), max(max_ns) FROM SUMMARY WHERE part = 'request' "
        "GROUP BY ALL ORDER BY ALL",
    )
    assert waits == asked(
        summary,
        "kind, role, reason, sum(n), sum(blocked_ns) FROM SUMMARY WHERE part = 'wait' "
        "GROUP BY ALL ORDER BY ALL",
    )
    assert culprits == asked(
        summary,
        "kind, role, reason, culprit, pattern, sum(n), sum(blocked_ns) FROM SUMMARY "
        "WHERE part = 'pattern' GROUP BY ALL ORDER BY ALL",
    )
    with open_recording(RECORDING) as store:
        by_culprit = store.query(query("by_kind/culprits") + " ORDER BY ALL")
    assert by_culprit == asked(
        summary,
        "kind, role, reason || ' by ' || culprit, sum(n), sum(blocked_ns) FROM SUMMARY "
        "WHERE part = 'culprit' GROUP BY ALL ORDER BY ALL",
    )
    # the report's first sentence: 1191 of 3999 requests
    assert asked(
        summary,
        "sum(n_blocked), sum(n) FROM SUMMARY WHERE part = 'request' AND role = 'foreground' "
        "AND is_outermost",
    ) == [(1191, 3999)]
    assert summary.stat().st_size < 100_000


def test_a_spool_its_pack_and_its_store_have_the_same_bytes(tmp_path: Path) -> None:
    spool = recorded(lost=3).write(tmp_path / "a.spool")
    pack(spool, tmp_path / "b.spool.tar.xz")
    load_spool(spool, tmp_path / "c.duckdb")
    made = [
        written(path, tmp_path / f"{number}.parquet").read_bytes()
        for number, path in enumerate([spool, tmp_path / "b.spool.tar.xz", tmp_path / "c.duckdb"])
    ]
    assert made[0] == made[1] == made[2]


def test_requests_inside_others_are_told_apart(tmp_path: Path) -> None:
    synth = Synth([("foreground", "comm:writer")], clock={"started_realtime_ns": 10**18})
    fg = synth.task("writer", tid=10, target=True)
    synth.sleep(fg, 1, 2)
    synth.request(fg, 1000, 9000)
    synth.request(fg, 2000, 3000, nr=75)  # an fdatasync inside the fsync
    summary = written(synth.write(tmp_path / "x.spool"), tmp_path / "x.parquet")
    sql = "kind, is_outermost, sum(n) FROM SUMMARY WHERE part = 'request' GROUP BY ALL ORDER BY ALL"
    assert asked(summary, sql) == [("fdatasync", False, 1), ("fsync", True, 1)]


def test_a_recording_without_requests_has_the_same_columns(tmp_path: Path) -> None:
    summary = written(recorded(durs_ns=()).write(tmp_path / "x.spool"), tmp_path / "x.parquet")
    assert asked(summary, "* FROM SUMMARY") == []
    columns = [row[0] for row in asked(summary, "column_name FROM (DESCRIBE FROM SUMMARY)")]
    assert columns == list(COLUMNS)


def test_the_patterns_that_delayed_least_have_one_name(tmp_path: Path) -> None:
    with open_recording(RECORDING) as store:
        ((n, total),) = store.query("SELECT count(*), sum(dur) FROM inversion_pattern")
        assert n > 3
        make_entries(store, 3)
        rows = store.arrays(query("fleet/rows"))
    chosen = rows["part"] == "pattern"
    assert len({*rows["pattern"][chosen]}) == 4
    assert rows["blocked_ns"][chosen].sum() == total
    assert {*rows["culprit"][chosen & (rows["pattern"] == "other")]} == {"other"}


def test_the_header_tells_losses_and_the_worst_requests(tmp_path: Path) -> None:
    durs = [1000 * n for n in range(1, 9)]
    spool = recorded("db7", 3, durs_ns=durs, lost=5).write(tmp_path / "x.spool")
    header = from_json(parquet_metadata(written(spool, tmp_path / "x.parquet"))[KEY])
    assert (header.host, header.day, header.kernel) == ("db7", "2026-01-04", "6.12.0")
    assert header.is_lossy
    assert header.losses["sleep"] == [1 + 2 * len(durs), 5, 0]
    assert [one.dur_ns for one in header.exemplars] == [8000, 7000, 6000, 5000, 4000]
    assert header.exemplars[0].culprit == "checkpointer"
    assert header.exemplars[0].request_id == 8


def test_a_killed_recorder_is_told(tmp_path: Path) -> None:
    spool = recorded().write(tmp_path / "x.spool", finished=False)
    header = from_json(parquet_metadata(written(spool, tmp_path / "x.parquet"))[KEY])
    assert header.is_lossy
    assert header.incomplete == "Incomplete recording: the recorder was killed."


@pytest.mark.parametrize("host", ["db/../../etc", "..", ".", "day=x", "ü b", "%2F"])
def test_a_host_of_any_name_stays_in_its_folder(tmp_path: Path, host: str) -> None:
    with open_recording(recorded(host).write(tmp_path / "x.spool")) as store:
        header = header_of(store)
    place = place_of(header)
    assert part_named(place, "host") == host
    assert len(place.split("/")) == 4
    assert not {".", ".."} & {*place.split("/")}
    assert (tmp_path / place).resolve().is_relative_to(tmp_path)


def test_days_are_of_utc() -> None:
    assert day_of(1_767_225_600 * 10**9) == "2026-01-01"
    assert day_of(1_767_225_600 * 10**9 - 10**6) == "2025-12-31"


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        (None, HeaderError, "it is no summary of rcp"),
        ("{", HeaderError, "its header is damaged"),
        ("[]", HeaderError, "its header is damaged"),
        ('{"version": 1, "exemplars": []}', HeaderError, "its header is damaged"),
        ('{"version": 9}', OtherVersionError, "it has schema version 9, this rcp reads 1"),
    ],
)
def test_a_bad_header_is_told(text: str | None, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        from_json(text)


def test_the_command_writes_where_it_is_told(tmp_path: Path, run: Run) -> None:
    spool = recorded().write(tmp_path / "slow.spool")
    done = run("summary", spool)
    target = tmp_path / "slow.summary.parquet"
    assert (done.exit_code, done.stderr) == (0, f"{target} written.\n")
    again = run("summary", spool)
    assert again.exit_code == 2
    assert again.stderr == (
        f"rcp-trace: error: {target} already exists: use --force to replace it, or -o.\n"
    )
    assert run("summary", spool, "--force").exit_code == 0


def test_a_summary_added_twice_is_there_once(add: Add, fleet: Path) -> None:
    first, again = add(), add()
    assert first == again
    assert [path for path in fleet.rglob("*") if path.is_file()] == [first]
    assert first.parent == fleet / "v1/day=2026-01-01/host=db1"


def test_host_and_day_can_be_given(tmp_path: Path, run: Run, fleet: Path) -> None:
    spool = recorded().write(tmp_path / "x.spool")
    words = ("--fleet", fleet, "--host", "db9", "--day", "2026-02-03")
    assert run("summary", spool, *words).exit_code == 0
    (made,) = fleet.rglob("*.parquet")
    assert asked(made, "DISTINCT host, day::VARCHAR FROM SUMMARY") == [("db9", "2026-02-03")]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--day", "today"), "--day 'today' is not a day: write it like 2026-01-31."),
        (("--day", "2026-02-30"), "--day '2026-02-30' is not a day: write it like 2026-01-31."),
        (
            ("-o", "x", "--fleet", "y"),
            "-o and --fleet were given: -o writes a file, --fleet adds to a fleet.",
        ),
    ],
)
def test_bad_words_are_told(tmp_path: Path, run: Run, words: tuple[str, ...], message: str) -> None:
    done = run("summary", recorded().write(tmp_path / "x.spool"), *words)
    assert (done.exit_code, done.stderr) == (2, f"rcp-trace: error: {message}\n")


def test_a_recording_of_no_known_day_is_told(tmp_path: Path, run: Run) -> None:
    spool = Synth().write(tmp_path / "x.spool")
    done = run("summary", spool)
    message = f"{spool} does not say when it was recorded: give --day 2026-01-31."
    assert (done.exit_code, done.stderr) == (2, f"rcp-trace: error: {message}\n")
    assert run("summary", spool, "--day", "2026-01-31").exit_code == 0


def test_the_page_explains_every_column() -> None:
    page = (Path(__file__).parents[3] / "docs/fleet.md").read_text()
    table = page.partition("| column | meaning |")[2].partition("\n\n")[0]
    assert re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE) == list(COLUMNS)
