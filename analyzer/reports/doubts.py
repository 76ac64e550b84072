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

LOST_MUCH = 0.01
"""Share of lost events from which that comes before any answer."""

_INCOMPLETE = "Incomplete recording: "


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


def incomplete(meta: Mapping[str, Any]) -> str:
    """Return a sentence about what a recording no longer has; "" if all that was written is there.

    What the recorder lost while it recorded is not in it: probes count that (table ``loss``).
    """
    gone = [
        f"{'all' if n == of else f'{n} of'} {of} {name} records"
        for name, (n, of) in meta.get("missing", {}).items()
    ]
    clauses = [f"{_listed(gone)} are missing or damaged"] if gone else []
    clauses += meta.get("damage", ())
    if "end" in meta and meta["end"] is None and not any("end.json" in text for text in clauses):
        clauses.append("the recorder was killed")
    return f"{_INCOMPLETE}{'; '.join(clauses)}." if clauses else ""


def incomplete_warning(name: str, sentence: str) -> str:
    """Return a sentence of ``incomplete`` about a run that is judged all the same."""
    return f"{name}: {sentence[:1].lower()}{sentence[1:].removesuffix('.')}"


def incomplete_refusal(name: str, sentence: str) -> str:
    """Return a sentence of ``incomplete`` about a run that is not judged."""
    return f"{name} is incomplete: {sentence.partition(': ')[2].removesuffix('.')}"


def lacks(meta: Mapping[str, Any]) -> str:
    """Return a sentence about what a recording lacks, which comes before any answer from it.

    That is what it no longer has, or else what the recorder lost, if it is much.
    """
    lost = 1 - float(meta.get("recorded_share", 1.0))
    gone = incomplete(meta)
    if gone or lost < LOST_MUCH:
        return gone
    return f"{_INCOMPLETE}the recorder lost {percent(lost)} of the sleeps and ios."


def missing_share(meta: Mapping[str, Any]) -> float:
    """Return the largest share of the records of one type that are missing, 0 to 1.

    It is 1 where nobody can say: when the files with names, roles or counts are damaged.
    """
    if meta.get("damage"):
        return 1.0
    return max((n / of for n, of in meta.get("missing", {}).values()), default=0.0)


def _listed(items: list[str]) -> str:
    return " and ".join(filter(None, (", ".join(items[:-1]), items[-1])))


def notes(meta: Mapping[str, Any], n_unfinished: int) -> list[str]:
    """Return what makes a recording incomplete, one note each."""
    found = []
    if meta.get("end") is None:
        found.append("the recorder was killed: the recording ends with what it had written")
    if meta.get("torn_bytes"):
        found.append(f"{meta['torn_bytes']} bytes that are no whole records were left out")
    if not meta.get("has_checksums", True):
        found.append("its spool had no checksums: wrong values in its records are not found")
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
        found.append(f"lost and missing records multiply every confidence by {share:.3f}")
    return found
