import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture
def in_memory() -> Iterator[Path]:
    """A folder in memory, where thousands of fsyncs are quick."""
    memory = Path("/dev/shm")
    folder = Path(tempfile.mkdtemp(prefix="rcp-", dir=memory if memory.is_dir() else None))
    yield folder
    shutil.rmtree(folder)
