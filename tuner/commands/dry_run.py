"""``rcp-tune --dry-run``: the knobs, and the writes of the first trials."""

from __future__ import annotations

from collections.abc import Iterator

from rcp.analyzer.text import plural
from rcp.tuner.knobs.knob import Knob
from rcp.tuner.profiles.profile import fitted, notes
from rcp.tuner.search.profile_starts import profile_starts
from rcp.tuner.search.start import starts
from rcp.tuner.session.session import KnobSession
from rcp.tuner.studies.wording import changed, settings_text
from rcp.tuner.trials.local import LocalMachine
from rcp.tuner.trials.machine import Machine
from rcp.tuner.trials.measurement import to_set

_TRIALS_SHOWN = 3


def _range(knob: Knob) -> str:
    words = [str(choice) for choice in knob.choices]
    if knob.scale != "choice":
        words.append(f"{knob.low}..{knob.high}")
    unit = f" {knob.unit}" if knob.unit else ""
    needs = " and ".join(
        f"{name} {' or '.join(map(str, values))}" for name, values in knob.needs.items()
    )
    return f"{', '.join(words)}{unit}" + (f" (with {needs})" if needs else "")


def dry_run(machine: Machine, *, advised: bool = True, profile: str = "") -> Iterator[str]:
    """Yield lines; writes nothing.

    *advised*: whether advised settings are tried first; *profile*: candidates that come before.
    """
    found = machine.describe()
    yield f"{plural(len(found.knobs), 'knob')}:"
    for knob in found.knobs:
        now = found.values.get(knob.name, "not present")
        yield f"  {knob.name} = {now}; tried: {_range(knob)}; {knob.what}"
    knobs = found.tunable()
    # The first start is the machine as it is, which the baseline measures.
    own = profile_starts(profile, knobs)
    yield from notes(profile, fitted(profile, knobs)) if profile else ()
    first = [*own, *(starts(knobs)[1:] if advised else [])][: max(_TRIALS_SHOWN, len(own))]
    if not first:
        yield "the search chooses the settings of the first trials"
        return
    yield "settings of the first trials, unless a recording of the causes suggests others:"
    for start in first:
        settings = to_set(start.settings, knobs)
        yield f"  {start.why}: {settings_text(changed(settings, found.values))}"
        if isinstance(machine, LocalMachine):
            with KnobSession(machine.catalog(), dry_run=True, yes=machine.yes) as session:
                session.apply(settings)
            yield from (f"    {line}" for line in session.planned)
