"""The objective that a search maximizes or minimizes while the SLOs hold.

``background`` is the disk's reads and writes by everybody but the workload, in bytes/s;
``throughput`` is requests per second; ``p99``, ``p99@fsync`` and the like are latency quantiles
in ns, and less is better.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from rcp.analyzer.latencies.latency import Latencies, LatencyError
from rcp.analyzer.latencies.quantiles import SHARES
from rcp.analyzer.latencies.slo import Slo, measure
from rcp.probes.contract.user_error import UserError
from rcp.tuner.trials.workload import Run

Kind = Literal["background", "throughput", "quantile"]

BACKGROUND: Kind = "background"
THROUGHPUT: Kind = "throughput"
QUANTILE: Kind = "quantile"

SECTOR_BYTES = 512

_KNOWN = f"{BACKGROUND}, {THROUGHPUT}, or a quantile such as p99 or p99@fsync"


class ObjectiveError(UserError):
    """An objective is unknown, or a trial does not measure it; the message has the remedy."""


@dataclass(frozen=True)
class Objective:
    """An objective; *quantile* and *request* (a kind, "" for all) are for quantiles only."""

    kind: Kind
    text: str
    quantile: float = 0.0
    request: str = ""

    @property
    def unit(self) -> str:
        """The unit of its figures."""
        return {BACKGROUND: "bytes/s", THROUGHPUT: "requests/s", QUANTILE: "ns"}[self.kind]

    def as_slo(self) -> Slo | None:
        """Return its quantile as an SLO, whose bound means nothing; None for another kind."""
        if self.kind != QUANTILE:
            return None
        return Slo(self.quantile, 1, self.request, self.text)

    @property
    def sign(self) -> int:
        """1 when more is better, -1 when less is: of figure times sign, more is always better."""
        return -1 if self.kind == QUANTILE else 1


def parse(text: str) -> Objective:
    """Return the objective of a text; raise ObjectiveError."""
    word = text.strip()
    for kind in (BACKGROUND, THROUGHPUT):
        if word == kind:
            return Objective(kind, word)
    name, at, request = word.partition("@")
    if name.strip().lower() not in SHARES or (at and not request.strip()):
        raise ObjectiveError(f"unknown objective {text!r}: write {_KNOWN}.")
    return Objective(QUANTILE, word, SHARES[name.strip().lower()], request.strip())


def figure(objective: Objective, run: Run, disk_bytes: int | None = None) -> float:
    """Return a run's figure in the objective's unit; raise ObjectiveError.

    *disk_bytes* is the disk's I/O during the run (see ``DiskMeter``). A result that the workload
    printed under the objective's name takes precedence over the figure computed here.
    """
    if objective.kind == QUANTILE:
        return _quantile_ns(objective, run.latencies)
    if objective.kind in run.values:
        return run.values[objective.kind]
    return _background(run, disk_bytes) if objective.kind == BACKGROUND else _throughput(run)


def _quantile_ns(objective: Objective, latencies: Latencies) -> float:
    slo = objective.as_slo()
    assert slo is not None
    try:
        return float(measure(slo, latencies).value_ns)
    except LatencyError as error:
        raise ObjectiveError(str(error)) from error


def _throughput(run: Run) -> float:
    n, span_s = run.latencies.n, run.latencies.span_s or run.duration_s
    if not n or span_s <= 0:
        raise ObjectiveError(
            f"{run.latencies.source} does not give the throughput: "
            f"print it ({THROUGHPUT}=1200 /s), or every latency."
        )
    return n / span_s


def _background(run: Run, disk_bytes: int | None) -> float:
    """The disk's I/O without that of the workload's own processes."""
    if disk_bytes is None or run.duration_s <= 0:
        raise ObjectiveError(
            f"{run.latencies.source} does not give the background's I/O: "
            f"print it ({BACKGROUND}=123456 bytes/s), or name the disk."
        )
    own = (run.read_bytes or 0) + (run.written_bytes or 0)
    return max(0, disk_bytes - own) / run.duration_s


class DiskMeter:
    """Counts the bytes that a disk reads and writes."""

    def __init__(self, disk: str) -> None:
        """Start counting; *disk* is its name in /sys/block. Raises ObjectiveError."""
        self._disk = disk
        self._before = self._count()

    def moved_bytes(self) -> int:
        """Return the bytes read and written since; raise ObjectiveError when the disk is gone."""
        return self._count() - self._before

    def _count(self) -> int:
        path = Path(f"/sys/block/{self._disk}/stat")
        try:
            fields = path.read_text(encoding="ascii").split()
        except OSError:
            raise ObjectiveError(
                f"there is no disk {self._disk!r}: name one of /sys/block."
            ) from None
        # Documentation/block/stat.rst: sectors read and written are the third and seventh field.
        return (int(fields[2]) + int(fields[6])) * SECTOR_BYTES
