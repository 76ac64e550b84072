"""Spools in, stores out; what fails leaves everything as it was."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rcp.analyzer.db.store import StoreError, open_store
from rcp.analyzer.loading import load as loading
from rcp.analyzer.loading.load import load_spool
from rcp.fixtures.synth import DEVICE, Synth
from rcp.probes.contract.events import LockType, WaitReason

if TYPE_CHECKING:
    from rcp.analyzer.tests.conftest import Ask


def recorded() -> Synth:
    synth = Synth()
    fg = synth.task("writer", tid=10, target=True)
    jbd2 = synth.task("jbd2/nvme0n1-8", tid=5, kthread=True)
    synth.request(fg, 1000, 1100, ret=-5)
    synth.sleep(
        fg, 1010, 1090, 1095, waker=jbd2, reason=WaitReason.JOURNAL_COMMIT, obj=0xAB, owner=jbd2
    )
    synth.sleep(jbd2, 1020, 1080, io=synth.io(jbd2, 1015, 1080, got=1016, issued=1018))
    synth.commit(jbd2, 1012, 1085, transaction=3)
    synth.lock_wait(fg, 1001, 1004, owner=jbd2, kind=LockType.RWSEM_WRITE)
    synth.lose("io", lost=2, excluded=7)
    return synth


def test_every_record_becomes_a_row(ask: Ask) -> None:
    synth = recorded()
    assert ask(synth, "SELECT name, ts, dur, ret, arg0 FROM request") == [
        ("fsync", 1000, 100, -5, 3)
    ]
    assert ask(
        synth,
        "SELECT ts, dur, woken_ns, run_ns, reason, object, owner_utid, waker_utid,"
        " waker_io, waker_context FROM sleep ORDER BY ts",
    ) == [
        (1010, 80, 1090, 1095, "journal_commit", 0xAB, 1, 1, None, "task"),
        (1020, 60, 1080, 1080, "unknown", None, None, None, 1, "hardirq"),
    ]
    assert ask(
        synth,
        "SELECT io_id, op, bytes, q2g_dur, g2i_dur, d2c_dur FROM io JOIN io_stage USING (io_id)",
    ) == [(1, "write", 4096, 1, None, 62)]
    assert ask(
        synth, "SELECT ts, dur, transaction_id, comm FROM journal_commit JOIN task USING (utid)"
    ) == [(1012, 73, 3, "jbd2/nvme0n1-8")]
    assert ask(synth, "SELECT ts, dur, type, owner_utid FROM lock_wait") == [
        (1001, 3, "rwsem_write", 1)
    ]
    assert ask(synth, "FROM device") == [(DEVICE, "nvme0n1", DEVICE)]
    assert ask(synth, "FROM loss WHERE lost > 0") == [("io", 0, 1, 2, 7, 0, 0)]


def test_edges_and_segments_refer_to_rows(ask: Ask) -> None:
    sql = """
        SELECT edge.depth, reason, waiter.comm, waker.comm, edge.io_id, sleep.woken_ns
        FROM edge JOIN sleep USING (sleep_id, reason) JOIN io ON true
        JOIN task AS waiter ON waiter.utid = waiter_utid
        JOIN task AS waker ON waker.utid = edge.waker_utid ORDER BY edge_id
    """
    assert ask(recorded(), sql) == [
        (0, "journal_commit", "writer", "jbd2/nvme0n1-8", None, 1090),
        (1, "unknown", "jbd2/nvme0n1-8", "jbd2/nvme0n1-8", 1, 1080),
    ]
    assert ask(recorded(), "SELECT sum(dur) FROM request_wait") == [(100,)]
    assert ask(recorded(), "SELECT sum(dur) FROM segment") == [(100,)]


def test_empty_recording_loads(ask: Ask) -> None:
    assert ask(Synth(), "SELECT count(*) FROM request") == [(0,)]


def test_output_appears_only_when_complete(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spool = recorded().write(tmp_path / "x.spool")
    target = tmp_path / "x.duckdb"
    load_spool(spool, target)
    before = target.read_bytes()

    def full_disk(*_: object) -> None:
        assert target.read_bytes() == before
        raise StoreError("disk full")

    monkeypatch.setattr(loading, "insert_verdicts", full_disk)
    with pytest.raises(StoreError, match="disk full"):
        load_spool(spool, target)
    assert target.read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["x.duckdb", "x.spool"]
    monkeypatch.undo()
    load_spool(spool, target)
    with open_store(target) as store:
        assert store.query("SELECT count(*) FROM request") == [(1,)]


def test_torn_and_killed_recordings_load(tmp_path: Path) -> None:
    spool = recorded().write(tmp_path / "x.spool", finished=False)
    with (spool / "sleep.bin").open("r+b") as file:
        file.truncate(file.seek(0, 2) - 10)
    (spool / "io.bin").write_bytes(b"RCP")
    with loading.load_in_memory(spool) as store:
        # both sleeps are under one checksum
        assert store.query("SELECT count(*) FROM sleep") == [(0,)]
        assert store.query("SELECT count(*) FROM io") == [(0,)]
        assert store.query("SELECT value FROM meta WHERE key = 'end'") == [("null",)]


@pytest.mark.parametrize(
    ("file", "text", "message"),
    [
        ("meta.json", '{"roles": 3}', "meta.json is damaged: 'roles' is no list."),
        (
            "meta.json",
            '{"request_syscalls": {"x": "y"}}',
            "meta.json is damaged: 'request_syscalls' has no numbers.",
        ),
        (
            "meta.json",
            '{"roles": [{"role": "vip", "rule": "comm:x"}]}',
            "meta.json is damaged: role 'vip' of rule 'comm:x' is not foreground or background.",
        ),
        (
            "meta.json",
            '{"roles": [{"role": "background", "rule": "cmdline:("}]}',
            "meta.json is damaged: rule 'cmdline:(' is no regular expression: missing ), "
            "unterminated subpattern at position 0.",
        ),
    ],
)
def test_damaged_descriptions_are_told(tmp_path: Path, file: str, text: str, message: str) -> None:
    spool = recorded().write(tmp_path / "x.spool")
    (spool / file).write_text(text)
    with pytest.raises(StoreError) as error:
        loading.load_in_memory(spool)
    assert str(error.value) == f"{spool}/{message}"
