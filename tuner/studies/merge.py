"""Merge the trials of several studies of one machine into a new study."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rcp.probes.contract.atomic import atomic_replace
from rcp.tuner.errors import TuneError
from rcp.tuner.studies.study import Study
from rcp.tuner.trials.host import check_same, check_same_task

_MERGED_FACTS = ("slo", "objective", "knobs", "kernel_of_lab")
MERGED_WITH = "merged_from"


def merge(target: Path, paths: Sequence[Path]) -> Study:
    """Make a study at *target* with all trials of *paths*, in that order, and no verdict.

    A tuning that resumes it uses all of them. Raises TuneError for studies with different
    machines, SLOs, objectives or knobs; *target* is not created then.
    """
    if len(paths) < 2:
        raise TuneError("name at least two studies to merge")
    if len({path.resolve() for path in paths}) < len(paths):
        raise TuneError("a study is named twice: merge different ones")
    if target.exists():
        raise TuneError(f"{target} already exists: name another file with -o")
    with Study.open(paths[0], read_only=True) as first:
        facts, knobs, initial = first.facts(), first.knobs(), first.initial()
        for path in paths[1:]:
            with Study.open(path, read_only=True) as other:
                _check_alike(paths[0], first, path, other)
    sources = " ".join(map(str, paths))
    with (
        atomic_replace(target) as temporary,
        Study.create(temporary, {**facts, MERGED_WITH: sources}, knobs) as merged,
    ):
        merged.set_initial(initial)
        for path in paths:
            with Study.open(path, read_only=True) as other:
                merged.take_trials(other)
    return Study.open(target, read_only=True)


def _check_alike(path: Path, first: Study, other_path: Path, other: Study) -> None:
    facts, others = first.facts(), other.facts()
    check_same(facts, others, other_path, "merge studies of one machine and workload")
    facts_by_path = ((path, facts), (other_path, others))
    check_same_task(
        _MERGED_FACTS, facts_by_path, "merge studies of one SLO, objective and set of knobs"
    )
    if first.knobs() != other.knobs():
        raise TuneError(
            f"{path} and {other_path} have different knobs or ranges: merge studies that were made "
            "by the same rcp-tune"
        )
