"""hyperfine's results (``--export-json``): how long each run of a command took, in s.

Each run of the command is a request. ``FILE:COMMAND`` (or its name) takes one of several commands.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np

from rcp.analyzer.latencies.document import bytes_of
from rcp.analyzer.latencies.latency import Latencies, LatencyError, Times, to_ns
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
        failed = sum(sum(code != 0 for code in one.get("exit_codes", [])) for one in results)
    except (ValueError, KeyError, TypeError):
        raise LatencyError(
            f"{path} is not a whole result of hyperfine: {_HYPERFINE_AGAIN}."
        ) from None
    if command and command not in times:
        known = ", ".join(map(repr, times))
        raise LatencyError(f"{path} has no command {command!r}: it has {known}.")
    if command or len(times) == 1:
        # Two sides run different commands: as kinds of requests they could not be compared.
        times = {NO_KIND: times[command] if command else next(iter(times.values()))}
    warning = f"{path}: {failed} runs of the command failed: their times count as well"
    return Latencies(str(path), times, open_loop=False, warnings=(warning,) if failed else ())


def _times(path: Path, result: dict[str, Any]) -> Times:
    return to_ns(np.array(result["times"], np.float64), _S_NS, path)
