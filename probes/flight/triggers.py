"""Triggers that make a flight recorder write its window: ``--when 'fsync>20ms'``."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from rcp.probes.contract.durations import DurationError, duration_text, parse_duration_ns
from rcp.probes.contract.user_error import UserError

ANY = "request"
"""The name that matches every request."""

_FORM = re.compile(r"\s*([^<>=\s]*)\s*>\s*([^<>=]*)")


class TriggerError(UserError):
    """A trigger is malformed or can never fire; the message gives the remedy."""


@dataclass(frozen=True)
class Trigger:
    """Fires when a finished request named ``name`` took longer than ``bound_ns``."""

    name: str
    """A request's name, or ``request`` for all."""
    bound_ns: int

    def __str__(self) -> str:
        """Return it as typed."""
        return f"{self.name}>{duration_text(self.bound_ns)}"


@dataclass(frozen=True)
class Fired:
    """A request that made a trigger fire."""

    trigger: str
    request: str
    tid: int
    ts: int
    dur_ns: int

    def as_dict(self) -> dict[str, Any]:
        """Return plain values for ``meta``."""
        return vars(self).copy()


def parse_trigger(text: str, names: Collection[str]) -> Trigger:
    """Parse ``NAME>DURATION``; ``names`` are the requests recorded. Raises TriggerError."""
    match = _FORM.fullmatch(text)
    if match is None or not match[1]:
        raise TriggerError(f"--when {text!r}: write NAME>DURATION, as in 'request>50ms'.")
    name = match[1]
    try:
        bound_ns = parse_duration_ns(match[2])
    except DurationError as error:
        raise TriggerError(f"--when {text!r}: {error}.") from error
    if name != ANY and name not in names:
        known = ", ".join(sorted(names))
        raise TriggerError(
            f"--when {text!r}: {name} is not recorded: choose from {ANY}, {known}, or record it "
            "with --request."
        )
    return Trigger(name, bound_ns)


class Watch:
    """Checks the finished requests of one drain against triggers."""

    def __init__(self, triggers: Sequence[Trigger], names: Mapping[int, str]) -> None:
        """``names`` are request names by ``request.nr``."""
        self._names = dict(names)
        self._rules = [
            (
                trigger,
                None
                if trigger.name == ANY
                else np.array([nr for nr, n in names.items() if n == trigger.name], np.uint32),
            )
            for trigger in triggers
        ]

    def fired(self, rows: npt.NDArray[np.void]) -> Fired | None:
        """Return the slowest request of ``rows`` (finished ones) beyond a bound, if any."""
        if not len(rows) or not self._rules:
            return None
        # int64: an unfinished request (end_ns 0) becomes negative, and never fires
        dur = rows["end_ns"].astype(np.int64) - rows["ts"].astype(np.int64)
        worst: Fired | None = None
        for trigger, numbers in self._rules:
            beyond = dur > trigger.bound_ns
            if numbers is not None:
                beyond &= np.isin(rows["nr"], numbers)
            if not beyond.any():
                continue
            at = int(np.argmax(np.where(beyond, dur, -1)))
            if worst is None or dur[at] > worst.dur_ns:
                row = rows[at]
                name = self._names.get(int(row["nr"]), str(int(row["nr"])))
                worst = Fired(str(trigger), name, int(row["tid"]), int(row["ts"]), int(dur[at]))
        return worst
