"""Frames vouch for exactly the records that were appended, whatever happens to the two files."""

from __future__ import annotations

import errno
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import BinaryIO

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rcp.fixtures.damage import DAMAGES
from rcp.probes.contract.events import REQUEST, SLEEP
from rcp.probes.contract.spooling import frames
from rcp.probes.contract.spooling.frames import FRAME_BYTES, CoveredFile, covered, frames_path
from rcp.probes.contract.spooling.spool_writer import HEADER, record_header

ID, OTHER_ID = b"i" * 16, b"o" * 16
IN_A_FRAME = FRAME_BYTES // REQUEST.size_bytes


def requests(first: int, count: int) -> np.ndarray:
    rows = np.zeros(count, REQUEST.dtype)
    rows["ts"] = np.arange(first, first + count)
    rows["tid"] = 7
    return rows


def made(path: Path, *counts: int, spool_id: bytes = ID) -> CoveredFile:
    file = CoveredFile(path, record_header(REQUEST), REQUEST, spool_id, path.name)
    for count in counts:
        file.append(requests(file.n_rows, count))
    return file


def found(path: Path, spool_id: bytes = ID) -> tuple[list[int], int]:
    """Positions of the records that are vouched for, and how many were promised."""
    of = covered(path, HEADER.size, REQUEST.dtype, spool_id)
    assert all((rows["tid"] == 7).all() for rows in of.pieces)
    return [ts for rows in of.pieces for ts in rows["ts"].tolist()], of.n_promised


@settings(max_examples=30)
@given(st.lists(st.integers(1, 3 * IN_A_FRAME), max_size=6))
def test_what_was_appended_is_covered_in_one_piece(counts: list[int]) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "request.bin"
        made(path, *counts).close()
        of = covered(path, HEADER.size, REQUEST.dtype, ID)
        assert len(of.pieces) <= 1
        assert found(path) == (list(range(sum(counts))), sum(counts))
        assert of.n_extra_bytes == 0


@given(st.lists(st.integers(1, IN_A_FRAME + 9), min_size=1, max_size=5), st.integers(0, 2**32))
def test_after_any_damage_no_other_record_is_read(counts: list[int], seed: int) -> None:
    """Those that are read are original ones, in order; the others were promised."""
    rng = Random(seed)
    with TemporaryDirectory() as folder:
        spool, other = Path(folder) / "a", Path(folder) / "b"
        for place, spool_id in ((spool, ID), (other, OTHER_ID)):
            place.mkdir()
            made(place / "request.bin", *counts, spool_id=spool_id).close()
        rng.choice(DAMAGES)(rng, spool, other)
        there, n_promised = found(spool / "request.bin")
        assert there == sorted(set(there))
        assert set(there) <= set(range(sum(counts)))
        assert len(there) <= n_promised <= sum(counts)


def test_a_flipped_bit_costs_one_frame(tmp_path: Path) -> None:
    path = tmp_path / "request.bin"
    made(path, 3 * IN_A_FRAME).close()
    data = bytearray(path.read_bytes())
    data[HEADER.size + FRAME_BYTES + 5] ^= 1
    path.write_bytes(data)
    there, n_promised = found(path)
    assert n_promised == 3 * IN_A_FRAME
    assert there == [*range(IN_A_FRAME), *range(2 * IN_A_FRAME, 3 * IN_A_FRAME)]


def test_a_damaged_header_of_records_costs_nothing(tmp_path: Path) -> None:
    path = tmp_path / "request.bin"
    made(path, 5).close()
    path.write_bytes(b"x" * HEADER.size + path.read_bytes()[HEADER.size :])
    assert found(path) == ([0, 1, 2, 3, 4], 5)


def test_records_killed_before_their_write_are_missing(tmp_path: Path) -> None:
    """A recorder that is killed between its two writes has promised what it then did not write."""
    path = tmp_path / "request.bin"
    made(path, 5, 4).close()
    path.write_bytes(path.read_bytes()[: HEADER.size + 5 * REQUEST.size_bytes])
    assert found(path) == ([0, 1, 2, 3, 4], 9)


def test_bytes_that_nobody_promised_are_left_out_and_not_missing(tmp_path: Path) -> None:
    path = tmp_path / "request.bin"
    made(path, 5).close()
    path.write_bytes(path.read_bytes() + requests(9, 2).tobytes() + b"torn")
    assert found(path) == ([0, 1, 2, 3, 4], 5)
    extra = covered(path, HEADER.size, REQUEST.dtype, ID).n_extra_bytes
    assert extra == 2 * REQUEST.size_bytes + 4


def test_a_file_of_another_type_or_recording_or_name_is_not_covered(tmp_path: Path) -> None:
    path = tmp_path / "request.bin"
    made(path, 5).close()
    assert found(path, OTHER_ID) == ([], 0)
    assert covered(path, HEADER.size, SLEEP.dtype, ID).pieces == []
    copy = tmp_path / "request.000000001.bin"
    path.rename(copy)
    frames_path(path).rename(frames_path(copy))
    assert found(copy) == ([], 0)


def test_an_append_that_fails_leaves_the_next_ones_in_their_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the full disk kept out is missing, and nothing else."""
    path = tmp_path / "request.bin"
    file = made(path, 5)
    write = frames.write_whole

    def full_behind_20_bytes(target: BinaryIO, data: bytes | memoryview) -> int:
        if target.name.endswith(".bin"):
            write(target, memoryview(data).cast("B")[:20])
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(target, data)

    monkeypatch.setattr(frames, "write_whole", full_behind_20_bytes)
    with pytest.raises(OSError, match="No space"):
        file.append(requests(5, 3))
    monkeypatch.undo()
    file.append(requests(8, 2))
    file.close()
    assert found(path) == ([0, 1, 2, 3, 4, 8, 9], 10)


def test_frames_that_cannot_be_written_promise_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "request.bin"
    file = made(path, 5)
    write = frames.write_whole

    def torn(target: BinaryIO, data: bytes | memoryview) -> int:
        write(target, memoryview(data).cast("B")[:7])
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(frames, "write_whole", torn)
    with pytest.raises(OSError, match="No space"):
        file.append(requests(5, 3))
    monkeypatch.undo()
    file.append(requests(5, 2))
    file.close()
    assert found(path) == ([0, 1, 2, 3, 4, 5, 6], 7)
