"""A spool in memory, for an analysis without files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from rcp.probes.contract.events import Record
from rcp.probes.contract.spool import Spool
from rcp.probes.contract.spooling.frames import Covered


@dataclass(frozen=True)
class MemorySpool(Spool):
    """Records by type name and stacks by id; ``path`` names it in messages only."""

    rows: Mapping[str, npt.NDArray[np.void]] = field(default_factory=dict)
    frames: Mapping[int, list[str]] = field(default_factory=dict)

    @property
    def is_covered(self) -> bool:
        """Records in memory need no checksums."""
        return True

    def _stream(self, record: Record) -> list[Covered]:
        return [Covered([self.rows.get(record.name, np.empty(0, record.dtype))], 0, 0)]

    def stacks(self) -> dict[int, list[str]]:
        """Return kernel stacks by id."""
        return dict(self.frames)
