"""The knobs of running kernels: what they promise, and 200 tuners killed over them in one boot."""

import json
import subprocess
import sys
from typing import Any

import pytest

pytestmark = [pytest.mark.lab, pytest.mark.usefixtures("lab")]
KERNELS = [pytest.param("stock"), pytest.param("rcp", marks=pytest.mark.kernel)]


@pytest.fixture(scope="module", params=KERNELS)
def seen(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """What one boot of a kernel left in knobs.json."""
    out = tmp_path_factory.mktemp(request.param) / "out"
    command = [sys.executable, "-m", "rcp.lab", "run", "--timing", "--out", str(out)]
    command += ["--kernel", request.param, "knobs"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    result = json.loads((out / "knobs.json").read_text())
    assert result["patched"] == (request.param == "rcp")
    return result


def test_every_knob_takes_its_values_and_gives_them_back(seen: Any) -> None:
    assert [row for row in seen["rows"] if not row["near"]] == []
    assert {row["knob"] for row in seen["rows"]} == set(seen["knobs"])
    assert seen["after_contract"] == {}


def test_the_knobs_are_those_of_the_kernel(seen: Any) -> None:
    names = set(seen["knobs"])
    assert {
        *("vm.dirty_bytes", "vm.dirty_background_bytes", "disk.scheduler", "disk.nr_requests"),
        *("disk.max_sectors_kb", "disk.wbt_lat_usec", "disk.bdi_max_ratio", "ext4.commit_s"),
        *("iosched.read_expire", "iosched.slice_idle", "iosched.read_lat_nsec"),
        *("foreground.ioprio", "background.ioprio", "journal.ioprio"),
        *("background.write_bytes_per_s", "foreground.io_weight", "disk.io_cost_lat_usec"),
    } <= names
    patched = {"rcp.profile", "rcp.dirty.noncrit_permille", "iosched.tokens", "iosched.split_kb"}
    assert patched & names == (patched if seen["patched"] else set())


def test_killed_at_any_step_everything_is_put_back(seen: Any) -> None:
    kills = seen["kills"]
    assert [row["step"] for row in kills if not row["killed"]] == []
    assert len(kills) + sum(row.get("again", False) for row in kills) >= 200
    assert sum(row["changed"] for row in kills) > 50
    bad = [row for row in kills if row["differences"] or row.get("left") or row.get("failed")]
    assert bad == []


def test_a_groups_limit_holds_for_what_others_write_back(seen: Any) -> None:
    free, limited = seen["buffered"]["free"], seen["buffered"]["limited"]
    # All of it is charged to the group whose pages they are, though another process syncs.
    assert 4 << 20 <= free["bytes"] < 5 << 20
    assert 4 << 20 <= limited["bytes"] < 5 << 20
    assert free["s"] < 1
    assert limited["s"] > 3  # a MiB a second


def test_what_the_kernel_refuses_is_told_and_the_rest_put_back(seen: Any) -> None:
    assert seen["refused"] == (
        "/sys/block/rcpd0/queue/nr_requests: refuses 1024: Invalid argument."
    )


def test_a_disk_that_vanishes_is_told_and_the_rest_put_back(seen: Any) -> None:
    gone = seen["vanished"]
    assert gone["error"] == (
        "disk.scheduler: not found: "
        "its disk is gone, or it belongs to a scheduler that is not in use."
    )
    assert gone["failed"] == {}
    assert gone["left"]["disk.scheduler"] == ("its disk, its scheduler or its task is gone.")


def test_an_administrators_value_is_kept(seen: Any) -> None:
    admin = seen["administrator"]
    assert admin["kept"] == "77777777"
    assert admin["error"].startswith("vm.dirty_bytes: somebody else set it to 77777777 ")
    assert admin["left"] == {"vm.dirty_bytes": "somebody else set it to 77777777."}
    assert seen["after_all"] == {}
