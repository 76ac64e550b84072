"""Sleeps after which a server may have something else to do than before."""

from __future__ import annotations

from rcp.analyzer.arrays.reasons import CODE
from rcp.analyzer.paths.messages import JOBS

RESTS = (*JOBS, CODE["timer"], CODE["futex"])
"""Reasons: waits for a message, a clock, and on a futex."""
