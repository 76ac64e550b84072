"""Fleets in object stores and wherever else fsspec reaches. The only module that imports fsspec."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

from rcp.analyzer.fleet.errors import FleetError
from rcp.analyzer.fleet.layout import PARQUET, ROOT, part_named
from rcp.analyzer.fleet.listing import Failure, chosen_days, is_root
from rcp.probes.contract.cli_error import one_clause

_COPIED_AT_ONCE = 64
"""Files copied at once; after each batch those that failed are tried one by one."""


@contextmanager
def _named(fleet: str) -> Iterator[None]:
    """Raise FleetError for whatever a driver of fsspec raises: their errors have no common base."""
    try:
        yield
    except FleetError:
        raise
    except FileNotFoundError as error:
        raise FleetError(
            f"{fleet} does not exist: `rcp-trace summary FILE --fleet {fleet}` makes a fleet in a "
            "bucket that is there."
        ) from error
    except ImportError as error:
        raise FleetError(
            f"{fleet} cannot be reached without a driver ({one_clause(str(error))}): install "
            "rcp-trace[fleet]."
        ) from error
    except Exception as error:
        why = one_clause(str(error)) or type(error).__name__
        raise FleetError(
            f"{fleet} cannot be read ({why}): check its name, the network and your credentials."
        ) from error


def _opened(fleet: str) -> tuple[Any, str]:
    """Return the file system of a URL, and the path in it."""
    from fsspec.core import url_to_fs

    found, path = url_to_fs(fleet)
    found.invalidate_cache()
    return found, str(path).rstrip("/")


def _folders(system: Any, path: str) -> list[str]:
    try:
        found = system.ls(path, detail=True)
    except FileNotFoundError:
        return []
    return sorted(
        str(one["name"]).rstrip("/").rpartition("/")[2]
        for one in found
        if one["type"] == "directory"
    )


def copied(
    fleet: str, folder: Path, day: str | None, failures: list[Failure]
) -> tuple[list[str], list[tuple[str, int]]]:
    """Copy the summaries of a day into *folder*.

    Return the folders of other schemas, and path and time of each copy; what could not be copied is
    added to *failures*. Raise FleetError when nothing can be read at all.
    """
    with _named(fleet):
        system, root = _opened(fleet)
        if not system.exists(root):
            raise FileNotFoundError(root)
        others = [name for name in _folders(system, root) if name != ROOT and is_root(name)]
        days = (part_named(name, "day") for name in _folders(system, f"{root}/{ROOT}"))
        found: dict[str, dict[str, Any]] = {}
        for one in chosen_days(filter(None, days), day):
            found |= system.find(f"{root}/{ROOT}/day={one}", detail=True)
    wanted = [name for name in sorted(found) if name.endswith(PARQUET)]
    places = {name: name[len(root) :].lstrip("/") for name in wanted}
    failed = _copy(system, {name: folder / place for name, place in places.items()})
    failures += [
        Failure(places[name], f"it cannot be read ({why})") for name, why in failed.items()
    ]
    whole = [name for name in wanted if name not in failed]
    return others, [(places[name], _changed_ns(found[name])) for name in whole]


def _copy(system: Any, targets: dict[str, Path]) -> dict[str, str]:
    """Copy files; return why some could not be."""
    failed: dict[str, str] = {}
    for target in targets.values():
        target.parent.mkdir(parents=True, exist_ok=True)
    names = list(targets)
    for begin in range(0, len(names), _COPIED_AT_ONCE):
        batch = names[begin : begin + _COPIED_AT_ONCE]
        try:
            system.get(batch, [str(targets[name]) for name in batch])
        except Exception:
            for name in batch:
                try:
                    system.get_file(name, str(targets[name]))
                except Exception as error:
                    failed[name] = one_clause(str(error)) or type(error).__name__
    return failed


def _changed_ns(detail: dict[str, Any]) -> int:
    """Return when a file came into the store; drivers have different names for it."""
    for key in ("LastModified", "last_modified", "mtime", "created"):
        value = detail.get(key)
        if isinstance(value, datetime):
            return int(value.timestamp() * 1e9)
        if isinstance(value, int | float):
            return int(value * 1e9)
    return 2**62  # not known: later than any recording


def put(fleet: str, place: str, made: Path) -> str:
    """Put a file into a fleet; object stores show it when it is complete."""
    with _named(fleet):
        system, root = _opened(fleet)
        target = f"{root}/{place}"
        system.makedirs(target.rpartition("/")[0], exist_ok=True)
        system.put_file(str(made), target)
    return f"{fleet.rstrip('/')}/{place}"
