"""Compiled probes as data: kept, found again, linked."""

from __future__ import annotations

import os
import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rcp.probes.compiled import (
    PER_CPU_OFFSET,
    PREEMPT_COUNT,
    SELF_PID,
    Compiled,
    MapSpec,
    ProgramSpec,
    key_of,
    linked,
    relocations,
    store,
    stored,
)

words = st.integers(0, 2**32 - 1)
names = st.text("abcdefgh_", min_size=1, max_size=20)
specs = st.builds(MapSpec, names, *[st.integers(0, 2**31 - 1)] * 5)


def instruction(operation: int, value: int, registers: int = 0) -> bytes:
    return struct.pack("<BBhI", operation, registers, 0, value)


def load_map(fd: int) -> bytes:
    return instruction(0x18, fd, registers=0x11) + instruction(0, 0)


def load_constant(value: int) -> bytes:
    return instruction(0x18, value & 0xFFFFFFFF, 0x01) + instruction(0, value >> 32)


programs = st.builds(
    ProgramSpec,
    names,
    st.lists(words).map(lambda values: b"".join(instruction(0xB7, value) for value in values)),
    st.dictionaries(st.integers(0, 1000), names),
    st.integers(0, 2**31),
    names,
)


@given(maps=st.lists(specs), found=st.lists(programs))
def test_what_is_kept_is_found_again(
    tmp_path_factory: pytest.TempPathFactory, maps: list[MapSpec], found: list[ProgramSpec]
) -> None:
    folder = tmp_path_factory.mktemp("cache") / "probes"
    compiled = Compiled(tuple(maps), tuple(found))
    assert stored(folder, "key") is None
    store(folder, "key", compiled)
    assert stored(folder, "key") == compiled
    assert stored(folder, "other") is None


@given(
    parts=st.lists(st.lists(words, max_size=3).map(tuple), max_size=6), fds=st.permutations("abcd")
)
def test_code_is_linked_to_the_maps_of_this_run(
    parts: list[tuple[int, ...]], fds: list[str]
) -> None:
    """Maps have other descriptors in the next run; nothing else of the code changes."""
    then = dict(enumerate(fds, 10))
    now = {name: number for number, name in enumerate("abcd", 50)}
    pieces, expected = [], []
    for place, part in enumerate(parts):
        plain = b"".join(instruction(0xB7, value) for value in part)
        name = "abcd"[place % 4]
        fd = next(number for number, known in then.items() if known == name)
        pieces += [plain, load_map(fd)]
        expected += [plain, load_map(now[name])]
    code = b"".join(pieces)
    program = ProgramSpec("p", code, relocations(code, then))
    assert linked(program, now, {}) == b"".join(expected)


@given(pid=st.integers(1, 2**22), offset=words, address=st.integers(2**63, 2**64 - 1))
def test_placeholders_take_the_values_of_this_run(pid: int, offset: int, address: int) -> None:
    def program(self_pid: int, preempt: int, per_cpu: int) -> bytes:
        return b"".join(
            [
                instruction(0x15, self_pid),  # if r0 == pid
                load_constant(self_pid << 32),  # as LLVM compares the upper half
                load_constant(preempt),
                load_constant(per_cpu),
                instruction(0xB7, 7),
            ]
        )

    code = program(SELF_PID, PREEMPT_COUNT, PER_CPU_OFFSET)
    values = {SELF_PID: pid, PREEMPT_COUNT: offset, PER_CPU_OFFSET: address}
    assert linked(ProgramSpec("p", code, {}), {}, values) == program(pid, offset, address)


def test_keys_differ_where_anything_differs() -> None:
    keys = [key_of(parts) for parts in ([], [""], ["a", "b"], ["ab"], ["a", "b", ""], [b"a"])]
    assert len(set(keys)) == len(keys)
    assert key_of(["a"]) == key_of([b"a"])


KEPT = Compiled((MapSpec("m", 1, 4, 8, 1, 0),), (ProgramSpec("p", instruction(0x95, 0), {}),))


@pytest.mark.parametrize("damage", [b"", b"not packed", b"x\x9c\x03\x00\x00\x00\x00\x01"])
def test_a_damaged_file_is_as_none(tmp_path: Path, damage: bytes) -> None:
    store(tmp_path / "probes", "key", KEPT)
    (file,) = (tmp_path / "probes").iterdir()
    file.write_bytes(damage)
    assert stored(tmp_path / "probes", "key") is None
    store(tmp_path / "probes", "key", KEPT)
    assert stored(tmp_path / "probes", "key") == KEPT


@pytest.mark.parametrize("mode", [0o720, 0o702, 0o777])
def test_what_others_could_have_written_is_not_loaded(tmp_path: Path, mode: int) -> None:
    folder = tmp_path / "probes"
    store(folder, "key", KEPT)
    (file,) = folder.iterdir()
    for path, proper in ((folder, 0o700), (file, 0o600)):
        path.chmod(mode)
        assert stored(folder, "key") is None
        path.chmod(proper)
        assert stored(folder, "key") == KEPT
    if os.geteuid() == 0:
        os.chown(file, 12345, 12345)
        assert stored(folder, "key") is None


@pytest.mark.parametrize("mask", [0, 0o002, 0o022, 0o077])
def test_the_umask_does_not_matter(tmp_path: Path, mask: int) -> None:
    before = os.umask(mask)
    try:
        store(tmp_path / "probes", "key", KEPT)
    finally:
        os.umask(before)
    assert stored(tmp_path / "probes", "key") == KEPT


def test_only_the_latest_are_kept(tmp_path: Path) -> None:
    for number in range(20):
        store(tmp_path / "probes", str(number), KEPT)
        (tmp_path / "probes" / f"{number}.json.z").touch()
    assert len(list((tmp_path / "probes").iterdir())) == 8
    assert stored(tmp_path / "probes", "19") == KEPT


def test_a_folder_that_cannot_be_made_costs_only_time(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    store(tmp_path / "file/probes", "key", KEPT)
    assert stored(tmp_path / "file/probes", "key") is None
