"""The report says what recording cost, and what was left out."""

import json
from pathlib import Path
from typing import Any

from rcp.analyzer.loading.load import load_in_memory
from rcp.analyzer.reports.render import report_text
from rcp.analyzer.reports.report import report
from rcp.fixtures.damage import without_checksums
from rcp.fixtures.synth import Synth


def text_of(folder: Path) -> str:
    with load_in_memory(folder) as store:
        return report_text(report(store))


def small(**meta: Any) -> Synth:
    synth = Synth(**meta)
    synth.request(synth.task("writer", target=True), 100, 200)
    return synth


def test_the_cost_is_a_line_of_the_report(tmp_path: Path) -> None:
    folder = without_checksums(small().write(tmp_path / "a.spool"))
    assert "cost  " not in text_of(folder)
    end = json.loads((folder / "end.json").read_text())
    end["cost"] = {
        "duration_s": 10.0,
        "recorder_cpu_s": 0.1,
        "probe_cpu_s": 0.4,
        "probe_ns_per_run": 700.0,
        "measured_share": 0.125,
        "peak_rss_bytes": 64 << 20,
        "spool_bytes": 1 << 20,
        "events_per_s": 900.0,
    }
    (folder / "end.json").write_text(json.dumps(end))
    text = " ".join(text_of(folder).split())
    assert (
        " cost recorder 1.0 % of one CPU, probes about 4.0 % (700 ns a run); 64 MiB of memory, "
        "1.0 MiB written, 900 events/s " in text
    )


def test_what_was_left_out_is_told_under_losses(tmp_path: Path) -> None:
    synth = small(filters={"min_wait_ns": 20_000})
    text = text_of(synth.write(tmp_path / "a.spool"))
    assert (
        "  waits shorter than 20us were not recorded (--min-wait): their time counts as cpu\n"
        in text
    )


def test_what_a_filter_left_out_is_counted_beside_the_losses(tmp_path: Path) -> None:
    synth = small()
    synth.counters["filtered"] = {"sleep": [3, 4]}
    with load_in_memory(synth.write(tmp_path / "a.spool")) as store:
        assert store.query("SELECT cpu, lost, filtered FROM loss WHERE probe = 'sleep'") == [
            (0, 0, 3),
            (1, 0, 4),
        ]
