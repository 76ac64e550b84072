"""A report over hosts says what one recording of all would have, and what it rests on."""

from __future__ import annotations

import json
import os
import random
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rcp.analyzer.fleet.catalog import Catalog, Summary
from rcp.analyzer.fleet.header import KEY, SummaryHeader
from rcp.analyzer.fleet.histogram import bounds
from rcp.analyzer.fleet.listing import Entry
from rcp.analyzer.fleet.merge import merged
from rcp.analyzer.fleet.summary import COLUMNS, write_summary
from rcp.analyzer.latencies.quantiles import quantile_ns
from rcp.analyzer.tests.fleet.conftest import Add, Run
from rcp.analyzer.tests.fleet.hosts import NOON_NS

HOUR_NS = 3600 * 10**9


def reported(run: Run, fleet: Path, *words: object, status: int = 0) -> dict[str, Any]:
    done = run("fleet", "report", fleet, "--format", "json", *words)
    assert done.exit_code == status, done.output
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def said(run: Run, fleet: Path, *words: object, status: int = 0) -> str:
    done = run("fleet", "report", fleet, *words)
    assert done.exit_code == status, done.output
    return done.stdout


def test_two_hosts_are_answered_as_one(add: Add, fleet: Path, run: Run) -> None:
    add("db1", durs_ns=[1000, 2000])
    add("db2", durs_ns=[4000])
    found = reported(run, fleet)
    assert found["answer"] == (
        "Background work delayed 3 of 3 foreground requests of 2 hosts, for 49 % of their time. "
        "Main culprit: checkpointer (io_dependency), on 2 hosts."
    )
    (row,) = found["requests"]
    assert (row["kind"], row["role"], row["n"]) == ("fsync", "foreground", 3)
    assert row["quantiles_ns"]["p50"] == pytest.approx(2000, rel=0.0028)
    assert row["quantiles_ns"]["max"] == 4000
    assert {wait["reason"]: wait["blocked_ns"] for wait in found["waits"]} == {
        "journal_commit": 490 + 990 + 1990,
        "cpu": 510 + 1010 + 2010,
    }
    (culprit,) = found["culprits"]
    assert (culprit["n_hosts"], culprit["blocked_ns"]) == (2, 470 + 970 + 1970)
    assert culprit["worst_host"] == "db2"
    assert found["worst"][0]["host"] == "db2"
    assert found["worst"][0]["request_id"] == 1


def synthetic(folder: Path, host: str, durs_ns: list[int]) -> Summary:
    """Write the summary of requests without waits."""
    upper, bucket = bounds()
    of = np.array(bucket)[np.searchsorted(upper, durs_ns)]
    rows: dict[str, Any] = {name: np.full(len(durs_ns), "", object) for name in COLUMNS}
    rows |= {"part": np.full(len(durs_ns), "request", object), "bucket": of}
    rows |= {name: np.full(len(durs_ns), value, object) for name, value in _NAMED.items()}
    rows |= {"is_outermost": np.ones(len(durs_ns), bool), "n": np.ones(len(durs_ns), np.int64)}
    rows |= {name: np.zeros(len(durs_ns), np.int64) for name in ("n_blocked", "blocked_ns")}
    rows |= {name: np.array(durs_ns, np.int64) for name in ("dur_ns", "max_ns")}
    header = SummaryHeader(f"{abs(hash(host)):064x}"[-64:], host, "2026-01-01", NOON_NS, 10**9)
    path = folder / f"{host}.parquet"
    write_summary(header, rows, path)
    return Summary(Entry(path.name, path, 0), header)


