"""Compare two studies of one machine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rcp.analyzer.text import aligned
from rcp.probes.contract.printing.spelled import spelled
from rcp.tuner.studies.explain import outcome_of
from rcp.tuner.studies.study import Study
from rcp.tuner.studies.wording import objective_text, settings_text
from rcp.tuner.trials.host import check_same, check_same_task

_COMPARED_FACTS = ("slo", "objective")
# Facts that may differ: often two studies are compared for that.
_MAY_DIFFER = ("kernel",)


def _summary(study: Study) -> dict[str, Any]:
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
    """Return the results of both by path; raises TuneError for studies of different machines."""
    facts, others = first.facts(), second.facts()
    facts_by_path = ((paths[0], facts), (paths[1], others))
    check_same_task(_COMPARED_FACTS, facts_by_path, "compare studies of one SLO and objective")
    same = {key: value for key, value in others.items() if key not in _MAY_DIFFER}
    ours = {key: facts[key] for key in facts if key not in _MAY_DIFFER}
    check_same(ours, same, paths[1], "compare studies of one machine and workload")
    return {str(paths[0]): _summary(first), str(paths[1]): _summary(second)}


def side_by_side(results: dict[str, Any]) -> str:
    """Return a table with a row for each fact."""
    names = list(results)
    rows = [["", *names]]
    for key in results[names[0]]:
        cells = ["–" if results[name][key] is None else f"{results[name][key]}" for name in names]
        if key == "objective":
            cells = [objective_text(results[name]["wanted"], results[name][key]) for name in names]
        rows.append([key.replace("_", " "), *cells])
    return "\n".join(aligned(spelled(rows)))
