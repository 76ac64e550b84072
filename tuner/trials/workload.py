"""Run the user's workload once and read the latencies that it prints or writes to files."""

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
from rcp.probes.contract.user_error import UserError
from rcp.tuner.trials.source import OUT_PLACEHOLDER, Source
from rcp.tuner.trials.supervised import STDERR, STDOUT, TICK, SupervisedCommand

OUT_VARIABLE = "RCP_TUNE_OUT"

ABORT_PERIOD_S = 1.0
"""Period of the abort hook: a tail forms in seconds, and each call sorts the latencies."""

_SHOWN_CHARS = 60
_END_BYTES = 4096
_END_CHARS = 120

Abort = Callable[[Latencies], bool]
"""Called with the latencies so far; True ends the run."""


class WorkloadError(UserError):
    """A run has no figures; the message names the workload, the fault and the remedy."""


@dataclass(frozen=True)
class Run:
    """The result of one run of a workload. Times are ns of CLOCK_MONOTONIC, as in recordings."""

    latencies: Latencies
    started_ns: int
    ended_ns: int
    status: int | None = None
    """Exit status, None when the run was aborted."""
    aborted: bool = False
    n_left: int = 0
    """Processes that outlived the workload and were ended."""
    read_bytes: int | None = None
    """Read from disks by the workload's processes; None when unknown."""
    written_bytes: int | None = None
    values: Mapping[str, float] = field(default_factory=dict)
    """Results that it printed (``background=…``)."""

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
    name: str = "",
    env: Mapping[str, str] | None = None,
    abort: Abort | None = None,
) -> Run:
    """Run *command* to its end and return what it measured; raise WorkloadError.

    Messages call it *name*, by default the command.

    *out* is an existing folder for this trial: the workload finds it as ``$RCP_TUNE_OUT`` and
    ``{out}``, and stdout.txt and stderr.txt are written there. On return and on any exception
    every process that the workload started has ended.
    """
    words = [word.replace(OUT_PLACEHOLDER, str(out)) for word in command]
    environment = {**(os.environ if env is None else env), OUT_VARIABLE: str(out)}
    with ExitStack() as stack:
        listener = _Listener(name or shown(command), source.within(out), out, stack)
        supervised = stack.enter_context(SupervisedCommand(words, environment))
        return listener.run(supervised, timeout_s, abort)


def shown(command: Sequence[str]) -> str:
    """Return a command as messages show it."""
    text = shlex.join(command)
    return text if len(text) <= _SHOWN_CHARS else f"{text[:_SHOWN_CHARS]}…"


class _Listener:
    """Collects the output of a workload."""

    def __init__(self, name: str, source: Source, out: Path, stack: ExitStack) -> None:
        self._name, self._source = name, source
        self._files = {
            stream: stack.enter_context((out / f"{stream}.txt").open("wb"))
            for stream in (STDOUT, STDERR)
        }
        self._lines = LineReader("stdout", source.unit, results_only=bool(source.path))
        self._growing: Growing | None = None
        self._parts: list[Latencies] = []
        self._ends = {STDOUT: b"", STDERR: b""}

    def run(self, command: SupervisedCommand, timeout_s: float, abort: Abort | None) -> Run:
        """Wait for the end of the command; return what was measured."""
        try:
            aborted = self._listen(command, timeout_s, abort)
            ended_ns = time.monotonic_ns()
            if aborted:
                self._take(command.rest())
            else:
                self._check(command, timeout_s)
            latencies = self._so_far() if aborted else self._latencies()
        except LatencyError as error:
            raise WorkloadError(f"{self._name}: {self._source.explained(error)}") from error
        return Run(
            latencies,
            started_ns=command.started_ns,
            ended_ns=ended_ns if aborted else command.ended_ns,
            status=None if aborted else command.status,
            aborted=aborted,
            n_left=command.usage.get("n_left", 0),
            read_bytes=command.usage.get("read_bytes"),
            written_bytes=command.usage.get("written_bytes"),
            values=latencies.values,
        )

    def _listen(self, command: SupervisedCommand, timeout_s: float, abort: Abort | None) -> bool:
        """Collect the output; return whether the hook aborted the run."""
        for stream, data in command.output(timeout_s, ABORT_PERIOD_S):
            if stream != TICK:
                self._take([(stream, data)])
            elif abort is not None and command.status is None and abort(self._so_far()):
                return True
        return False

    def _take(self, output: Iterable[tuple[str, bytes]]) -> None:
        for stream, data in output:
            self._files[stream].write(data)
            self._ends[stream] = (self._ends[stream] + data)[-_END_BYTES:]
            if stream == STDOUT:
                self._lines.feed(data)

    def _so_far(self) -> Latencies:
        """Return the latencies so far, including those of a file that grows by lines."""
        self._parts.append(self._lines.drain())
        if self._source.path:
            if self._growing is None:
                source = self._source
                self._growing = Growing(source.path, source.format, source.unit)
            self._parts.append(self._growing.poll())
        self._parts = [merged(self._parts, self._source.path or "stdout")]
        return self._parts[0]

    def _latencies(self) -> Latencies:
        """Return all latencies of a workload that ended well."""
        self._lines.finish()
        printed = merged([*self._parts, self._lines.drain()], "stdout")
        source = self._source
        if source.path:
            found = open_latencies(source.path, source.format, source.unit)
            return found.with_values(printed.values)
        if not printed.n:
            raise WorkloadError(
                f"{self._name} printed no latency: print one a line (1.25ms, fsync 830us), "
                "or name the file that it writes."
            )
        return printed

    def _check(self, command: SupervisedCommand, timeout_s: float) -> None:
        """Raise WorkloadError when the workload did not end well."""
        if command.error:
            raise WorkloadError(
                f"{self._name} cannot be started: {command.error}: check its path and permissions."
            )
        if command.status is None:
            what = "was" if command.stdout_is_open else "closed its stdout but was"
            self._fail(
                f"{what} still running after {timeout_s:g} s", "make it do less, or raise --timeout"
            )
        if command.status < 0:
            number = -command.status
            self._fail(f"was killed by {_signal_name(number)}", "run it by itself")
        if command.status > 0:
            self._fail(f"ended with exit status {command.status}", "run it by itself")

    def _fail(self, fault: str, remedy: str) -> NoReturn:
        said = ""
        for stream in (STDERR, STDOUT):
            lines = self._ends[stream].decode(errors="replace").split("\n")
            last = next((line.strip() for line in reversed(lines) if line.strip()), "")
            if last:
                said = f"; the end of its {stream}: {last[:_END_CHARS]!r}"
                break
        raise WorkloadError(f"{self._name} {fault}: {remedy}{said}.")


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:  # a real-time signal
        return f"signal {number}"
