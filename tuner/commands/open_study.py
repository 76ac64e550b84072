"""Make or resume the study of a run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from rcp.probes.contract.printing.output import print_note
from rcp.tuner.commands.run_options import RunOptions
from rcp.tuner.errors import TuneError
from rcp.tuner.studies.blank import remove_if_blank
from rcp.tuner.studies.study import Study
from rcp.tuner.trials.host import KNOBS_FACT, check_same
from rcp.tuner.trials.machine import Machine


def open_study(machine: Machine, options: RunOptions) -> Study:
    """Return the open study, a new one unless it is resumed; raises TuneError."""
    path = options.study.path
    if options.study.resume:
        return _resumed(machine, options)
    if path.exists() and not remove_if_blank(path):
        raise TuneError(f"{path} exists: continue it with --resume, or name another with --study")
    found = machine.describe()
    if not found.knobs:
        raise TuneError("there are no knobs to set here: try --knobs auto")
    study = Study.create(path, {**found.facts, **_task(options)}, found.tunable())
    study.set_initial(found.values)
    return study


def _task(options: RunOptions) -> dict[str, str]:
    """Return the facts of a study that a resumed run has to share."""
    advice = "" if options.search.advised else ", no advice"
    return {
        "slo": options.slo,
        "objective": options.objective,
        "knobs": options.machine.knobs,
        "seed": str(options.search.seed),
        "search": f"{options.search.name}{advice}",
        "kernel_of_lab": options.lab_kernel,
        "start": options.search.profile,
    }


def _check_knobs(path: Path, then: Mapping[str, str], now: Mapping[str, str]) -> None:
    """Raise TuneError if the user's file of knobs has changed; older studies do not hold it."""
    if KNOBS_FACT in then and then[KNOBS_FACT] != now.get(KNOBS_FACT):
        raise TuneError(
            f"{then['knobs']} has changed since {path} was begun: restore it, or start a new study"
        )


def _resumed(machine: Machine, options: RunOptions) -> Study:
    path = options.study.path
    study = Study.open(path, read_only=False)
    facts = study.facts()
    for key, value in _task(options).items():
        if (then := facts.get(key, "")) != value:
            raise TuneError(
                f"{path} was begun with {key} {then or 'none'}, not {value or 'none'}: "
                "resume it with the same, or start a new study"
            )
    with study.released(lambda text: print_note(f"rcp-tune: {text}")):
        now = machine.describe().facts
        check_same(now, facts, path, "run the same again, or name a new study with --study")
        _check_knobs(path, facts, now)
    return study
