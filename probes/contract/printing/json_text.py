"""The one encoder of JSON that commands print: valid everywhere, and harmless on a terminal."""

from __future__ import annotations

import json
import math
import re
from dataclasses import fields, is_dataclass
from decimal import Decimal
from typing import Any

_BEYOND_ASCII = re.compile(r"[^\n -~]")


def as_json(value: Any, indent: int | None = 1) -> str:
    """Return a value as JSON with a newline at its end; on one line if *indent* is None.

    JSON has no infinities and no NaN: they become null. NamedTuples and dataclasses become objects,
    decimals numbers, bytes hex digits; other types that JSON does not have become text.
    Characters that are not printable are escaped, those too that JSON would allow: DEL, C1
    controls, marks of direction.
    """
    text = json.dumps(
        _plain(value), indent=indent, ensure_ascii=False, allow_nan=False, default=str
    )
    return _BEYOND_ASCII.sub(_escaped, text) + "\n"


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Decimal):
        return int(value) if _is_whole(value) else _plain(float(value))
    if isinstance(value, bytes | bytearray):
        return value.hex()
    if isinstance(value, dict):
        return {name if _is_key(name) else str(name): _plain(one) for name, one in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return _plain(value._asdict())
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
    return value


def _is_whole(value: Decimal) -> bool:
    """Whether it is an integer, which JSON has with all its digits."""
    return value.is_finite() and value == value.to_integral_value()


def _is_key(name: Any) -> bool:
    return isinstance(name, str | int) or name is None


def _escaped(found: re.Match[str]) -> str:
    character = found[0]
    return character if character.isprintable() else json.dumps(character)[1:-1]
