"""Find ios by their ids, without a Python step per row."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt


class IoIds:
    """An index from io ids to positions."""

    def __init__(self, ids: npt.NDArray[np.uint64]) -> None:
        """Sort the ids."""
        self._order = np.argsort(ids, kind="stable").astype(np.int32)
        self._ids = ids[self._order]

    def positions(self, ids: npt.NDArray[np.uint64]) -> npt.NDArray[np.int32]:
        """Return the position of each id, -1 for id 0 and for ios that were not recorded."""
        index = np.full(len(ids), -1, np.int32)
        some = np.flatnonzero(ids)
        if len(self._ids) == 0 or len(some) == 0:
            return index
        at = np.minimum(np.searchsorted(self._ids, ids[some]), len(self._ids) - 1)
        index[some] = np.where(self._ids[at] == ids[some], self._order[at], -1)
        return index
