"""The agent on a real kernel: from its start to its death, and what that leaves."""

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families

pytestmark = pytest.mark.lab


@pytest.fixture(scope="module")
def agent_lab(lab: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What one boot left."""
    out = tmp_path_factory.mktemp("agent")
    scripts = [Path(__file__).parent / name for name in ("guest_agent.py", "guest_recorder.py")]
    subprocess.run(
        [
            *(sys.executable, "-m", "rcp.lab", "run", "--timing", "--out", str(out)),
            *("--timeout", "3600", "--input", str(scripts[0]), "--input", str(scripts[1])),
            *("--", "python3 $RCP_LAB_IN/inputs/guest_agent.py"),
        ],
        check=True,
    )
    return out


@pytest.fixture(scope="module")
def seen(agent_lab: Path) -> dict[str, Any]:
    """What guest_agent.py saw."""
    result: dict[str, Any] = json.loads((agent_lab / "agent.json").read_text())
    return result


def test_it_counts_requests_with_the_rights_of_its_unit(seen: dict[str, Any]) -> None:
    scrape = seen["first"]["scrape"]
    assert scrape['rcp_request_duration_seconds_count{request="fsync"}'] > 100
    assert scrape['rcp_events_recorded_total{probe="request"}'] > 100
    assert scrape['rcp_cpu_seconds_total{part="recorder"}'] > 0
    assert scrape["rcp_disk_full"] == 0


def test_a_scrape_of_a_running_agent_is_openmetrics(agent_lab: Path) -> None:
    text = (agent_lab / "scrape.txt").read_text()
    families = list(text_string_to_metric_families(text))  # type: ignore[no-untyped-call]
    assert {"rcp_request_duration_seconds", "rcp_cpu_seconds"} <= {f.name for f in families}


def test_slow_requests_are_written_and_rotated_away(seen: dict[str, Any]) -> None:
    first = seen["first"]
    assert all(name.endswith("-trigger.spool") for name in first["written"])
    assert first["scrape"]["rcp_recordings_written_total"] >= 2
    assert first["scrape"]['rcp_recordings_deleted_total{why="age"}'] >= 2


def test_a_wrong_configuration_is_refused_and_a_right_one_taken(seen: dict[str, Any]) -> None:
    first = seen["first"]
    assert (
        "rcp-trace: --when 'fsync>not a duration': give a number and a unit, as in 50ms. "
        "The former configuration stays in force.\n"
    ) in first["said"]
    assert first["scrape"]['rcp_reloads_total{result="failed"}'] == 1
    assert first["scrape"]['rcp_reloads_total{result="ok"}'] == 1
    assert "until fsync>2s" in first["said"]


def test_systemd_hears_of_each_stage(seen: dict[str, Any]) -> None:
    assert "READY=1" in seen["first"]["heard"]
    assert "RELOADING=1\nMONOTONIC_USEC=" in seen["first"]["heard"]
    assert "WATCHDOG=1" in seen["first"]["heard"]
    assert "STOPPING=1" in seen["second"]["heard"]


def test_sigkill_leaves_no_bpf_program(seen: dict[str, Any]) -> None:
    first = seen["first"]
    before, during, after = first["programs"]
    assert first["status"] == -signal.SIGKILL
    assert during > before
    assert after == before


def test_the_window_of_a_killed_agent_is_kept_by_the_next(seen: dict[str, Any]) -> None:
    second = seen["second"]
    assert second["left"]
    assert [name for name in second["kept"] if name.endswith("-killed.spool")] != []
    assert "an agent ended without closing its window: /tmp/agent/kept/rec" in second["said"]


def test_sigterm_ends_it_and_leaves_nothing(seen: dict[str, Any]) -> None:
    second = seen["second"]
    assert second["status"] == 0
    assert not second["window"]
    before, after = second["programs"]
    assert after == before


def test_a_folder_has_one_agent(seen: dict[str, Any]) -> None:
    status, stderr = seen["second"]["second"]
    assert status == 2
    assert stderr.splitlines()[-1] in (
        "rcp-trace: error: another agent uses /tmp/agent/kept: stop it, or give another folder in "
        "[recordings].",
    )


def test_a_kernel_that_keeps_perf_events_to_itself_is_named(seen: dict[str, Any]) -> None:
    assert seen["paranoid"]["status"] == 2
    assert seen["paranoid"]["stderr"].splitlines()[-1] == (
        "rcp-trace: error: the probes did not load: Permission denied: this kernel keeps perf "
        "events to CAP_SYS_ADMIN: run `sysctl kernel.perf_event_paranoid=2`, or give the program "
        "that capability."
    )


@pytest.mark.parametrize(
    ("check", "line"),
    [
        (
            "no_btf",
            "this kernel has no BTF (/sys/kernel/btf/vmlinux): boot one built with "
            "CONFIG_DEBUG_INFO_BTF, as Debian's are.",
        ),
        (
            "no_tracefs",
            "tracefs is not mounted: run `mount -t tracefs tracefs /sys/kernel/tracing`, or "
            "`rcp-trace doctor --mount`.",
        ),
        (
            "read_only",
            "cannot write /tmp/agent/kept: Read-only file system: give another folder in "
            "[recordings].",
        ),
    ],
)
def test_what_is_missing_is_said_in_one_line(seen: dict[str, Any], check: str, line: str) -> None:
    assert seen[check] == {"status": 2, "stderr": f"rcp-trace: error: {line}\n"}
