"""Builds BTF blobs for tests, type by type."""

from __future__ import annotations

import struct

from rcp.probes.formats.btf import ARRAY, ENUM, INT, POINTER, STRUCT, TYPEDEF, UNION


class BtfImage:
    """A blob under construction; each method that adds a type returns its id."""

    def __init__(self, n_types_before: int = 0, n_string_bytes_before: int = 0) -> None:
        """Start empty, or as a module's whose types and strings continue another's."""
        self._strings = b"" if n_string_bytes_before else b"\0"
        self._strings_before = n_string_bytes_before
        self._types = b""
        self._n_types = n_types_before

    def _text(self, text: str) -> int:
        if not text:
            return 0
        self._strings += text.encode() + b"\0"
        return self._strings_before + len(self._strings) - len(text) - 1

    def _add(self, name: str, kind: int, vlen: int, third: int, *words: int) -> int:
        self._types += struct.pack("<III", self._text(name), kind << 24 | vlen, third)
        self._types += struct.pack(f"<{len(words)}I", *words)
        self._n_types += 1
        return self._n_types

    def integer(self, name: str, n_bytes: int, is_signed: bool = False) -> int:
        """Add an integer."""
        return self._add(name, INT, 0, n_bytes, int(is_signed) << 24 | 8 * n_bytes)

    def pointer(self, target: int) -> int:
        """Add a pointer; to 0 is to void."""
        return self._add("", POINTER, 0, target)

    def array(self, of: int, length: int) -> int:
        """Add an array."""
        return self._add("", ARRAY, 0, 0, of, 1, length)

    def typedef(self, name: str, target: int) -> int:
        """Add another name of a type."""
        return self._add(name, TYPEDEF, 0, target)

    def struct(
        self, name: str, n_bytes: int, *members: tuple[str, int, int], is_union: bool = False
    ) -> int:
        """Add a struct of (name, type, offset in bytes)."""
        words = [
            word
            for member, type_id, offset in members
            for word in (self._text(member), type_id, 8 * offset)
        ]
        return self._add(name, UNION if is_union else STRUCT, len(members), n_bytes, *words)

    def enum(self, **values: int) -> int:
        """Add an enum without a name."""
        words = [word for name, value in values.items() for word in (self._text(name), value)]
        return self._add("", ENUM, len(values), 4, *words)

    @property
    def n_types(self) -> int:
        """How many types there are, those before included."""
        return self._n_types

    @property
    def n_string_bytes(self) -> int:
        """How long the strings are, those before included."""
        return self._strings_before + len(self._strings)

    def blob(self) -> bytes:
        """Return what the kernel would show in /sys/kernel/btf."""
        sizes = (0, len(self._types), len(self._types), len(self._strings))
        return struct.pack("<HBBIIIII", 0xEB9F, 1, 0, 24, *sizes) + self._types + self._strings
