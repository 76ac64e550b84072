"""Work that the waiter would do itself: who does it at the moment is not to blame for it.

Two tasks look the same name up, read the same inode, or copy the same file up. The second one waits
for the first, but without that it would do the same, and be done later. What the first one does
besides, such as ios that are in the way of all, is blamed on it as on others.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from rcp.analyzer.arrays.reasons import IS_JOINT
from rcp.analyzer.arrays.trace import OP_READ, OP_WRITE, Index, Ios, Times
from rcp.analyzer.blame.candidates import KIND, Candidates
from rcp.analyzer.blame.suspects import first_on_chain
from rcp.analyzer.paths.segments import Edges, Paths

_OF_THE_WORK = tuple(KIND[name] for name in ("lock", "condition", "io_dependency"))
"""Kinds of what is waited for itself, not of what is in its way."""


def joint_waits(edges: Edges) -> Index:
    """Return the first wait for such work on the chain to each edge, -1 for none; and -1 at last.

    The last one is for segments without an edge.
    """
    is_joint = IS_JOINT[edges.reason] & (edges.waker >= 0) & (edges.io < 0)
    return np.append(first_on_chain(edges, is_joint), np.int32(-1))


def is_joint_work(
    found: Candidates, joint: Index, paths: Paths, ios: Ios, thread: Times
) -> npt.NDArray[np.bool_]:
    """Return which candidates are such work of who is blamed; ``joint``: ``joint_waits``.

    Of reads only what takes longer than one of the waiter's own is blamed anyway
    (``device.needed_reads``).
    """
    edges = paths.edges
    wait = joint[paths.segments.edge[found.segment]]
    who = thread[np.append(edges.waker, -1)[wait]]
    io = np.append(edges.io, -1)[found.culprit_edge]
    is_read = (io >= 0) & (np.append(ios.op, OP_WRITE)[io] == OP_READ)
    of_the_work = np.isin(found.kind, _OF_THE_WORK) & ~is_read
    is_work: npt.NDArray[np.bool_] = (wait >= 0) & (who == thread[found.culprit]) & of_the_work
    return is_work
