"""One trial: the user's workload is run, and what it or its files say about latencies is read."""

from __future__ import annotations

import os
import shlex
import signal
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

from rcp.analyzer.latencies.files import Growing, open_latencies
from rcp.analyzer.latencies.latency import Latencies, LatencyError, merged
from rcp.analyzer.latencies.lines import LineReader
from rcp.tuner.trials.source import OUT_PLACEHOLDER, Source
from rcp.tuner.trials.supervised import STDERR, STDOUT, TICK, Kept

OUT_VARIABLE = "RCP_TUNE_OUT"

ABORT_PERIOD_S = 1.0
"""How often the abort hook is asked: a tail forms in seconds, and asking sorts the latencies."""

_SHOWN_CHARS = 60
_WORDS_BYTES = 4096
_WORDS_CHARS = 120

Abort = Callable[[Latencies], bool]
"""Told of the latencies so far; True ends the trial."""


class WorkloadError(Exception):
    """A trial gave no figures; the message names the workload, the fault and the remedy."""


@dataclass(frozen=True)
class Trial:
    """What one run of a workload gave. Times are ns of CLOCK_MONOTONIC, as in recordings."""

    latencies: Latencies
    started_ns: int
    ended_ns: int
    status: int | None = None
    """Exit status, None when the trial was ended before the workload was."""
    aborted: bool = False
    n_left: int = 0
    """Processes that outlived the workload, and were ended."""
    read_bytes: int | None = None
    """What the workload's processes read from disks; None when it is not known."""
    written_bytes: int | None = None
    values: Mapping[str, float] = field(default_factory=dict)
    """Results it printed (``background=…``)."""

    @property
    def duration_s(self) -> float:
        """How long it ran."""
        return (self.ended_ns - self.started_ns) / 1e9


def run_workload(
    command: Sequence[str],
    source: Source,
    *,
    out: Path,
    timeout_s: float,
    env: Mapping[str, str] | None = None,
    abort: Abort | None = None,
) -> Trial:
    """Run *command* to its end and return what it measured; raise WorkloadError.

    *out* is an existing folder for this trial: the workload finds it as ``$RCP_TUNE_OUT`` and
    ``{out}``, and stdout.txt and stderr.txt are kept there. However this ends, every process
    the workload started has ended before.
    """
    words = [word.replace(OUT_PLACEHOLDER, str(out)) for word in command]
    environment = {**(os.environ if env is None else env), OUT_VARIABLE: str(out)}
    with ExitStack() as stack:
        listener = _Listener(shown(command), source.within(out), out, stack)
        kept = stack.enter_context(Kept(words, environment))
        return listener.trial(kept, timeout_s, abort)


def shown(command: Sequence[str]) -> str:
    """Return a command as messages name it."""
    text = shlex.join(command)
    return text if len(text) <= _SHOWN_CHARS else f"{text[:_SHOWN_CHARS]}…"


class _Listener:
    """Takes what a workload says and writes."""

    def __init__(self, name: str, source: Source, out: Path, stack: ExitStack) -> None:
        self._name, self._source = name, source
        self._files = {
            stream: stack.enter_context((out / f"{stream}.txt").open("wb"))
            for stream in (STDOUT, STDERR)
        }
        self._lines = LineReader("stdout", source.unit, results_only=bool(source.path))
        self._growing: Growing | None = None
        self._parts: list[Latencies] = []
        self._words = b""

    def trial(self, kept: Kept, timeout_s: float, abort: Abort | None) -> Trial:
        """Wait for the end; return what was measured."""
        try:
            aborted = self._listen(kept, timeout_s, abort)
            ended_ns = time.monotonic_ns()
            if aborted:
                self._take(kept.rest())
            else:
                self._check(kept, timeout_s)
            latencies = self._so_far() if aborted else self._latencies()
        except LatencyError as error:
            raise WorkloadError(f"{self._name}: {error}") from error
        return Trial(
            latencies,
            kept.started_ns,
            ended_ns if aborted else kept.ended_ns,
            None if aborted else kept.status,
            aborted,
            kept.told.get("n_left", 0),
            kept.told.get("read_bytes"),
            kept.told.get("written_bytes"),
            latencies.values,
        )

    def _listen(self, kept: Kept, timeout_s: float, abort: Abort | None) -> bool:
        """Take what comes; return whether the hook ended the trial."""
        for stream, data in kept.output(timeout_s, ABORT_PERIOD_S):
            if stream != TICK:
                self._take([(stream, data)])
            elif abort is not None and kept.status is None and abort(self._so_far()):
                return True
        return False

    def _take(self, output: Iterable[tuple[str, bytes]]) -> None:
        for stream, data in output:
            self._files[stream].write(data)
            if stream == STDOUT:
                self._lines.feed(data)
            else:
                self._words = (self._words + data)[-_WORDS_BYTES:]

    def _so_far(self) -> Latencies:
        """Return what there is, of a file too if it grows by lines."""
        self._parts.append(self._lines.drain())
        if self._source.path:
            if self._growing is None:
                source = self._source
                self._growing = Growing(source.path, source.format, source.unit)
            self._parts.append(self._growing.poll())
        self._parts = [merged(self._parts, self._source.path or "stdout")]
        return self._parts[0]

    def _latencies(self) -> Latencies:
        """Return what there was when the workload has ended well."""
        self._lines.finish()
        printed = merged([*self._parts, self._lines.drain()], "stdout")
        source = self._source
        if source.path:
            found = open_latencies(source.path, source.format, source.unit)
            return found.with_values(printed.values)
        if not printed.n:
            raise WorkloadError(
                f"{self._name} printed no latency: let it print one a line (1.25ms, fsync 830us), "
                "or name the file it writes."
            )
        return printed

    def _check(self, kept: Kept, timeout_s: float) -> None:
        """Raise WorkloadError when the workload did not end well."""
        if kept.error:
            raise WorkloadError(
                f"{self._name} cannot be started: {kept.error}: check its path and permissions."
            )
        if kept.status is None:
            what = "was" if kept.stdout_is_open else "closed its stdout but was"
            self._fail(
                f"{what} still running after {timeout_s:g} s", "let it do less, or give it longer"
            )
        if kept.status < 0:
            number = -kept.status
            self._fail(f"was killed by {_signal_name(number)}", "run it by itself")
        if kept.status > 0:
            self._fail(f"ended with exit status {kept.status}", "run it by itself")

    def _fail(self, fault: str, remedy: str) -> NoReturn:
        lines = self._words.decode(errors="replace").split("\n")
        last = next((line.strip() for line in reversed(lines) if line.strip()), "")
        said = f"; its last words were {last[:_WORDS_CHARS]!r}" if last else ""
        raise WorkloadError(f"{self._name} {fault}: {remedy}{said}.")


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:  # a real-time signal
        return f"signal {number}"
