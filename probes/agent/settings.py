"""What an agent is told to do: the values of its configuration."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from rcp.probes.flight.triggers import Trigger


@dataclass(frozen=True)
class Settings:
    """Everything but what to record."""

    folder: Path
    keep_ns: int
    after_ns: int
    triggers: tuple[Trigger, ...]
    dump_gap_ns: int
    """After a dump, triggers write nothing for this time."""
    max_age_s: float
    max_disk_bytes: int
    max_cpu: float | None
    """CPUs that recorder and probes may use together."""
    analysis_cpu: float
    """CPUs that analyses may use on average."""
    is_analysing: bool
    """Otherwise dumps stay spools, and nothing is summarized."""
    sample_every_ns: int
    fleet: str
    """Where summaries go besides the agent's folder; "" for nowhere."""
    host: str
    cmdline: str

    @property
    def window_bytes(self) -> int:
        """The window's share of the disk: a dump needs as much again, and older ones some more."""
        return self.max_disk_bytes // 4
