"""How far a verdict can be trusted, and what keeps it from being certain. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rcp.analyzer.arrays.roles import UNKNOWN
from rcp.analyzer.blame.inversions import UNKNOWN_ROLE_CONFIDENCE
from rcp.probes.contract.meta_text import left_out

HIGH, MEDIUM = 0.8, 0.5
"""Least confidence called so: below ``MEDIUM`` another explanation is as likely."""

_SURE = 0.995  # rounds to 1.00


def confidence_word(confidence: float) -> str:
    """Return ``high``, ``medium`` or ``low``."""
    if confidence >= HIGH:
        return "high"
    return "medium" if confidence >= MEDIUM else "low"


def why_lowered(confidence: float, role: str, recorded_share: float) -> list[str]:
    """Say what keeps a pattern's confidence below 1, the plainest first."""
    reasons, explained = [], 1.0
    if recorded_share < 1:
        reasons.append(f"{(1 - recorded_share) * 100:.2g} % of events lost")
        explained *= recorded_share
    if role == UNKNOWN:
        reasons.append("no role rule names the culprit")
        explained *= UNKNOWN_ROLE_CONFIDENCE
    if confidence < explained * _SURE:
        reasons.append("others had a part in it, or it rests on a guess")
    return reasons


def notes(meta: Mapping[str, Any], n_unfinished: int) -> list[str]:
    """Say what makes a recording incomplete."""
    found = []
    if meta.get("end") is None:
        found.append("the recorder was killed: this is what it had written by then")
    if meta.get("torn_bytes"):
        found.append(f"{meta['torn_bytes']} bytes of torn last records were left out")
    found += left_out(meta)
    for name in meta.get("missing_probes", []):
        found.append(f"the probe {name} could not run: `rcp-trace doctor` says what that costs")
    for name in meta.get("missing_functions", []):
        found.append(f"the kernel has no {name} to probe: waits in it are named from the stack")
    for name in meta.get("missing_modules", []):
        found.append(
            f"the types of {name} could not be read: `rcp-trace doctor` says what it costs"
        )
    if n_unfinished:
        found.append(f"{n_unfinished} foreground requests were unfinished: not judged")
    share = meta.get("recorded_share", 1.0)
    if share < 1:
        found.append(f"lost sleeps and ios lower every confidence to {share:.3f} of what it was")
    return found
