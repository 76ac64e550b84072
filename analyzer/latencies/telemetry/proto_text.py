"""Reads protobuf's text form without its schema: names, values and nested messages."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

_TOKEN = re.compile(r'\s*(?:#[^\n]*\n\s*)*([{}<>]|"(?:[^"\\]|\\.)*"|[\w.+-]+|:|;|,|\[|\])')


@dataclass
class Message:
    """The fields of a message by name, each with all its values in order."""

    texts: dict[str, list[str]] = field(default_factory=dict)
    messages: dict[str, list[Message]] = field(default_factory=dict)

    def numbers(self, name: str) -> list[float]:
        """Return the values of a field as numbers; raises ValueError."""
        return [float(text) for text in self.texts.get(name, [])]

    def number(self, name: str) -> float:
        """Return the last value of a field, 0 without one; raises ValueError."""
        return (self.numbers(name) or [0.0])[-1]


def messages_of(text: str, first: str) -> list[Message]:
    """Return the messages of a text, each of which begins with the field *first*.

    Raises ValueError when the text is cut or is none.
    """
    found: list[Message] = []
    tokens = _tokens(text)
    for name in tokens:
        if name == first or not found:
            found.append(Message())
        _take(found[-1], name, tokens)
    return found


def _tokens(text: str) -> Iterator[str]:
    place, end = 0, len(text.rstrip())
    while place < end:
        match = _TOKEN.match(text, place)
        if match is None:
            raise ValueError(f"no protobuf text at {text[place : place + 20]!r}")
        place = match.end()
        if match[1] not in ":;,":
            yield match[1]


def _take(message: Message, name: str, tokens: Iterator[str]) -> None:
    """Read the value of a field."""
    if not re.fullmatch(r"\w+", name):
        raise ValueError(f"{name!r} is no field")
    value = next(tokens, None)
    if value is None:
        raise ValueError("it ends in the middle")
    if value in "{<":
        inner = Message()
        message.messages.setdefault(name, []).append(inner)
        for token in tokens:
            if token in "}>":
                return
            _take(inner, token, tokens)
        raise ValueError("it ends in the middle")
    message.texts.setdefault(name, []).append(value.strip('"'))
