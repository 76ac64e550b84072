"""Recordings go by age, then by size, the oldest first."""

import os
from pathlib import Path

import pytest

from rcp.probes.agent.rotation import Rotation

NOW_S = 1_000_000.0
KB = 1024


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "recordings").mkdir()
    (tmp_path / "fleet/v1").mkdir(parents=True)
    return tmp_path


def put(path: Path, age_s: float, size: int = 100 * KB) -> Path:
    """A file, or a spool with one, that was written a while ago."""
    if path.suffix == ".spool":
        path.mkdir()
        (path / "sleep.bin").write_bytes(os.urandom(size))
    else:
        path.write_bytes(os.urandom(size))
    os.utime(path, (NOW_S - age_s, NOW_S - age_s))
    return path


def left(folder: Path) -> list[str]:
    return sorted(p.name for p in [*(folder / "recordings").iterdir(), *folder.rglob("*.parquet")])


def rotation(folder: Path, max_bytes: int = 1 << 30, max_age_s: float = 1e6) -> Rotation:
    return Rotation(folder, max_bytes, max_age_s, lambda: NOW_S)


def test_what_is_too_old_goes(folder: Path) -> None:
    put(folder / "recordings/a.duckdb", 20)
    put(folder / "recordings/b.spool", 11)
    put(folder / "fleet/v1/c.parquet", 30)
    put(folder / "recordings/d.duckdb", 9)
    own = rotation(folder, max_age_s=10)
    own.step()
    assert left(folder) == ["d.duckdb"]
    assert own.n_deleted == {"age": 3, "size": 0, "disk full": 0}


def test_the_oldest_go_until_the_rest_is_small_enough(folder: Path) -> None:
    for n, age_s in enumerate((40, 30, 20, 10)):
        put(folder / f"recordings/{n}.{('spool', 'duckdb')[n % 2]}", age_s)
    own = rotation(folder, max_bytes=250 * KB)
    own.step()
    assert left(folder) == ["2.spool", "3.duckdb"]
    assert own.n_deleted["size"] == 2
    assert own.used_bytes <= 250 * KB


def test_after_the_clock_is_set_back_what_it_wrote_before_is_the_older(folder: Path) -> None:
    put(folder / "recordings/before-1.duckdb", -7000)
    put(folder / "recordings/before-2.duckdb", -7100)
    put(folder / "recordings/after-1.duckdb", 20)
    put(folder / "recordings/after-2.duckdb", -30)  # of a file server whose clock is ahead
    rotation(folder, max_bytes=250 * KB).step()
    assert left(folder) == ["after-1.duckdb", "after-2.duckdb"]


def test_the_window_counts_but_stays(folder: Path) -> None:
    put(folder / "window.spool", 0, 300 * KB)
    put(folder / "recordings/a.duckdb", 10)
    rotation(folder, max_bytes=350 * KB).step()
    assert left(folder) == []
    assert (folder / "window.spool/sleep.bin").exists()


def test_what_is_being_read_stays(folder: Path) -> None:
    read = put(folder / "recordings/a.spool", 20)
    put(folder / "recordings/b.spool", 10)
    rotation(folder, max_bytes=1).step({read})
    assert left(folder) == ["a.spool"]


def test_one_recording_goes_when_the_disk_is_full(folder: Path) -> None:
    put(folder / "recordings/a.duckdb", 20)
    put(folder / "recordings/b.duckdb", 10)
    own = rotation(folder)
    assert own.free_some()
    assert left(folder) == ["b.duckdb"]
    assert own.free_some()
    assert not own.free_some()
    assert own.n_deleted["disk full"] == 2
