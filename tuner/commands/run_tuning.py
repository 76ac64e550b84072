"""Runs the tuning that ``rcp-tune run`` asks for, or its dry run."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from rcp.analyzer.latencies.slo import implied, parse
from rcp.probes.contract.printing.output import print_json, print_note, print_text, read_or_not
from rcp.probes.contract.printing.spelled import spelled
from rcp.tuner.commands.common import CliError
from rcp.tuner.commands.common import machine as machine_files
from rcp.tuner.commands.dry_run import dry_run
from rcp.tuner.commands.open_study import open_study
from rcp.tuner.commands.options import lab_machine, local_machine
from rcp.tuner.commands.progress import Progress
from rcp.tuner.commands.run_options import LabOptions, RunOptions
from rcp.tuner.errors import TuneError
from rcp.tuner.profiles.profile import fitted, notes
from rcp.tuner.search.profile_starts import profile_starts
from rcp.tuner.studies.blank import remove_if_blank
from rcp.tuner.studies.explain import explanation, outcome_of
from rcp.tuner.studies.listing import Listing
from rcp.tuner.studies.study import Study
from rcp.tuner.trials.judge import Judge
from rcp.tuner.trials.machine import Machine
from rcp.tuner.trials.objective import parse as parse_objective
from rcp.tuner.tuning.searches import maker
from rcp.tuner.tuning.tools import Tools
from rcp.tuner.tuning.tune import Tuning

EXIT_UNMET = 1


def run_tuning(options: RunOptions) -> int:
    """Run the tuning, print its result, return the exit status; raises TuneError."""
    slos = parse(options.slo)
    for text in implied(slos):
        print_note(f"rcp-tune: {text}")
    judge = Judge(slos, parse_objective(options.objective))
    if options.dry_run:
        _dry_run(options)
        return 0
    machine = _machine(options, options.study.path.with_suffix(".trials"))
    path = options.study.path
    try:
        with open_study(machine, options) as study:
            return _tune(study, machine, judge, options)
    except BaseException:
        # No half-made study in the way of the next start.
        with suppress(TuneError):
            remove_if_blank(path)
        raise


def _tune(study: Study, machine: Machine, judge: Judge, options: RunOptions) -> int:
    """Run the tuning, print its result, return the exit status."""
    chosen = options.search
    if chosen.profile:
        for note in notes(chosen.profile, fitted(chosen.profile, study.knobs())):
            print_note(f"rcp-tune: {note}")
        profile_starts(chosen.profile, study.knobs())  # an error before the first trial
    search = maker(
        chosen.name,
        list(study.bounds_ns()),
        chosen.seed,
        advised=chosen.advised,
        profile=chosen.profile,
    )
    listing = Listing(study.bounds_ns(), options.objective, study.initial())
    with Progress(listing, options.objective, before=study.trials()) as progress:
        Tuning(study, Tools(machine, judge, search, progress), options.limits).run()
    found = explanation(study)
    with read_or_not():
        print_json(found) if options.as_json else print_text(found["text"])
    later = study.verdict().get("again", {"runs": 0, "held": 0})
    holds = outcome_of(study) in ("met", "met already") and later["held"] == later["runs"]
    return 0 if holds else EXIT_UNMET


def _machine(options: RunOptions, folder: Path) -> Machine:
    if isinstance(options.machine, LabOptions):
        return lab_machine(options.machine, folder)
    tree = machine_files()
    if tree.real and os.geteuid() != 0 and not options.dry_run:
        raise CliError("only root can set knobs: use sudo, or --dry-run, or --lab")
    return local_machine(options.machine, folder, tree)


def _dry_run(options: RunOptions) -> None:
    # Describing a guest leaves artefacts, and a dry run has no study to keep them.
    with TemporaryDirectory(prefix="rcp-tune-") as folder:
        machine = _machine(options, Path(folder))
        chosen = options.search
        lines = spelled(list(dry_run(machine, advised=chosen.advised, profile=chosen.profile)))
        print_text("\n".join(lines))
