"""The flight recorder's plan, from its options."""

from __future__ import annotations

import re
import shutil
from collections.abc import Collection
from pathlib import Path

from rcp.probes.commands.flight_options import DEFAULT_MAX_DUMPS, FlightOptions
from rcp.probes.contract.durations import duration_text, option_ns
from rcp.probes.contract.spool import SpoolError
from rcp.probes.flight.flight import FlightPlan
from rcp.probes.flight.triggers import TriggerError, parse_trigger

SPOOL_SUFFIX = ".spool"
_DEFAULT_AFTER_NS = 2_000_000_000
_SHORTEST_KEEP_NS = 1_000_000_000  # drains may be half a second apart


def spool_of(output: Path) -> Path:
    """Return the path of the spool that is loaded into ``output``."""
    return output if output.suffix == SPOOL_SUFFIX else output.with_name(output.name + SPOOL_SUFFIX)


def numbered(output: Path, number: int) -> Path:
    """Return the name of a dump: ``slow.duckdb`` becomes ``slow-1.duckdb``."""
    return output.with_name(f"{output.stem}-{number}{output.suffix}")


def flight_plan(options: FlightOptions, output: Path, names: Collection[str]) -> FlightPlan | None:
    """Return the plan, None without ``--keep``.

    ``names`` are the names of the requests recorded. Raises TriggerError and DurationError.
    """
    if options.keep is None:
        _require_no_others(options)
        return None
    keep_ns = option_ns("--keep", options.keep)
    if keep_ns < _SHORTEST_KEEP_NS:
        raise TriggerError(f"--keep {options.keep!r}: give at least 1s.")
    triggers = tuple(parse_trigger(text, names) for text in options.when)
    after_ns = _after_ns(options, keep_ns)
    for trigger in triggers:
        if trigger.bound_ns + after_ns >= keep_ns:
            raise TriggerError(
                f"--when {str(trigger)!r}: a request that slow begins before the window: give "
                f"--keep more than {duration_text(trigger.bound_ns + after_ns)}."
            )
    return FlightPlan(
        keep_ns=keep_ns,
        triggers=triggers,
        after_ns=after_ns,
        max_dumps=options.max_dumps or DEFAULT_MAX_DUMPS,
        dump_path=lambda number: spool_of(numbered(output, number)),
    )


def _require_no_others(options: FlightOptions) -> None:
    """Raise TriggerError for an option that means nothing without ``--keep``."""
    values = {"--when": options.when, "--after": options.after, "--max-dumps": options.max_dumps}
    for name, value in values.items():
        if value:
            raise TriggerError(f"{name} needs --keep: say how much to keep, as in --keep 30s.")


def _after_ns(options: FlightOptions, keep_ns: int) -> int:
    """Time to record after a trigger: as given, else 2 s, at most half the window."""
    if options.after is None:
        return min(_DEFAULT_AFTER_NS, keep_ns // 2)
    after_ns = option_ns("--after", options.after)
    if after_ns >= keep_ns:
        raise TriggerError(
            f"--after {options.after!r}: the slow request would be outside the window by then: "
            f"give less than --keep {options.keep}."
        )
    return after_ns


def clear_dumps(output: Path, force: bool) -> None:
    """Raise SpoolError where dumps of an earlier run are; with ``force``, remove those."""
    of_dump = re.compile(
        rf"{re.escape(output.stem)}-[1-9]\d*{re.escape(output.suffix)}({SPOOL_SUFFIX})?"
    )
    if not output.parent.is_dir():
        return  # reported when the spool is made
    for path in sorted(output.parent.iterdir()):
        if not of_dump.fullmatch(path.name):
            continue
        if not force:
            raise SpoolError(
                f"{path} already exists: name another file, or use --force to replace the dumps."
            )
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()