_NAMED = {"kind": "fsync", "role": "foreground"}


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    hosts=st.lists(
        st.lists(st.integers(1, 2**40), min_size=1, max_size=40), min_size=1, max_size=5
    ),
    seed=st.integers(0, 99),
)
def test_merging_is_exact_in_any_order(tmp_path: Path, hosts: list[list[int]], seed: int) -> None:
    summaries = [synthetic(tmp_path, f"h{at}", durs) for at, durs in enumerate(hosts)]
    shuffled = random.Random(seed).sample(summaries, len(summaries))
    one, other = (merged(order, lambda _: "") for order in (summaries, shuffled))
    ours, theirs = (found.by_key["", "fsync", "foreground"] for found in (one, other))
    assert ours.total == theirs.total
    assert ours.buckets.n.tolist() == theirs.buckets.n.tolist()
    every = np.array([dur for durs in hosts for dur in durs], np.int64)
    assert (ours.total.n, ours.total.dur_ns) == (len(every), int(every.sum()))
    from rcp.analyzer.fleet.histogram import quantile_ns as merged_ns

    for share in (0.5, 0.99, 0.999):
        assert merged_ns(ours.buckets, share) == pytest.approx(quantile_ns(every, share), rel=0.006)


def test_a_fleets_p99_is_no_mean_of_p99s(tmp_path: Path) -> None:
    hosts = [[1000] * 100 for _ in range(9)] + [[1_000_000] * 100]
    found = merged(
        [synthetic(tmp_path, f"h{at}", durs) for at, durs in enumerate(hosts)], lambda _: ""
    )
    from rcp.analyzer.fleet.histogram import quantile_ns as merged_ns

    p99_ns = merged_ns(found.by_key["", "fsync", "foreground"].buckets, 0.99)
    assert p99_ns == pytest.approx(1_000_000, rel=0.006)  # the mean of ten p99s is a tenth of it


def test_a_host_with_more_slow_requests_differs(add: Add, fleet: Path, run: Run) -> None:
    for host in ("db1", "db2", "db3"):
        add(host, durs_ns=[1000 + 10 * n for n in range(400)] + [90_000] * 3)
    add("db4", durs_ns=[1000 + 10 * n for n in range(400)] + [90_000] * 12, culprit="backup")
    (row,) = reported(run, fleet)["hosts"]
    assert (row["host"], row["n"], row["n_slow"]) == ("db4", 412, 12)
    assert row["share"] == pytest.approx(12 / 412)
    assert row["others_share"] == pytest.approx(9 / 1209)
    assert row["culprit"] == "io_dependency by backup"
    assert row["p99_ns"] == pytest.approx(90_000, rel=0.003)
    assert "db4" in said(run, fleet).partition("Hosts that differ")[2]


def test_hosts_alike_do_not_differ(add: Add, fleet: Path, run: Run) -> None:
    for host in ("db1", "db2", "db3"):
        add(host, durs_ns=[1000 + 10 * n for n in range(400)] + [90_000] * 12)
    assert reported(run, fleet)["hosts"] == []
    assert "Hosts that differ\n  none\n" in said(run, fleet)


def test_a_worse_kernel_is_told_by_its_hosts(add: Add, fleet: Path, run: Run) -> None:
    for at in range(8):
        add(f"old{at}", kernel="6.12.1", durs_ns=[1000] * 60 + [50_000 + at])
        add(f"new{at}", kernel="6.12.9", durs_ns=[1000] * 50 + [50_000 + at] * 11)
    worse, better = reported(run, fleet)["groups"]
    assert (worse["name"], worse["n_hosts"], worse["verdict"]) == ("6.12.9", 8, "worse")
    assert (better["name"], better["verdict"]) == ("6.12.1", "better")
    assert worse["share"] > better["share"]
    assert worse["p99_ns"]["fsync"] == pytest.approx(50_000, rel=0.003)


def test_two_hosts_tell_nothing_about_a_kernel(add: Add, fleet: Path, run: Run) -> None:
    add("old", kernel="6.12.1", durs_ns=[1000] * 100)
    add("new", kernel="6.12.9", durs_ns=[50_000] * 100)
    verdicts = {one["name"]: one["verdict"] for one in reported(run, fleet)["groups"]}
    assert verdicts == dict.fromkeys(("6.12.1", "6.12.9"), "too few hosts to tell")


