"""Synthetic recording in, rows out."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from rcp.analyzer.cli import main
from rcp.analyzer.load import load_in_memory
from rcp.analyzer.store import Store
from rcp.fixtures.synth import Synth

Load = Callable[[Synth], Store]
Rows = Callable[[Synth], list[tuple[object, ...]]]
Ask = Callable[[Synth, str], list[tuple[object, ...]]]

Export = Callable[..., Path]


@pytest.fixture
def load(tmp_path: Path) -> Iterator[Load]:
    """Load a synthetic recording into a store in memory."""
    opened: list[Store] = []

    def of(synth: Synth) -> Store:
        folder = synth.write(tmp_path / f"{len(opened)}.spool")
        opened.append(load_in_memory(folder))
        return opened[-1]

    yield of
    for store in opened:
        store.close()


@pytest.fixture
def ask(load: Load) -> Ask:
    """Rows of a query on a synthetic recording."""
    return lambda synth, sql: load(synth).ask(sql).rows


SEGMENTS = """
    SELECT segment.ts, segment.dur, kind, coalesce(task.comm, 'io ' || io_id, '-')
    FROM segment LEFT JOIN task USING (utid) ORDER BY segment_id
"""

INVERSIONS = """
    SELECT kind, task.comm, dur, chain, confidence
    FROM inversion JOIN task ON task.utid = culprit_utid ORDER BY dur DESC, kind
"""


@pytest.fixture
def segments(ask: Ask) -> Rows:
    """(ts, dur, kind, who) of every segment of a synthetic recording."""
    return lambda synth: ask(synth, SEGMENTS)


@pytest.fixture
def inversions(ask: Ask) -> Rows:
    """(kind, culprit, dur, chain, confidence) of every inversion of a synthetic recording."""
    return lambda synth: ask(synth, INVERSIONS)


@pytest.fixture(scope="session")
def export() -> Export:
    """Export a recording to a Perfetto trace beside it, as a user would."""

    def of(recording: Path, *arguments: object) -> Path:
        target = recording.with_name("out.pftrace")
        command = ["export", recording, "--perfetto", "--force", "-o", target, *arguments]
        result = CliRunner().invoke(main, [str(word) for word in command])
        assert result.exit_code == 0, result.output
        return target

    return of
