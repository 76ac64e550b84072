import json
import tarfile
from pathlib import Path

import numpy as np
import pytest

from rcp.probes.contract.events import IO, RECORDS, REQUEST, SCHEMA_VERSION
from rcp.probes.contract.spool import SpoolError, SpoolWriter, open_spool, pack, unpack

META = {"schema_version": SCHEMA_VERSION, "host": {"kernel": "6.12"}}


def requests(*tids: int) -> np.ndarray:
    rows = np.zeros(len(tids), REQUEST.dtype)
    rows["tid"] = tids
    return rows


@pytest.fixture
def spool(tmp_path: Path) -> Path:
    path = tmp_path / "a.spool"
    writer = SpoolWriter(path, META)
    writer.append(REQUEST, requests(1, 2))
    writer.append(REQUEST, requests(3))
    writer.append_stacks([(7, ["schedule", "jbd2_log_wait_commit"])])
    writer.write_counters({"lost": {"sleep": [0, 4]}})
    writer.close({"why": "duration"})
    return path


def test_what_was_appended_comes_back(spool: Path) -> None:
    read = open_spool(spool)
    assert read.records(REQUEST)["tid"].tolist() == [1, 2, 3]
    assert read.stacks() == {7: ["schedule", "jbd2_log_wait_commit"]}
    assert read.counters == {"lost": {"sleep": [0, 4]}}
    assert (read.meta, read.end, read.torn_bytes) == (META, {"why": "duration"}, 0)


def test_a_torn_last_record_is_left_out_and_counted(spool: Path) -> None:
    file = spool / "request.bin"
    file.write_bytes(file.read_bytes()[:-1])
    (spool / "end.json").unlink()
    read = open_spool(spool)
    assert read.records(REQUEST)["tid"].tolist() == [1, 2]
    assert read.torn_bytes == REQUEST.size_bytes - 1
    assert read.end is None


def test_a_spool_survives_any_truncation_of_its_files(spool: Path) -> None:
    whole = (spool / "request.bin").read_bytes()
    for length in range(len(whole)):
        (spool / "request.bin").write_bytes(whole[:length])
        rows = open_spool(spool).records(REQUEST)
        assert rows["tid"].tolist() == [1, 2, 3][: max(0, length - 64) // REQUEST.size_bytes]


def test_a_torn_stack_line_is_left_out(spool: Path) -> None:
    with (spool / "stack.jsonl").open("a") as file:
        file.write('{"id": 8, "frames": ["sche')
    assert list(open_spool(spool).stacks()) == [7]


def test_packing_is_reversible_and_repeatable(spool: Path, tmp_path: Path) -> None:
    first, second = tmp_path / "1.spool.tar.xz", tmp_path / "2.spool.tar.xz"
    pack(spool, first)
    pack(spool, second)
    assert first.read_bytes() == second.read_bytes()
    (tmp_path / "unpacked").mkdir()
    read = open_spool(unpack(first, tmp_path / "unpacked"))
    assert read.records(REQUEST)["tid"].tolist() == [1, 2, 3]


def _foreign(spool: Path) -> str:
    (spool / "io.bin").write_bytes(b"x" * 200)
    return f"{spool / 'io.bin'} is not an rcp spool file: its header is of another format."


def _newer_file(spool: Path) -> str:
    data = bytearray((spool / "io.bin").read_bytes())
    data[8] = SCHEMA_VERSION + 1
    (spool / "io.bin").write_bytes(data)
    return (
        f"{spool / 'io.bin'} has spool version {SCHEMA_VERSION + 1}, newer than this rcp's "
        f"{SCHEMA_VERSION}: update rcp."
    )


def _newer_meta(spool: Path) -> str:
    (spool / "meta.json").write_text(json.dumps({"schema_version": SCHEMA_VERSION + 1}))
    return (
        f"{spool} has spool version {SCHEMA_VERSION + 1}, newer than this rcp's "
        f"{SCHEMA_VERSION}: update rcp."
    )


def _other_size(spool: Path) -> str:
    data = bytearray((spool / "io.bin").read_bytes())
    data[12] += 8
    (spool / "io.bin").write_bytes(data)
    return (
        f"{spool / 'io.bin'} has {IO.size_bytes + 8}-byte records, expected {IO.size_bytes}: "
        "it was written by another build of rcp; load it with that one."
    )


def _no_meta(spool: Path) -> str:
    (spool / "meta.json").write_text("{")
    return f"{spool / 'meta.json'} is missing or damaged: the spool has no records."


def _not_a_spool(spool: Path) -> str:
    for record in RECORDS:
        (spool / f"{record.name}.bin").unlink()
    return f"{spool} is not an rcp spool: it holds no record files."


@pytest.mark.parametrize(
    "damage", [_foreign, _newer_file, _newer_meta, _other_size, _no_meta, _not_a_spool]
)
def test_a_spool_that_cannot_be_read_says_why(spool: Path, damage) -> None:  # type: ignore[no-untyped-def]
    expected = damage(spool)
    with pytest.raises(SpoolError) as error:
        open_spool(spool)
    assert str(error.value) == expected


def test_an_existing_spool_is_not_overwritten(spool: Path) -> None:
    with pytest.raises(SpoolError) as error:
        SpoolWriter(spool, META)
    assert str(error.value) == (
        f"{spool} already exists: load it with `rcp-trace recover {spool}` or remove it."
    )
    assert len(open_spool(spool).records(REQUEST)) == 3


def test_a_full_disk_when_the_spool_is_made_is_one_clear_error() -> None:
    with pytest.raises(SpoolError) as error:
        SpoolWriter(Path("/proc/rcp-cannot-be-made.spool"), META)
    assert str(error.value) == (
        "cannot write /proc/rcp-cannot-be-made.spool: No such file or directory: "
        "name another place with -o."
    )


def test_a_foreign_archive_is_refused(tmp_path: Path) -> None:
    archive = tmp_path / "x.spool.tar.xz"
    archive.write_bytes(b"no archive")
    with pytest.raises(SpoolError, match=r"x\.spool\.tar\.xz is not a packed rcp spool"):
        unpack(archive, tmp_path / "out")


def test_an_archive_cannot_write_elsewhere(tmp_path: Path) -> None:
    archive = tmp_path / "x.spool.tar.xz"
    (tmp_path / "file").write_text("x")
    with tarfile.open(archive, "w:xz") as tar:
        tar.add(tmp_path / "file", "../escaped")
    (tmp_path / "out").mkdir()
    with pytest.raises(SpoolError, match=r"is not a packed rcp spool: it contains \.\./escaped"):
        unpack(archive, tmp_path / "out")
    assert not (tmp_path / "escaped").exists()
