"""JSON that ends in its own checksum, so that one rename replaces both. Pure.

The checksum is the last member of the object, and covers the text before it::

    {"why": "duration", "crc32": "5d0a1f32"}

It starts from a *seed*: with that of a recording, a text of another recording does not pass.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Mapping
from typing import Any, NamedTuple

_DECODER = json.JSONDecoder()
_TAIL = re.compile(r',?\s*"crc32": "([0-9a-f]{8})"\s*}\s*\Z')


class Unsealed(NamedTuple):
    """What a text held."""

    value: dict[str, Any]
    is_whole: bool | None
    """Whether the checksum is right; None without one, but False if more follows the object."""


def sealed(value: Mapping[str, Any], seed: int = 0, indent: int | None = None) -> str:
    """Return an object as JSON with its checksum."""
    body = json.dumps(value, indent=indent).removesuffix("}").rstrip()
    separator = "," if value else ""
    gap = " " if indent is None else "\n" + " " * indent
    end = "}" if indent is None else "\n}"
    return f'{body}{separator}{gap}"crc32": "{zlib.crc32(body.encode(), seed):08x}"{end}'


def unsealed(text: str, seed: int = 0) -> Unsealed | None:
    """Return the object in a JSON text without its checksum; None when it holds no object.

    What follows the object is left out. An object without a checksum is then in doubt: a changed
    byte may have ended it early.
    """
    start = len(text) - len(text.lstrip())
    try:
        value, end = _DECODER.raw_decode(text, start)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict):
        return None
    tail = _TAIL.search(text[:end])
    if tail is None:
        return Unsealed(value, False if text[end:].strip() else None)
    value.pop("crc32", None)
    body = text[: tail.start()].encode(errors="replace")
    return Unsealed(value, int(tail[1], 16) == zlib.crc32(body, seed))
