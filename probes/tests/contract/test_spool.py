import json
import shutil
import tarfile
from pathlib import Path

import numpy as np
import pytest

from rcp.fixtures.damage import without_checksums
from rcp.probes.contract.events import IO, RECORDS, REQUEST, SCHEMA_VERSION, SLEEP, TASK
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


def test_nothing_is_missing_of_a_whole_spool(spool: Path) -> None:
    read = open_spool(spool)
    assert [read.n_missing(record) for record in RECORDS] == [0] * len(RECORDS)
    assert (read.n_missing_stacks(), read.damage, read.is_covered) == (0, (), True)


def test_a_torn_last_record_is_left_out_and_missing(spool: Path) -> None:
    """One append was of two records, under one checksum, the other of the last record."""
    file = spool / "request.bin"
    file.write_bytes(file.read_bytes()[:-1])
    (spool / "end.json").unlink()
    read = open_spool(spool)
    assert read.records(REQUEST)["tid"].tolist() == [1, 2]
    assert (read.n_promised(REQUEST), read.n_missing(REQUEST), read.end) == (3, 1, None)


def test_any_truncation_keeps_whole_frames_and_counts_the_rest(spool: Path) -> None:
    whole = (spool / "request.bin").read_bytes()
    for length in range(len(whole)):
        (spool / "request.bin").write_bytes(whole[:length])
        read = open_spool(spool)
        n_whole = max(0, length - 64) // REQUEST.size_bytes
        assert read.records(REQUEST)["tid"].tolist() == ([1, 2] if n_whole >= 2 else [])
        assert read.n_missing(REQUEST) == 3 - len(read.records(REQUEST))


@pytest.mark.parametrize("gone", [["bin"], ["frames"], ["bin", "frames"]])
def test_a_missing_file_is_a_loss_of_all_its_records(spool: Path, gone: list[str]) -> None:
    for suffix in gone:
        (spool / f"request.{suffix}").unlink()
    read = open_spool(spool)
    assert (len(read.records(REQUEST)), read.n_missing(REQUEST)) == (0, 3)


def test_a_garbage_tail_is_left_out(spool: Path) -> None:
    for suffix in ("bin", "frames"):
        with (spool / f"request.{suffix}").open("ab") as file:
            file.write(b"garbage" * 100)
    read = open_spool(spool)
    assert read.records(REQUEST)["tid"].tolist() == [1, 2, 3]
    assert (read.n_missing(REQUEST), read.torn_bytes) == (0, 700)


def test_missing_and_changed_stacks_are_counted(spool: Path) -> None:
    text = (spool / "stack.jsonl").read_text()
    for other in ("", text.replace("schedule", "sched_ule"), text[:-9]):
        (spool / "stack.jsonl").write_text(other)
        read = open_spool(spool)
        assert (read.stacks(), read.n_missing_stacks()) == ({}, 1)


FACTS = ("meta.json", "counters.json", "end.json")


def _changed(path: Path) -> None:
    path.write_text(path.read_text().replace("4", "5").replace("duration", "durations"))


@pytest.mark.parametrize(
    ("name", "change", "expected"),
    [
        ("counters.json", _changed, "counters.json is damaged: how many events were lost is not"),
        ("counters.json", Path.unlink, "counters.json is missing: how many events were lost is"),
        ("end.json", _changed, "end.json is damaged: roles by command line may be wrong"),
        ("meta.json", lambda path: path.write_text(path.read_text().replace("6.12", "6.13")),
         "meta.json is damaged: names and roles may be wrong"),
    ],
)  # fmt: skip
def test_damaged_facts_are_not_believed(spool: Path, name: str, change, expected: str) -> None:  # type: ignore[no-untyped-def]
    change(spool / name)
    read = open_spool(spool)
    (damage,) = read.damage
    assert damage.startswith(expected)
    assert read.records(REQUEST)["tid"].tolist() == [1, 2, 3]
    if name == "counters.json":
        assert read.counters == {}
    if name == "end.json":
        assert read.end is None


def test_facts_of_another_recording_are_damage(spool: Path, tmp_path: Path) -> None:
    other = SpoolWriter(tmp_path / "b.spool", META)
    other.write_counters({"lost": {"sleep": [9]}})
    other.close({"why": "signal"})
    for name in FACTS:
        (spool / name).write_bytes((other.path / name).read_bytes())
    read = open_spool(spool)
    assert [text.split()[0] for text in read.damage] == list(FACTS)
    assert read.records(REQUEST)["tid"].tolist() == [1, 2, 3]


def _with_tails(spool: Path) -> None:
    for name in FACTS:
        with (spool / name).open("ab") as file:
            file.write(b"\xff}\x00{")


def test_bytes_behind_the_facts_are_left_out(spool: Path) -> None:
    before = open_spool(spool)
    _with_tails(spool)
    read = open_spool(spool)
    assert read.damage == ()
    assert (read.meta, read.counters, read.end) == (before.meta, before.counters, before.end)


def test_bytes_behind_facts_without_checksum_lose_these_facts_only(spool: Path) -> None:
    without_checksums(spool)
    _with_tails(spool)
    read = open_spool(spool)
    assert [text.split()[0] for text in read.damage] == list(FACTS)
    assert (read.meta, read.counters, read.end) == (META, {}, None)
    assert read.records(REQUEST)["tid"].tolist() == [1, 2, 3]


