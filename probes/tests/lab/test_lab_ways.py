"""Each way of recording on a real kernel: what it is for, and that what is left out is counted."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from rcp.analyzer.reports.live import analyse, as_text
from rcp.probes.contract.spool import open_spool

# Heavy: half a dozen recordings on the host's clock, each of which compiles the probes.
pytestmark = [pytest.mark.lab, pytest.mark.heavy]

MS, S = 1_000_000, 1_000_000_000


@pytest.fixture(scope="module")
def seen(lab: None, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What guest_ways.py saw, in one boot with the host's clock and two CPUs."""
    out = tmp_path_factory.mktemp("ways")
    scripts = [Path(__file__).parent / name for name in ("guest_ways.py", "guest_recorder.py")]
    subprocess.run(
        [
            *(sys.executable, "-m", "rcp.lab", "run", "--functional", "--out", str(out)),
            *("--timeout", "3600", "--input", str(scripts[0]), "--input", str(scripts[1])),
            *("--", "python3 $RCP_LAB_IN/inputs/guest_ways.py"),
        ],
        check=True,
    )
    result: dict[str, Any] = json.loads((out / "ways.json").read_text())
    return {**result, "out": out}


def report_of(path: Path) -> str:
    """What `rcp-trace report` prints of a spool the guest handed over."""
    done = subprocess.run(
        [sys.executable, "-c", "from rcp.analyzer.cli import main; main()", "report", str(path)],
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


@pytest.mark.parametrize("name", ["storm", "bounded_storm"])
def test_every_io_the_block_layer_counts_is_recorded_or_counted_as_lost(
    seen: dict[str, Any], name: str
) -> None:
    check = seen[name]
    assert check["status"] == 0, check["stderr"]
    assert check["ios_elsewhere"] == 0
    assert check["ios_recorded"] + check["lost"]["io"] == check["ios_counted_by_kernel"] > 1000


@pytest.mark.parametrize("name", ["storm", "bounded_storm"])
def test_the_spool_holds_what_the_probes_wrote(seen: dict[str, Any], name: str) -> None:
    check = seen[name]
    assert check["in_spool"] == {kind: check["written"][kind] for kind in ("sleep", "io")}


def test_without_a_bound_nothing_is_lost_in_a_storm(seen: dict[str, Any]) -> None:
    check = seen["storm"]
    assert sum(check["lost"].values()) == 0
    assert check["shedding"] is None


def test_the_cost_is_measured_and_said(seen: dict[str, Any]) -> None:
    cost = seen["storm"]["cost"]
    assert cost["probe_runs"] > seen["storm"]["written"]["io"]
    assert 10 < cost["probe_ns_per_run"] < 1_000_000
    assert 0 < cost["probe_cpu_s"] < cost["duration_s"] * 2
    assert 0 < cost["recorder_cpu_s"] < cost["duration_s"]
    assert "rcp-trace: cost: recorder " in seen["storm"]["stderr"]


def test_a_storm_beyond_max_cpu_is_shed_said_and_stored(seen: dict[str, Any]) -> None:
    check = seen["bounded_storm"]
    shedding = check["shedding"]
    levels = [event["level"] for event in shedding["events"]]
    assert levels[:4] == [1, 2, 3, 4]
    assert shedding["n_pauses"] > 3
    assert check["lost"]["sleep"] > 0
    assert check["lost"]["io"] > 0
    assert "(--max-cpu 40): sleeps under 50us are not written." in check["stderr"]


def test_shedding_keeps_the_use_of_cpu_near_the_bound(seen: dict[str, Any]) -> None:
    shedding = seen["bounded_storm"]["shedding"]
    assert shedding["max_cpu"] == 0.4
    assert shedding["events"][0]["cpu_share"] > 0.4
    assert shedding["cpu_share_since"] < 0.4 * 1.5


def test_sleeps_below_min_wait_are_filtered_and_counted(
    seen: dict[str, Any],
) -> None:
    check = seen["min_wait"]
    assert check["status"] == 0, check["stderr"]
    assert check["shortest_ns"] >= 20 * MS
    assert check["n_of_target"] >= 20
    assert check["filtered"] >= 200
    assert check["lost"] == 0
    assert check["meta"] == {"min_wait_ns": 20 * MS}
    report = report_of(seen["out"] / "min-wait.spool")
    assert "waits shorter than 20ms were not recorded (--min-wait)" in report


def test_live_names_the_culprit_every_interval(seen: dict[str, Any]) -> None:
    check = seen["live"]
    assert check["status"] == 0, check["output"]
    figures = [json.loads(line) for line in check["output"].splitlines() if line.startswith("{")]
    assert [figure["n_lost"] for figure in figures] == [0, 0, 0]
    for name, figure in zip(check["spools"], figures, strict=True):
        table = as_text({**figure, **analyse(open_spool(seen["out"] / name))})
        lines = [line.split() for line in table.splitlines()]
        assert ["flock", "foreground"] in [line[:2] for line in lines], table
        first = next(n for n, line in enumerate(lines) if line[:1] == ["culprit"]) + 1
        assert lines[first][0] == "holder", table
    assert check["programs"][1] == check["programs"][0]


def test_a_planted_slow_fsync_is_in_the_dump(seen: dict[str, Any]) -> None:
    dump = seen["flight"]["dump"]
    assert dump["slow"], seen["flight"]
    assert max(ns for _, ns in dump["slow"]) > 400 * MS
    assert dump["end"]["why"] == "trigger"
    assert dump["meta"]["trigger"]["requests"][0]["dur_ns"] > 400 * MS
    assert dump["meta"]["flight"]["keep_ns"] == 5 * S
    assert dump["mib_written"] >= 1  # of the burst that caused it
    assert "dd" in dump["comms"]
    assert dump["n_stacks"] > 0


def test_a_flight_recorder_goes_on_and_keeps_only_the_window(seen: dict[str, Any]) -> None:
    check = seen["flight"]
    assert any("(fsync>400ms): wrote the last " in line for line in check["said"])
    assert check["pieces"] <= 10


def test_a_killed_flight_recorder_leaves_its_window_and_no_probe(seen: dict[str, Any]) -> None:
    check = seen["flight"]
    assert check["left"]["end"] is None
    assert check["left"]["n_sleeps"] > 10
    assert "recorder was killed" in report_of(seen["out"] / "flight.spool")
    assert check["programs"][1] == check["programs"][0]


def test_a_dump_is_read_as_any_recording(seen: dict[str, Any]) -> None:
    report = report_of(seen["out"] / "flight-1.spool")
    assert "foreground fsync requests" in report.splitlines()[0]
    assert "ended by  trigger: fsync of thread " in report
