"""The way from a cgroup up to the root."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

_MOST_LEVELS = 64
"""A chain of parents that is longer is damaged: it may be a ring."""


def parents(rows: npt.NDArray[np.void]) -> dict[int, int]:
    """Return the cgroup above each one of the cgroup records, 0 for the root."""
    # Signed, as ids are elsewhere: of a damaged recording they may be anything.
    ids = (rows[name].astype(np.int64).tolist() for name in ("cgroup_id", "parent_id"))
    return dict(zip(*ids, strict=True))


def paths_of(rows: npt.NDArray[np.void]) -> dict[int, str]:
    """Return the path of each one of the cgroup records below the root of cgroup v2, by id."""
    parent, ids = parents(rows), rows["cgroup_id"].astype(np.int64).tolist()
    texts = (name.decode(errors="replace") for name in rows["name"].tolist())
    name = dict(zip(ids, texts, strict=True))
    # The root has no name, and of others the whole path may not be known.
    paths = {one: [name.get(part, "…") for part in path_to(one, parent)] for one in parent}
    return {one: "/".join(path) or "/" for one, path in paths.items()}


def full_path(text: str) -> str:
    """Return a path that a user has written as one below the root of cgroup v2."""
    return "/" + text.removeprefix("/sys/fs/cgroup").strip("/")


def path_to(cgroup: int, parent: Mapping[int, int]) -> list[int]:
    """Return the cgroups above one, from the root on, and itself, as far as they are known.

    ``parent``: by id, that of the cgroup above; 0 for the root.
    """
    found = [cgroup]
    while (above := parent.get(found[-1], 0)) and len(found) < _MOST_LEVELS:
        found.append(above)
    return found[::-1]
