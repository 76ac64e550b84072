"""Apply settings with as few writes as possible; roll back the knobs that they do not name."""

from __future__ import annotations

from rcp.tuner.errors import AdminChangedError, KnobError, KnobGoneError, KnobRefusedError
from rcp.tuner.knobs.catalog import Catalog
from rcp.tuner.knobs.handle import LIMIT, PROFILE, Handle
from rcp.tuner.knobs.knob import Knob, Settings, Value
from rcp.tuner.session.writer import KnobWriter, by_rank


def check_settings(catalog: Catalog, settings: Settings, yes: bool) -> None:
    """Raise KnobError unless every knob exists and accepts its value."""
    knobs = {knob.name: knob for knob in catalog.knobs}
    for name, value in settings.items():
        catalog.handle(name)
        check_value(knobs[name], value, yes)


def check_value(knob: Knob, value: Value, yes: bool) -> None:
    """Raise KnobError unless the knob accepts the value; *yes*: also outside its safe range."""
    if knob.scale == "choice" or not isinstance(value, int) or isinstance(value, bool):
        if not knob.allows(value) or isinstance(value, bool):
            raise KnobError(f"{knob.name}: {value} is not one of its values: {_accepted(knob)}.")
        return
    if value in knob.choices or knob.allows(value):
        return
    remedy = "choose one of them" if yes else "choose one of them, or use --yes"
    raise KnobError(f"{knob.name}: {value} is out of range: {_accepted(knob)}: {remedy}.")


def _accepted(knob: Knob) -> str:
    words = [str(value) for value in knob.choices]
    if knob.scale != "choice":
        words.append(f"{knob.low} to {knob.high} {knob.unit}".strip())
    return " or ".join(words) if knob.scale != "choice" else ", ".join(words)


class SettingsApplier:
    """Applies one set of settings after another. Knobs no longer named are rolled back."""

    def __init__(self, catalog: Catalog, writer: KnobWriter) -> None:
        self._catalog = catalog
        self._writer = writer
        self._rollback: dict[str, str] = dict(writer.ledger.original)
        """State of each knob when settings do not name it.

        It is the original one, or the one that the scheduler or profile in use gave it.
        """
        self._given: dict[tuple[str, str], dict[str, str]] = {}
        """By scheduler or profile and its state: the states that the kernel gave other knobs."""

    def apply(self, settings: Settings) -> None:
        """Set knobs; see ``KnobSession.apply``."""
        known = self._writer.handles
        names = {**dict.fromkeys(settings), **self._writer.ledger.touched}
        self._check_admin_changes(by_rank(known[name] for name in names), settings)
        refused = []
        for handle in by_rank(self._affected(settings)):
            try:
                self._write_target(handle, settings)
            except KnobRefusedError:
                if handle.rank <= LIMIT:
                    raise
                refused.append(handle)
        for handle in self._changed_by_writes(settings) + refused:
            self._write_target(handle, settings)
        for handle in self._whole_profile(settings):
            self._write_target(handle, settings)

    def _affected(self, settings: Settings) -> list[Handle]:
        """Return the knobs that may need a write: named, written or reset before, or reset now."""
        ledger, handles = self._writer.ledger, self._writer.handles
        names = [name for name in handles if name in settings or name in ledger.touched]
        may_change: dict[str, None] = dict.fromkeys(names)
        for name in names:
            may_change.update(dict.fromkeys(handles[name].may_change(handles)))
        return [
            handles[name] for name in may_change if name in settings or name not in ledger.aside
        ]

    def _changed_by_writes(self, settings: Settings) -> list[Handle]:
        """Return the knobs that a later write of another knob changed again."""
        return [
            handle
            for handle in by_rank(self._affected(settings))
            if handle.rank > LIMIT and self._differs(handle, settings)
        ]

    def _whole_profile(self, settings: Settings) -> list[Handle]:
        """Return the profile if *settings* name no knob of it: it then reads its own name again."""
        return [
            handle
            for handle in self._affected(settings)
            if handle.rank == PROFILE and not handle.may_change(settings)
        ]

    def _target(self, handle: Handle, settings: Settings) -> str | None:
        if handle.name in settings:
            return handle.cell.state_of(self._writer.tree, settings[handle.name])
        return self._rollback.get(handle.name)

    def _differs(self, handle: Handle, settings: Settings) -> bool:
        found, target = self._writer.state(handle), self._target(handle, settings)
        if found is None or target is None or handle.name in self._writer.ledger.unsure:
            return False
        return not handle.cell.rounds and not handle.cell.same(found, target)

    def _write_target(self, handle: Handle, settings: Settings) -> None:
        """Bring a knob to its target unless it has that state already."""
        found, target = self._writer.state(handle), self._target(handle, settings)
        if found is None and handle.name in settings:
            raise KnobGoneError(
                f"{handle.name}: not found: "
                "its disk is gone, or it belongs to a scheduler that is not in use."
            )
        if found is None or target is None or self._writer.ledger.holds(handle, found, target):
            return
        self._writer.write(handle, target)
        if handle.rank <= LIMIT:
            self._update_rollback(handle, target)

    def _update_rollback(self, handle: Handle, target: str) -> None:
        """Roll other knobs back to the states that the kernel gave them with this write.

        If the write restored the original state, the originals of the others apply again.
        """
        ledger = self._writer.ledger
        given = self._given.setdefault((handle.name, target), {})
        original = ledger.original.get(handle.name)
        restored = original is not None and handle.cell.same(target, original)
        for name in handle.may_change(self._writer.handles):
            if restored and name in ledger.original:
                self._rollback[name] = ledger.original[name]
            elif name in ledger.expected:
                state = ledger.expected[name]
                # The kernel may leave a knob alone that the tuner has set: no default is seen then.
                if name not in handle.resets_if_unset or name not in ledger.wanted:
                    given[name] = state
                self._rollback[name] = given.get(name, ledger.original.get(name, state))

    def _check_admin_changes(self, handles: list[Handle], settings: Settings) -> None:
        """Raise AdminChangedError if somebody else set one of these since it was last read."""
        ledger = self._writer.ledger
        for handle in handles:
            name, cell = handle.name, handle.cell
            if name in ledger.aside:
                if name in settings:
                    left = cell.value(ledger.expected[name])
                    raise AdminChangedError(name, f"{left}", f"{cell.value(ledger.aside[name])}")
                continue
            found = self._writer.state(handle)
            if found is None or name not in ledger.expected or ledger.is_ours(handle, found):
                continue
            self._writer.stand_aside(name, found)
            left = cell.value(ledger.expected[name])
            raise AdminChangedError(name, f"{left}", f"{cell.value(found)}")
