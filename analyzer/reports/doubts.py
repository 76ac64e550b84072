"""The confidence of a verdict, and what lowers it. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rcp.analyzer.arrays.roles import UNKNOWN
from rcp.analyzer.blame.inversions import UNKNOWN_ROLE_CONFIDENCE
from rcp.analyzer.text import plural, rounded
from rcp.probes.contract.meta_text import omission_notes
from rcp.probes.contract.percent import percent

HIGH, MEDIUM = 0.8, 0.5
"""Lower bounds of the two words: below ``MEDIUM`` another explanation is as likely."""

_SURE = 0.995  # rounds to 1.00


def confidence_word(confidence: float) -> str:
    """Return ``high``, ``medium`` or ``low``."""
    if confidence >= HIGH:
        return "high"
    return "medium" if confidence >= MEDIUM else "low"


def why_lowered(confidence: float, role: str, recorded_share: float) -> list[str]:
    """Return what lowers a pattern's confidence below 1, the most certain cause first."""
    reasons, explained = [], 1.0
    if recorded_share < 1:
        reasons.append(f"{percent(float(rounded(1 - recorded_share, 2)), None)} of events lost")
        explained *= recorded_share
    if role == UNKNOWN:
        reasons.append("no role rule names the culprit")
        explained *= UNKNOWN_ROLE_CONFIDENCE
    if confidence < explained * _SURE:
        reasons.append("other tasks contributed, or the culprit is inferred")
    return reasons


def notes(meta: Mapping[str, Any], n_unfinished: int) -> list[str]:
    """Return what makes a recording incomplete, one note each."""
    found = []
    if meta.get("end") is None:
        found.append("the recorder was killed: the recording ends with what it had written")
    if meta.get("torn_bytes"):
        found.append(f"{meta['torn_bytes']} bytes of torn last records were left out")
    found += omission_notes(meta)
    for name in meta.get("missing_probes", []):
        found.append(f"the probe {name} could not run: `rcp-trace doctor` lists what that costs")
    for name in meta.get("missing_functions", []):
        found.append(f"the kernel has no {name} to probe: the kernel stack classifies its waits")
    for name in meta.get("missing_modules", []):
        found.append(
            f"the types of {name} could not be read: `rcp-trace doctor` lists what that costs"
        )
    if n_unfinished:
        found.append(f"{plural(n_unfinished, 'foreground request')} did not finish: not judged")
    share = meta.get("recorded_share", 1.0)
    if share < 1:
        found.append(f"lost sleeps and ios multiply every confidence by {share:.3f}")
    return found
