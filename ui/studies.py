"""The studies of rcp-tune that can be shown: found, read, and closed again.

A study is not kept open, because rcp-tune cannot continue a study that another process has open.
The tuner is imported when a file is asked about: it would delay each start of the explorer by a
quarter of a second, and a folder may have no study.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from rcp.analyzer.db.store import StoreBusyError, StoreError
from rcp.probes.contract.cli_error import one_line
from rcp.tuner.errors import NotAStudyError, TuneError
from rcp.ui.source import Stamp, stamp

if TYPE_CHECKING:
    from rcp.ui.info.tuning import StudyView

STUDIES_VARIABLE = "RCP_EXPLORE_STUDIES"
"""Environment variable that passes the paths of studies to the server, as JSON."""

_SUFFIX = ".duckdb"
_BESIDE_MAX = 200


def given(environment: Mapping[str, str] = os.environ) -> list[Path]:
    """Return the studies the server was started with."""
    return [Path(path) for path in json.loads(environment.get(STUDIES_VARIABLE, "[]"))]


@lru_cache(maxsize=1024)
def _may_be_study(found: Stamp) -> bool:
    from rcp.tuner.studies.study import Study

    try:
        Study.open(Path(found.path), read_only=True, patience_s=0).close()
    except NotAStudyError:
        return False
    except TuneError as error:
        # Being written, or of another version: opening it shows the error. Not so a damaged file,
        # which may as well be a recording.
        is_damaged = isinstance(error.__cause__, StoreError)
        return not is_damaged or isinstance(error.__cause__, StoreBusyError)
    return True


def is_study(path: Path) -> bool:
    """Whether a file is a study, or may be one that cannot be opened now."""
    try:
        return path.is_file() and path.name.endswith(_SUFFIX) and _may_be_study(stamp(path))
    except StoreError:
        return False  # deleted meanwhile


def offered(first: Sequence[Path], folders: Sequence[Path]) -> list[str]:
    """Return the paths of the studies a page may show: *first*, then those in *folders*."""
    found = [str(path) for path in first]
    for folder in dict.fromkeys(folders):
        try:
            beside = sorted(path for path in folder.iterdir() if path.name.endswith(_SUFFIX))
        except OSError:
            continue
        found += [str(path) for path in beside[:_BESIDE_MAX] if is_study(path)]
    return list(dict.fromkeys(found))


@lru_cache(maxsize=16)
def _read(found: Stamp) -> StudyView:
    from rcp.tuner.studies.study import Study
    from rcp.ui.info.tuning import study_view

    with Study.open(Path(found.path), read_only=True) as study:
        return study_view(study)


def read(path: Path) -> StudyView:
    """Return a study's data, read again if its file changed; raise StoreError."""
    try:
        return _read(stamp(path))
    except TuneError as error:
        raise StoreError(one_line(str(error))) from error
