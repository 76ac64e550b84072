"""Alerts and dashboard name metrics and labels that a scrape has."""

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from rcp.probes.agent.metrics import Metrics, metric_labels

ROOT = Path(__file__).parents[3]
CONTRIB = ROOT / "contrib"
ALERTS = CONTRIB / "prometheus/alerts.yml"
UNPACKED = ROOT / "build/prometheus/usr/bin"
DASHBOARD = CONTRIB / "grafana/rcp.json"

# Labels that Prometheus adds, or a histogram's buckets have.
ADDED = {"instance", "job", "le"}


def expressions() -> Iterator[str]:
    for group in yaml.safe_load(ALERTS.read_text())["groups"]:
        for rule in group["rules"]:
            yield rule["expr"]
    board: dict[str, Any] = json.loads(DASHBOARD.read_text())
    for panel in board["panels"]:
        for target in panel["targets"]:
            yield target["expr"]
    for variable in board["templating"]["list"]:
        if variable["type"] == "query":
            yield variable["query"]["query"]


def named(expression: str) -> set[str]:
    return set(re.findall(r"\brcp_\w+", expression))


def labels_in(expression: str) -> set[str]:
    grouped = re.findall(r"(?:by|ignoring|on) \(([^)]*)\)", expression)
    matched = re.findall(r"(\w+)=~?\"", expression)
    return {name.strip() for group in grouped for name in group.split(",") if name.strip()} | {
        *matched
    }


def complaints(expression: str) -> list[str]:
    known = metric_labels()
    found = [f"no metric {name}" for name in sorted(named(expression) - known.keys())]
    own = set().union(*(known.get(name, ()) for name in named(expression)), ADDED)
    return found + [f"no label {name}" for name in sorted(labels_in(expression) - own)]


@pytest.mark.parametrize("expression", list(expressions()))
def test_what_is_named_exists(expression: str) -> None:
    assert complaints(expression) == []


def test_a_metric_or_label_that_does_not_exist_would_be_found() -> None:
    assert complaints('sum by (culprits) (rcp_held_up_secs_total{sauce="x"})') == [
        *("no metric rcp_held_up_secs_total", "no label culprits", "no label sauce"),
    ]


def test_every_listed_name_is_at_the_endpoint() -> None:
    text = Metrics(1).text(is_open=True)
    heads = set(re.findall(r"^# TYPE (\w+) ", text, re.MULTILINE))
    for name in metric_labels():
        assert heads & {
            name,
            *(name.removesuffix(s) for s in ("_total", "_bucket", "_count", "_sum")),
        }


def test_every_panel_is_different_and_on_its_own_place() -> None:
    panels = json.loads(DASHBOARD.read_text())["panels"]
    places = [(panel["gridPos"]["x"], panel["gridPos"]["y"]) for panel in panels]
    assert len(set(places)) == len({panel["id"] for panel in panels}) == len(panels)


def test_promtool_accepts_the_alerts() -> None:
    program = shutil.which("promtool", path=f"{UNPACKED}:{os.environ['PATH']}")
    if program is None:
        pytest.skip("promtool is not installed: make build/.prometheus")
    done = subprocess.run(
        [program, "check", "rules", str(ALERTS)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
