"""Syscall names and their numbers."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from rcp.probes.kernel.features import RecordError
from rcp.probes.kernel.syscall_numbers import NUMBERS


def numbers(names: Iterable[str], tracefs: Path | None) -> dict[int, str]:
    """Return ``names`` by syscall number; raise RecordError for one that cannot be traced.

    Without ``tracefs`` it is unknown whether this kernel can trace them.
    """
    by_number = {}
    for name in names:
        event = tracefs and tracefs / f"events/syscalls/sys_enter_{name}"
        if name not in NUMBERS or (event and not event.is_dir()):
            known = ", ".join(sorted(NUMBERS))
            raise RecordError(f"cannot record the syscall {name!r}: choose from {known}.")
        by_number[NUMBERS[name]] = name
    return by_number
