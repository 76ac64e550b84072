"""A real Prometheus takes the agent's metrics, their exemplars and the alerts."""

import json
import os
import shutil
import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from rcp.fixtures.processes import HANG_S
from rcp.probes.agent.endpoint import Endpoint
from rcp.probes.agent.metrics import Metrics

ROOT = Path(__file__).parents[3]
ALERTS = ROOT / "contrib/prometheus/alerts.yml"
UNPACKED = ROOT / "build/prometheus/usr/bin"
CONFIG = """
global: {{scrape_interval: 1s, evaluation_interval: 1s}}
rule_files: ["{alerts}"]
scrape_configs:
  - job_name: rcp
    static_configs: [{{targets: ["127.0.0.1:{port}"]}}]
"""
FOUND = {
    "dur_ns": 30 * 10**9,
    "n_requests": 5,
    "waits": [["lock", 7_000_000]],
    "held_up": [["lock", "cp", "a > b", 2, 50_000_000, 17, 40_000_000]],
    "worst": [["fsync", 17, 73_000_000]],
    "recording": "/r/a.duckdb",
}


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a Prometheus that scrapes an agent's endpoint."""
    program = shutil.which("prometheus", path=f"{UNPACKED}:{os.environ['PATH']}")
    if program is None:
        pytest.skip("prometheus is not installed: make build/.prometheus")
    folder = tmp_path_factory.mktemp("prometheus")
    metrics = Metrics(10)
    metrics.add_analysis("trigger", FOUND, time.time())
    with Endpoint(("127.0.0.1", 0), metrics.text) as endpoint:
        config = folder / "prometheus.yml"
        config.write_text(CONFIG.format(alerts=ALERTS, port=endpoint.port))
        address = f"127.0.0.1:{free_port()}"
        process = subprocess.Popen(
            [
                *(program, f"--config.file={config}", f"--storage.tsdb.path={folder}"),
                *(f"--web.listen-address={address}", "--enable-feature=exemplar-storage"),
            ],
            stderr=subprocess.DEVNULL,
        )
        try:
            yield f"http://{address}/api/v1"
        finally:
            process.kill()
            process.wait()


def answer(url: str, is_whole: Any) -> Any:
    """Ask until there is an answer."""
    end_s = time.monotonic() + HANG_S
    while True:
        try:
            with urllib.request.urlopen(url, timeout=10) as found:
                data = json.loads(found.read())["data"]
        except OSError:
            data = None
        if data and is_whole(data):
            return data
        assert time.monotonic() < end_s, data
        time.sleep(0.5)


def test_it_scrapes_the_endpoint(server: str) -> None:
    url = f"{server}/query?query=rcp_held_up_seconds_total"
    (series,) = answer(url, lambda data: data["result"])["result"]
    assert series["metric"]["culprit"] == "cp"
    assert series["value"][1] == "0.05"


def test_it_has_the_exemplars(server: str) -> None:
    at_s = time.time()
    url = f"{server}/query_exemplars?query={quote('rcp_held_up_seconds_total')}"
    (series,) = answer(f"{url}&start={at_s - 600}&end={at_s + 600}", lambda data: data)
    assert series["exemplars"][0]["labels"] == {"recording": "a.duckdb", "request": "17"}


def test_it_evaluates_the_alerts(server: str) -> None:
    def evaluated(data: Any) -> bool:
        rules = data["groups"][0]["rules"]
        return all(rule["health"] != "unknown" for rule in rules)

    rules = answer(f"{server}/rules", evaluated)["groups"][0]["rules"]
    assert [(r["name"], r["health"]) for r in rules if r["health"] != "ok"] == []
