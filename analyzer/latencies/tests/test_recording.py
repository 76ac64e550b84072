"""The requests of recordings."""

from __future__ import annotations

from pathlib import Path

import pytest

from rcp.analyzer.latencies.files import open_latencies
from rcp.analyzer.latencies.latency import LatencyError
from rcp.analyzer.latencies.slo import measure, parse
from rcp.analyzer.loading.load import load_spool
from rcp.analyzer.loading.opening import open_recording
from rcp.fixtures.synth import READ, WRITE, Synth
from rcp.probes.contract.spool import pack

FIXTURE = Path(__file__).parents[3] / "fixtures/recordings/wal-vs-checkpoint.spool.tar.xz"


def synth() -> Synth:
    """An fsync, one that never ends, a write; a background that reads and writes."""
    made = Synth([("background", "comm:checkpointer")])
    fg = made.task("writer", tid=10, target=True)
    bg = made.task("checkpointer", tid=20, target=True)
    made.request(fg, 1000, 1500)
    made.request(fg, 3000, 3300, nr=WRITE)
    made.request(fg, 9000, 0)
    made.request(bg, 1000, 9000, nr=READ)
    made.io(fg, 1000, 1400, size=4096)
    made.io(bg, 2000, 2500, size=8192)
    made.io(bg, 4000, 11_000, size=512, op=0)
    return made


def test_foreground_requests_are_latencies_by_kind(tmp_path: Path) -> None:
    path = synth().write(tmp_path / "x.spool")
    latencies = open_latencies(path)
    assert {kind: times.tolist() for kind, times in latencies.by_kind.items()} == {
        "fsync": [500],
        "write": [300],
    }
    assert latencies.open_loop is None
    assert latencies.warnings == (f"{path}: 1 foreground request did not finish: not judged",)
    assert latencies.span_s == pytest.approx(2300e-9)


def test_the_background_is_every_byte_that_is_not_the_foregrounds(tmp_path: Path) -> None:
    path = synth().write(tmp_path / "x.spool")
    # From the first event at 1000 ns to the last one at 11000 ns.
    assert open_latencies(path).values["background"] == pytest.approx(8704 / 10e-6)


def test_a_sync_inside_a_write_counts_once_without_a_kind(tmp_path: Path) -> None:
    made = Synth()
    fg = made.task("writer", tid=10, target=True)
    made.request(fg, 1000, 2000, nr=WRITE)
    made.request(fg, 1100, 1900)
    latencies = open_latencies(made.write(tmp_path / "x.spool"))
    assert latencies.kinds == ("fsync", "write")
    (slo,) = parse("max=1s")
    assert latencies.n == measure(slo, latencies).n == 1


def test_lost_requests_are_told(tmp_path: Path) -> None:
    made = synth()
    made.lose("request", lost=3)
    path = made.write(tmp_path / "x.spool")
    assert f"{path}: 3 of 7 requests were lost: the tail may be longer" in (
        open_latencies(path).warnings
    )


def test_every_kind_of_recording_is_read_alike(tmp_path: Path) -> None:
    spool = synth().write(tmp_path / "x.spool")
    load_spool(spool, tmp_path / "x.duckdb")
    pack(spool, tmp_path / "x.spool.tar.xz")
    found = [
        open_latencies(tmp_path / name).by_kind["fsync"].tolist()
        for name in ("x.spool", "x.duckdb", "x.spool.tar.xz")
    ]
    assert found == [[500]] * 3


def test_a_recording_without_foreground_requests_is_told(tmp_path: Path) -> None:
    path = Synth().write(tmp_path / "x.spool")
    with pytest.raises(LatencyError) as error:
        open_latencies(path)
    assert str(error.value) == (
        f"{path} has no finished foreground requests: record longer, or set the roles of "
        "threads with `rcp-trace roles`."
    )


def test_a_real_recording_has_the_quantiles_of_its_report() -> None:
    latencies = open_latencies(FIXTURE)
    with open_recording(FIXTURE) as store:
        rows = store.query(
            "SELECT name, n, p50_dur, p99_dur, max_dur FROM request_latency "
            "WHERE role = 'foreground'"
        )
    assert len(rows) == len(latencies.kinds)
    for name, n, p50, p99, longest in rows:
        values = [measure(slo, latencies) for slo in parse(f"p50=1s@{name},p99=1s@{name}")]
        assert values[0].n == n
        assert [measured.value_ns for measured in values] == [p50, p99]
        assert latencies.by_kind[name].max() == longest
