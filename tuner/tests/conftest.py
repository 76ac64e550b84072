import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from rcp.fixtures.fake_machine import FakeMachine, fake_machine
from rcp.tuner.tests.toy import ToyMachine, tune


@pytest.fixture
def in_memory() -> Iterator[Path]:
    """A folder in memory, where thousands of fsyncs are quick."""
    memory = Path("/dev/shm")
    folder = Path(tempfile.mkdtemp(prefix="rcp-", dir=memory if memory.is_dir() else None))
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(scope="session")
def toy_study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished study of the toy machine."""
    path = tmp_path_factory.mktemp("toy") / "toy.duckdb"
    tune(path, ToyMachine(), "p99=9ms").close()
    return path


@pytest.fixture
def machine(tmp_path: Path) -> FakeMachine:
    """A machine of files with the patched kernel's knobs."""
    return fake_machine(tmp_path / "machine", patched=True)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where a session keeps its journal."""
    return tmp_path / "journal"
