"""Bringing the machine from any settings to others, with no more writes than that takes."""

from __future__ import annotations

from rcp.tuner.errors import AdminChangedError, KnobError, KnobGoneError, KnobRefusedError
from rcp.tuner.knobs.catalog import Catalog
from rcp.tuner.knobs.handle import LIMIT, PROFILE, Handle
from rcp.tuner.knobs.knob import Knob, Settings, Value
from rcp.tuner.session.writer import Putter, by_rank


def checked_settings(catalog: Catalog, settings: Settings, yes: bool) -> None:
    """Raise KnobError unless every knob is known and takes its value."""
    knobs = {knob.name: knob for knob in catalog.knobs}
    for name, value in settings.items():
        catalog.handle(name)
        check_value(knobs[name], value, yes)


def check_value(knob: Knob, value: Value, yes: bool) -> None:
    """Raise KnobError unless the knob takes the value, and safely so unless *yes*."""
    if knob.scale == "choice" or not isinstance(value, int) or isinstance(value, bool):
        if not knob.allows(value) or isinstance(value, bool):
            raise KnobError(f"{knob.name}: {value} is not one of its values: {_takes(knob)}.")
        return
    if value in knob.choices or knob.allows(value):
        return
    remedy = "choose one of them" if yes else "choose one of them, or say --yes"
    raise KnobError(f"{knob.name}: {value} is out of range: {_takes(knob)}: {remedy}.")


def _takes(knob: Knob) -> str:
    words = [str(value) for value in knob.choices]
    if knob.scale != "choice":
        words.append(f"{knob.low} to {knob.high} {knob.unit}".strip())
    return " or ".join(words) if knob.scale != "choice" else ", ".join(words)


class Settling:
    """Applies settings one after another through one putter."""

    def __init__(self, catalog: Catalog, putter: Putter) -> None:
        self._catalog = catalog
        self._putter = putter
        self._base: dict[str, str] = dict(putter.ledger.original)
        """What a knob holds that is not set: by the machine, or by a scheduler or profile set."""
        self._learned: dict[tuple[str, str], dict[str, str]] = {}
        """What a scheduler or a profile was seen to give others."""

    def apply(self, settings: Settings) -> None:
        """Set knobs; see ``KnobSession.apply``."""
        ledger = self._putter.ledger
        known = self._putter.handles
        concerned = [known[name] for name in {**dict.fromkeys(settings), **ledger.touched}]
        self._stand_aside(by_rank(concerned), settings)
        refused = []
        for handle in by_rank(self._concerned(settings)):
            try:
                self._settle(handle, settings)
            except KnobRefusedError:
                if handle.rank <= LIMIT:
                    raise
                refused.append(handle)
        for handle in self._reset_since(settings) + refused:
            self._settle(handle, settings)
        for handle in self._whole_profile(settings):
            self._settle(handle, settings)

    def _concerned(self, settings: Settings) -> list[Handle]:
        """Return all that may have to be written: what is set, and what ever was or was reset."""
        ledger = self._putter.ledger
        names = [n for n in self._putter.handles if n in settings or n in ledger.touched]
        may: dict[str, None] = dict.fromkeys(names)
        for name in names:
            may.update(dict.fromkeys(self._putter.handles[name].may_change(self._putter.handles)))
        return [self._putter.handles[n] for n in may if n in settings or n not in ledger.aside]

    def _reset_since(self, settings: Settings) -> list[Handle]:
        """Return knobs that another one's write changed after they were settled."""
        return [
            handle
            for handle in by_rank(self._concerned(settings))
            if handle.rank > LIMIT and self._differs(handle, settings)
        ]

    def _whole_profile(self, settings: Settings) -> list[Handle]:
        """Return the profile, which is again what it was once no knob of it is set."""
        return [
            handle
            for handle in self._concerned(settings)
            if handle.rank == PROFILE and not handle.may_change(settings)
        ]

    def _target(self, handle: Handle, settings: Settings) -> str | None:
        if handle.name in settings:
            return handle.cell.state_of(self._putter.tree, settings[handle.name])
        return self._base.get(handle.name)

    def _differs(self, handle: Handle, settings: Settings) -> bool:
        found, target = self._putter.state(handle), self._target(handle, settings)
        if found is None or target is None or handle.name in self._putter.ledger.unsure:
            return False
        return not handle.cell.rounds and not handle.cell.same(found, target)

    def _settle(self, handle: Handle, settings: Settings) -> None:
        found, target = self._putter.state(handle), self._target(handle, settings)
        if found is None and handle.name in settings:
            raise KnobGoneError(
                f"{handle.name}: it is not there: "
                "its disk is gone, or it belongs to another scheduler than the one set."
            )
        if found is None or target is None or self._putter.ledger.holds(handle, found, target):
            return
        self._putter.put(handle, target)
        if handle.rank <= LIMIT:
            self._rebase(handle, target)

    def _rebase(self, handle: Handle, target: str) -> None:
        """Take what the kernel gave other knobs as theirs, unless this is as it was before."""
        ledger = self._putter.ledger
        learned = self._learned.setdefault((handle.name, target), {})
        original = ledger.original.get(handle.name)
        restored = original is not None and handle.cell.same(target, original)
        for name in handle.may_change(self._putter.handles):
            if restored and name in ledger.original:
                self._base[name] = ledger.original[name]
            elif name in ledger.expected:
                held = ledger.expected[name]
                # What the tuner has set may have been left as it was: then it tells nothing.
                if name not in handle.stirs or name not in ledger.wanted:
                    learned[name] = held
                self._base[name] = learned.get(name, ledger.original.get(name, held))

    def _stand_aside(self, handles: list[Handle], settings: Settings) -> None:
        """Raise AdminChangedError if somebody else set one of these since it was last looked at."""
        ledger = self._putter.ledger
        for handle in handles:
            name, cell = handle.name, handle.cell
            if name in ledger.aside:
                if name in settings:
                    left = cell.value(ledger.expected[name])
                    raise AdminChangedError(name, f"{left}", f"{cell.value(ledger.aside[name])}")
                continue
            found = self._putter.state(handle)
            if found is None or name not in ledger.expected or ledger.is_ours(handle, found):
                continue
            self._putter.stand_aside(name, found)
            left = cell.value(ledger.expected[name])
            raise AdminChangedError(name, f"{left}", f"{cell.value(found)}")
