"""The way from a cgroup up to the root."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

_MOST_LEVELS = 64
"""A chain of parents that is longer is damaged: it may be a ring."""


def parents(rows: npt.NDArray[np.void]) -> dict[int, int]:
    """Return the cgroup above each one of the cgroup records, 0 for the root."""
    return dict(zip(rows["cgroup_id"].tolist(), rows["parent_id"].tolist(), strict=True))


def path_to(cgroup: int, parent: Mapping[int, int]) -> list[int]:
    """Return the cgroups above one, from the root on, and itself, as far as they are known.

    ``parent``: by id, that of the cgroup above; 0 for the root.
    """
    found = [cgroup]
    while (above := parent.get(found[-1], 0)) and len(found) < _MOST_LEVELS:
        found.append(above)
    return found[::-1]
