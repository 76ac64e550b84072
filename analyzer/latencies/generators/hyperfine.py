"""hyperfine's results (``--export-json``): how long each run of a command took, in s.

Each run of the command is a request. ``FILE:COMMAND`` (or its name) takes one of several commands.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np

from rcp.analyzer.latencies.declared import CLOSED, EVERYTHING, Form, Format, by_head
from rcp.analyzer.latencies.document import bytes_of
from rcp.analyzer.latencies.latency import Failures, Latencies, LatencyError, Times, to_ns
from rcp.analyzer.latencies.lines import NO_KIND

_S_NS = 1_000_000_000
_HYPERFINE_START = re.compile(rb'\s*\{\s*"results"\s*:\s*\[\s*\{\s*"command"\s*:')
_HYPERFINE_CSV_START = b"command,mean,stddev,median,user,system,min,max"
_HYPERFINE_AGAIN = "run hyperfine again with --export-json"


def is_hyperfine(head: bytes) -> bool:
    """Whether a file with this head is a result of hyperfine, as JSON or as CSV."""
    return _HYPERFINE_START.match(head) is not None or head.startswith(_HYPERFINE_CSV_START)


def read(path: Path, command: str) -> Latencies:
    """Return the times of a command's runs, or of all commands by kind; raise LatencyError."""
    data = bytes_of(path)
    if data.startswith(_HYPERFINE_CSV_START):
        raise LatencyError(f"{path} has averages, not the time of each run: {_HYPERFINE_AGAIN}.")
    try:
        results = json.loads(data)["results"]
        times = {str(one["command"]): _times(path, one) for one in results}
        codes = {
            str(one["command"]): [int(code or 0) for code in one.get("exit_codes", [])]
            for one in results
        }
    except (ValueError, KeyError, TypeError):
        raise LatencyError(
            f"{path} is not a whole result of hyperfine: {_HYPERFINE_AGAIN}."
        ) from None
    if command and command not in times:
        known = ", ".join(map(repr, times))
        raise LatencyError(f"{path} has no command {command!r}: it has {known}.")
    if command or len(times) == 1:
        # Two sides run different commands: as kinds of requests they could not be compared.
        chosen = command or next(iter(times))
        times, codes = {NO_KIND: times[chosen]}, {NO_KIND: codes[chosen]}
    every = [code for of in codes.values() for code in of]
    failures = Failures(sum(code != 0 for code in every), len(every))
    warning = (
        f"{path}: {failures.n_failed} runs of the command failed: their times count as well",
    )
    return Latencies(
        str(path),
        times,
        open_loop=False,
        warnings=warning if failures.n_failed else (),
        failures=failures if every else None,
    )


def _times(path: Path, result: dict[str, Any]) -> Times:
    return to_ns(np.array(result["times"], np.float64), _S_NS, path)


HYPERFINE_FORMAT = Format(
    "hyperfine",
    by_head(is_hyperfine),
    "s",
    (
        Form(
            "`--export-json`",
            "the commands, if there are several",
            CLOSED,
            EVERYTHING,
            "the exit codes",
        ),
    ),
    read=lambda path, name, unit: read(path, name),
    takes_column=True,
)
