"""``rcp-tune --dry-run``: the knobs there are, and what the first trials would write."""

from __future__ import annotations

from collections.abc import Iterator

from rcp.tuner.knobs.knob import Knob
from rcp.tuner.local import LocalMachine
from rcp.tuner.machine import Machine
from rcp.tuner.search.start import starts
from rcp.tuner.session import KnobSession
from rcp.tuner.wording import settings_text

_FIRST = 3


def _range(knob: Knob) -> str:
    words = [str(choice) for choice in knob.choices]
    if knob.scale != "choice":
        words.append(f"{knob.low}..{knob.high}")
    unit = f" {knob.unit}" if knob.unit else ""
    needs = " and ".join(
        f"{name} {' or '.join(map(str, values))}" for name, values in knob.needs.items()
    )
    return f"{', '.join(words)}{unit}" + (f" (under {needs})" if needs else "")


def dry_run(machine: Machine) -> Iterator[str]:
    """Yield lines; nothing is written."""
    found = machine.describe()
    yield f"{len(found.knobs)} knobs:"
    for knob in found.knobs:
        now = found.values.get(knob.name, "not there now")
        yield f"  {knob.name} = {now}; tried: {_range(knob)}; {knob.what}"
    yield "the first trials after the baseline:"
    for start in starts(found.knobs, [])[:_FIRST]:
        yield f"  {start.why}: {settings_text(start.settings)}"
        if isinstance(machine, LocalMachine):
            with KnobSession(machine.catalog(), dry_run=True, yes=machine.yes) as session:
                session.apply(start.settings)
            yield from (f"    {line}" for line in session.planned)
