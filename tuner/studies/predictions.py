"""What knobs may bring, predicted from the recording of the machine as it is.

A knob acts on some kinds of inversions. The prediction is the latency without all inversions of
these kinds: what the knob brings if it does away with them, and does no harm elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rcp.analyzer.db.store import StoreError
from rcp.analyzer.latencies.slo import Slo
from rcp.analyzer.loading.opening import open_recording
from rcp.analyzer.whatif.by_kind import WithoutKinds, kinds_found, without_kinds
from rcp.tuner.errors import TuneError
from rcp.tuner.knobs.knob import Knob
from rcp.tuner.search.start import Gains, groups
from rcp.tuner.studies.comparable import comparable
from rcp.tuner.studies.records import TrialRow
from rcp.tuner.studies.wording import changed


def predictions_of(
    recording: Path, knobs: Sequence[Knob], slos: Sequence[Slo]
) -> list[WithoutKinds]:
    """Return what removing each group of kinds that knobs act on would bring to each SLO."""
    try:
        with open_recording(recording) as store:
            return without_kinds(store, groups(knobs, kinds_found(store)), slos)
    except StoreError as error:
        raise TuneError(str(error)) from error


def gains_of(predictions: Iterable[WithoutKinds], bounds_ns: Mapping[str, int]) -> Gains:
    """Return the part of the latency that each group of kinds takes: of the SLO missed most."""
    before: dict[tuple[str, ...], float] = {}
    after: dict[tuple[str, ...], float] = {}
    for one in predictions:
        bound_ns = bounds_ns[one.slo]
        before[one.kinds] = max(before.get(one.kinds, 0.0), one.recorded_ns / bound_ns)
        after[one.kinds] = max(after.get(one.kinds, 0.0), one.predicted_ns / bound_ns)
    return Gains({kinds: 1 - after[kinds] / before[kinds] for kinds in before if before[kinds]})


def beside_measured(
    predictions: Sequence[WithoutKinds],
    knobs: Sequence[Knob],
    initial: Mapping[str, Any],
    rows: Sequence[TrialRow],
    bounds_ns: Mapping[str, int],
) -> list[dict[str, Any]]:
    """Return each trial of the search with what its knobs were predicted to bring, by SLO.

    Trials that failed, and those whose knobs act on nothing that was recorded, are left out.
    """
    known = {(one.kinds, one.slo): one for one in predictions}
    present = {kind for one in predictions for kind in one.kinds}
    found = []
    for row in comparable(rows):
        if row.phase != "search" or row.failed:
            continue
        set_to = changed(row.settings, initial)
        acts_on = {kind for knob in knobs if knob.name in set_to for kind in knob.helps}
        kinds = tuple(sorted(acts_on & present))
        for slo, ratio in row.ratios.items():
            if one := known.get((kinds, slo)):
                measured_ns = round(ratio * bounds_ns[slo])
                found.append(
                    {"trial_id": row.trial_id, "settings": set_to}
                    | one._asdict()
                    | {"measured_ns": measured_ns}
                )
    return found
