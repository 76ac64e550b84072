"""OTLP traces: spans nest as paths do, links lead to culprits, ids and times are as OTLP wants."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from rcp.analyzer.cli import main
from rcp.analyzer.export.otlp import REQUESTS_MAX
from rcp.fixtures.synth import Synth

RECORDING = Path(__file__).parents[3] / "fixtures/recordings/wal-vs-checkpoint.spool.tar.xz"


def exported(recording: Path, *words: str) -> dict[str, Any]:
    done = CliRunner().invoke(main, ["export", str(recording), "--otlp", "-o", "-", *words])
    assert done.exit_code == 0, done.output
    (whole,) = json.loads(done.stdout)["resourceSpans"]
    resource: dict[str, Any] = whole
    return resource


def spans_of(resource: dict[str, Any]) -> list[dict[str, Any]]:
    (scope,) = resource["scopeSpans"]
    found: list[dict[str, Any]] = scope["spans"]
    return found


def interval(span: dict[str, Any]) -> tuple[int, int]:
    return int(span["startTimeUnixNano"]), int(span["endTimeUnixNano"])


def attribute(span: dict[str, Any], name: str) -> Any:
    return next(one["value"] for one in span["attributes"] if one["key"] == name)


def test_a_request_its_path_and_its_culprit() -> None:
    spans = spans_of(exported(RECORDING, "--request", "1234"))
    (request,) = (span for span in spans if span["kind"] == 2)
    assert request["name"] == "fsync"
    assert attribute(request, "rcp.request_id") == {"intValue": "1234"}
    assert "parentSpanId" not in request
    # the recorder's clock: 2026-01-01 in the lab
    assert 1_767_225_600 * 10**9 < interval(request)[0] < 1_767_312_000 * 10**9
    below = [span for span in spans if span.get("parentSpanId") == request["spanId"]]
    # waits and states of its own thread cover the request
    assert sum(end - begin for begin, end in map(interval, below)) == (
        interval(request)[1] - interval(request)[0]
    )
    culprits = {(link["traceId"], link["spanId"]) for link in request["links"]}
    linked = [span for span in spans if (span["traceId"], span["spanId"]) in culprits]
    assert len(linked) == len(request["links"]) > 0
    assert {span["name"].partition(" (")[0] for span in linked} == {"checkpointer"}
    assert {attribute(span, "rcp.delayed_request_id")["intValue"] for span in linked} == {"1234"}


def test_every_span_is_inside_its_parent_and_has_an_id_of_its_own() -> None:
    spans = spans_of(exported(RECORDING, "--slowest", "20"))
    by_id = {span["spanId"]: span for span in spans}
    assert len(by_id) == len(spans)
    for span in spans:
        assert re.fullmatch("[0-9a-f]{32}", span["traceId"])
        assert re.fullmatch("[0-9a-f]{16}", span["spanId"])
        if "parentSpanId" in span:
            parent = by_id[span["parentSpanId"]]
            assert parent["traceId"] == span["traceId"]
            assert interval(parent)[0] <= interval(span)[0]
            assert interval(span)[1] <= interval(parent)[1]


def test_without_a_selection_the_slowest_are_exported() -> None:
    spans = spans_of(exported(RECORDING))
    assert sum(span["kind"] == 2 for span in spans) == REQUESTS_MAX


def test_the_same_request_has_the_same_ids() -> None:
    one, again = (exported(RECORDING, "--request", "1234") for _ in range(2))
    assert one == again
    assert {"key": "host.name", "value": {"stringValue": "rcp-lab"}} in one["resource"][
        "attributes"
    ]


def test_a_request_inside_another_is_in_its_trace(tmp_path: Path) -> None:
    clock = {"started_realtime_ns": 10**18, "started_monotonic_ns": 500}
    synth = Synth([("foreground", "comm:writer")], clock=clock)
    fg = synth.task("writer", tid=10, target=True)
    synth.sleep(fg, 1, 2)
    synth.request(fg, 1000, 9000)
    synth.request(fg, 2000, 3000, nr=75)
    spans = spans_of(exported(synth.write(tmp_path / "x.spool")))
    outer, inner = (span for span in spans if span["kind"] == 2)
    assert (outer["name"], inner["name"]) == ("fsync", "fdatasync")
    assert inner["parentSpanId"] == outer["spanId"]
    assert inner["traceId"] == outer["traceId"]
    assert interval(outer) == (10**18 + 500, 10**18 + 8500)


def test_a_recording_without_a_wall_clock_is_told(tmp_path: Path) -> None:
    synth = Synth([("foreground", "comm:writer")])
    fg = synth.task("writer", tid=10, target=True)
    synth.sleep(fg, 1, 2)
    synth.request(fg, 1000, 9000)
    spool = synth.write(tmp_path / "x.spool")
    done = CliRunner().invoke(main, ["export", str(spool), "--otlp", "-o", "-"])
    assert (done.exit_code, done.stderr) == (
        2,
        f"rcp-trace: error: {spool} does not say when it was recorded, as spans must: record "
        "anew.\n",
    )
