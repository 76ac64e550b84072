"""What the agent learns of a recording, and what is left of it."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from rcp.analyzer.agent.outbox import send_all
from rcp.analyzer.loading.opening import open_recording
from rcp.probes.agent.analyst import SAMPLE, TRIGGER, Job
from rcp.probes.agent.metrics import Metrics
from rcp.probes.contract.spool import unpack

ROOT = Path(__file__).parents[3]
PACKED = ROOT / "fixtures/recordings/wal-vs-checkpoint.spool.tar.xz"


@pytest.fixture(scope="module")
def spool(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("agent") / "recorded.spool"
    folder.mkdir()
    return unpack(PACKED, folder)


# Beside other tests a process as nice as the agent's analysis waits for minutes.
ANALYSIS = """
import os, runpy
asked = []
os.nice = asked.append
runpy.run_module("rcp.analyzer.agent", run_name="__main__", alter_sys=True)
assert asked and asked[0] > 0
"""


def done(job: Job, folder: Path) -> dict[str, Any]:
    """Do a job as the agent has it done, but for how nice it is."""
    result = folder / "result"
    subprocess.run([sys.executable, "-c", ANALYSIS, json.dumps(vars(job)), str(result)], check=True)
    found: dict[str, Any] = json.loads(result.read_text())
    return found


@pytest.fixture(scope="module")
def kept(spool: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("kept")
    return done(Job(str(spool), TRIGGER, store=str(folder / "slow.duckdb")), folder)


def test_a_dump_becomes_a_store_whose_requests_are_named(kept: dict[str, Any]) -> None:
    store = Path(kept["recording"])
    assert store.name == "slow.duckdb"
    with open_recording(store) as opened:
        for kind, request_id, dur_ns in kept["worst"]:
            assert opened.query(
                "SELECT name, dur FROM request WHERE request_id = ?", [request_id]
            ) == [(kind, dur_ns)]
        ((total_ns,),) = opened.query(
            "SELECT sum(inversion.dur) FROM inversion JOIN request USING (request_id) "
            "JOIN task USING (utid) WHERE task.role = 'foreground'"
        )
    assert sum(row[4] for row in kept["held_up"]) == total_ns
    costliest = kept["held_up"][0]
    assert costliest[1].startswith("checkpoint")
    assert costliest[4] == max(row[4] for row in kept["held_up"])


def test_the_metrics_take_it(kept: dict[str, Any]) -> None:
    metrics = Metrics(200)
    metrics.add_analysis("trigger", kept, 1.0)
    text = metrics.text(is_open=True)
    assert 'recording="slow.duckdb"' in text
    assert 'rcp_held_up_seconds_total{source="trigger",kind="' in text


def test_a_sample_becomes_a_summary_in_the_fleet(spool: Path, tmp_path: Path) -> None:
    outbox, fleet = tmp_path / "outbox", tmp_path / "fleet"
    job = Job(str(spool), SAMPLE, outbox=str(outbox), fleet=str(fleet), host="db17")
    found = done(job, tmp_path)
    (summary,) = fleet.rglob("*.parquet")
    assert summary.parent.name == "host=db17"
    assert (found["recording"], found["n_waiting"], found["problems"]) == ("", 0, [])
    assert list(outbox.rglob("*.parquet")) == []
    assert sorted(path.name for path in spool.parent.iterdir()) == [spool.name]


def test_what_a_fleet_does_not_take_waits(tmp_path: Path) -> None:
    outbox = tmp_path / "outbox"
    place = outbox / "v1/day=2026-01-31/host=a"
    place.mkdir(parents=True)
    for name in ("1", "2"):
        (place / f"{name}.parquet").write_text(name)
    fleet = tmp_path / "fleet"
    fleet.write_text("not a folder")
    assert send_all(outbox, str(fleet)) == (
        2,
        [f"{fleet} takes no summaries: Not a directory; 2 wait."],
    )
    fleet.unlink()
    assert send_all(outbox, str(fleet)) == (0, [])
    assert sorted(path.name for path in fleet.rglob("*.parquet")) == ["1.parquet", "2.parquet"]


def test_a_spool_that_cannot_be_loaded_is_one_line(tmp_path: Path) -> None:
    job = Job(str(tmp_path / "no.spool"), TRIGGER, store=str(tmp_path / "a.duckdb"))
    failed = subprocess.run(
        [sys.executable, "-m", "rcp.analyzer.agent", json.dumps(vars(job)), str(tmp_path / "r")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert failed.returncode != 0
    assert failed.stderr == f"{tmp_path / 'no.spool'} does not exist.\n"
