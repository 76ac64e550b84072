"""Which recording an address means: it names the file, and by its id what the file must hold.

Ids are given to ``find`` as a function, because finding one out opens the recording.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path, PurePath
from typing import NamedTuple

from rcp.analyzer.db.store import StoreError
from rcp.probes.contract.user_error import UserError

IdOf = Callable[[Path], str]


class NotHereError(UserError):
    """The recording that an address names is not among those that can be opened."""


class IsStudyError(NotHereError):
    """The address names a study of rcp-tune, which can be opened, as a recording."""

    def __init__(self, path: str) -> None:
        self.path, self.name = path, PurePath(path).name
        super().__init__(f"{self.name} is a study of rcp-tune, not a recording: see Tuning.")


class Wanted(NamedTuple):
    """What an address says of a recording; "" where it says nothing."""

    file: str
    id: str


def find(wanted: Wanted, known: Mapping[str, Path], first: Iterable[str], id_of: IdOf) -> str:
    """Return the key in *known* of the recording that an address means, "" for the usual one.

    Where the file does not hold it, it is looked for in *first* (the usual one, and those that the
    explorer was started with) and in files of the same name. Raises NotHereError, or StoreError
    when one of these files cannot be opened.
    """
    if not wanted.id:
        if wanted.file and wanted.file not in known:
            raise NotHereError(_message(wanted, ""))
        return wanted.file
    name = PurePath(wanted.file).name
    alike = [key for key, path in known.items() if path.name == name]
    keys = [key for key in (wanted.file, *first, *alike) if key in known]
    there, failed = "", None
    for key in dict.fromkeys(keys):
        try:
            found = id_of(known[key])
        except StoreError as error:
            failed = failed or error
            continue
        if found == wanted.id:
            return key
        if known[key].name == name or not name:
            there = there or f"{known[key].name} here is {found or 'still being recorded'}"
    raise failed or NotHereError(_message(wanted, there))


def _message(wanted: Wanted, there: str) -> str:
    name = PurePath(wanted.file).name
    by_id = f"{wanted.id} ({name})" if name else wanted.id
    what = by_id if wanted.id else wanted.file
    return (
        f"This link is to recording {what}, which is not among those opened here"
        f"{f' ({there})' if there else ''}: start `rcp-trace explore` with it, or choose another "
        "recording."
    )
