"""What the tuner says when it cannot go on: in one line: the thing, the fault, the remedy."""

from __future__ import annotations


class TuneError(Exception):
    """Base of all; ``rcp-tune`` prints the text and ends with status 2."""


class NotAStudyError(TuneError):
    """A file is no study of rcp-tune."""


class KnobError(TuneError):
    """A knob that does not exist, or a value it does not take."""


class KnobGoneError(KnobError):
    """A knob is not where it was: its disk, its scheduler or its task is gone."""


class KnobRefusedError(KnobError):
    """The kernel did not take a value."""


class AdminChangedError(KnobError):
    """Somebody else changed a knob while it was being tuned."""

    def __init__(self, name: str, left: str, found: str) -> None:
        super().__init__(
            f"{name}: somebody else set it to {found} (rcp-tune had left {left}): it keeps their "
            "value; tune again once nobody else sets it."
        )
        self.name = name
        self.left = left
        self.found = found


class JournalError(TuneError):
    """The journal cannot be written, or not be trusted."""


class LockedError(TuneError):
    """Another tuner is at work."""
