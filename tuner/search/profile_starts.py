"""The first settings to try, from a profile that the user chose."""

from __future__ import annotations

from collections.abc import Sequence

from rcp.tuner.knobs.knob import Knob, Settings, Value
from rcp.tuner.profiles.profile import fitted, usable
from rcp.tuner.search.space import Space
from rcp.tuner.search.start import PROFILES, Start


def profile_starts(profile: str, knobs: Sequence[Knob]) -> list[Start]:
    """Return the candidates of ``NAME`` or ``NAME:CANDIDATE`` that these knobs accept.

    None for "". Raises ProfileError for a profile of which nothing can be used.
    """
    if not profile:
        return []
    name, space = profile.partition(":")[0], Space(knobs)
    return [
        Start(
            space.complete(_whole(one.settings, knobs)),
            f"profile {name}, candidate {one.candidate.name}: {one.candidate.about}",
        )
        for one in usable(profile, fitted(profile, knobs))
    ]


def _whole(settings: Settings, knobs: Sequence[Knob]) -> dict[str, Value]:
    """Return *settings* with what the kernel's own profile in them sets."""
    implied = PROFILES.get(str(settings.get("rcp.profile", "")), {})
    by_name = {knob.name: knob for knob in knobs}
    taken = {
        name: value
        for name, value in implied.items()
        if name in by_name and by_name[name].allows(value)
    }
    return {**taken, **settings}
