"""The options of ``rcp-trace record`` that make it a flight recorder."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any, TypeVar

import click

from rcp.probes.contract.durations import duration_text, option_ns
from rcp.probes.contract.spool import SpoolError
from rcp.probes.flight.flight import FlightPlan
from rcp.probes.flight.triggers import TriggerError, parse_trigger

Command = TypeVar("Command", bound=Callable[..., Any])

SPOOL_SUFFIX = ".spool"
_DEFAULT_AFTER_NS = 2_000_000_000
_DEFAULT_MAX_DUMPS = 10
_SHORTEST_KEEP_NS = 1_000_000_000  # drains may be half a second apart


def flight_options(command: Command) -> Command:
    """Give a command ``--keep``, ``--when``, ``--after`` and ``--max-dumps``."""
    for option in (
        click.option(
            "--max-dumps",
            type=click.IntRange(min=1),
            help=f"End after this many dumps.  [default: {_DEFAULT_MAX_DUMPS}]",
        ),
        click.option("--after", metavar="TIME", help="Go on this long after it.  [default: 2s]"),
        click.option(
            "--when",
            multiple=True,
            metavar="NAME>TIME",
            help="Write it when a request took longer: request>50ms, fsync>20ms.",
        ),
        click.option(
            "--keep",
            metavar="TIME",
            help="Flight recorder: keep only the last TIME (30s); write it to FILE-1, FILE-2, …",
        ),
    ):
        command = option(command)
    return command


def spool_of(output: Path) -> Path:
    """Return where the spool of ``output`` goes."""
    return output if output.suffix == SPOOL_SUFFIX else output.with_name(output.name + SPOOL_SUFFIX)


def numbered(output: Path, number: int) -> Path:
    """Return the name of a dump: ``slow.duckdb`` becomes ``slow-1.duckdb``."""
    return output.with_name(f"{output.stem}-{number}{output.suffix}")


def flight_plan(options: dict[str, Any], output: Path, names: Collection[str]) -> FlightPlan | None:
    """Return the plan, None when nothing asks for a flight recorder.

    ``names`` are the requests recorded. Raises TriggerError and DurationError.
    """
    if not options["keep"]:
        for option in ("when", "after", "max_dumps"):
            if options[option]:
                raise TriggerError(
                    f"--{option.replace('_', '-')} needs --keep: say how much to keep, "
                    "as in --keep 30s."
                )
        return None
    keep_ns = option_ns("--keep", options["keep"])
    if keep_ns < _SHORTEST_KEEP_NS:
        raise TriggerError(f"--keep {options['keep']!r}: keep at least 1s.")
    triggers = tuple(parse_trigger(text, names) for text in options["when"])
    after_ns = _after_ns(options, keep_ns)
    for trigger in triggers:
        if trigger.bound_ns + after_ns >= keep_ns:
            raise TriggerError(
                f"--when {str(trigger)!r}: such a request would have begun before the window: "
                f"give a --keep longer than {duration_text(trigger.bound_ns + after_ns)}."
            )
    return FlightPlan(
        keep_ns=keep_ns,
        triggers=triggers,
        after_ns=after_ns,
        max_dumps=options["max_dumps"] or _DEFAULT_MAX_DUMPS,
        dump_path=lambda number: spool_of(numbered(output, number)),
    )


def _after_ns(options: dict[str, Any], keep_ns: int) -> int:
    """The time to go on for: as asked, else 2 s, or less where that would be half the window."""
    if not options["after"]:
        return min(_DEFAULT_AFTER_NS, keep_ns // 2)
    after_ns = option_ns("--after", options["after"])
    if after_ns >= keep_ns:
        raise TriggerError(
            f"--after {options['after']!r}: what fired would have left the window by then: give "
            f"less than --keep {options['keep']}."
        )
    return after_ns


def clear_dumps(output: Path, force: bool) -> None:
    """Refuse to mix with dumps of an earlier run; with ``force``, remove them."""
    of_dump = re.compile(
        rf"{re.escape(output.stem)}-[1-9]\d*{re.escape(output.suffix)}({SPOOL_SUFFIX})?"
    )
    if not output.parent.is_dir():
        return  # said elsewhere
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
