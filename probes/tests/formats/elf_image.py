"""Builds a tiny ELF program by hand, with functions and USDT probes at known places."""

import struct
from pathlib import Path

CODE_ADDRESS, CODE_OFFSET, CODE_BYTES = 0x401000, 0x100, 0x100
DATA_ADDRESS, DATA_OFFSET, DATA_BYTES = 0x602200, 0x200, 0x100
BUILD_ID = bytes.fromhex("abcdef0123")

_SYMTAB, _STRTAB, _NOTE, _DYNSYM = 2, 3, 7, 11
_FUNCTION, _OBJECT = 0x12, 0x11


def _symbols(functions: dict[str, int]) -> tuple[bytes, bytes]:
    """A symbol table and its strings; an undefined function and an object come along."""
    strings, rows = b"\0", b"\0" * 24
    for name, info, section, address in (
        *((name, _FUNCTION, 1, address) for name, address in functions.items()),
        ("imported", _FUNCTION, 0, 0),
        ("a_variable", _OBJECT, 1, DATA_ADDRESS),
    ):
        rows += struct.pack("<IBBHQQ", len(strings), info, 0, section, address, 16)
        strings += name.encode() + b"\0"
    return rows, strings


def _note(owner: bytes, kind: int, content: bytes) -> bytes:
    head = struct.pack("<III", len(owner) + 1, len(content), kind) + owner + b"\0"
    return (head + content).ljust(len(head) + (len(content) + 3 & ~3), b"\0")


def _usdt(provider: str, name: str, address: int, base: int, semaphore: int) -> bytes:
    words = struct.pack("<QQQ", address, base, semaphore)
    text = f"{provider}\0{name}\08@%rax\0".encode()
    return _note(b"stapsdt", 3, words + text)


def write_elf(
    path: Path,
    exported: dict[str, int],
    internal: dict[str, int] | None = None,
    usdts: tuple[tuple[str, str, int, int], ...] = (),
    moved: int = 0,
    further: dict[str, bytes] | None = None,
) -> Path:
    """Write a program whose functions stand at the given addresses.

    ``usdts`` are provider, name, address and semaphore's address (0: none); ``moved`` is how
    far the sections were moved after the notes had been written. Without ``internal`` it is
    a stripped program. ``further`` are sections by name.
    """
    base = CODE_ADDRESS
    notes = b"".join(
        _usdt(provider, name, at - moved, base - moved, counter - moved if counter else 0)
        for provider, name, at, counter in usdts
    )
    dynamic, dynamic_names = _symbols(exported)
    sections = [
        (".text", 1, CODE_ADDRESS, b"\x90" * CODE_BYTES, 0),
        (".probes", 1, DATA_ADDRESS, b"\0" * DATA_BYTES, 0),
        (".note.gnu.build-id", _NOTE, 0, _note(b"GNU", 3, BUILD_ID), 0),
        (".note.stapsdt", _NOTE, 0, notes, 0),
        (".stapsdt.base", 1, base, b"", 0),
        (".dynsym", _DYNSYM, 0, dynamic, 7),
        (".dynstr", _STRTAB, 0, dynamic_names, 0),
    ]
    if internal is not None:
        table, names = _symbols(internal)
        sections += [(".symtab", _SYMTAB, 0, table, 9), (".strtab", _STRTAB, 0, names, 0)]
    sections += [(name, 1, 0, content, 0) for name, content in (further or {}).items()]
    _write(path, sections)
    return path


def _write(path: Path, sections: list[tuple[str, int, int, bytes, int]]) -> None:
    names = b"\0"
    body = b""
    rows = [struct.pack("<IIQQQQIIQQ", *(0,) * 10)]
    for name, kind, address, content, link in (*sections, (".shstrtab", _STRTAB, 0, b"", 0)):
        start = len(names)
        names += name.encode() + b"\0"
        if name == ".shstrtab":
            content = names
        offset = CODE_OFFSET + len(body)
        rows.append(
            struct.pack("<IIQQQQIIQQ", start, kind, 0, address, offset, len(content), link, 0, 1, 0)
        )
        body += content
    loads = b"".join(
        struct.pack("<IIQQQQQQ", 1, 5, offset, address, address, size, size, 0x1000)
        for address, offset, size in (
            (CODE_ADDRESS, CODE_OFFSET, CODE_BYTES),
            (DATA_ADDRESS, DATA_OFFSET, DATA_BYTES),
        )
    )
    head = b"\x7fELF\x02\x01\x01".ljust(16, b"\0") + struct.pack(
        "<HHIQQQIHHHHHH",
        *(2, 62, 1, CODE_ADDRESS, 64, CODE_OFFSET + len(body)),
        *(0, 64, 56, 2, 64, len(rows), len(rows) - 1),
    )
    path.write_bytes((head + loads).ljust(CODE_OFFSET, b"\0") + body + b"".join(rows))
