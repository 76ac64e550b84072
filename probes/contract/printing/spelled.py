"""Spells out characters that a terminal would obey or hide: names in a recording can hold any.

Every user of a machine chooses names of threads and files, and root reads the recording.
"""

from __future__ import annotations

import re
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar, cast

_OTHER = re.compile(r"[^ -~]")
_SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}

Value = TypeVar("Value")


def escape(character: str) -> str:
    """Return a character as JSON and C spell it: ``\\u001b``."""
    number = ord(character)
    return _SHORT.get(character) or f"\\u{number:04x}" if number < 1 << 16 else f"\\U{number:08x}"


def spelled_text(text: str, keep: str = "") -> str:
    """Return a text with all characters but the printable ones and those in *keep* spelled out.

    Not printable are controls (ESC, newline, DEL, C1), marks of direction, separators of lines,
    lone surrogates and whatever has no glyph: what ``str.isprintable`` says.
    """
    if text.isprintable():
        return text
    return _OTHER.sub(
        lambda found: found[0] if found[0].isprintable() or found[0] in keep else escape(found[0]),
        text,
    )


def spelled(value: Value) -> Value:
    """Return a value with every text in it spelled: in tuples, lists, mappings and dataclasses.

    What lays names out in lines and columns takes values that have been through here. Afterwards
    nobody can tell a newline in a name from one of the layout.
    """
    return cast(Value, _spelled(value))


def _spelled(value: Any) -> Any:
    if isinstance(value, str):
        return spelled_text(value)
    if isinstance(value, tuple):
        parts = [_spelled(part) for part in value]
        return value._make(parts) if hasattr(value, "_make") else tuple(parts)
    if isinstance(value, list):
        return [_spelled(part) for part in value]
    if isinstance(value, dict):
        return {_spelled(name): _spelled(part) for name, part in value.items()}
    if is_dataclass(value) and not isinstance(value, type):
        own = {field.name: _spelled(getattr(value, field.name)) for field in fields(value)}
        return replace(value, **own)
    return value
