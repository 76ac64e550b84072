"""The first settings to try, from papers and manuals, and the knobs to vary first.

Both depend on the causes that the analyzer found: kinds of inversions with their share of the
requests' delay (rcp.analyzer.blame.candidates). What a recording is predicted to gain without these
kinds comes before their share: a wait that is gone may make room for another.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product

from rcp.probes.contract.percent import percent
from rcp.tuner.knobs.kinds import ADMISSION_WAITS, DEVICE_WAITS, DIRTY_WAITS
from rcp.tuner.knobs.knob import Knob, Settings, Value
from rcp.tuner.search.space import Space

Causes = Sequence[tuple[str, float]]
"""(kind of inversion, share 0..1 of the delay), the largest first."""

_MIB = 1 << 20

_GROUPS_MAX = 16
"""Groups of kinds to predict: each takes a prediction of all requests."""


class Gains:
    """The part of the latency (0..1) that is predicted to go with some kinds of inversions."""

    def __init__(self, by_kinds: Mapping[tuple[str, ...], float] | None = None) -> None:
        """Take the gain of each group of kinds, whose names are in order."""
        self._by_kinds = by_kinds or {}
        self._present = {kind for kinds in self._by_kinds for kind in kinds}

    def of(self, kinds: Iterable[str]) -> float | None:
        """Return the gain without all of *kinds*; None if it was not predicted."""
        return self._by_kinds.get(tuple(sorted(self._present & set(kinds))))


NO_GAINS = Gains()
"""Nothing was recorded, so nothing was predicted."""


@dataclass(frozen=True)
class Start:
    """Settings to try first, and the reason in one line."""

    settings: Settings
    why: str


@dataclass(frozen=True)
class _Advice:
    """Advised settings against some kinds; *must* has to be set, *rest* where the knobs exist."""

    what: str
    against: tuple[str, ...]
    must: Mapping[str, Value]
    rest: Mapping[str, Value] = field(default_factory=dict)


def _profile(name: str, *, dirty: int, **iosched: int) -> dict[str, Value]:
    """Settings of a profile of the patched kernel; *dirty*: 1 if it limits dirty memory."""
    shared: dict[str, Value] = {"rcp.profile": name, "rcp.enable": 1, "rcp.dirty.enable": dirty}
    return shared | {f"iosched.{knob}": value for knob, value in iosched.items()}


PROFILES: Mapping[str, Mapping[str, Value]] = {
    "rcp": _profile("rcp", dirty=1, tokens=2, split_kb=128, hold_ms=1000, starve_ms=10),
    "ld": _profile("ld", dirty=0, tokens=8, split_kb=32, hold_ms=1000, starve_ms=10),
}
"""Profiles of the patched kernel: a search has to name what they set, or it would reset it."""

# In the order of the trials without causes.
_ADVICE = (
    _Advice(
        "profile rcp: two background requests at the device, in pieces of 128 KiB (RCP, FAST '17)",
        (*DEVICE_WAITS, *ADMISSION_WAITS, *DIRTY_WAITS, "flush"),
        {"disk.scheduler": "rcp"},
        PROFILES["rcp"],
    ),
    _Advice(
        "profile ld: eight at the device, in pieces of 32 KiB (FastResponse, ICS '22)",
        (*DEVICE_WAITS, *ADMISSION_WAITS, *DIRTY_WAITS, "flush"),
        {"disk.scheduler": "rcp"},
        PROFILES["ld"],
    ),
    _Advice(
        "mq-deadline with the foreground in class RT, and fast ageing of the others",
        DEVICE_WAITS,
        {"disk.scheduler": "mq-deadline", "foreground.ioprio": "rt/4"},
        {"iosched.prio_aging_expire": 10},
    ),
    _Advice(
        "io.cost: the disk slowed down above 0.5 ms, nearly all of it for the foreground",
        (*DEVICE_WAITS, *ADMISSION_WAITS),
        {"disk.io_cost_lat_usec": 500, "foreground.io_weight": 10_000},
        {"background.io_weight": 100},
    ),
    _Advice(
        "bfq with the background in class idle",
        DEVICE_WAITS,
        {"disk.scheduler": "bfq", "background.ioprio": "idle"},
    ),
    _Advice("I/O cut into pieces of 128 KiB", DEVICE_WAITS, {"disk.max_sectors_kb": 128}),
    _Advice(
        "dirty memory limited to 64 MiB, written back from 16 MiB on",
        (*DIRTY_WAITS, "queue", "flush"),
        {"vm.dirty_bytes": 64 * _MIB},
        {"vm.dirty_background_bytes": 16 * _MIB},
    ),
    _Advice(
        "writeback throttled when reads take 2 ms",
        (*DEVICE_WAITS, *ADMISSION_WAITS),
        {"disk.wbt_lat_usec": 2000},
    ),
    _Advice(
        "the journal's thread in class RT",
        ("condition", "io_dependency"),
        {"journal.ioprio": "rt/4"},
    ),
)

# Among knobs against the same causes these come first: the advice above sets them, and they had the
# largest effect in docs/results/policies.md.
_STRONG = (
    "disk.scheduler",
    "iosched.tokens",
    "iosched.split_kb",
    "foreground.ioprio",
    "disk.max_sectors_kb",
    "vm.dirty_bytes",
    "disk.io_cost_lat_usec",
    "rcp.dirty.noncrit_kb",
    "iosched.starve_ms",
    "iosched.slots_noncritical",
)


def _help(kinds: Iterable[str], causes: Causes) -> float:
    """The share of the delay by causes among *kinds*."""
    return sum(share for kind, share in causes if kind in set(kinds))


def _fitted(knobs: Mapping[str, Knob], advice: _Advice) -> dict[str, Value] | None:
    """The settings of *advice* that these knobs accept; None if a knob of *must* is missing."""
    settings: dict[str, Value] = {}
    for name, value in {**advice.must, **advice.rest}.items():
        knob = knobs.get(name)
        if knob and not knob.allows(value) and knob.scale != "choice" and isinstance(value, int):
            value = min(max(value, knob.low), knob.high)
        if knob and knob.allows(value):
            settings[name] = value
        elif name in advice.must:
            return None
    return settings


def _rank(kinds: Sequence[str], causes: Causes, gains: Gains) -> tuple[float, float]:
    """A key that sorts what helps against *kinds* by predicted gain, then by share of the delay."""
    return -(gains.of(kinds) or 0.0), -_help(kinds, causes)


def _because(advice: _Advice, causes: Causes, gains: Gains) -> str:
    helped = [(kind, share) for kind, share in causes if kind in advice.against]
    if not helped:
        return advice.what
    kinds = ", ".join(f"{kind} ({percent(share, 0)})" for kind, share in helped[:3])
    gain = gains.of(advice.against)
    predicted = "" if gain is None else f", at most {percent(gain, 0)} less predicted"
    return f"{advice.what}; against {kinds}{predicted}"


def groups(knobs: Sequence[Knob], found: Iterable[str]) -> list[tuple[str, ...]]:
    """Return the groups of the kinds *found* that advice or *knobs*, some or all of them, act on.

    The settings of a trial are of several knobs.
    """
    present = set(found)
    acted_on = [advice.against for advice in _ADVICE] + [knob.helps for knob in knobs]
    single = dict.fromkeys(tuple(sorted(present & set(kinds))) for kinds in acted_on)
    together = tuple(sorted({kind for kinds in single for kind in kinds}))
    pairs = (tuple(sorted({*one, *other})) for one, other in product(single, single))
    return [kinds for kinds in dict.fromkeys([*single, together, *pairs]) if kinds][:_GROUPS_MAX]


def starts(knobs: Sequence[Knob], causes: Causes = (), gains: Gains = NO_GAINS) -> list[Start]:
    """Return the defaults, then the advised settings that these *knobs* accept.

    Advice with the largest predicted gain comes first, then that against more of the *causes*;
    advice against none of them is left out. Without causes all advice is returned, in the order of
    the list above.
    """
    space, by_name = Space(knobs), {knob.name: knob for knob in knobs}
    advised = [advice for advice in _ADVICE if not causes or _help(advice.against, causes)]
    advised.sort(key=lambda advice: _rank(advice.against, causes, gains))
    found = [Start(space.defaults(), "every knob at its default, for comparison")]
    for advice in advised:
        settings = _fitted(by_name, advice)
        if settings is not None:
            found.append(Start(space.complete(settings), _because(advice, causes, gains)))
    different = {space.key(start.settings): start for start in reversed(found)}
    return [start for start in found if different[space.key(start.settings)] is start]


def worth_first(
    knobs: Sequence[Knob], causes: Causes, count: int = 8, gains: Gains = NO_GAINS
) -> list[str]:
    """Return the names of about *count* knobs to vary first, including the knobs they need.

    Knobs with the largest predicted gain come first, then those against most of the *causes*; among
    equals, those of a fixed list.
    """
    order = {name: place for place, name in enumerate(_STRONG)}
    ranked = sorted(
        knobs,
        key=lambda knob: (
            *_rank(knob.helps, causes, gains),
            order.get(knob.name, len(order)),
        ),
    )
    chosen: dict[str, None] = {}
    for knob in ranked[:count]:
        chosen |= dict.fromkeys([*knob.needs, knob.name])
    return list(chosen)
