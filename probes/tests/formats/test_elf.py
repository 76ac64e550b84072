import ctypes
from pathlib import Path

import pytest

from rcp.probes.formats import elf
from rcp.probes.formats.elf import Elf, ElfError, Usdt
from rcp.probes.tests.formats.elf_image import write_elf


def test_functions_are_found_where_the_file_holds_them(tmp_path: Path) -> None:
    program = Elf(write_elf(tmp_path / "a", {"run": 0x401020}, {"run": 0x401020, "fit": 0x401040}))
    assert program.functions == {"run": 0x120, "fit": 0x140}
    assert not program.is_stripped


def test_a_stripped_program_still_has_what_it_exports(tmp_path: Path) -> None:
    program = Elf(write_elf(tmp_path / "a", {"run": 0x401020}))
    assert (program.functions, program.is_stripped) == ({"run": 0x120}, True)


def test_a_separate_debug_file_gives_the_stripped_names_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(elf, "DEBUG_FILES", tmp_path)
    (tmp_path / "ab").mkdir()
    write_elf(tmp_path / "ab/cdef0123.debug", {}, {"run": 0x401020, "static": 0x401080})
    program = Elf(write_elf(tmp_path / "a", {"run": 0x401020}))
    assert program.functions == {"run": 0x120, "static": 0x180}
    assert not program.is_stripped


@pytest.mark.parametrize("moved", [0, 0x1000])
def test_usdt_probes_have_every_place_and_their_semaphore(tmp_path: Path, moved: int) -> None:
    usdts = (
        ("db", "start", 0x401010, 0x602204),
        ("db", "start", 0x401030, 0x602204),
        ("db", "done", 0x401050, 0),
    )
    program = Elf(write_elf(tmp_path / "a", {}, usdts=usdts, moved=moved))
    assert program.usdts == (
        Usdt("db", "start", 0x110, 0x204),
        Usdt("db", "start", 0x130, 0x204),
        Usdt("db", "done", 0x150, 0),
    )


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"#!/usr/bin/perl -w\n", "a script: name the program that runs it (/usr/bin/perl -w)"),
        (b"just text", "no 64-bit ELF program"),
        (b"\x7fELF\x01\x01".ljust(64, b"\0"), "no 64-bit ELF program"),
        (
            b"\x7fELF\x02\x01".ljust(18, b"\0") + b"\xb7\0".ljust(46, b"\0"),
            "a program for another machine (ELF type 183)",
        ),
    ],
)
def test_an_unsuitable_file_is_reported(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "a"
    path.write_bytes(content)
    with pytest.raises(ElfError) as error:
        Elf(path)
    assert str(error.value) == message


def test_a_truncated_file_is_reported(tmp_path: Path) -> None:
    path = write_elf(tmp_path / "a", {"run": 0x401020})
    path.write_bytes(path.read_bytes()[:300])
    with pytest.raises(ElfError) as error:
        Elf(path)
    assert str(error.value) == "a damaged ELF file"


# Functions whose address Python itself does not take: of those a program that is loaded at a
# fixed address, as Debian's Python is, has an entry of its own.
@pytest.mark.parametrize("name", ["usleep", "qsort", "srand48"])
def test_a_real_librarys_functions_are_where_the_linker_found_them(name: str) -> None:
    address = ctypes.cast(getattr(ctypes.CDLL(None), name), ctypes.c_void_p).value
    assert address
    for line in Path("/proc/self/maps").read_text().splitlines():
        # proc(5): from-to perms offset dev inode path
        words = line.split()
        start, end = (int(word, 16) for word in words[0].split("-"))
        if start <= address < end:
            assert Elf(Path(words[5])).functions[name] == address - start + int(words[2], 16)
            return
    pytest.fail(f"{name} is mapped from no file")
