"""The agent's loop from arrays instead of a kernel: dumps, samples, a full disk, what was left."""

import errno
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from rcp.fixtures.processes import HANG_S
from rcp.probes.agent.metrics import Metrics
from rcp.probes.agent.session import Session, Surroundings
from rcp.probes.agent.settings import Settings
from rcp.probes.contract.events import REQUEST, SLEEP
from rcp.probes.contract.spool import open_spool
from rcp.probes.cost.cost import CostMeter
from rcp.probes.flight.triggers import parse_trigger
from rcp.probes.kernel.features import Features
from rcp.probes.plan import Plan, describe
from rcp.probes.program import Options
from rcp.probes.requests.points import Requests

if TYPE_CHECKING:
    from rcp.probes.tests.conftest import ArraySource

NAMES = {74: "fsync"}
S, MS = 10**9, 10**6

# Stands for the analysis, which has its own tests: says what it was given.
ANALYST = """
import json, pathlib, sys, shutil
job = json.loads(sys.argv[1])
pathlib.Path(sys.argv[2]).with_name("jobs").open("a").write(sys.argv[1] + "\\n")
if "fails" in job["host"]:
    sys.exit("the reason why")
if job["store"]:
    pathlib.Path(job["store"]).write_text("a store")
pathlib.Path(sys.argv[2]).write_text(json.dumps({
    "dur_ns": 10**9, "n_requests": 3, "waits": [], "worst": [["fsync", 1, 73000000]],
    "held_up": [["lock", "cp", "a > b", 1, 5, 1, 5]], "recording": job["store"],
    "n_waiting": 0, "problems": []}))
"""

Start = Callable[..., SimpleNamespace]


@pytest.fixture
def start(tmp_path: Path, source: "ArraySource", features: Features) -> Start:
    """An agent, driven by hand."""

    def of(**changed: Any) -> SimpleNamespace:
        values = {
            "folder": tmp_path / "agent",
            "keep_ns": 8 * S,
            "after_ns": 1,
            "triggers": (parse_trigger("fsync>20ms", NAMES.values()),),
            "dump_gap_ns": 1,
            "max_age_s": 1e9,
            "max_disk_bytes": 1 << 30,
            "max_cpu": None,
            "analysis_cpu": 100.0,
            "is_analysing": True,
            "sample_every_ns": 1 << 60,
            "fleet": "",
            "host": "",
            "cmdline": "full",
            **changed,
        }
        settings = Settings(**values)
        said: list[str] = []
        metrics = Metrics(10)
        argv = (sys.executable, "-c", ANALYST)
        plan = Plan(tmp_path / "x", Options(requests=Requests(NAMES)), features, [])
        session = Session(
            source, settings, describe(plan), NAMES, Surroundings(metrics, argv, said.append)
        )
        return SimpleNamespace(session=session, metrics=metrics, said=said, folder=values["folder"])

    return of


def value(metrics: Metrics, name: str, *labels: str) -> float:
    text = metrics.text(is_open=True)
    families = text_string_to_metric_families(text)  # type: ignore[no-untyped-call]
    return sum(
        float(sample.value)
        for family in families
        for sample in family.samples
        if sample.name == name and set(labels) <= set(sample.labels.values())
    )


def slow_request(source: "ArraySource", took_ms: int = 73) -> None:
    now = time.monotonic_ns()
    source.put("sleep", tid=[7, 8], stack_id=1)
    source.put("request", ts=now - took_ms * MS, end_ns=now, tid=7, nr=74)


def until(agent: SimpleNamespace, is_so: Callable[[], bool]) -> None:
    """Step until something is so."""
    end_s = time.monotonic() + HANG_S
    while not is_so():
        assert time.monotonic() < end_s, agent.said
        agent.session.step()
        time.sleep(0.02)


