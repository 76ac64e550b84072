"""Reads the kernel's type information (BTF): offsets of struct members. Pure.

Format: Documentation/bpf/btf.rst. A module's types continue the numbering of the kernel's own,
and its strings follow the kernel's.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

_MAGIC = 0xEB9F
_BTF_HEADER = struct.Struct("<HBBIIIII")

INT, POINTER, ARRAY, STRUCT, UNION, ENUM, TYPEDEF, VOLATILE, CONST, RESTRICT = (
    1, 2, 3, 4, 5, 6, 8, 9, 10, 11,
)  # fmt: skip
FUNC, TYPE_TAG, ENUM64 = 12, 18, 19
_NAMING = (TYPEDEF, VOLATILE, CONST, RESTRICT, TYPE_TAG)
# Number of words of a type by kind: fixed, and for each of its elements.
_WORDS_ONCE = [3 + {INT: 1, ARRAY: 3, 14: 1, 17: 1}.get(kind, 0) for kind in range(32)]
_WORDS_EACH = [
    {STRUCT: 3, UNION: 3, ENUM: 2, 13: 2, 15: 3, ENUM64: 3}.get(kind, 0) for kind in range(32)
]


class BtfError(Exception):
    """The type information cannot be read, or lacks a type."""


@dataclass(frozen=True)
class Member:
    """A member of a struct or union."""

    name: str
    type_id: int
    offset_bits: int


@dataclass(frozen=True)
class Array:
    """An array type."""

    type_id: int
    length: int


class Btf:
    """The types of the kernel, or of the kernel and one module."""

    def __init__(self, kernel: bytes) -> None:
        """Read the content of ``/sys/kernel/btf/vmlinux``; raise BtfError when it is not BTF."""
        self._strings = b""
        self._words: list[int] = []
        self._array = np.empty(0, np.uint32)
        self._at = [0]  # by type id; 0 is void
        self._add(kernel)

    def with_module(self, blob: bytes) -> Btf:
        """Return the kernel's types with those of one module; raise BtfError.

        All modules use the same type ids, so two modules cannot be combined.
        """
        both = Btf.__new__(Btf)
        both._strings, both._array = self._strings, self._array
        both._words, both._at = self._words.copy(), self._at.copy()
        both._add(blob)
        return both

    def _add(self, blob: bytes) -> None:
        if len(blob) < _BTF_HEADER.size or _BTF_HEADER.unpack_from(blob)[0] != _MAGIC:
            raise BtfError("the kernel's type information is not in BTF format")
        _, _, _, header, types, types_len, strings, strings_len = _BTF_HEADER.unpack_from(blob)
        self._strings += blob[header + strings :][:strings_len]
        at = len(self._words)
        fresh = np.frombuffer(blob, "<u4", types_len // 4, header + types)
        self._array = np.concatenate((self._array, fresh))
        self._words += fresh.tolist()  # reading single elements is faster from a list
        words, starts, once, each = self._words, self._at, _WORDS_ONCE, _WORDS_EACH
        end = len(words)
        while at < end:  # of 130,000 types
            starts.append(at)
            info = words[at + 1]
            kind = info >> 24 & 31
            at += once[kind] + each[kind] * (info & 0xFFFF)

    def _text(self, offset: int) -> str:
        return self._strings[offset : self._strings.index(b"\0", offset)].decode()

    def _name_offset(self, name: str) -> int:
        return self._strings.find(b"\0" + name.encode() + b"\0") + 1

    def kind(self, type_id: int) -> int:
        """Return the kind of a type (BTF_KIND_*)."""
        return self._words[self._at[type_id] + 1] >> 24 & 31 if type_id else 0

    def name(self, type_id: int) -> str:
        """Return the name of a type, empty when it has none."""
        return self._text(self._words[self._at[type_id]])

    def size_bytes(self, type_id: int) -> int:
        """Return the size of a type."""
        type_id = self.resolve(type_id)
        kind = self.kind(type_id)
        if kind == POINTER:
            return 8
        if kind == ARRAY:
            array = self.array(type_id)
            return self.size_bytes(array.type_id) * array.length
        return self._words[self._at[type_id] + 2]

    def is_signed(self, type_id: int) -> bool:
        """Tell whether an integer is signed."""
        return bool(self._words[self._at[type_id] + 3] >> 24 & 1)

    def resolve(self, type_id: int) -> int:
        """Return the type without typedefs and qualifiers."""
        while self.kind(type_id) in _NAMING:
            type_id = self.target(type_id)
        return type_id

    def target(self, type_id: int) -> int:
        """Return what a pointer points to, or a typedef names."""
        return self._words[self._at[type_id] + 2]

    def array(self, type_id: int) -> Array:
        """Return what an array is of."""
        at = self._at[type_id]
        return Array(self._words[at + 3], self._words[at + 5])

    @cached_property
    def _table(self) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint32]]:
        """Name offsets and kinds of all types, by id; void is of no kind."""
        at = np.array(self._at)
        kinds = self._array[at + 1] >> np.uint32(24) & np.uint32(31)
        kinds[0] = 0
        return self._array[at], kinds

    def structs(self, names: set[str]) -> dict[str, int]:
        """Return the ids of structs and unions by name; those that are missing are left out."""
        return self._named(names, (STRUCT, UNION))

    def functions(self, names: set[str]) -> dict[str, int]:
        """Return the ids of functions by name; those that are missing are left out."""
        return self._named(names, (FUNC,))

    def _named(self, names: set[str], of: tuple[int, ...]) -> dict[str, int]:
        wanted = {self._name_offset(name): name for name in names}
        wanted.pop(0, None)
        name_offsets, kinds = self._table
        found = np.isin(name_offsets, list(wanted)) & np.isin(kinds, of)
        # backwards: of several of one name the first counts
        return {
            wanted[int(name_offsets[type_id])]: int(type_id)
            for type_id in np.nonzero(found)[0][::-1]
        }

    def members(self, type_id: int, base_bits: int = 0) -> Iterator[Member]:
        """Yield the members, those of anonymous structs and unions in it too."""
        at = self._at[type_id]
        by_field = self._words[at + 1] >> 31  # offsets carry the size of bit fields too
        for i in range(self._words[at + 1] & 0xFFFF):
            name, inner, offset = self._words[at + 3 + 3 * i : at + 6 + 3 * i]
            offset_bits = base_bits + (offset & 0xFFFFFF if by_field else offset)
            if self._text(name):
                yield Member(self._text(name), inner, offset_bits)
            else:
                yield from self.members(self.resolve(inner), offset_bits)

    def enumerators(self, names: set[str]) -> dict[str, int]:
        """Return the values of enumerators by name, whichever enums they are of."""
        wanted = {self._name_offset(name): name for name in names}
        wanted.pop(0, None)
        found, words = dict[str, int](), self._words
        kinds = self._table[1]
        for type_id in np.nonzero((kinds == ENUM) | (kinds == ENUM64))[0].tolist():
            at = self._at[type_id]
            step = 2 if self.kind(type_id) == ENUM else 3
            for i in range(at + 3, at + 3 + step * (words[at + 1] & 0xFFFF), step):
                if words[i] in wanted:
                    found.setdefault(wanted[words[i]], words[i + 1])
        return found
