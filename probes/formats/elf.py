"""File offsets of functions and USDT probes, read from ELF tables. Pure.

bcc can read them too, but only where it is installed, and its Python interface has no offset of a
USDT probe's semaphore (docs/decisions/uprobes-by-hand.md).
"""

from __future__ import annotations

import mmap
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

# elf(5); only what these probes need
_MAGIC_64_LITTLE = b"\x7fELF\x02\x01"
_EM_X86_64 = 62
_PT_LOAD = 1
_SHT_SYMTAB, _SHT_NOTE, _SHT_DYNSYM = 2, 7, 11
_STT_FUNC = 2
_NT_GNU_BUILD_ID, _NT_STAPSDT = 3, 3
_SYMBOL = np.dtype("<u4, u1, u1, <u2, <u8, <u8")
_SYMBOL.names = ("name", "info", "other", "section", "address", "size")
DEBUG_FILES = Path("/usr/lib/debug/.build-id")


class ElfError(Exception):
    """The file cannot be probed; the message says what kind of file it is."""


@dataclass(frozen=True)
class Usdt:
    """One location of a USDT probe; a probe that was inlined has several."""

    provider: str
    name: str
    offset: int
    """File offset of its instruction."""
    semaphore_offset: int
    """File offset of the counter that enables it; 0 when it is always on."""


@dataclass(frozen=True)
class _Section:
    name: str
    type: int
    address: int
    offset: int
    size: int
    link: int


class Elf:
    """One program or shared library of 64-bit x86."""

    def __init__(self, path: Path) -> None:
        """Map the file; raise OSError, or ElfError when it is not such a file."""
        self.path = path
        with path.open("rb") as file:
            head = file.read(64)
            if head[:2] == b"#!":
                interpreter = head[2:].split(b"\n")[0].strip().decode(errors="replace")
                raise ElfError(f"a script: name the program that runs it ({interpreter})")
            if len(head) < 64 or not head.startswith(_MAGIC_64_LITTLE):
                raise ElfError("no 64-bit ELF program")
            self._data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        machine = struct.unpack_from("<H", head, 18)[0]
        if machine != _EM_X86_64:
            raise ElfError(f"a program for another machine (ELF type {machine})")
        try:
            self._loads = tuple(self._read_loads())
            self._sections = tuple(self._read_sections())
        except (struct.error, ValueError, IndexError):
            raise ElfError("a damaged ELF file") from None

    def _read_loads(self) -> Iterator[tuple[int, int, int]]:
        """Yield address, file offset and file size of each loaded segment."""
        (start,) = struct.unpack_from("<Q", self._data, 32)
        size, count = struct.unpack_from("<HH", self._data, 54)
        for i in range(count):
            kind, _, offset, address, _, length = struct.unpack_from(
                "<IIQQQQ", self._data, start + i * size
            )
            if kind == _PT_LOAD:
                yield address, offset, length

    def _read_sections(self) -> Iterator[_Section]:
        (start,) = struct.unpack_from("<Q", self._data, 40)
        size, count, names = struct.unpack_from("<HHH", self._data, 58)
        rows = [struct.unpack_from("<IIQQQQII", self._data, start + i * size) for i in range(count)]
        for name, kind, _, address, offset, length, link, _ in rows:
            text = self._text(rows[names][4] + name)
            yield _Section(text, kind, address, offset, length, link)

    def _text(self, offset: int) -> str:
        end = self._data.find(b"\0", offset)
        return self._data[offset : max(end, offset)].decode(errors="replace")

    def _offset_of(self, address: int) -> int | None:
        """Return the file offset of an address, None when it is in no segment of the file."""
        for start, offset, length in self._loads:
            if start <= address < start + length:
                return address - start + offset
        return None

    def section(self, name: str) -> bytes:
        """Return the content of a section, b"" when there is no such section."""
        named = (s for s in self._sections if s.name == name)
        return next((self._data[s.offset : s.offset + s.size] for s in named), b"")

    def _notes(self) -> Iterator[tuple[str, int, bytes]]:
        """Yield section name, type and content of each note."""
        for section in self._sections:
            at, end = section.offset, section.offset + section.size
            while section.type == _SHT_NOTE and at + 12 <= end:
                owner, length, kind = struct.unpack_from("<III", self._data, at)
                start = at + 12 + (owner + 3 & ~3)
                yield section.name, kind, self._data[start : start + length]
                at = start + (length + 3 & ~3)

    @cached_property
    def usdts(self) -> tuple[Usdt, ...]:
        """All its USDT probes."""
        # If a tool moved the sections later, this one's address differs from that in the notes.
        now = next((s.address for s in self._sections if s.name == ".stapsdt.base"), 0)
        usdts = []
        for section, kind, note in self._notes():
            if section != ".note.stapsdt" or kind != _NT_STAPSDT:
                continue
            location, base, semaphore = struct.unpack_from("<QQQ", note)
            provider, name = (word.decode(errors="replace") for word in note[24:].split(b"\0")[:2])
            moved = now - base if now and base else 0
            offset = self._offset_of(location + moved)
            counter = self._offset_of(semaphore + moved) if semaphore else 0
            if offset is not None and counter is not None:
                usdts.append(Usdt(provider, name, offset, counter))
        return tuple(usdts)

    @cached_property
    def functions(self) -> dict[str, int]:
        """File offset by name of each function with a symbol, here or in the debug file."""
        addresses = dict(self._symbols())
        if debug := self._debug_file():
            addresses = {**dict(Elf(debug)._symbols()), **addresses}
        offsets = {name: self._offset_of(address) for name, address in addresses.items()}
        return {name: offset for name, offset in offsets.items() if offset is not None}

    @property
    def is_stripped(self) -> bool:
        """Whether only exported functions have symbols."""
        return self._debug_file() is None and not any(s.type == _SHT_SYMTAB for s in self._sections)

    def _debug_file(self) -> Path | None:
        """Return the separate file with its symbols, as Debian's -dbgsym packages install it."""
        for section, kind, note in self._notes():
            if section == ".note.gnu.build-id" and kind == _NT_GNU_BUILD_ID:
                build_id = note.hex()
                path = DEBUG_FILES / build_id[:2] / f"{build_id[2:]}.debug"
                return path if path.is_file() and path != self.path else None
        return None

    def _symbols(self) -> Iterator[tuple[str, int]]:
        for section in self._sections:
            if section.type not in (_SHT_SYMTAB, _SHT_DYNSYM):
                continue
            names = self._sections[section.link].offset
            rows = np.frombuffer(
                self._data[section.offset : section.offset + section.size], _SYMBOL
            )
            defined = rows[(rows["info"] & 15 == _STT_FUNC) & (rows["section"] != 0)]
            for name, address in zip(defined["name"], defined["address"], strict=True):
                yield self._text(names + int(name)), int(address)
