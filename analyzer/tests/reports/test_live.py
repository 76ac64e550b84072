"""An interval in, a table out."""

import json
from pathlib import Path

from rcp.analyzer.reports.live import analyse, as_text
from rcp.fixtures.synth import Synth
from rcp.probes.contract.events import RECORDS
from rcp.probes.contract.memory import MemorySpool

MS = 1_000_000
FIGURES = {
    "time": "2030-01-02T03:04:05+00:00",
    "dur_ns": 2_000 * MS,
    "n_events": 12,
    "n_lost": 0,
    "n_left_out": 0,
    "note": "",
    "analysis_s": 0.25,
}


def interval(synth: Synth) -> MemorySpool:
    return MemorySpool(
        path=Path("nowhere"),
        meta=synth.meta,
        counters={},
        end=None,
        rows={record.name: synth.records(record) for record in RECORDS},
    )


def held_up() -> Synth:
    synth = Synth([("background", "comm:checkpointer")])
    writer = synth.task("writer", target=True)
    checkpointer = synth.task("checkpointer")
    synth.request(writer, 100 * MS, 200 * MS)
    synth.first_seen(checkpointer, 50 * MS)
    synth.sleep(writer, 110 * MS, 190 * MS, waker=checkpointer)
    return synth


def test_an_interval_names_the_culprit() -> None:
    row = {**FIGURES, **analyse(interval(held_up()))}
    assert [(r["name"], r["n"], r["max_ns"]) for r in row["requests"]] == [("fsync", 1, 100 * MS)]
    assert [(r["culprit"], r["total_ns"]) for r in row["inversions"]] == [("checkpointer", 80 * MS)]
    assert json.loads(json.dumps(row)) == row
    assert as_text(row).splitlines() == [
        "2030-01-02T03:04:05+00:00  last 2.00 s: 12 events, none lost; analysis took 0.25 s",
        "",
        "request  role        count       p50       p99       max",
        "fsync    foreground      1  100.0 ms  100.0 ms  100.0 ms",
        "",
        "waited for  count    total   share",
        "unknown         1  80.0 ms  80.0 %",
        "cpu             2  20.0 ms  20.0 %",
        "",
        "culprit       by         role        requests    total    worst",
        "checkpointer  condition  background         1  80.0 ms  80.0 ms",
    ]


def test_an_empty_interval_says_so() -> None:
    text = as_text({**FIGURES, **analyse(interval(Synth()))})
    assert text.splitlines()[2:] == [
        "no request finished",
        "",
        "",
        "background work delayed no foreground request",
    ]


def test_what_is_missing_from_an_interval_is_told() -> None:
    figures = {**FIGURES, "n_lost": 3, "n_left_out": 2, "note": "analysis took 1.00 s: …"}
    lines = as_text({**figures, **analyse(interval(Synth()))}).splitlines()
    assert lines[0].endswith("12 events, 3 lost; analysis took 0.25 s")
    assert lines[1:3] == [
        "analysis took 1.00 s: …",
        "2 requests left out: begun before the interval",
    ]
