"""How sure a verdict is, by what it rests on. Its culprit's share of a wait is in its time instead.

What was recorded is sure. Of the rest, confidence is how often such verdicts were right when
generated scenarios were played again without the background (docs/results/truth.md), by the rule of
succession: of n verdicts, r were right, so the next one is with a probability of (r + 1) / (n + 2).
What no scenario has tested is as likely as not.
"""

from __future__ import annotations


def _succession(right: int, of: int) -> float:
    return (right + 1) / (of + 2)


GUESS_CONFIDENCE = _succession(0, 0)
"""Confidence in a verdict that rests on a plausible guess instead of a record."""

MODEL_CONFIDENCE = _succession(7, 7)
"""Confidence in what a model of a device or scheduler tells, such as the time of an io alone, and
in the CPU time of threads as their ios tell it."""

ANSWER_CONFIDENCE = _succession(12, 12)
"""A server works for whom it answers next, where the messages of clients are recorded."""

FLUSHER_CONFIDENCE = _succession(2, 2)
"""It is a guess that a flusher was working on the io it queued next."""

QUOTA_CONFIDENCE = _succession(2, 2)
"""Who used a cgroup's CPU limit up: right in the plants 79-quotaread and 84-quota. Neither the
period nor whose limit it was is recorded."""

REFAULT_CONFIDENCE = _succession(2, 2)
"""Who filled the memory from which a page was evicted: right in the plants 24-scan and
25-copy. Of what came in only ios were recorded, not the memory of processes. Who swapped it out to
get room itself: right in the plant 39-swapin."""

LIMIT_CONFIDENCE = _succession(1, 1)
"""Without the suspects' pages the kernel would not have paused a writer: right in the plant
50-dirty of docs/planted.md."""
