"""The line of a report that says what to try next. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rcp.analyzer.text import brief_duration, wrapped
from rcp.analyzer.whatif.next_step import NextStep
from rcp.probes.contract.printing.page import Page


def next_step_text(steps: Sequence[NextStep], page: Page) -> Iterator[str]:
    """Yield the lines about the step with the largest predicted gain; none if none has one."""
    for step in steps[:1]:
        if step.predicted_ns < step.recorded_ns:
            times = (step.predicted_ns, step.low_ns, step.high_ns, step.recorded_ns)
            after, low, high, before = map(brief_duration, times)
            yield from wrapped(
                f"try next: without {step.culprit}, {step.request} p99 would be {after} "
                f"({low} to {high}) instead of {before}, `rcp-trace whatif` predicts",
                page.prose,
                rest="  ",
            )
