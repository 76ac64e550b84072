"""rcp-tune --attach with a recording, on a real kernel: the process's own clock is the witness."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from rcp.analyzer.latencies import recording
from rcp.tuner.trials.listen import ATTACHED

# Heavy: a boot for one recording.
pytestmark = [pytest.mark.lab, pytest.mark.heavy]


@pytest.fixture(scope="module")
def seen(lab: None, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What guest_attach.py saw."""
    out = tmp_path_factory.mktemp("attach") / "out"
    command = [sys.executable, "-m", "rcp.lab", "run", "--timing", "--out", str(out)]
    script = Path(__file__).with_name("guest_attach.py")
    command += ["--input", str(script), "--", "python3 $RCP_LAB_IN/inputs/guest_attach.py"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    told: dict[str, Any] = json.loads((out / "attach.json").read_text())
    assert told["failed"].endswith("cannot be read without pyarrow: install it with pip.")
    by_kind = recording.read(out / ATTACHED).by_kind
    return {**told, "latencies_ns": {kind: ns.tolist() for kind, ns in by_kind.items()}}


def test_every_fsync_of_the_window_is_measured_as_the_process_saw_it(seen: dict[str, Any]) -> None:
    requests = sorted(pair for pair in seen["requests"] if pair[1])  # the last may be under way
    first, last = requests[0][0], requests[-1][0]
    logged = [(begun, ended) for begun, ended in seen["logged"] if begun <= last and ended >= first]
    assert len(requests) == len(logged) > 50
    for (begun, ended), (begun_there, ended_there) in zip(requests, logged, strict=True):
        # Within the process's own, and hardly shorter.
        assert begun_there < begun <= ended < ended_there
        assert (ended_there - begun_there) - (ended - begun) < 200_000
    assert seen["latencies_ns"] == {"fsync": [ended - begun for begun, ended in requests]}


def test_the_process_is_left_alone_and_roles_are_recorded(seen: dict[str, Any]) -> None:
    assert seen["is_left_alone"]
    assert "comm:kworker*" in json.dumps(seen["roles"])
    assert seen["n_sleeps"] > len(seen["requests"])
