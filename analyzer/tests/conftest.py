"""Synthetic recording in, rows out."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from rcp.analyzer.cli import main
from rcp.analyzer.db.store import Store
from rcp.analyzer.loading.load import load_in_memory, load_spool
from rcp.fixtures.synth import Synth
from rcp.probes.contract.events import WaitReason

Load = Callable[[Synth], Store]
Rows = Callable[[Synth], list[tuple[object, ...]]]
Ask = Callable[[Synth, str], list[tuple[object, ...]]]

Export = Callable[..., Path]
ErrorOf = Callable[..., str]


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


def _busy() -> Synth:
    synth = Synth([("background", "comm:checkpointer")])
    fg = synth.task("writer", tid=10, target=True)
    jbd2 = synth.task("jbd2/nvme0n1-8", tid=5, kthread=True)
    bg = synth.task("checkpointer", tid=20)
    synth.sleep(bg, 1, 2)
    for ts in (1000, 1_000_000):
        synth.request(fg, ts, ts + 100)
    synth.sleep(fg, 1010, 1090, waker=jbd2, reason=WaitReason.JOURNAL_COMMIT)
    sectors = synth.io(bg, 1030, 1084, issued=1040)
    synth.sleep(jbd2, 1020, 1085, io=sectors, stack=["folio_wait_writeback"])
    synth.lose("sleep", lost=3)
    synth.lose("sleep", excluded=9)
    return synth


@pytest.fixture
def spool(tmp_path: Path) -> Path:
    """The spool of a small recording with an inversion and losses."""
    return _busy().write(tmp_path / "x.spool")


@pytest.fixture
def recording(spool: Path) -> Path:
    """The same as a store, beside the spool."""
    load_spool(spool, spool.with_name("x.duckdb"))
    return spool.with_name("x.duckdb")


@pytest.fixture(scope="session")
def error_of() -> ErrorOf:
    """The one line of a command's error; also checks its form."""

    def of(*arguments: object) -> str:
        result = CliRunner().invoke(main, [str(argument) for argument in arguments])
        assert result.exit_code == 2, result.output
        assert result.stdout == ""
        assert result.stderr.startswith("rcp-trace: error: ")
        assert result.stderr.count("\n") == 1
        return result.stderr.removeprefix("rcp-trace: error: ").rstrip("\n")

    return of
