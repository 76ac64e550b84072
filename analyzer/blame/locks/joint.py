"""Work that the waiter would do itself: who does it at the moment is not to blame for it.

Two tasks look the same name up, read the same inode, or copy the same file up. The second one waits
for the first, but without that it would do the same, and be done later. What the first one does
besides, such as ios that are in the way of all, is blamed on it as on others.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from rcp.analyzer.arrays.reasons import IS_JOINT
from rcp.analyzer.arrays.trace import Index, Times
from rcp.analyzer.blame.candidates import KIND, Candidates
from rcp.analyzer.blame.suspects import first_on_chain
from rcp.analyzer.paths.segments import Edges, Segments

_OF_THE_WORK = tuple(KIND[name] for name in ("lock", "condition", "io_dependency"))
"""Kinds of what is waited for itself, not of what is in its way."""


def joint_waits(edges: Edges) -> Index:
    """Return the first wait for such work on the chain to each edge, -1 for none; and -1 at last.

    The last one is for segments without an edge.
    """
    is_joint = IS_JOINT[edges.reason] & (edges.waker >= 0) & (edges.io < 0)
    return np.append(first_on_chain(edges, is_joint), np.int32(-1))


def is_joint_work(
    found: Candidates, joint: Index, edges: Edges, segments: Segments, thread: Times
) -> npt.NDArray[np.bool_]:
    """Return which candidates are such work of who is blamed; ``joint``: ``joint_waits``."""
    wait = joint[segments.edge[found.segment]]
    who = thread[np.append(edges.waker, -1)[wait]]
    of_the_work = np.isin(found.kind, _OF_THE_WORK)
    is_work: npt.NDArray[np.bool_] = (wait >= 0) & (who == thread[found.culprit]) & of_the_work
    return is_work
