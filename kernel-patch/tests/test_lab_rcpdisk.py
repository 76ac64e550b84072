"""The simulated disk on a real kernel: Debian's own, and the patched one."""

import errno
import json
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).with_name("guest_rcpdisk.py")


def _run(kernel: str, out: Path) -> dict[str, dict[str, object]]:
    options = ["--timing", "--kernel", kernel, "--module", "rcpdisk", "--out", str(out)]
    options += ["--input", str(SCRIPT), "--timeout", "3600"]
    command = ["--", "python3 $RCP_LAB_IN/inputs/guest_rcpdisk.py"]
    done = subprocess.run(
        [sys.executable, "-m", "rcp.lab", "run", *options, *command],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads((out / "rcpdisk.json").read_text())


@pytest.fixture(
    scope="module",
    params=["stock", pytest.param("rcp", marks=pytest.mark.kernel)],
)
def seen(request, tmp_path_factory):
    out = tmp_path_factory.mktemp("rcpdisk") / "out"
    result = _run(request.param, out)
    return result | {"dmesg": (out / "dmesg.txt").read_text()}


pytestmark = [pytest.mark.lab, pytest.mark.usefixtures("lab")]


def test_wrong_values_are_refused_and_change_nothing(seen):
    refusals = seen["refusals"]
    assert refusals["not_refused"] == []
    assert len(refusals["knobs"]) == 23
    assert refusals["while_on"] == {"size_mb": errno.EBUSY, "hw_queues": errno.EBUSY}
    assert refusals["other_name"] == errno.EINVAL
    assert refusals["unload_in_use"] != 0


def test_device_and_tracepoints_count_what_was_sent(seen):
    counts = seen["counts"]
    assert counts["stats"]["reads"] == 23
    assert counts["stats"]["writes"] == 29
    assert counts["trace"] == {
        f"{event} {op}": number
        for event in ("arrive", "start", "done")
        for op, number in (("read", 23), ("write", 29))
    }, counts["sample"]
    assert 1 <= counts["stats"]["max_inflight_other"] <= 8
    assert counts["stats"]["inflight_other"] == 0


def test_data_survive_reordering_and_changes_under_way(seen):
    integrity = seen["integrity"]
    assert integrity["error"] == 0
    assert integrity["verified"] > 100
    assert integrity["stats"]["flushes"] > 10
    assert integrity["stats"]["inflight_other"] == 0


def test_background_holds_up_a_reader_unless_the_drive_honours_priority(seen):
    interference = seen["interference"]
    # One actuator: what it would take alone is at most a full seek and a revolution.
    assert interference["alone"]["p99_us"] < 25_000
    assert interference["beside"]["p99_us"] > 10 * interference["alone"]["p99_us"]
    assert interference["honoured"]["p99_us"] < 2.5 * interference["alone"]["p99_us"]
    assert interference["honoured"]["max_prio"] == 1
    assert interference["max_other"] == 31


def test_kernel_has_nothing_to_complain_about(seen):
    assert "WARNING" not in seen["dmesg"]
    assert "BUG" not in seen["dmesg"]