def test_an_old_spool_is_read_as_before_and_nothing_vouches_for_it(spool: Path) -> None:
    without_checksums(spool)
    read = open_spool(spool)
    assert (read.is_covered, read.damage) == (False, ())
    assert (read.meta, read.end) == (META, {"why": "duration"})
    assert read.stacks() == {7: ["schedule", "jbd2_log_wait_commit"]}
    file = spool / "request.bin"
    file.write_bytes(file.read_bytes()[:-1])
    read = open_spool(spool)
    assert read.records(REQUEST)["tid"].tolist() == [1, 2]
    assert (read.n_missing(REQUEST), read.torn_bytes) == (0, REQUEST.size_bytes - 1)


@pytest.fixture
def counted(tmp_path: Path) -> Path:
    """An old spool that ended well: two requests, one more under way, and three sleeps."""
    writer = SpoolWriter(tmp_path / "counted.spool", META)
    rows = requests(1, 2, 3)
    rows["end_ns"] = (5, 6, 0)
    writer.append(REQUEST, rows)
    writer.append(SLEEP, np.ones(3, SLEEP.dtype))
    writer.write_counters({"written": {"request": [1, 1], "sleep": [0, 3]}})
    writer.close({"why": "duration"})
    return without_checksums(writer.path)


def test_an_old_spool_that_ended_well_has_counters(counted: Path) -> None:
    (counted / "counters.json").unlink()
    assert open_spool(counted).damage == (
        "counters.json is missing: how many events were lost is not known",
    )
    (counted / "end.json").unlink()  # killed: it may not have come to write them
    assert open_spool(counted).damage == ()


def test_the_counters_of_an_old_spool_tell_what_is_missing(counted: Path) -> None:
    assert open_spool(counted).n_missing(REQUEST) == 0
    (counted / "request.bin").unlink()
    file = counted / "sleep.bin"
    file.write_bytes(file.read_bytes()[: -SLEEP.size_bytes - 1])
    read = open_spool(counted)
    assert (read.n_promised(REQUEST), read.n_missing(REQUEST)) == (2, 2)
    assert (read.n_promised(SLEEP), read.n_missing(SLEEP)) == (3, 2)


def test_what_follows_the_counted_records_of_an_old_spool_is_left_out(counted: Path) -> None:
    """Requests under way at the end follow them too; no counter has them."""
    for name in ("request", "sleep"):
        with (counted / f"{name}.bin").open("ab") as file:
            file.write(b"garbage!" * 20)
    read = open_spool(counted)
    assert read.records(REQUEST)["tid"].tolist() == [1, 2, 3]
    assert len(read.records(SLEEP)) == 3
    assert read.torn_bytes == 2 * 160


def test_an_old_file_that_cannot_be_read_is_missing(counted: Path) -> None:
    (counted / "sleep.bin").write_bytes(b"x" * 200)
    read = open_spool(counted)
    assert (len(read.records(SLEEP)), read.n_missing(SLEEP)) == (0, 3)
    assert len(read.records(REQUEST)) == 3


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


def _header_of_all(spool: Path, at: int, value: bytes) -> Path:
    """Change the header of every record file; return the first file of the error."""
    for record in RECORDS:
        path = without_checksums(spool) / f"{record.name}.bin"
        data = bytearray(path.read_bytes())
        data[at : at + len(value)] = value
        path.write_bytes(data)
    return spool / "task.bin"


def _foreign(spool: Path) -> str:
    file = _header_of_all(spool, 0, b"x")
    return f"{file} is not an rcp spool file: its header is of another format."


def _newer_file(spool: Path) -> str:
    file = _header_of_all(spool, 8, bytes([SCHEMA_VERSION + 1]))
    return (
        f"{file} has spool version {SCHEMA_VERSION + 1}, newer than this rcp's "
        f"{SCHEMA_VERSION}: update rcp."
    )


def _older_file(spool: Path) -> str:
    file = _header_of_all(spool, 8, bytes([1]))
    return (
        f"{file} has spool version 1, older than this rcp's {SCHEMA_VERSION}: load it with the "
        "rcp that recorded it, or record anew."
    )


def _newer_meta(spool: Path) -> str:
    without_checksums(spool)
    (spool / "meta.json").write_text(json.dumps({"schema_version": SCHEMA_VERSION + 1}))
    return (
        f"{spool} has spool version {SCHEMA_VERSION + 1}, newer than this rcp's "
        f"{SCHEMA_VERSION}: update rcp."
    )


def _newer_spool(spool: Path) -> str:
    newer = SpoolWriter(spool.with_name("n"), {"schema_version": SCHEMA_VERSION + 1})
    shutil.rmtree(spool)
    newer.path.rename(spool)
    return (
        f"{spool} has spool version {SCHEMA_VERSION + 1}, newer than this rcp's "
        f"{SCHEMA_VERSION}: update rcp."
    )


def _other_size(spool: Path) -> str:
    file = _header_of_all(spool, 12, bytes([IO.size_bytes + 8]))
    return (
        f"{file} has {IO.size_bytes + 8}-byte records, expected {TASK.size_bytes}: "
        "it was written by another build of rcp; load it with that one."
    )


def _no_meta(spool: Path) -> str:
    (spool / "meta.json").write_text("{")
    return f"{spool / 'meta.json'} is missing or damaged: restore it from a copy."


def _not_a_spool(spool: Path) -> str:
    for record in RECORDS:
        (spool / f"{record.name}.bin").unlink()
    return f"{spool} is not an rcp spool: it holds no record files."


@pytest.mark.parametrize(
    "damage",
    [
        *(_foreign, _newer_file, _older_file, _newer_meta, _newer_spool),
        *(_other_size, _no_meta, _not_a_spool),
    ],
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