def test_only_the_last_day_is_read_unless_told(add: Add, fleet: Path, run: Run) -> None:
    add("db1", 0)
    add("db1", 1)
    assert reported(run, fleet)["days"] == ["2026-01-02"]
    assert reported(run, fleet, "--day", "2026-01-01")["days"] == ["2026-01-01"]
    assert reported(run, fleet, "--day", "all")["total"]["n"] == 6


def test_a_part_of_the_hosts(add: Add, fleet: Path, run: Run) -> None:
    add("db1", kernel="6.12.1")
    add("web1", kernel="6.12.1")
    add("db2", kernel="6.1.0")
    found = reported(run, fleet, "--where", "host=db*,kernel=6.12*")
    assert found["coverage"]["n_hosts"] == 1


def test_coverage_names_missing_hosts(add: Add, fleet: Path, run: Run, tmp_path: Path) -> None:
    add("db1")
    add("db9")
    (tmp_path / "hosts.txt").write_text("# databases\ndb1\n\ndb2  # new\ndb3\n")
    text = said(run, fleet, "--hosts", tmp_path / "hosts.txt", status=3)
    assert "  read 2 recordings of 2 hosts of 3 expected\n" in text
    assert "  missing 2 hosts: db2, db3\n" in text
    assert "  not expected 1 host: db9\n" in text


def test_a_complete_answer_has_status_0(add: Add, fleet: Path, run: Run, tmp_path: Path) -> None:
    add("db1")
    (tmp_path / "hosts.txt").write_text("db1\n")
    assert "read 1 recording of 1 host of 1 expected" in said(
        run, fleet, "--hosts", tmp_path / "hosts.txt"
    )


def test_a_summary_cut_short_is_named(add: Add, fleet: Path, run: Run) -> None:
    add("db1")
    cut = add("db2")
    cut.write_bytes(cut.read_bytes()[:-100])
    done = run("fleet", "report", fleet)
    assert done.exit_code == 3
    place = cut.relative_to(fleet)
    assert f"failed: {place}: it is cut short or damaged" in " ".join(done.stdout.split())
    assert done.stderr == "rcp-trace: warning: the answer is incomplete: see its coverage.\n"


@pytest.mark.parametrize("kept", [0, 3, 4, 8, 500])
def test_a_summary_of_any_length_is_no_fault_of_rcp(
    add: Add, fleet: Path, run: Run, kept: int
) -> None:
    add("db1")
    cut = add("db2")
    cut.write_bytes(cut.read_bytes()[:kept])
    assert len(reported(run, fleet, status=3)["coverage"]["failed"]) == 1


def test_a_summary_damaged_inside_is_named_and_left_out(add: Add, fleet: Path, run: Run) -> None:
    add("db1")
    bad = add("db2")
    data = bytearray(bad.read_bytes())
    data[4:400] = os.urandom(396)
    bad.write_bytes(bytes(data))
    found = reported(run, fleet, status=3)
    assert [one["why"] for one in found["coverage"]["failed"]] == ["its rows are damaged"]
    assert found["total"]["n"] == 3


def of_version(path: Path, version: int) -> None:
    """Rewrite a summary as another rcp would have."""
    table = pq.read_table(path, partitioning=None)
    header = json.loads(pq.read_metadata(path).metadata[KEY.encode()])
    text = json.dumps({**header, "version": version})
    pq.write_table(table.replace_schema_metadata({KEY: text}), path)


def test_a_summary_of_a_future_schema_is_named(add: Add, fleet: Path, run: Run) -> None:
    add("db1")
    of_version(add("db2"), 2)
    found = reported(run, fleet, status=3)
    (other,) = found["coverage"]["other_schema"]
    assert other["why"] == "it has schema version 2, this rcp reads 1"
    assert found["total"]["n"] == 3


def test_a_folder_of_a_future_schema_is_named(add: Add, fleet: Path, run: Run) -> None:
    add("db1")
    (fleet / "v2").mkdir()
    assert "of another schema: v2: it is of another schema" in said(run, fleet, status=3)


