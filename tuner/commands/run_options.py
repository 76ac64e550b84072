"""The options of ``rcp-tune run`` as typed records, built once from click's parameters."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rcp.tuner.errors import TuneError
from rcp.tuner.profiles.profile import split
from rcp.tuner.session.journal import DEFAULT_FOLDER
from rcp.tuner.tuning.limits import Limits


@dataclass(frozen=True, kw_only=True)
class LocalOptions:
    """A workload or a running process on this machine, and how to measure it."""

    workload: Sequence[str]
    source: str
    disk: str | None
    knobs: str = "auto"
    foreground: Sequence[str] = ()
    background: Sequence[str] = ()
    targets: Sequence[str] = ()
    requests: Sequence[str] = ()
    """What a recording counts as a request, as in rcp-trace record --request."""
    attach_pid: int = 0
    """A running process to measure for *window_s* instead of a workload; 0: none."""
    window_s: float = 30
    timeout_s: float = 900
    journal: Path = DEFAULT_FOLDER
    yes: bool = False
    """Allow values outside the safe ranges."""


@dataclass(frozen=True, kw_only=True)
class LabOptions:
    """A scenario of the lab."""

    scenario: str
    kernel: str
    parameters: Sequence[str]
    """``KEY=VALUE``."""
    knobs: str
    timeout_s: float
    checkout: Path | None = None
    """A source tree of rcp, which the lab needs; None: the one of the working directory."""


@dataclass(frozen=True, kw_only=True)
class SearchOptions:
    """The search by name; *advised*: start with advised settings and vary the knobs they name."""

    name: str
    seed: int
    advised: bool
    profile: str = ""
    """Profile to start from, as NAME or NAME:CANDIDATE; empty: none."""


@dataclass(frozen=True, kw_only=True)
class StudyOptions:
    """The study's file; *resume*: continue an existing one."""

    path: Path
    resume: bool


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """Everything that the command line of ``rcp-tune run`` says."""

    slo: str
    objective: str
    machine: LocalOptions | LabOptions
    study: StudyOptions
    search: SearchOptions
    limits: Limits
    dry_run: bool
    as_json: bool

    @classmethod
    def from_click(cls, params: Mapping[str, Any]) -> RunOptions:
        """Return the options in click's parameters; raises TuneError."""
        return cls(
            slo=params["slo"],
            objective=params["objective"],
            machine=_lab(params) if params["lab"] else _local(params),
            study=StudyOptions(path=params["study"], resume=params["resume"]),
            search=SearchOptions(
                name=params["search_name"],
                seed=params["seed"],
                advised=not params["no_advice"],
                profile=_profile(params["start"]),
            ),
            limits=Limits(
                n_trials=params["trials"],
                budget_s=params["budget"],
                confirm_runs=params["confirm"],
                ablation=not params["no_ablation"],
                record=not params["no_record"],
                n_again=params["again"],
            ),
            dry_run=params["dry_run"],
            as_json=params["kind"] == "json",
        )

    @property
    def lab_kernel(self) -> str:
        """The kernel of the lab; empty on this machine."""
        return self.machine.kernel if isinstance(self.machine, LabOptions) else ""


_OF_THE_LAB = {"kernel": "--kernel", "parameters": "--env", "checkout": "--checkout"}
_OF_THIS_MACHINE = {
    "attach": "--attach",
    "window_s": "--window",
    "disk": "--disk",
    "foreground": "--foreground",
    "background": "--background",
    "target": "--target",
    "counted": "--count",
    "source": "--source",
    "journal": "--journal",
}


def check_options(params: Mapping[str, Any], given: Callable[[str], bool]) -> None:
    """Raise TuneError for an option that would be ignored; *given*: whether the user set one."""
    other = _OF_THIS_MACHINE if params["lab"] else _OF_THE_LAB
    for name, option in other.items():
        if given(name):
            use = "leave out one of the two" if params["lab"] else "add --lab SCENARIO"
            with_lab = "does not go with --lab" if params["lab"] else "is an option of the lab"
            raise TuneError(f"{option} {with_lab}: {use}")
    if given("window_s") and not params["attach"]:
        raise TuneError("--window is the length of a trial with --attach: add it, or leave it out")
    if params["attach"] and params["workload"]:
        raise TuneError("--attach measures a process that runs: leave out what is after --")
    if params["lab"] and params["knobs"] not in ("auto", "rcp", "stock"):
        raise TuneError(f"--knobs {params['knobs']}: the lab takes auto, rcp or stock")


def _profile(text: str | None) -> str:
    if text:
        split(text)  # raises for an unknown one
    return text or ""


def _lab(params: Mapping[str, Any]) -> LabOptions:
    if params["workload"]:
        raise TuneError("a scenario of the lab has its own workload: leave out what is after --")
    return LabOptions(
        scenario=params["lab"],
        kernel=params["kernel"],
        parameters=params["parameters"],
        knobs=params["knobs"],
        timeout_s=params["timeout_s"],
        checkout=params["checkout"],
    )


def _local(params: Mapping[str, Any]) -> LocalOptions:
    if not params["workload"] and not params["attach"]:
        raise TuneError("no workload: put its command after --, or use --lab SCENARIO")
    return LocalOptions(
        workload=params["workload"],
        source=params["source"],
        disk=params["disk"],
        knobs=params["knobs"],
        foreground=params["foreground"],
        background=params["background"],
        targets=params["target"],
        requests=params["counted"],
        attach_pid=params["attach"] or 0,
        window_s=params["window_s"],
        timeout_s=params["timeout_s"],
        journal=params["journal"] or DEFAULT_FOLDER,
        yes=params["yes"],
    )
