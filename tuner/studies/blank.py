"""Studies without a single figure: what a start leaves whose first trial never ended well."""

from __future__ import annotations

from pathlib import Path

from rcp.tuner.errors import NotAStudyError
from rcp.tuner.studies.study import Study


def remove_if_blank(path: Path) -> bool:
    """Remove the study at *path* if none of its trials has figures; return whether it was removed.

    Raises TuneError for a study that is in use or cannot be opened; other files stay.
    """
    if not path.exists():
        return False
    try:
        # To read first: opening an empty file to write would make a database of it.
        with Study.open(path, read_only=True) as study:
            if not _is_blank(study):
                return False
    except NotAStudyError:
        return False
    with Study.open(path, read_only=False) as study:
        if not _is_blank(study):
            return False
        # Before the lock is released, so that it is no other tuner's study by then.
        path.unlink()
    return True


def _is_blank(study: Study) -> bool:
    return all(row.failed for row in study.trials())
