"""Make the machine that runs the trials from the options of a command."""

from __future__ import annotations

from pathlib import Path

from rcp.probes.contract.completions import is_tunable, scenarios
from rcp.probes.contract.printing.output import print_note
from rcp.tuner.commands.choices import disk_of, group_of, parsed_rule, which_knobs
from rcp.tuner.commands.run_options import LabOptions, LocalOptions
from rcp.tuner.errors import TuneError
from rcp.tuner.knobs.group_cell import Groups
from rcp.tuner.knobs.tree import Tree
from rcp.tuner.trials.lab import LabMachine
from rcp.tuner.trials.local import LocalMachine
from rcp.tuner.trials.raw import SPOOL
from rcp.tuner.trials.source import OUT_PLACEHOLDER, RECORDING, Source, parse_source


def _target(text: str) -> list[str]:
    """Return the options of rcp-trace record for a rule; raises TuneError."""
    kind, value = parsed_rule("target", text)
    return [f"--{kind}", value]


def lab_machine(options: LabOptions, folder: Path) -> LabMachine:
    """Return guests that run a scenario; artefacts go to *folder*. Raises TuneError."""
    _check_tunable(options)
    return LabMachine(
        scenario=options.scenario,
        kernel=options.kernel,
        folder=folder,
        parameters=options.parameters,
        timeout_s=options.timeout_s,
        knobs=options.knobs,
        checkout=options.checkout,
        say=lambda text: print_note(f"rcp-tune: {text}"),
    )


def _check_tunable(options: LabOptions) -> None:
    """Raise TuneError for a scenario that runs no trials, before a guest is booted for it."""
    known = {folder.name: folder for folder in scenarios(options.checkout)}
    chosen = known.get(options.scenario)
    if chosen is None or is_tunable(chosen):
        return  # one that only the lab knows, or a tunable one
    able = [name for name, folder in sorted(known.items()) if is_tunable(folder)]
    raise TuneError(
        f"--lab {options.scenario}: this scenario has no trials: choose {', '.join(able[:-1])} or "
        f"{able[-1]}"
    )


def local_machine(options: LocalOptions, folder: Path, tree: Tree | None = None) -> LocalMachine:
    """Return this machine with its workload; trials go to *folder*. Raises TuneError.

    *tree* are its files, by default those of the running machine.
    """
    tree = tree or Tree()
    return LocalMachine(
        command=options.workload,
        source=_source(options.source),
        disk=disk_of(options.disk, tree),
        folder=folder,
        groups=Groups(group_of(options.foreground), group_of(options.background)),
        record_options=_record_options(options),
        which=which_knobs(options.knobs),
        timeout_s=options.timeout_s,
        journal=options.journal,
        yes=options.yes,
        tree=tree,
        attach_pid=options.attach_pid,
        window_s=options.window_s,
    )


def _source(text: str) -> Source:
    if text == RECORDING:
        return Source(f"{OUT_PLACEHOLDER}/{SPOOL}", RECORDING)
    return parse_source(text)


def _record_options(options: LocalOptions) -> list[str]:
    """Return the options of rcp-trace record for roles, targets and requests."""
    words: list[str] = []
    for option, rules in (
        ("--foreground", options.foreground),
        ("--background", options.background),
    ):
        for rule in rules:
            words += [option, rule]
    for rule in options.targets:
        words += _target(rule)
    for spec in options.requests:
        words += ["--request", spec]
    return words
