"""Analyses recordings in a process of its own: DuckDB's memory and time are not the recorder's.

One at a time, and after each a pause that keeps their CPU time within its bound.
"""

from __future__ import annotations

import json
import resource
import shutil
import subprocess
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

SAMPLE, TRIGGER = "sample", "trigger"
_TIMEOUT_NS = 900 * 10**9
_ENDING_S = 5.0
_TOLD_CHARS = 300


@dataclass(frozen=True)
class Job:
    """A spool to analyse."""

    spool: str
    source: str
    """SAMPLE: summarize, then delete. TRIGGER: load into *store*."""
    store: str = ""
    outbox: str = ""
    """Folder to put a summary into, as a fleet."""
    fleet: str = ""
    """Fleet to send the summaries in *outbox* to, "" for none."""
    host: str = ""


@dataclass(frozen=True)
class Done:
    """How a job ended."""

    job: Job
    found: dict[str, Any] | None
    """What was found; None if it failed."""
    error: str = ""
    cpu_s: float = 0.0


class Analyst:
    """Runs jobs in the background; call ``step`` often."""

    def __init__(
        self,
        argv: Sequence[str],
        work: Path,
        max_cpu: float,
        clock_ns: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        """*argv* with a job (JSON) and a path for its result does one job; *work* is made anew."""
        self._argv, self._work, self._max_cpu, self._clock_ns = list(argv), work, max_cpu, clock_ns
        shutil.rmtree(work, ignore_errors=True)
        work.mkdir(parents=True)
        self._waiting: deque[Job] = deque()
        self._job: Job | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._started_ns = 0
        self._children_s = 0.0
        self._free_ns = 0

    @property
    def is_free(self) -> bool:
        """Whether a job given now would start at once."""
        idle = self._process is None and not self._waiting
        return idle and self._clock_ns() >= self._free_ns

    @property
    def in_use(self) -> set[Path]:
        """Spools that are waiting or being read."""
        jobs = [*self._waiting, *([self._job] if self._job else [])]
        return {Path(job.spool) for job in jobs}

    def give(self, job: Job) -> None:
        """Queue a job."""
        self._waiting.append(job)

    def step(self) -> Done | None:
        """Start what is due; return a job that has ended."""
        if self._process is not None:
            return self._ended(self._process)
        if self._waiting and self._clock_ns() >= self._free_ns:
            job = self._waiting.popleft()
            try:
                self._start(job)
            except OSError as error:  # no memory, or no space
                self._job = None
                return Done(job, None, f"cannot start the analysis: {error.strerror}")
        return None

    def _start(self, job: Job) -> None:
        self._job, self._started_ns = job, self._clock_ns()
        self._children_s = _children_cpu_s()
        with (self._work / "log").open("wb") as log:
            self._process = subprocess.Popen(
                [*self._argv, json.dumps(asdict(job)), str(self._work / "result")],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=log,
            )

    def _ended(self, process: subprocess.Popen[bytes]) -> Done | None:
        if process.poll() is None:
            if self._clock_ns() - self._started_ns < _TIMEOUT_NS:
                return None
            process.kill()
            process.wait()
        job, self._process, self._job = self._job, None, None
        assert job is not None
        cpu_s = _children_cpu_s() - self._children_s
        self._free_ns = self._clock_ns() + round(cpu_s / self._max_cpu * 1e9)
        if job.source == SAMPLE:
            shutil.rmtree(job.spool, ignore_errors=True)
        return self._judged(job, process.returncode, cpu_s)

    def _judged(self, job: Job, status: int, cpu_s: float) -> Done:
        try:
            found = json.loads((self._work / "result").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            found = None
        (self._work / "result").unlink(missing_ok=True)
        if status == 0 and found is not None:
            return Done(job, found, cpu_s=cpu_s)
        return Done(job, None, self._last_line() or f"it ended with status {status}", cpu_s)

    def _last_line(self) -> str:
        try:
            text = (self._work / "log").read_text(encoding="utf-8", errors="replace")
        except OSError:
            return ""
        lines = text.split("\n")
        return next((line.strip()[:_TOLD_CHARS] for line in reversed(lines) if line.strip()), "")

    def close(self) -> None:
        """End what is running. Its spool stays, and is analysed after the next start."""
        if self._process is not None:
            self._process.terminate()
            try:
                self._process.wait(_ENDING_S)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        shutil.rmtree(self._work, ignore_errors=True)


def _children_cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
