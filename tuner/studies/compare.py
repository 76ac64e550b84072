"""Two studies of one machine, side by side."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rcp.tuner.studies.explain import outcome_of
from rcp.tuner.studies.study import Study
from rcp.tuner.studies.wording import aligned, objective_text, settings_text
from rcp.tuner.trials.host import check_same, check_same_asked

_ASKED = ("slo", "objective")
# What two studies of a machine may differ by: it is often what they are compared for.
_MAY_DIFFER = ("kernel",)


def _told(study: Study) -> dict[str, Any]:
    rows = [row for row in study.trials() if row.phase == "search"]
    met = [position for position, row in enumerate(rows, 1) if row.observation.feasible]
    found = study.verdict().get("verdict", {})
    facts = study.facts()
    return {
        "kernel": facts["kernel"],
        "knobs": facts["knobs"],
        "search": facts["search"],
        "outcome": outcome_of(study),
        "trials": len(rows),
        "first_met": met[0] if met else None,
        "wanted": facts["objective"],
        "objective": found.get("objective"),
        "settings": settings_text(found.get("settings", {})),
    }


def comparison(first: Study, second: Study, paths: tuple[Path, Path]) -> dict[str, Any]:
    """Return what both came to, by path; raises TuneError for studies of unlike machines."""
    facts, others = first.facts(), second.facts()
    asked = ((paths[0], facts), (paths[1], others))
    check_same_asked(_ASKED, asked, "compare studies of one SLO and objective")
    same = {key: value for key, value in others.items() if key not in _MAY_DIFFER}
    check_same({key: facts[key] for key in facts if key not in _MAY_DIFFER}, same, paths[1])
    return {str(paths[0]): _told(first), str(paths[1]): _told(second)}


def side_by_side(told: dict[str, Any]) -> str:
    """Return a table with a row for each fact."""
    names = list(told)
    rows = [["", *names]]
    for key in told[names[0]]:
        cells = ["–" if told[name][key] is None else f"{told[name][key]}" for name in names]
        if key == "objective":
            cells = [objective_text(told[name]["wanted"], told[name][key]) for name in names]
        rows.append([key.replace("_", " "), *cells])
    return "\n".join(aligned(rows))