def test_a_recording_that_is_there_twice_is_counted_once(add: Add, fleet: Path, run: Run) -> None:
    first = add("db1")
    copy = fleet / "v1/day=2026-01-01/host=db1-again" / first.name
    copy.parent.mkdir()
    copy.write_bytes(first.read_bytes())
    found = reported(run, fleet)
    assert found["total"]["n"] == 3
    (twice,) = found["coverage"]["duplicates"]
    assert twice["why"] == "its recording is there as host db1, 2026-01-01"


def test_a_clock_hours_ahead_is_told(add: Add, fleet: Path, run: Run) -> None:
    add("db1")
    ahead = add("db2")
    arrived_ns = NOON_NS - 5 * HOUR_NS
    os.utime(ahead, ns=(arrived_ns, arrived_ns))
    text = said(run, fleet)
    assert "clock of db2 is 5.0 h ahead of the fleet's: its day may be another" in text
    assert "clock of db1" not in text


def test_lossy_hosts_are_told(add: Add, fleet: Path, run: Run) -> None:
    add("db1")
    add("db2", lost=20)
    text = said(run, fleet)
    assert "lossy 1 host, 55.56 % of their events: db2" in text


def test_csv_has_a_block_for_each_table(add: Add, fleet: Path, run: Run) -> None:
    add("db1")
    lines = said(run, fleet, "--format", "csv").splitlines()
    names = [line[2:] for line in lines if line.startswith("# ")]
    assert names == ["requests", "waits", "culprits", "hosts", "kernel", "worst", "coverage"]
    assert lines[1] == "kind,role,n,p50,p90,p99,p99.9,max"
    assert lines[2].startswith("fsync,foreground,3,")


def test_a_host_with_control_characters_gives_no_orders(add: Add, fleet: Path, run: Run) -> None:
    add("db\x1b[31m1")
    assert "\x1b" not in said(run, fleet)


def test_a_fleet_without_requests_says_so(add: Add, fleet: Path, run: Run) -> None:
    add("db1", durs_ns=())
    assert "No foreground request finished on any host" in said(run, fleet)


def error(run: Run, *words: object) -> str:
    done = run("fleet", "report", *words)
    assert (done.exit_code, done.stdout) == (2, "")
    return done.stderr.removeprefix("rcp-trace: error: ").removesuffix("\n")


def test_errors_are_one_line(add: Add, fleet: Path, run: Run, tmp_path: Path) -> None:
    assert error(run, fleet) == (
        f"{fleet} is not a folder: `rcp-trace summary FILE --fleet {fleet}` makes a fleet."
    )
    fleet.mkdir()
    assert error(run, fleet) == (
        f"{fleet} has no summaries: add one with `rcp-trace summary FILE --fleet {fleet}`."
    )
    only = add("db1")
    assert error(run, fleet, "--day", "2026-05-01") == (
        f"{fleet} has no summaries of 2026-05-01: add one with "
        f"`rcp-trace summary FILE --fleet {fleet}`."
    )
    assert error(run, fleet, "--day", "yesterday") == (
        "--day 'yesterday' is not a day: write it like 2026-01-31, last or all."
    )
    assert error(run, fleet, "--where", "host=web*") == (
        f"{fleet} (host=web*) has no summaries of host=web*: choose another part."
    )
    assert error(run, fleet, "--where", "disk=sda") == (
        "'disk=sda' is no part of a fleet: write day=…, host=…, kernel=…, rcp=…, machine=…, as in "
        "day=2026-01-31,kernel=6.12*."
    )
    (tmp_path / "hosts.txt").write_text("# none\n")
    assert error(run, fleet, "--hosts", tmp_path / "hosts.txt") == (
        f"{tmp_path}/hosts.txt lists no hosts: write one a line."
    )
    only.write_bytes(b"")
    assert error(run, fleet) == (
        f"{fleet} has no summary that can be read ({only.relative_to(fleet)}: it is cut short or "
        "damaged): add them again with `rcp-trace summary`, or update rcp."
    )


def test_a_catalog_forgets_what_is_damaged() -> None:
    catalog = Catalog("f", failed=[])
    catalog.without([])
    assert catalog.failed == []
