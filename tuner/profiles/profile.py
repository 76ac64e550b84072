"""Profiles: settings to start from, the reason for each value, and what was measured with them.

A profile is a TOML file beside this module. It has one or more candidates, in the order in which a
search tries them. A candidate has evidence of rcp's own, or says that there is none.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from functools import cache
from importlib.resources import files
from typing import Any, TypeVar

from rcp.tuner.errors import TuneError
from rcp.tuner.knobs.knob import Knob, Value

_SUFFIX = ".toml"

_Part = TypeVar("_Part")


class ProfileError(TuneError):
    """A profile does not exist, or cannot be used on this machine."""


@dataclass(frozen=True, kw_only=True)
class Setting:
    """One value; without a *needed* one its candidate is not used."""

    knob: str
    value: Value
    why: str
    source: str
    """A page of docs, or a paper."""
    needed: bool = False


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """What was measured, by which command, at which commit; *quotes* are lines of *source*."""

    measured: str
    command: str
    commit: str
    source: str
    quotes: Sequence[str]


@dataclass(frozen=True, kw_only=True)
class ProfileCandidate:
    """Settings that belong together."""

    name: str
    about: str
    setting: Sequence[Setting]
    evidence: Sequence[Evidence] = ()
    no_evidence: str = ""
    """Why there is none, and what the values rest on."""


@dataclass(frozen=True, kw_only=True)
class Profile:
    """A profile; *mark* says how to tell the kernel which tasks are the foreground."""

    name: str
    title: str
    about: str
    mark: str
    candidate: Sequence[ProfileCandidate]

    def to_json(self) -> dict[str, Any]:
        """Return plain values."""
        return asdict(self)


@dataclass(frozen=True)
class Fitted:
    """A candidate on a machine: the settings that its knobs take, and what was changed."""

    candidate: ProfileCandidate
    settings: dict[str, Value] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)
    """Knobs with the reason."""
    is_usable: bool = True


def names() -> list[str]:
    """Return the names of all profiles."""
    folder = files("rcp.tuner.profiles")
    return sorted(
        entry.name.removesuffix(_SUFFIX)
        for entry in folder.iterdir()
        if entry.name.endswith(_SUFFIX)
    )


@cache
def load(name: str) -> Profile:
    """Return a profile; raises ProfileError for an unknown name."""
    if name not in names():
        raise ProfileError(f"there is no profile {name!r}: there are {', '.join(names())}")
    text = files("rcp.tuner.profiles").joinpath(f"{name}{_SUFFIX}").read_text("utf-8")
    return parse(name, text)


def parse(name: str, text: str) -> Profile:
    """Return the profile in the text of a file; raises ProfileError for a wrong key."""
    table = tomllib.loads(text)
    candidates = [
        _made(
            ProfileCandidate,
            {
                **one,
                "setting": [_made(Setting, row) for row in one.get("setting", [])],
                "evidence": [_made(Evidence, row) for row in one.get("evidence", [])],
            },
        )
        for one in table.pop("candidate", [])
    ]
    return _made(Profile, {"name": name, **table, "candidate": candidates})


def _made(kind: type[_Part], table: Mapping[str, Any]) -> _Part:
    known = {one.name for one in fields(kind)}  # type: ignore[arg-type]
    if unknown := sorted(set(table) - known):
        raise ProfileError(f"{kind.__name__} has no key {unknown[0]!r}: it has {sorted(known)}")
    return kind(**table)


def split(text: str) -> tuple[Profile, str]:
    """Return the profile and the candidate, "" for all, of ``NAME`` or ``NAME:CANDIDATE``."""
    name, _, wanted = text.partition(":")
    profile = load(name)
    known = [one.name for one in profile.candidate]
    if wanted and wanted not in known:
        raise ProfileError(f"profile {name} has no candidate {wanted!r}: it has {', '.join(known)}")
    return profile, wanted


def fitted(text: str, knobs: Sequence[Knob]) -> list[Fitted]:
    """Return the candidates of ``NAME`` or ``NAME:CANDIDATE``, fitted to the knobs of a machine."""
    profile, wanted = split(text)
    by_name = {knob.name: knob for knob in knobs}
    chosen = [one for one in profile.candidate if wanted in ("", one.name)]
    return [_fitted(one, by_name) for one in chosen]


def _fitted(candidate: ProfileCandidate, knobs: Mapping[str, Knob]) -> Fitted:
    found = Fitted(candidate)
    is_usable = True
    for one in candidate.setting:
        knob, value = knobs.get(one.knob), one.value
        if knob is None:
            found.left_out[one.knob] = _absent(one.knob)
        elif not knob.allows(value):
            known = ", ".join(map(str, knob.choices)) or f"{knob.low} to {knob.high}"
            found.left_out[one.knob] = f"it does not take {value} here: {known}"
        else:
            found.settings[one.knob] = value
            continue
        is_usable = is_usable and not one.needed
    return Fitted(candidate, found.settings, found.left_out, is_usable)


def _absent(knob: str) -> str:
    """Return why a machine's catalog has no such knob, with the remedy if there is one."""
    group, _, rest = knob.partition(".")
    if rest and group in ("foreground", "background"):
        return f"it needs --{group} cgroup:PATH, and the io controller in that group"
    return "this machine does not have it"


def usable(text: str, found: Sequence[Fitted]) -> list[Fitted]:
    """Return the candidates that can be used; raises ProfileError without one."""
    able = [one for one in found if one.is_usable]
    if not able:
        faults = "; ".join(
            f"{one.candidate.name}: {knob}: {why}"
            for one in found
            for knob, why in one.left_out.items()
        )
        raise ProfileError(f"profile {text} cannot be used here: {faults}")
    return able


def notes(text: str, found: Sequence[Fitted]) -> list[str]:
    """Return what is left out of a profile on a machine, in one line for each candidate."""
    name = text.partition(":")[0]
    lines = []
    for one in found:
        knobs = "; ".join(f"{knob}: {why}" for knob, why in one.left_out.items())
        what = "left out" if one.is_usable else "not used"
        if knobs:
            lines.append(f"profile {name}, candidate {one.candidate.name}: {what}: {knobs}")
    return lines
