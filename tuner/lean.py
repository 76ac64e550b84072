"""A winner that changes less: without the knobs that bought nothing.

A search sets every knob there is, and of a dozen two or three matter. What else a winner sets is a
change that somebody has to keep, explain and undo. The ablation tells which knobs those are, by a
trial each; that they are not needed together either, fresh runs have to confirm.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from rcp.tuner.ablation import Bought, times
from rcp.tuner.knobs.knob import Knob, Settings, Value
from rcp.tuner.search.space import Space

# A knob's trial is but one, and two runs of the same settings differ by about a tenth in the tail
# (docs/results/searches.md), by less than a twentieth in the background's rate.
_LATENCY, _OBJECTIVE = 1.1, 1.05


def idle(parts: Sequence[Bought]) -> list[str]:
    """Return the knobs without which a winner was no worse, those that bought least first."""
    alike = [part for part in parts if part.latency <= _LATENCY and _is_kept(part.objective)]
    found = sorted(alike, key=lambda part: (part.latency, part.knob))
    return [part.knob for part in found if part.is_met]


def _is_kept(factor: float) -> bool:
    # 0: a failed trial; none: there was nothing of the objective, with or without.
    return math.isnan(factor) or 0 < factor <= _OBJECTIVE


def costs_nothing(before: float, after: float) -> bool:
    """Whether an objective of *after* is as good as *before*."""
    return _is_kept(times(before, after))


def leaner(
    knobs: Sequence[Knob], winner: Settings, parts: Sequence[Bought]
) -> Iterator[tuple[list[str], dict[str, Value]]]:
    """Yield what to leave out, and the settings without it: all idle knobs, then half of them.

    Two knobs may stand in for each other: each is idle as long as the other is there.
    """
    space, out = Space(knobs), idle(parts)
    usual = {knob.name: knob.default for knob in knobs}
    present = space.present(winner)
    for names in (out, out[: len(out) // 2]):
        if names:
            yield names, space.complete({**present, **{name: usual[name] for name in names}})
