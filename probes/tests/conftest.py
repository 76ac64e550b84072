import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from rcp.probes.contract.events import BY_NAME, Record
from rcp.probes.cost.between import Between, nothing
from rcp.probes.cost.shedding import Shedding
from rcp.probes.kernel.features import Features

Rows = npt.NDArray[np.void]


def make_rows(name: str, **columns: object) -> Rows:
    """Records of one type with these columns; single values are repeated."""
    length = max(len(np.atleast_1d(np.asarray(value))) for value in columns.values())
    table = np.zeros(length, BY_NAME[name].dtype)
    for column, value in columns.items():
        table[column] = value
    return table


class ArraySource:
    """Records from arrays instead of a kernel: gives out what was put in, and counts it."""

    def __init__(self) -> None:
        self.waiting: dict[str, list[Rows]] = {}
        self.written: dict[str, int] = {}
        self.lost: dict[str, int] = {}
        self.unfinished = np.zeros(0, BY_NAME["request"].dtype)
        self.fill = 0.0
        self.shed_settings: list[Shedding] = []
        self.hooked_modules: set[str] = set()
        self.on_drain: Callable[[], None] = lambda: None

    def put(self, name: str, **columns: object) -> None:
        table = make_rows(name, **columns)
        self.waiting.setdefault(name, []).append(table)
        self.written[name] = self.written.get(name, 0) + len(table)

    def drain(self, record: Record, most: int | None = None) -> Rows:
        if record.name == "task":  # the first type of every drain
            self.on_drain()
        parts = self.waiting.pop(record.name, [])
        rows = np.concatenate(parts) if parts else np.zeros(0, record.dtype)
        if most is not None and len(rows) > most:
            self.waiting[record.name] = [rows[most:]]
        return rows[:most]

    def counters(self, between: Between = nothing) -> dict[str, dict[str, list[int]]]:
        between()
        return {
            "written": {name: [n] for name, n in self.written.items()},
            "lost": {name: [n] for name, n in self.lost.items()},
        }

    def shed(self, shedding: Shedding) -> None:
        self.shed_settings.append(shedding)

    def attach_module(self, name: str) -> bool:
        return name in self.hooked_modules

    @property
    def program_fds(self) -> list[int]:
        return []

    def stacks(self, ids: Iterable[int]) -> Iterable[tuple[int, list[str]]]:
        return [(i, ["schedule", f"function_{i}"]) for i in ids]

    def unfinished_requests(self, record: Record) -> Rows:
        return self.unfinished


class Clock:
    """A clock that stands still until it is set."""

    def __init__(self) -> None:
        self.now_ns = 1_000_000_000_000

    def __call__(self) -> int:
        return self.now_ns

    def pass_s(self, seconds: float) -> None:
        self.now_ns += round(seconds * 1e9)


@pytest.fixture
def source() -> ArraySource:
    return ArraySource()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def features() -> Features:
    """A kernel that has everything."""
    return Features(
        release="6.12.0-test",
        machine="x86_64",
        may_load_bpf=True,
        tracefs=Path("/sys/kernel/tracing"),
        has_btf=True,
        preempt_count_addr=0x35008,
        per_cpu_offset_addr=0xFFFF0000,
        missing_tracepoints=(),
        missing_functions=(),
    )


@pytest.fixture(scope="session")
def recorder_lab(lab: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What one boot left: recorder.json, points.json and the recording of causes."""
    out = tmp_path_factory.mktemp("recorder")
    here = Path(__file__).parent / "lab"
    names = ("recorder", "workload", "waits", "messages", "watch", "tasks", "disks", "points")
    scripts = [here / f"guest_{name}.py" for name in names]
    inputs = "$RCP_LAB_IN/inputs"
    subprocess.run(
        [
            *(sys.executable, "-m", "rcp.lab", "run", "--timing", "--out", str(out)),
            *("--timeout", "3600"),
            *(option for script in scripts for option in ("--input", str(script))),
            *("--", f"python3 {inputs}/guest_recorder.py && python3 {inputs}/guest_points.py"),
        ],
        check=True,
    )
    return out
