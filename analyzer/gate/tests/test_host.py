"""Fingerprints of machines."""

from __future__ import annotations

import json
from pathlib import Path

from rcp.analyzer.gate import host
from rcp.analyzer.gate.side import Reading, read_run
from rcp.analyzer.gate.tests.conftest import Gate, GateError, MakeRuns


def test_a_machines_disks_are_in_its_facts(tmp_path: Path) -> None:
    for disk in ("nvme0n1", "loop0"):
        queue = tmp_path / "sys/block" / disk / "queue"
        queue.mkdir(parents=True)
        (queue / "scheduler").write_text("none [mq-deadline] bfq\n")
    (tmp_path / "sys/block/nvme0n1/queue/nr_requests").write_text("64\n")
    facts = host.here(tmp_path)
    assert facts["nvme0n1.scheduler"] == "mq-deadline"
    assert facts["nvme0n1.nr_requests"] == "64"
    assert not any(name.startswith("loop0") for name in facts)


def test_what_the_lab_left_is_known_by_its_result(tmp_path: Path) -> None:
    assert host.of_lab(tmp_path) == {}
    result = {"kernel": "6.12.1", "cpus": 1, "virtual_time": True}
    (tmp_path / "result.json").write_text(json.dumps(result))
    assert host.of_lab(tmp_path)["clock"] == "virtual"
    (tmp_path / "x.txt").write_text("1ms\n2ms\n")
    run = read_run(str(tmp_path / "x.txt"), Reading(here=True))
    assert run.host["kernel"] == "6.12.1"
    (tmp_path / "result.json").write_text("{}")
    assert host.of_lab(tmp_path) == {}


def test_what_one_does_not_say_is_no_difference() -> None:
    a = {"kernel": "6.1", "name": "runner1", "sda.scheduler": "none"}
    b = {"kernel": "6.1", "name": "runner2"}
    assert host.differences([[a, {}], [b]]) == []
    assert host.differences([[a], [{**b, "sda.scheduler": "bfq"}]]) == [
        "sda.scheduler none and bfq"
    ]


def test_unlike_hosts_are_refused_unless_allowed(
    make_runs: MakeRuns, gate: Gate, gate_error: GateError, tmp_path: Path
) -> None:
    base, runs = tmp_path / "base", make_runs("run")
    assert gate("save", *make_runs("a"), "-o", base, "--here").exit_code == 0
    table = base / "000001/save.json"
    told = json.loads(table.read_text())
    ours = told["runs"][0]["host"]["kernel"]
    for run in told["runs"]:
        run["host"]["kernel"] = "1.0"
    table.write_text(json.dumps(told))
    assert gate_error(*runs, "-b", base, "--here") == (
        f"the runs were measured on different hosts (kernel 1.0 and {ours}): measure both on one "
        "host, or compare them anyway with --allow-different-hosts."
    )
    assert gate(*runs, "-b", base, "--here", "--allow-different-hosts").exit_code == 0
