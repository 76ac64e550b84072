"""The tuner's errors. A text is one line: the thing, the fault, the remedy."""

from __future__ import annotations

from rcp.probes.contract.user_error import UserError


class TuneError(UserError):
    """Base class; ``rcp-tune`` prints the text and exits with status 2."""


class NotAStudyError(TuneError):
    """A file is not a study of rcp-tune."""


class KnobError(TuneError):
    """A knob does not exist, or does not accept a value."""


class KnobGoneError(KnobError):
    """A knob is gone with its disk, its scheduler or its task."""


class KnobRefusedError(KnobError):
    """The kernel refused a value."""


class AdminChangedError(KnobError):
    """Somebody else changed a knob while it was being tuned."""

    def __init__(self, name: str, left: str, found: str) -> None:
        super().__init__(
            f"{name}: somebody else set it to {found} (rcp-tune had set it to {left}): their value "
            "stays; tune again when nobody else sets it."
        )
        self.name = name
        self.left = left
        self.found = found


class JournalError(TuneError):
    """The journal cannot be read or written."""


class LockedError(TuneError):
    """Another tuner is running."""
