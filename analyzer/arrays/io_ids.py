"""Finds ios by their ids, without a Python step per row."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt


class IoIds:
    """Find the position of an io by its id."""

    def __init__(self, ids: npt.NDArray[np.uint64]) -> None:
        """Prepare the lookup."""
        self._order = np.argsort(ids, kind="stable").astype(np.int32)
        self._ids = ids[self._order]

    def positions(self, asked: npt.NDArray[np.uint64]) -> npt.NDArray[np.int32]:
        """Return positions of ids, -1 for 0 and for ios that were not recorded."""
        index = np.full(len(asked), -1, np.int32)
        some = np.flatnonzero(asked)
        if len(self._ids) == 0 or len(some) == 0:
            return index
        at = np.minimum(np.searchsorted(self._ids, asked[some]), len(self._ids) - 1)
        index[some] = np.where(self._ids[at] == asked[some], self._order[at], -1)
        return index