def test_a_dump_and_a_sample_do_not_count_for_the_bound(
    start: Start, source: "ArraySource", monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = start(max_cpu=0.05, sample_every_ns=1, dump_gap_ns=60 * S)
    excused: list[float] = []
    monkeypatch.setattr(CostMeter, "excuse", lambda _, cpu_s: excused.append(cpu_s))
    slow_request(source)
    until(agent, lambda: len(excused) == 2)
    assert min(excused) > 0


def test_a_slow_request_is_written_loaded_and_told(start: Start, source: "ArraySource") -> None:
    agent = start()
    slow_request(source)
    agent.session.step()
    (spool,) = (agent.folder / "recordings").glob("*.spool")
    assert len(open_spool(spool).records(REQUEST)) == 1
    until(agent, lambda: value(agent.metrics, "rcp_analyses_total", "trigger", "ok") == 1)
    assert [path.suffix for path in (agent.folder / "recordings").iterdir()] == [".duckdb"]
    assert agent.said[0].startswith("fsync of thread 7 took 73.0 ms (fsync>20ms): wrote the last ")
    assert agent.said[1] == f"see it with `rcp-trace report {spool.with_suffix('.duckdb')}`."
    assert value(agent.metrics, "rcp_recordings_written_total") == 1
    assert value(agent.metrics, "rcp_held_up_seconds_total", "trigger") == 5e-9
    agent.session.close()
    assert not (agent.folder / "window.spool").exists()
    assert not (agent.folder / "work").exists()


def test_triggers_are_held_back_after_a_dump(start: Start, source: "ArraySource") -> None:
    agent = start(dump_gap_ns=3600 * S, is_analysing=False)
    for _ in range(3):
        slow_request(source)
        agent.session.step()
    agent.session.close()
    assert len(list((agent.folder / "recordings").iterdir())) == 1
    assert value(agent.metrics, "rcp_triggers_total", "fsync>20ms") == 3
    assert value(agent.metrics, "rcp_triggers_held_back_total") == 2
    assert value(agent.metrics, "rcp_request_duration_seconds_count", "fsync") == 3


def test_without_analysis_dumps_stay_spools(start: Start, source: "ArraySource") -> None:
    agent = start(is_analysing=False)
    slow_request(source)
    agent.session.step()
    agent.session.close()
    assert [path.suffix for path in (agent.folder / "recordings").iterdir()] == [".spool"]


def test_samples_are_analysed_and_deleted(start: Start, source: "ArraySource") -> None:
    agent = start(sample_every_ns=1, triggers=(), host="db17", fleet="/srv/fleet")
    source.put("sleep", tid=1)
    until(agent, lambda: value(agent.metrics, "rcp_analyses_total", "sample", "ok") >= 1)
    job = json.loads((agent.folder / "work/jobs").read_text().splitlines()[0])
    assert (job["host"], job["fleet"]) == ("db17", "/srv/fleet")
    assert job["outbox"] == str(agent.folder / "fleet")
    assert value(agent.metrics, "rcp_analysed_requests_total", "sample") >= 3
    agent.session.close()


def test_samples_beyond_the_budget_are_counted(start: Start, source: "ArraySource") -> None:
    agent = start(sample_every_ns=1, triggers=(), analysis_cpu=1e-6)
    until(agent, lambda: value(agent.metrics, "rcp_analyses_total", "sample") >= 1)
    until(agent, lambda: value(agent.metrics, "rcp_summaries_skipped_total") >= 5)
    assert value(agent.metrics, "rcp_analyses_total", "sample") == 1
    agent.session.close()


def test_a_failed_analysis_is_told(start: Start, source: "ArraySource") -> None:
    agent = start(sample_every_ns=1, triggers=(), host="fails")
    until(agent, lambda: value(agent.metrics, "rcp_analyses_total", "failed") >= 1)
    assert agent.said[0].endswith("sample.spool: the reason why")
    agent.session.close()


def test_what_a_killed_agent_left_is_kept_and_loaded(start: Start, source: "ArraySource") -> None:
    killed = start(triggers=())
    source.put("sleep", tid=[1, 2, 3])
    killed.session.step()
    del killed.session  # no close
    agent = start(triggers=())
    (kept,) = (agent.folder / "recordings").iterdir()
    assert agent.said == [f"an agent ended without closing its window: {kept} has it."]
    assert len(open_spool(kept).records(SLEEP)) == 3
    until(agent, lambda: value(agent.metrics, "rcp_analyses_total", "trigger", "ok") == 1)
    assert [path.suffix for path in (agent.folder / "recordings").iterdir()] == [".duckdb"]
    agent.session.close()


def test_a_full_disk_stops_neither_counting_nor_the_agent(
    start: Start, source: "ArraySource", monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = start(is_analysing=False)
    slow_request(source)
    agent.session.step()
    assert len(list((agent.folder / "recordings").iterdir())) == 1
    is_full = True

    def write_whole(file: Any, data: Any) -> int:
        if is_full:
            raise OSError(errno.ENOSPC, "No space left on device")
        size = 0
        view = memoryview(data).cast("B")
        while size < len(view):
            size += file.write(view[size:])
        return size

    monkeypatch.setattr("rcp.probes.contract.spooling.frames.write_whole", write_whole)
    for _ in range(3):
        slow_request(source, took_ms=1)
        agent.session.step()
    assert agent.said[1:] == [
        f"cannot write {agent.folder}: No space left on device; the oldest recording was deleted. "
        "Requests are still counted: free some space, or lower max_disk."
    ]
    assert list((agent.folder / "recordings").iterdir()) == []
    assert value(agent.metrics, "rcp_disk_full") == 1
    is_full = False
    source.put("sleep", tid=[1, 2, 3])
    for _ in range(3):
        agent.session.step()
    assert value(agent.metrics, "rcp_disk_full") == 0
    agent.session.flight.trigger_now()
    agent.session.step()
    agent.session.close()
    assert value(agent.metrics, "rcp_request_duration_seconds_count", "fsync") == 4
    dropped = value(agent.metrics, "rcp_events_dropped_total")
    (dump,) = (agent.folder / "recordings").iterdir()
    n_there = sum(len(open_spool(dump).records(record)) for record in (SLEEP, REQUEST))
    assert dropped > 0
    assert n_there + dropped == 3 + 3 + 3 * 3
    lost = open_spool(dump).counters["lost"]
    assert sum(map(sum, lost.values())) == dropped
