"""What a search is to have more, or less, of while the SLOs hold.

``background`` is what all but the foreground reads from and writes to the disk, in bytes/s;
``throughput`` is requests per second; ``p99``, ``p99@fsync`` and the like are quantiles in ns,
of which less is better.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from rcp.analyzer.latencies.latency import Latencies, LatencyError
from rcp.analyzer.latencies.quantiles import SHARES
from rcp.analyzer.latencies.slo import Slo, measure
from rcp.tuner.trials.workload import Trial

Kind = Literal["background", "throughput", "quantile"]

BACKGROUND: Kind = "background"
THROUGHPUT: Kind = "throughput"
QUANTILE: Kind = "quantile"

SECTOR_BYTES = 512

_KNOWN = f"{BACKGROUND}, {THROUGHPUT}, or a quantile such as p99 or p99@fsync"


class ObjectiveError(Exception):
    """An objective is unknown or a trial does not tell it; the message has the remedy."""


@dataclass(frozen=True)
class Objective:
    """What is wanted; *quantile* and *request* (a kind, "" for all) are of quantiles only."""

    kind: Kind
    text: str
    quantile: float = 0.0
    request: str = ""

    @property
    def unit(self) -> str:
        """The unit of its figures."""
        return {BACKGROUND: "bytes/s", THROUGHPUT: "requests/s", QUANTILE: "ns"}[self.kind]

    @property
    def sign(self) -> int:
        """1 when more of it is better, -1 when less is; times the figure, more is better."""
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


def figure(objective: Objective, trial: Trial, disk_bytes: int | None = None) -> float:
    """Return what a trial measured, in the objective's unit; raise ObjectiveError.

    *disk_bytes* is what the disk moved meanwhile (see ``DiskMeter``). A result that the workload
    printed under the objective's name counts before anything computed here.
    """
    if objective.kind == QUANTILE:
        return _quantile_ns(objective, trial.latencies)
    if objective.kind in trial.values:
        return trial.values[objective.kind]
    return _background(trial, disk_bytes) if objective.kind == BACKGROUND else _throughput(trial)


def _quantile_ns(objective: Objective, latencies: Latencies) -> float:
    slo = Slo(objective.quantile, 1, objective.request, objective.text)
    try:
        return float(measure(slo, latencies).value_ns)
    except LatencyError as error:
        raise ObjectiveError(str(error)) from error


def _throughput(trial: Trial) -> float:
    n, span_s = trial.latencies.n, trial.latencies.span_s or trial.duration_s
    if not n or span_s <= 0:
        raise ObjectiveError(
            f"{trial.latencies.source} does not tell the throughput: "
            f"print it ({THROUGHPUT}=1200 /s), or every latency."
        )
    return n / span_s


def _background(trial: Trial, disk_bytes: int | None) -> float:
    """What the disk moved, but for what the workload's own processes asked for."""
    if disk_bytes is None or trial.duration_s <= 0:
        raise ObjectiveError(
            f"{trial.latencies.source} does not tell what the background did: "
            f"print it ({BACKGROUND}=123456 bytes/s), or name the disk."
        )
    own = (trial.read_bytes or 0) + (trial.written_bytes or 0)
    return max(0, disk_bytes - own) / trial.duration_s


class DiskMeter:
    """Counts the bytes a disk reads and writes from now on."""

    def __init__(self, disk: str) -> None:
        """Begin to count; *disk* is its name in /sys/block. Raises ObjectiveError."""
        self._disk = disk
        self._before = self._count()

    def moved_bytes(self) -> int:
        """Return what it has moved since; raise ObjectiveError when it is gone."""
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
